// Cells: their values, names and surroundings, read off the data of a report, and what of them is to be seen.
export const MARKS = { u: "P", m: "S", c: "C" };
const OF_ADJUSTED = { u: "Sensitive: moved beyond its levels", c: "Changed, so that sums hold", z: "Must be published as it is", s: "Not changed" };
const OF_PATTERN = { u: "Primary: hidden, and to be protected", m: "Secondary: hidden so that primary cells cannot be worked out", z: "Must be published", s: "Published" };

// What is drawn: hidden values too (values), the table as it was (before), colours by loss (heat).
const FIRST_STATE = { values: false, before: false, heat: false, printing: false };

export class Cells {
  constructor(data, options = {}) {
    this.data = data;
    this.words = data.adjusted ? OF_ADJUSTED : OF_PATTERN;
    this.listeners = new Set();
    this.truths = new Map();
    let place = 0;
    if (data.truth) for (let cell = 0; cell < data.status.length; cell++) if (data.adjusted || this.isHidden(cell)) this.truths.set(cell, data.truth[place++]);
    this.primaryPlace = new Map(data.primaries.cells.map((cell, at) => [cell, at]));
    this.helpPlace = new Map(data.helps.cells.map((cell, at) => [cell, at]));
    this.tables = data.tables.map(indexed);
    this.places = null; // cell → its tables and rows, made when first asked
    this.sharing = null; // cell → the equations that it stands in, made when first asked
    this.state = { ...FIRST_STATE };
    this.set({ values: options.values, before: options.before, heat: options.heat });
  }

  // Data as they came, or cells that other components share.
  static of(source, options) {
    return source instanceof Cells ? source : new Cells(source, options);
  }

  // Confidential values are seen only where the data hold them; the table before protection consists of them.
  set(changes) {
    const wanted = { ...this.state };
    for (const [name, value] of Object.entries(changes)) if (value !== undefined) wanted[name] = Boolean(value);
    wanted.before = wanted.before && Boolean(this.data.truth);
    wanted.values = (wanted.values || wanted.before) && Boolean(this.data.truth);
    this.state = wanted;
    for (const listener of [...this.listeners]) listener();
  }

  // Call it after each change; the answer takes it off again.
  listen(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // What shades stand for: each begins above its step, in per cent.
  get steps() {
    return this.data.adjusted && this.state.values ? [0, 0.5, 1, 2, 5, 10, 20, 50] : [0, 12.5, 25, 37.5, 50, 62.5, 75, 87.5];
  }

  get lossWords() {
    if (!this.data.adjusted) return this.state.values ? "of the value below it hidden" : "of the finest cells below it hidden";
    return this.state.values ? "changed" : "of the finest cells below it changed";
  }

  get scaleWords() {
    if (this.data.adjusted && this.state.values) return "by how many per cent a cell was changed";
    const what = this.state.values ? "of the value below a cell is" : "of the finest cells below a cell are";
    return `how many per cent ${what} ${this.data.adjusted ? "changed" : "hidden"}`;
  }

  isHidden(cell) {
    return !this.data.adjusted && "um".includes(this.data.status[cell]);
  }

  amount(scaled) {
    if (scaled === null) return "∞";
    const { decimals } = this.data;
    let digits = String(scaled);
    const sign = digits.startsWith("-") ? "-" : "";
    digits = digits.replace("-", "").padStart(decimals + 1, "0");
    const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
    return sign + whole + (decimals ? "." + digits.slice(-decimals) : "");
  }

  valueText(cell) {
    const { values, before } = this.state;
    if (before && this.truths.has(cell)) return this.amount(this.truths.get(cell));
    if (!this.isHidden(cell)) return this.amount(this.data.published[cell]);
    return values ? this.amount(this.truths.get(cell)) : "";
  }

  // Where a cell stands: table and row, of each table that holds it; the first one names it.
  placed(cell) {
    if (!this.places) {
      this.places = new Map();
      this.tables.forEach((table, number) => table.keys[0].forEach((_, row) => {
        const own = table.cells ? table.cells[row] : row;
        if (this.places.has(own)) this.places.get(own).push([number, row]);
        else this.places.set(own, [[number, row]]);
      }));
    }
    return this.places.get(cell);
  }

  linesOf(cell, [number, row] = this.placed(cell)[0]) {
    const table = this.tables[number];
    return table.dimensions.map((dimension, axis) => [dimension, table.lineOf[axis].get(table.keys[axis][row])]);
  }

  nameOf(cell) {
    return `(${this.linesOf(cell).map(([dimension, line]) => dimension.codes[line]).join(", ")})`;
  }

  // As commands and the service take it.
  keyOf(cell) {
    const quoted = (part) => (/[",]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part);
    return this.linesOf(cell).map(([dimension, line]) => quoted(`${dimension.name}=${dimension.codes[line]}`)).join(",");
  }

  // The other tables that hold the cell.
  sharedWith(cell, number) {
    if (this.tables.length === 1) return [];
    return this.placed(cell).map(([other]) => other).filter((other) => other !== number);
  }

  equations(cell) {
    if (!this.sharing) {
      this.sharing = new Map();
      this.data.equations.forEach((row, number) => {
        for (const other of row.slice(1)) this.sharing.set(other, [...(this.sharing.get(other) || []), number]);
      });
    }
    return (this.sharing.get(cell) || []).map((number) => this.data.equations[number]);
  }
}

// Each table finds its cells by the numbers of their codes.
function indexed(table) {
  const sizes = table.dimensions.map((dimension) => dimension.number.reduce((most, one) => Math.max(most, one), 0) + 1);
  const numbers = new Map();
  const size = table.keys.length ? table.keys[0].length : 0;
  for (let row = 0; row < size; row++) {
    let key = 0;
    for (let axis = 0; axis < sizes.length; axis++) key = key * sizes[axis] + table.keys[axis][row];
    numbers.set(key, row);
  }
  const lineOf = table.dimensions.map((dimension) => {
    const found = new Map();
    dimension.number.forEach((code, line) => { if (!found.has(code)) found.set(code, line); });
    return found;
  });
  return { ...table, sizes, numbers, lineOf };
}
