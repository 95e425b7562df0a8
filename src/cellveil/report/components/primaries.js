// The list of primary cells: sorted by any column, filtered by rule and by words.
import { Cells } from "./cells.js";
import { count, make, percent, span } from "./dom.js";
import { mountPanel } from "./panel.js";

const AT_A_TIME = 100;
const infinite = (share) => (share === null ? -Infinity : share < 0 ? Infinity : share);

// The list in an element. `source`, `panel` and `explain` as for `mountTables`; gives back `{cells, panel, destroy}`.
export function mountPrimaries(root, source, options = {}) {
  const cells = Cells.of(source, options);
  const own = options.panel ? null : make("aside");
  const panel = options.panel ?? mountPanel(own, { explain: options.explain });
  const list = new PrimaryList(cells, panel);
  const ending = new AbortController();
  root.replaceChildren(...list.parts(), ...(own ? [own] : []));
  for (const [moment, printing] of [["beforeprint", true], ["afterprint", false]]) window.addEventListener(moment, () => { list.printing = printing; list.fill(); }, { signal: ending.signal });
  const forget = cells.listen(() => list.fill());
  return {
    cells,
    panel,
    destroy() {
      ending.abort();
      forget();
      if (own) panel.destroy();
      root.replaceChildren();
    },
  };
}

class PrimaryList {
  constructor(cells, panel) {
    this.cells = cells;
    this.panel = panel;
    this.printing = false;
    this.sorted = null;
    this.upwards = true;
    this.most = AT_A_TIME;
    const known = cells.data.primaries;
    this.rows = known.cells.map((cell, place) => {
      const named = this.named(cell);
      return { cell, place, named, text: `${named.flat().join(" ")} ${this.rulesOf(place).join(" ")}`.toLowerCase() };
    });
    this.columns = this.allColumns();
  }

  rulesOf(place) {
    const { data } = this.cells;
    return data.primaries.rules[place].map((rule) => data.rules[rule]);
  }

  // Code and label by dimension; in one column where tables of several dimensions are linked.
  named(cell) {
    const parts = this.cells.linesOf(cell).map(([dimension, line]) => [dimension.codes[line], dimension.labels ? dimension.labels[line] : ""]);
    if (this.cells.tables.length === 1) return parts;
    return [[parts.map(([code]) => code).join(", "), parts.map(([, label]) => label).filter(Boolean).join(", ")]];
  }

  allColumns() {
    const { cells } = this;
    const { data, tables, truths } = cells;
    const known = data.primaries;
    const names = tables.length === 1 ? tables[0].dimensions.map((dimension) => dimension.name) : ["cell"];
    const link = (row) => make("button", { class: "link", type: "button", text: row.named[0][0], onclick: (event) => this.panel.explain(cells, row.cell, event.target) });
    const found = names.map((name, axis) => ({ name, key: (row) => row.named[axis][0], show: (row) => [axis ? row.named[axis][0] : link(row), row.named[axis][1] ? make("small", { text: ` ${row.named[axis][1]}` }) : ""] }));
    if (tables.length > 1) found[0].kind = () => "t joint";
    found.push(
      { name: "rule", key: (row) => known.rules[row.place].join(), show: (row) => [this.rulesOf(row.place).join("; ")], kind: () => "t rule" },
      { name: "contributors", number: true, key: (row) => (data.contributors ? data.contributors[row.cell] : -1), show: (row) => [data.contributors && data.contributors[row.cell] >= 0 ? count(data.contributors[row.cell]) : "–"] },
      { name: "value", number: true, secret: true, key: (row) => Number(truths.get(row.cell) ?? 0), show: (row) => [truths.has(row.cell) ? cells.amount(truths.get(row.cell)) : "–"] },
    );
    if (known.margin) found.push(
      { name: "interval", number: true, key: (row) => infinite(known.up[row.place]) + infinite(known.down[row.place]), show: (row) => [span(known.down[row.place], known.up[row.place])] },
      { name: "required", number: true, key: (row) => infinite(known.needUp[row.place]) + infinite(known.needDown[row.place]), show: (row) => [span(known.needDown[row.place], known.needUp[row.place])] },
      { name: "margin", number: true, key: (row) => infinite(known.margin[row.place]), show: (row) => [percent(known.margin[row.place])] },
      { name: "verdict", key: (row) => known.safe[row.place], show: (row) => [known.safe[row.place] ? "sufficient" : "INSUFFICIENT"], kind: (row) => (known.safe[row.place] ? "t ok" : "t not") },
    );
    return found;
  }

  parts() {
    const { data } = this.cells;
    const fired = new Set(data.primaries.rules.flat());
    this.words = make("input", { type: "search", placeholder: "Find codes, labels, rules", "aria-label": "Find in the list of primary cells", oninput: () => this.fill() });
    this.rule = make("select", { onchange: () => this.fill() }, make("option", { value: "", text: "all rules" }), ...data.rules.map((text, number) => [text, number]).filter(([, number]) => fired.has(number)).map(([text, number]) => make("option", { value: number, text })));
    this.found = make("span", { class: "soft", role: "status" });
    this.head = make("tr");
    this.body = make("tbody");
    this.further = make("button", { class: "button no-print", type: "button", text: `Show ${AT_A_TIME} more`, onclick: () => { this.most += AT_A_TIME; this.fill(); } });
    this.printed = make("p", { class: "only-print" });
    this.fill();
    return [
      make("p", { class: "choose no-print" }, this.words, make("label", {}, "Rule ", this.rule), this.found),
      this.printed,
      make("div", { class: "scroll", tabindex: 0 }, make("table", { class: "list" }, make("thead", {}, this.head), this.body)),
      this.further,
    ];
  }

  kept() {
    const { rules } = this.cells.data.primaries;
    const wanted = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = this.rows.filter((row) => (this.rule.value === "" || rules[row.place].includes(Number(this.rule.value))) && wanted.every((word) => row.text.includes(word)));
    if (this.sorted) {
      const direction = this.upwards ? 1 : -1;
      kept.sort((one, two) => {
        const [a, b] = [this.sorted.key(one), this.sorted.key(two)];
        return (a < b ? -1 : a > b ? 1 : one.place - two.place) * direction;
      });
    }
    return kept;
  }

  sortBy(column) {
    this.upwards = this.sorted === column ? !this.upwards : true;
    this.sorted = column;
    this.fill();
  }

  fill() {
    const kept = this.kept();
    const used = this.columns.filter((column) => !column.secret || this.cells.state.values);
    const order = (column) => (this.sorted === column ? (this.upwards ? "ascending" : "descending") : "none");
    this.head.replaceChildren(...used.map((column) => make("th", { scope: "col", class: column.number ? "n" : "", "aria-sort": order(column) }, this.printing ? column.name : make("button", { type: "button", text: column.name, onclick: () => this.sortBy(column) }))));
    this.body.replaceChildren(...kept.slice(0, this.most).map((row) => make("tr", {}, ...used.map((column) => make("td", { class: column.kind ? column.kind(row) : column.number ? "n" : "t" }, ...column.show(row))))));
    this.found.textContent = `${count(Math.min(this.most, kept.length))} of ${count(kept.length)} shown`;
    this.printed.textContent = kept.length > this.most ? `The first ${count(this.most)} of ${count(kept.length)} primary cells.` : "";
    this.further.hidden = kept.length <= this.most;
  }
}
