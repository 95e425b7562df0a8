// The panel: why a cell is hidden or published, made from data when it is asked for, and from `options.explain`.
import { count, make, percent, span } from "./dom.js";

const NAMED_AT_MOST = 8;
const WAIT = 350; // milliseconds before more is asked for, so that keys may move on

// A panel in an element. `options.explain(cell, key, cells)` promises what `cellveil explain --json` says, for
// what the data do not hold; `options.changed(panel)` is called when it opens or closes.
export function mountPanel(root, options = {}) {
  return new Panel(root, options);
}

class Panel {
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.cells = null;
    this.cell = null;
    this.from = null;
    this.listeners = new Set();
    this.ending = new AbortController();
    this.forget = () => {};
    root.classList.add("panel");
    root.tabIndex = -1;
    root.hidden = true;
    if (!root.hasAttribute("aria-label")) root.setAttribute("aria-label", "Explanation of a cell");
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.isOpen) this.close(); }, { signal: this.ending.signal });
  }

  get isOpen() {
    return !this.root.hidden;
  }

  isAt(cells, cell) {
    return this.isOpen && this.cells === cells && this.cell === cell;
  }

  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  changed() {
    for (const listener of [...this.listeners]) listener();
    this.options.changed?.(this);
  }

  explain(cells, cell, from) {
    if (from) this.from = from;
    if (cells !== this.cells) {
      this.forget();
      this.forget = cells.listen(() => { if (this.isOpen) this.draw(); });
    }
    [this.cells, this.cell] = [cells, cell];
    this.root.hidden = false;
    this.draw();
    this.changed();
  }

  close() {
    this.root.hidden = true;
    this.cell = null;
    this.changed();
    if (this.from && this.from.isConnected) this.from.focus();
  }

  focus() {
    this.root.focus();
  }

  destroy() {
    this.ending.abort();
    this.forget();
    clearTimeout(this.timer);
    this.root.replaceChildren();
    this.root.hidden = true;
  }

  draw() {
    const { cells, cell } = this;
    const status = cells.data.status[cell];
    const place = cells.primaryPlace.get(cell);
    this.root.replaceChildren(
      make("button", { class: "button close", type: "button", text: "Close", onclick: () => this.close() }),
      make("h2", { text: cells.nameOf(cell) }),
      make("p", {}, make("span", { class: `badge ${status}`, text: cells.words[status] })),
      facts(cells, cell),
      ...(place === undefined ? [] : whyPrimary(cells, place)),
      ...this.surroundings(),
      ...this.more(),
    );
  }

  link(cell) {
    return make("button", { class: "link", type: "button", text: this.cells.nameOf(cell), onclick: () => this.explain(this.cells, cell) });
  }

  listed(some, number) {
    const parts = some.slice(0, NAMED_AT_MOST).flatMap((cell, place) => [place ? ", " : "", this.link(cell)]);
    const more = (number ?? some.length) - Math.min(some.length, NAMED_AT_MOST);
    return [...parts, more > 0 ? ` and ${count(more)} more` : ""];
  }

  surroundings() {
    const { cells, cell } = this;
    const parts = [];
    const rows = cells.equations(cell);
    if (rows.length) {
      parts.push(make("h3", { text: "Hidden cells in the same equations" }));
      parts.push(make("ul", {}, ...rows.map((row) => this.equation(row))));
    }
    const place = cells.helpPlace.get(cell);
    if (place !== undefined) {
      parts.push(make("h3", { text: "It helps to protect" }));
      parts.push(make("p", {}, ...this.listed(cells.data.helps.primaries[place], cells.data.helps.count[place])));
    }
    return parts;
  }

  equation([total, ...hidden]) {
    const others = hidden.filter((other) => other !== this.cell);
    const by = along(this.cells, this.cell, others.find((other) => other !== total) ?? others[0]);
    const what = total < 0 ? "" : total === this.cell ? `its parts${by}: ` : `parts of ${this.cells.nameOf(total)}${by}: `;
    return make("li", {}, what, ...this.listed(others));
  }

  // What the data do not hold: asked of the service, or the command that tells it.
  more() {
    const { cells, cell, options } = this;
    if (options.explain) return this.asked();
    if (!cells.isHidden(cell) || !cells.data.job) return [];
    const command = `cellveil explain ${cells.data.job} '${cells.keyOf(cell)}'`;
    return [make("h3", { text: "More" }), make("p", {}, "What publishing it would open: ", make("code", { text: command }))];
  }

  asked() {
    const { cells, cell } = this;
    const place = make("div", { class: "more", role: "status" }, make("p", { class: "soft", text: "Looking further …" }));
    const isStill = () => this.isAt(cells, cell) && place.isConnected;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      try {
        const told = await this.options.explain(cell, cells.keyOf(cell), cells);
        if (isStill()) place.replaceChildren(...further(cells, told));
      } catch (error) {
        if (isStill()) place.replaceChildren(make("p", { class: "not", text: `No further explanation: ${error.message}` }));
      }
    }, WAIT);
    return [place];
  }
}

const labelled = (dimension, line) => `${dimension.codes[line]}${dimension.labels && dimension.labels[line] ? " " + dimension.labels[line] : ""}`;

function facts(cells, cell) {
  const { data, state, truths } = cells;
  const rows = [];
  const put = (name, text) => rows.push(make("dt", { text: name }), make("dd", { text }));
  for (const [dimension, line] of cells.linesOf(cell)) put(dimension.name, labelled(dimension, line));
  if (!cells.isHidden(cell)) put(data.adjusted ? "published as" : "value", cells.amount(data.published[cell]));
  if (state.values && truths.has(cell)) put(data.adjusted ? "true value (confidential)" : "value (confidential)", cells.amount(truths.get(cell)));
  else if (cells.isHidden(cell)) put("value", data.truth ? "hidden: choose “Hidden values too”" : "hidden; not in this report");
  if (data.contributors && data.contributors[cell] >= 0) put("contributors", count(data.contributors[cell]));
  const [[own], ...others] = cells.placed(cell);
  if (others.length) put("stands in", [own, ...others.map(([number]) => number)].map((number) => cells.tables[number].name).join("; "));
  return make("dl", {}, ...rows);
}

function whyPrimary(cells, place) {
  const { data, state } = cells;
  const known = data.primaries;
  const parts = [make("h3", { text: "Rule" }), make("ul", {}, ...known.rules[place].map((rule) => make("li", { text: data.rules[rule] })))];
  const told = state.values && known.arithmetic && known.arithmetic[place];
  if (told) parts.push(...told.map((line) => make("p", { text: line })));
  if (!known.margin) return parts;
  parts.push(make("h3", { text: data.adjusted ? "What the pattern, which is not published, would tell an outsider" : "What an outsider learns" }));
  if (state.values && known.lower) {
    const least = known.exact ? "between" : "at least from";
    parts.push(make("p", { text: `It lies ${least} ${known.lower[place] === null ? "−∞" : cells.amount(known.lower[place])} ${known.exact ? "and" : "to"} ${cells.amount(known.upper[place])}.` }));
    parts.push(make("p", { text: `Required: ${cells.amount(known.needLower[place])} and ${cells.amount(known.needUpper[place])} must both stay possible.` }));
  }
  parts.push(make("p", { text: `Interval ${span(known.down[place], known.up[place])} of the value; required ${span(known.needDown[place], known.needUp[place])}; margin ${percent(known.margin[place])}.` }));
  parts.push(make("p", { class: known.safe[place] ? "ok" : "not", text: known.safe[place] ? "Sufficient: shown to be protected." : "INSUFFICIENT: not shown to be protected." }));
  return parts;
}

// The dimension along which an equation with another cell adds up, as far as their codes tell.
function along(cells, cell, other) {
  const own = new Map(cells.linesOf(cell).map(([dimension, line]) => [dimension.name, dimension.codes[line]]));
  const found = cells.linesOf(other).find(([dimension, line]) => (own.has(dimension.name) ? own.get(dimension.name) !== dimension.codes[line] : dimension.depth[line] > 0));
  return found && own.size > 1 ? `, by ${found[0].name}` : "";
}

// The part of `cellveil explain --json` that the data do not hold; amounts are confidential.
function further(cells, told) {
  const parts = [];
  if (cells.state.values && told.contributors.length) {
    parts.push(make("h3", { text: "Largest contributors" }));
    parts.push(make("ol", {}, ...told.contributors.map((one) => make("li", { text: `${one.amount} (${one.share}; ${one.who})` }))));
  }
  if (told.opens === null) return parts;
  const itself = told.status.startsWith("primary");
  parts.push(make("h3", { text: "If it were published" }));
  if (itself) parts.push(make("p", { text: "Its value would be known." }));
  if (!told.opens.length) parts.push(make("p", { text: `${itself ? "Nothing else" : "No primary cell"} would be opened to outsiders.` }));
  else parts.push(make("p", { text: `It would ${itself ? "also " : ""}open to outsiders:` }), make("ul", {}, ...told.opens.map((one) => make("li", { text: opening(one, cells.state.values) }))));
  if (told.more_open) parts.push(make("p", { text: `and ${count(told.more_open)} more that would not be shown protected` }));
  return parts;
}

function opening(one, isShown) {
  if (!one.is_certain) return `${one.cell}: not shown to be protected in the time given`;
  if (!isShown) return `${one.cell}: ${one.tells_value ? "its value" : "an interval that is too narrow"}`;
  return `${one.cell}: ${one.tells_value ? `its value, ${one.lower}` : `between ${one.lower} and ${one.upper}`}; required: ${one.required}`;
}
