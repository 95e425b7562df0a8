// The list of primary cells: sorted by any column, filtered by rule and by words.
const AT_A_TIME = 100;
const list = document.getElementById("list");
if (list && data.primaries.cells.length) {
  const known = data.primaries;
  const names = tables[0].dimensions.length && tables.length === 1 ? tables[0].dimensions.map((dimension) => dimension.name) : ["cell"];
  const infinite = (share) => (share === null ? -Infinity : share < 0 ? Infinity : share);
  const codes = (cell) => (tables.length === 1 ? linesOf(cell).map(([dimension, line]) => [dimension.codes[line], dimension.labels ? dimension.labels[line] : ""]) : [[linesOf(cell).map(([dimension, line]) => dimension.codes[line]).join(", "), linesOf(cell).map(([dimension, line]) => (dimension.labels ? dimension.labels[line] : "")).filter(Boolean).join(", ")]]);
  const rows = known.cells.map((cell, place) => {
    const named = codes(cell);
    return { cell, place, named, text: `${named.flat().join(" ")} ${known.rules[place].map((rule) => data.rules[rule]).join(" ")}`.toLowerCase() };
  });
  const truth = (row) => (truths.has(row.cell) ? Number(truths.get(row.cell)) : 0);
  const columns = [
    ...names.map((name, axis) => ({ name, key: (row) => row.named[axis][0], show: (row) => [axis ? row.named[axis][0] : make("button", { class: "link", type: "button", text: row.named[0][0], onclick: (event) => explain(row.cell, event.target) }), row.named[axis][1] ? make("small", { text: ` ${row.named[axis][1]}` }) : ""] })),
    { name: "rule", key: (row) => known.rules[row.place].join(), show: (row) => [known.rules[row.place].map((rule) => data.rules[rule]).join("; ")], kind: () => "t rule" },
    { name: "contributors", number: true, key: (row) => (data.contributors ? data.contributors[row.cell] : -1), show: (row) => [data.contributors && data.contributors[row.cell] >= 0 ? count(data.contributors[row.cell]) : "–"] },
    { name: "value", number: true, secret: true, key: truth, show: (row) => [truths.has(row.cell) ? amount(truths.get(row.cell)) : "–"] },
    ...(known.margin ? [
      { name: "interval", number: true, key: (row) => infinite(known.up[row.place]) + infinite(known.down[row.place]), show: (row) => [span(known.down[row.place], known.up[row.place])] },
      { name: "required", number: true, key: (row) => infinite(known.needUp[row.place]) + infinite(known.needDown[row.place]), show: (row) => [span(known.needDown[row.place], known.needUp[row.place])] },
      { name: "margin", number: true, key: (row) => infinite(known.margin[row.place]), show: (row) => [percent(known.margin[row.place])] },
      { name: "verdict", key: (row) => known.safe[row.place], show: (row) => [known.safe[row.place] ? "sufficient" : "INSUFFICIENT"], kind: (row) => (known.safe[row.place] ? "t ok" : "t not") },
    ] : []),
  ];
  let sorted = null;
  let upwards = true;
  let most = AT_A_TIME;
  const words = make("input", { type: "search", placeholder: "Find codes, labels, rules", "aria-label": "Find in the list of primary cells", oninput: () => fill() });
  const rule = make("select", { onchange: () => fill() }, make("option", { value: "", text: "all rules" }), ...data.rules.map((text, number) => [text, number]).filter(([, number]) => known.rules.some((own) => own.includes(number))).map(([text, number]) => make("option", { value: number, text })));
  const found = make("span", { class: "soft", role: "status" });
  const head = make("tr");
  const body = make("tbody");
  const further = make("button", { class: "button no-print", type: "button", text: `Show ${AT_A_TIME} more`, onclick: () => { most += AT_A_TIME; fill(); } });
  const printed = make("p", { class: "only-print" });
  function fill() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows.filter((row) => (rule.value === "" || known.rules[row.place].includes(Number(rule.value))) && wanted.every((word) => row.text.includes(word)));
    if (sorted) kept.sort((one, two) => { const [a, b] = [sorted.key(one), sorted.key(two)]; return (a < b ? -1 : a > b ? 1 : one.place - two.place) * (upwards ? 1 : -1); });
    const used = columns.filter((column) => !column.secret || reader.shown);
    head.replaceChildren(...used.map((column) => make("th", { scope: "col", class: column.number ? "n" : "", "aria-sort": sorted === column ? (upwards ? "ascending" : "descending") : "none" }, reader.printing ? column.name : make("button", { type: "button", text: column.name, onclick: () => { upwards = sorted === column ? !upwards : true; sorted = column; fill(); } }))));
    body.replaceChildren(...kept.slice(0, most).map((row) => make("tr", {}, ...used.map((column) => make("td", { class: column.kind ? column.kind(row) : column.number ? "n" : "t" }, ...column.show(row))))));
    found.textContent = `${count(Math.min(most, kept.length))} of ${count(kept.length)} shown`;
    printed.textContent = kept.length > most ? `The first ${count(most)} of ${count(kept.length)} primary cells.` : "";
    further.hidden = kept.length <= most;
  }
  list.append(make("p", { class: "choose no-print" }, words, make("label", {}, "Rule ", rule), found), printed, make("div", { class: "scroll", tabindex: 0 }, make("table", { class: "list" }, make("thead", {}, head), body)), further);
  reader.listeners.push(fill);
  for (const [moment, printing] of [["beforeprint", true], ["afterprint", false]]) window.addEventListener(moment, () => { reader.printing = printing; fill(); });
  fill();
}
