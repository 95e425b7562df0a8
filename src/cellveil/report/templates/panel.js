// The panel: why a cell is hidden or published, made from data when it is asked for.
const panel = document.getElementById("panel");
let openedFrom = null;
let explained = null;

const few = 8;
const cellLink = (cell) => make("button", { class: "link", type: "button", text: nameOf(cell), onclick: () => explain(cell) });
const listed = (cells, number) => {
  const parts = cells.slice(0, few).flatMap((cell, place) => [place ? ", " : "", cellLink(cell)]);
  const more = (number ?? cells.length) - Math.min(cells.length, few);
  return [...parts, more > 0 ? ` and ${count(more)} more` : ""];
};

const facts = (cell) => {
  const rows = [];
  const put = (name, text) => rows.push(make("dt", { text: name }), make("dd", { text }));
  for (const [dimension, line] of linesOf(cell)) put(dimension.name, `${dimension.codes[line]}${dimension.labels && dimension.labels[line] ? " " + dimension.labels[line] : ""}`);
  if (!reader.isHidden(cell)) put(data.adjusted ? "published as" : "value", amount(data.published[cell]));
  if (reader.shown && truths.has(cell)) put(data.adjusted ? "true value (confidential)" : "value (confidential)", amount(truths.get(cell)));
  else if (reader.isHidden(cell)) put("value", data.truth ? "hidden: press “Show confidential values”" : "hidden; not in this report");
  if (data.contributors && data.contributors[cell] >= 0) put("contributors", count(data.contributors[cell]));
  return make("dl", {}, ...rows);
};

const whyPrimary = (cell, place) => {
  const known = data.primaries;
  const parts = [make("h3", { text: "Rule" }), make("ul", {}, ...known.rules[place].map((rule) => make("li", { text: data.rules[rule] })))];
  const told = reader.shown && known.arithmetic && known.arithmetic[place];
  if (told) parts.push(...told.map((line) => make("p", { text: line })));
  if (!known.margin) return parts;
  parts.push(make("h3", { text: "What an outsider learns" }));
  if (reader.shown && known.lower) {
    const least = known.exact ? "between" : "at least from";
    parts.push(make("p", { text: `It lies ${least} ${known.lower[place] === null ? "−∞" : amount(known.lower[place])} ${known.exact ? "and" : "to"} ${amount(known.upper[place])}.` }));
    parts.push(make("p", { text: `Required: ${amount(known.needLower[place])} and ${amount(known.needUpper[place])} must both stay possible.` }));
  }
  parts.push(make("p", { text: `Interval ${span(known.down[place], known.up[place])} of the value; required ${span(known.needDown[place], known.needUp[place])}; margin ${percent(known.margin[place])}.` }));
  parts.push(make("p", { class: known.safe[place] ? "ok" : "not", text: known.safe[place] ? "Sufficient: shown to be protected." : "INSUFFICIENT: not shown to be protected." }));
  return parts;
};

// The dimension along which an equation with another cell adds up, as far as their codes tell.
const along = (cell, other) => {
  const own = new Map(linesOf(cell).map(([dimension, line]) => [dimension.name, dimension.codes[line]]));
  const found = linesOf(other).find(([dimension, line]) => (own.has(dimension.name) ? own.get(dimension.name) !== dimension.codes[line] : dimension.depth[line] > 0));
  return found && own.size > 1 ? `, by ${found[0].name}` : "";
};
const equationItem = (cell, [total, ...hidden]) => {
  const others = hidden.filter((other) => other !== cell);
  const by = along(cell, others.find((other) => other !== total) ?? others[0]);
  const what = total < 0 ? "" : total === cell ? `its parts${by}: ` : `parts of ${nameOf(total)}${by}: `;
  return make("li", {}, what, ...listed(others));
};

const surroundings = (cell) => {
  const parts = [];
  const rows = equations(cell);
  if (rows.length) {
    parts.push(make("h3", { text: "Hidden cells in the same equations" }));
    parts.push(make("ul", {}, ...rows.map((row) => equationItem(cell, row))));
  }
  const place = helpPlace.get(cell);
  if (place !== undefined) {
    parts.push(make("h3", { text: "It helps to protect" }));
    parts.push(make("p", {}, ...listed(data.helps.primaries[place], data.helps.count[place])));
  }
  return parts;
};

function explain(cell, from) {
  explained = cell;
  if (from) openedFrom = from;
  const status = data.status[cell];
  const place = primaryPlace.get(cell);
  const typed = linesOf(cell).map(([dimension, line]) => `${dimension.name}=${dimension.codes[line]}`).join(",");
  panel.replaceChildren(
    make("button", { class: "button close", type: "button", text: "Close", onclick: () => closePanel() }),
    make("h2", { text: nameOf(cell) }),
    make("p", {}, make("span", { class: `badge ${status}`, text: STATUS[status] })),
    facts(cell),
    ...(place === undefined ? [] : whyPrimary(cell, place)),
    ...surroundings(cell),
    ...(reader.isHidden(cell) && data.job ? [make("h3", { text: "More" }), make("p", {}, "What publishing it would open: ", make("code", { text: `cellveil explain ${data.job} '${typed}'` }))] : []),
  );
  panel.hidden = false;
  document.body.classList.add("explaining");
}

function closePanel() {
  panel.hidden = true;
  document.body.classList.remove("explaining");
  explained = null;
  if (openedFrom && openedFrom.isConnected) openedFrom.focus();
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) closePanel(); });
reader.listeners.push(() => { if (explained !== null && !panel.hidden) explain(explained); });
