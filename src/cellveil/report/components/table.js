// The table: one dimension down, one across, the others as slices; lines fold, rows are drawn as they come into view.
import { Cells, MARKS } from "./cells.js";
import { count, make } from "./dom.js";
import { mountPanel } from "./panel.js";
import { mountSwitches } from "./switches.js";

const ROW = 31;
const MANY_ROWS = 150;
const COLUMN = 110; // pixels of a column of a wide table
const MANY_COLUMNS = 60;
const FIRST_ROWS = 40;
const FIRST_COLUMNS = 9;
const PRINTED_ROWS = 250;
const PRINTED_COLUMNS = 7;

const openLevel = (dimension, most) => {
  const deepest = Math.max(...dimension.depth);
  for (let depth = deepest; depth > 1; depth--) if (dimension.depth.filter((one) => one <= depth).length <= most) return depth;
  return Math.min(deepest, 1);
};

const shade = (lost, steps) => (lost ? steps.filter((step) => lost > step).length : 0);

class TableView {
  constructor(cells, panel, number, isCompact) {
    const table = cells.tables[number];
    this.cells = cells;
    this.panel = panel;
    this.table = table;
    this.number = number;
    this.isCompact = isCompact;
    const sizes = table.dimensions.map((dimension) => dimension.codes.length);
    const order = sizes.map((_, axis) => axis);
    [this.down, this.across] = sizes.length === 1 ? [0, -1] : sizes[0] >= sizes[1] ? [0, 1] : [1, 0];
    this.slice = order.map(() => 0);
    this.folded = table.dimensions.map(() => new Set());
    table.dimensions.forEach((dimension, axis) => this.foldTo(axis, openLevel(dimension, axis === this.down ? FIRST_ROWS : FIRST_COLUMNS)));
    this.at = { row: 0, column: 0 };
    this.root = make("section", { class: "view", "aria-label": table.name });
    this.build();
  }

  foldTo(axis, depth) {
    const { codes, depth: depths, total } = this.table.dimensions[axis];
    this.folded[axis] = new Set(codes.map((_, line) => line).filter((line) => total[line] && depths[line] >= depth));
  }

  visible(axis) {
    if (axis < 0) return [0];
    const { depth } = this.table.dimensions[axis];
    const lines = [];
    for (let line = 0; line < depth.length; line++) {
      lines.push(line);
      if (this.folded[axis].has(line)) while (line + 1 < depth.length && depth[line + 1] > depth[lines[lines.length - 1]]) line++;
    }
    return lines;
  }

  // The row of the table's data where a cell stands.
  rowAt(row, column) {
    const { dimensions, sizes, numbers } = this.table;
    let key = 0;
    for (let axis = 0; axis < sizes.length; axis++) {
      const line = axis === this.down ? row : axis === this.across ? column : this.slice[axis];
      key = key * sizes[axis] + dimensions[axis].number[line];
    }
    return numbers.get(key);
  }

  cellAt(row, column) {
    const place = this.rowAt(row, column);
    return place === undefined || !this.table.cells ? place : this.table.cells[place];
  }

  build() {
    const { dimensions, name, about } = this.table;
    const foldable = (axis) => axis >= 0 && dimensions[axis].depth.some((depth) => depth > 1);
    this.controls = make("div", { class: "choose no-print" });
    if (dimensions.length > 1 && !this.isCompact) {
      this.controls.append(
        this.picker("Rows", this.down, (axis) => this.turn(axis, axis === this.across ? this.down : this.across)),
        this.picker("Columns", this.across, (axis) => this.turn(axis === this.down ? this.across : this.down, axis)),
      );
    }
    dimensions.forEach((dimension, axis) => { if (axis !== this.down && axis !== this.across) this.controls.append(this.slicer(dimension, axis)); });
    for (const [axis, what] of [[this.down, "rows"], [this.across, "columns"]]) {
      if (foldable(axis) && !this.isCompact) this.controls.append(
        make("button", { class: "button", type: "button", text: `Open all ${what}`, onclick: () => { this.folded[axis].clear(); this.draw(); } }),
        make("button", { class: "button", type: "button", text: `Fold ${what}`, onclick: () => { this.foldTo(axis, 1); this.draw(); } }),
      );
    }
    if (!this.isCompact) this.controls.append(this.finder());
    this.head = make("thead");
    this.body = make("tbody");
    this.grid = make("table", { class: "cells", role: "grid", "aria-label": `${name}: ${about}` }, this.head, this.body);
    this.frame = make("div", { class: "frame", onscroll: () => this.scrolled() }, this.grid);
    this.chosen = make("p", { class: "soft" });
    this.empty = make("p", { class: "note", text: "The table has no cells for this choice.", hidden: true });
    this.paper = make("div", { class: "only-print" });
    this.root.replaceChildren(this.controls, this.chosen, this.empty, this.frame, this.paper);
    this.grid.addEventListener("click", (event) => this.clicked(event));
    this.grid.addEventListener("keydown", (event) => this.pressed(event));
    this.draw();
  }

  picker(text, now, change) {
    const select = make("select", { onchange: () => change(Number(select.value)) }, ...this.table.dimensions.map((dimension, axis) => make("option", { value: axis, text: dimension.name, selected: axis === now })));
    return make("label", {}, `${text} `, select);
  }

  slicer(dimension, axis) {
    const select = make("select", { onchange: () => { this.slice[axis] = Number(select.value); this.draw(); } }, ...dimension.codes.map((code, line) => make("option", { value: line, selected: line === this.slice[axis], text: "\u2003".repeat(dimension.depth[line]) + code + (dimension.labels && dimension.labels[line] ? ` ${dimension.labels[line]}` : "") })));
    return make("label", {}, `${dimension.name} `, select);
  }

  finder() {
    const found = make("ul", { class: "matches", hidden: true });
    const input = make("input", { type: "search", placeholder: "Find a code or label", "aria-label": `Find a code or label in ${this.table.name}` });
    const choose = (axis, line) => { found.hidden = true; input.value = ""; this.goTo(axis, line); };
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
      const hits = [];
      this.table.dimensions.forEach((dimension, axis) => dimension.codes.forEach((code, line) => {
        const text = `${code} ${dimension.labels ? dimension.labels[line] : ""}`;
        if (words.length && hits.length < 40 && words.every((word) => text.toLowerCase().includes(word))) hits.push([axis, line, `${dimension.name}: ${text}`]);
      }));
      found.replaceChildren(...hits.map(([axis, line, text]) => make("li", {}, make("button", { type: "button", text, onclick: () => choose(axis, line) }))));
      if (words.length && !hits.length) found.replaceChildren(make("li", { text: "Nothing found." }));
      found.hidden = !words.length;
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") found.querySelector("button")?.click();
      if (event.key === "Escape") found.hidden = true;
    });
    return make("div", { class: "find" }, input, found);
  }

  turn(down, across) {
    [this.down, this.across] = [down, across];
    this.at = { row: 0, column: 0 };
    this.build();
    this.root.querySelector("select").focus();
  }

  unfold(axis, line) {
    const { depth } = this.table.dimensions[axis];
    let level = depth[line];
    for (let above = line - 1; above >= 0 && level > 0; above--) {
      if (depth[above] < level) { this.folded[axis].delete(above); level = depth[above]; }
    }
  }

  goTo(axis, line) {
    if (axis !== this.down && axis !== this.across) {
      this.slice[axis] = line;
      this.build();
      return;
    }
    this.unfold(axis, line);
    this.draw();
    if (axis === this.down) this.at = { row: this.rows.indexOf(line), column: Math.max(this.at.column, 0) };
    else this.at = { row: Math.max(this.at.row, 0), column: this.columns.indexOf(line) };
    this.focusCell();
  }

  draw() {
    this.rows = this.visible(this.down);
    this.columns = this.visible(this.across);
    const other = this.table.dimensions.map((dimension, axis) => [dimension, axis]).filter(([, axis]) => axis !== this.down && axis !== this.across);
    this.chosen.textContent = other.map(([dimension, axis]) => `${dimension.name}: ${dimension.codes[this.slice[axis]]}${dimension.labels && dimension.labels[this.slice[axis]] ? " " + dimension.labels[this.slice[axis]] : ""}`).join(" · ");
    this.chosen.hidden = !other.length;
    this.empty.hidden = this.rows.some((row) => this.columns.some((column) => this.cellAt(row, column) !== undefined));
    this.at = { row: Math.min(this.at.row, this.rows.length - 1), column: Math.min(this.at.column, this.columns.length - 1) };
    this.grid.setAttribute("aria-rowcount", this.rows.length + 1);
    this.grid.setAttribute("aria-colcount", this.columns.length + 1);
    this.isWide = this.columns.length > MANY_COLUMNS;
    this.grid.classList.toggle("wide", this.isWide);
    this.placeOf = new Map(this.columns.map((line, place) => [line, place]));
    this.range = null;
    this.drawRows();
  }

  // A row with room for the columns of a wide table that are not drawn, left and right.
  row(options, head, cells, room) {
    const [left, right] = (room ?? []).map((columns) => {
      const gap = make(head.scope === "col" ? "th" : "td", { class: "gap", "aria-hidden": "true", role: "presentation" });
      gap.style.minWidth = `${columns * COLUMN}px`;
      return gap;
    });
    return make("tr", options, head, left, ...cells, right);
  }

  headRow(columns, live, room = null) {
    const { dimensions, about } = this.table;
    const across = this.across < 0 ? null : dimensions[this.across];
    const corner = make("th", { scope: "col", text: dimensions[this.down].name + (across ? ` \\ ${across.name}` : "") });
    return this.row({}, corner, columns.map((line) => {
      const place = this.placeOf.get(line);
      const head = make("th", { scope: "col", class: across && !across.depth[line] && across.total[line] ? "sum" : "", "data-row": -1, "data-column": place, "aria-colindex": place + 2, tabindex: live ? -1 : null, title: across && across.labels ? across.labels[line] : null });
      if (!across) head.append(about.split(" by ")[0]);
      else head.append(...(live ? this.foldMark(this.across, line) : []), across.codes[line], across.labels && across.labels[line] ? make("small", { text: across.labels[line] }) : "");
      return head;
    }), room);
  }

  foldMark(axis, line) {
    const dimension = this.table.dimensions[axis];
    if (!dimension.total[line] || dimension.depth[line + 1] !== dimension.depth[line] + 1) return [];
    const isOpen = !this.folded[axis].has(line);
    return [make("button", { class: "folder", type: "button", tabindex: -1, text: isOpen ? "▾" : "▸", "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "fold" : "open"} ${dimension.codes[line]}`, "data-axis": axis, "data-line": line })];
  }

  bodyRow(line, place, columns, live, room = null) {
    const dimension = this.table.dimensions[this.down];
    const head = make("th", { scope: "row", "data-row": place, "data-column": -1, tabindex: live ? -1 : null, title: dimension.labels ? `${dimension.codes[line]} ${dimension.labels[line]}` : null });
    head.style.paddingLeft = `${0.3 + 1.1 * dimension.depth[line]}em`;
    head.append(...(live ? this.foldMark(this.down, line) : []), dimension.codes[line], dimension.labels && dimension.labels[line] ? make("small", { text: dimension.labels[line] }) : "");
    return this.row({ class: !dimension.depth[line] && dimension.total[line] ? "sum" : "", "aria-rowindex": place + 2 }, head, columns.map((column) => this.cell(line, column, place, live)), room);
  }

  cell(row, column, place, live) {
    const number = this.cellAt(row, column);
    const across = this.placeOf.get(column);
    const where = { "data-row": place, "data-column": across, "aria-colindex": across + 2, tabindex: live ? -1 : null };
    if (number === undefined) return make("td", { class: "none", ...where, text: "·", title: "no such cell" });
    const { cells } = this;
    const status = cells.data.status[number];
    const { state } = cells;
    const mark = state.before && status !== "u" ? "" : MARKS[status];
    const lost = state.heat && this.table.lost ? this.lostAt(row, column) : undefined;
    const kind = lost === undefined ? (state.before && "mc".includes(status) ? "s" : status) : `h${shade(lost, cells.steps)}`;
    const shared = cells.sharedWith(number, this.number);
    const classes = [kind, ...(this.panel.isAt(cells, number) ? ["chosen"] : []), ...(shared.length ? ["shared"] : [])];
    const title = [lost === undefined || lost === null ? "" : `${lost} % ${cells.lossWords}`, shared.length ? `also in ${shared.map((other) => cells.tables[other].name).join("; ")}` : ""].filter(Boolean).join(" · ");
    return make("td", { class: classes.join(" "), ...where, "data-cell": number, title: title || null }, cells.valueText(number), mark ? make("i", { text: mark, title: cells.words[status] }) : "");
  }

  // Per cent that is lost of what the cell sums up: of the value where values are shown, else of the finest cells.
  lostAt(row, column) {
    const { lost } = this.table;
    return (this.cells.state.values ? lost.value : lost.cells)[this.rowAt(row, column)];
  }

  get isLong() {
    return this.rows.length > MANY_ROWS;
  }

  // Which rows and columns come into view: first and last of each.
  window() {
    const { rows, columns, frame } = this;
    const [top, left] = [Math.max(0, Math.floor(frame.scrollTop / ROW) - 20), Math.max(0, Math.floor(frame.scrollLeft / COLUMN) - 5)];
    return [
      ...(this.isLong ? [top, Math.min(rows.length, top + Math.ceil((frame.clientHeight || 700) / ROW) + 40)] : [0, rows.length]),
      ...(this.isWide ? [left, Math.min(columns.length, left + Math.ceil((frame.clientWidth || 1400) / COLUMN) + 10)] : [0, columns.length]),
    ];
  }

  drawRows() {
    const range = this.window();
    if (this.range && range.every((place, at) => place === this.range[at])) return;
    const had = this.grid.contains(document.activeElement);
    const [first, last, left, right] = range;
    const isMoved = !this.range || this.range[2] !== left || this.range[3] !== right;
    this.range = range;
    const columns = this.columns.slice(left, right);
    const room = this.isWide ? [left, this.columns.length - right] : null;
    if (isMoved) this.head.replaceChildren(this.headRow(columns, true, room));
    const spacer = (rows) => {
      const gap = make("td", { colspan: columns.length + (room ? 3 : 1) });
      gap.style.height = `${rows * ROW}px`;
      return make("tr", { class: "spacer", "aria-hidden": "true", role: "presentation" }, gap);
    };
    this.body.replaceChildren(
      ...(first ? [spacer(first)] : []),
      ...this.rows.slice(first, last).map((line, place) => this.bodyRow(line, first + place, columns, true, room)),
      ...(last < this.rows.length ? [spacer(this.rows.length - last)] : []),
    );
    const current = this.elementAt();
    if (current) { current.tabIndex = 0; if (had) current.focus({ preventScroll: true }); }
    else { const start = this.body.querySelector("td[data-cell]"); if (start) start.tabIndex = 0; }
  }

  scrolled() {
    if ((this.isLong || this.isWide) && !this.waiting) {
      this.waiting = requestAnimationFrame(() => { this.waiting = null; this.drawRows(); });
    }
  }

  elementAt() {
    return this.grid.querySelector(`[data-row="${this.at.row}"][data-column="${this.at.column}"]`);
  }

  focusCell() {
    for (const before of this.grid.querySelectorAll('[tabindex="0"]')) before.tabIndex = -1;
    if ((this.isLong || this.isWide) && !this.elementAt()) {
      const [first, last, left, right] = this.range;
      if (this.at.row >= 0 && (this.at.row < first || this.at.row >= last)) this.frame.scrollTop = Math.max(0, this.at.row * ROW - this.frame.clientHeight / 2);
      if (this.at.column >= 0 && (this.at.column < left || this.at.column >= right)) this.frame.scrollLeft = Math.max(0, this.at.column * COLUMN - this.frame.clientWidth / 2);
      this.drawRows();
    }
    const current = this.elementAt();
    if (!current) return;
    current.tabIndex = 0;
    current.focus();
    const left = this.grid.querySelector("tbody th")?.offsetWidth || 0;
    if (this.at.column >= 0 && current.offsetLeft - this.frame.scrollLeft < left) this.frame.scrollLeft = current.offsetLeft - left;
    const top = this.head.offsetHeight;
    if (this.at.row >= 0 && current.offsetTop - this.frame.scrollTop < top) this.frame.scrollTop = current.offsetTop - top;
  }

  toggle(axis, line) {
    if (this.folded[axis].has(line)) this.folded[axis].delete(line);
    else this.folded[axis].add(line);
    this.draw();
  }

  clicked(event) {
    const fold = event.target.closest(".folder");
    if (fold) {
      this.toggle(Number(fold.dataset.axis), Number(fold.dataset.line));
      return;
    }
    const place = event.target.closest("[data-row]");
    if (!place) return;
    this.at = { row: Number(place.dataset.row), column: Number(place.dataset.column) };
    this.focusCell();
    if (place.dataset.cell) this.open(place);
  }

  open(place) {
    this.panel.explain(this.cells, Number(place.dataset.cell), place);
  }

  markChosen() {
    for (const place of this.grid.querySelectorAll("[data-cell]")) place.classList.toggle("chosen", this.panel.isAt(this.cells, Number(place.dataset.cell)));
  }

  pressed(event) {
    if (event.target.closest(".folder")) return;
    const { row, column } = this.at;
    const page = Math.max(1, Math.floor(this.frame.clientHeight / ROW) - 2);
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-page, 0], PageDown: [page, 0] };
    if (event.key in moves) {
      const [down, right] = moves[event.key];
      this.at = { row: Math.min(this.rows.length - 1, Math.max(-1, row + down)), column: Math.min(this.columns.length - 1, Math.max(-1, column + right)) };
      if (this.at.row < 0 && this.at.column < 0) this.at = { row, column };
    } else if (event.key === "Home") this.at = { row: event.ctrlKey ? 0 : row, column: 0 };
    else if (event.key === "End") this.at = { row: event.ctrlKey ? this.rows.length - 1 : row, column: this.columns.length - 1 };
    else if (event.key === "Enter" || event.key === " ") {
      const place = this.elementAt();
      const fold = place?.querySelector(".folder");
      if (fold) { fold.click(); this.focusCell(); }
      else if (place?.dataset.cell) { this.open(place); this.panel.focus(); }
    } else return;
    event.preventDefault();
    this.focusCell();
    if (event.key in moves && this.panel.isOpen && this.elementAt()?.dataset.cell) this.open(this.elementAt());
    if ((event.key === "Enter" || event.key === " ") && this.panel.isOpen) this.panel.focus();
  }

  print() {
    const rows = this.rows.slice(0, PRINTED_ROWS);
    const parts = [];
    for (let first = 0; first < this.columns.length; first += PRINTED_COLUMNS) {
      const columns = this.columns.slice(first, first + PRINTED_COLUMNS);
      parts.push(make("table", { class: "cells printed" }, make("thead", {}, this.headRow(columns, false)), make("tbody", {}, ...rows.map((line, place) => this.bodyRow(line, place, columns, false)))));
    }
    const cut = this.rows.length > rows.length ? [make("p", { text: `The first ${count(rows.length)} of ${count(this.rows.length)} rows; lines that are folded on the screen are not printed.` })] : [];
    this.paper.replaceChildren(make("h3", { text: this.table.name }), ...cut, ...parts);
  }
}

// The tables of a run in an element: switches above, one table at a time.
//
// `source` is the data of a report, or `Cells` that several components share. Options: `values`, `before`, `heat`
// (what is shown at first), `compact` (no search, no turning: for two tables side by side), `panel` (one that
// `mountPanel` made), `explain` (for a panel of its own). Gives back `{cells, panel, views, destroy}`.
export function mountTables(root, source, options = {}) {
  const cells = Cells.of(source, options);
  const ending = new AbortController();
  const own = options.panel ? null : make("aside");
  const panel = options.panel ?? mountPanel(own, { explain: options.explain });
  const views = cells.tables.map((_, number) => new TableView(cells, panel, number, Boolean(options.compact)));
  const tabs = make("div", { class: "views", role: "group", "aria-label": "Tables" });
  const choose = (number) => {
    views.forEach((view, other) => { view.root.hidden = other !== number; });
    [...tabs.children].forEach((button, other) => button.setAttribute("aria-pressed", String(other === number)));
  };
  if (views.length > 1) tabs.append(...views.map((view, number) => make("button", { class: "button", type: "button", text: view.table.name, onclick: () => { choose(number); view.draw(); } })));
  const bar = mountSwitches(cells);
  root.replaceChildren(bar.root, ...(views.length > 1 ? [tabs] : []), ...views.map((view) => view.root), ...(own ? [own] : []));
  choose(0);
  const forget = [cells.listen(() => views.forEach((view) => view.draw())), panel.listen(() => views.forEach((view) => view.markChosen())), bar.forget];
  window.addEventListener("beforeprint", () => views.forEach((view) => view.print()), { signal: ending.signal });
  window.addEventListener("afterprint", () => views.forEach((view) => view.paper.replaceChildren()), { signal: ending.signal });
  return {
    cells,
    panel,
    views,
    destroy() {
      ending.abort();
      forget.forEach((one) => one());
      if (own) panel.destroy();
      root.replaceChildren();
    },
  };
}
