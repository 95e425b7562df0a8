"use strict";
// Cells: their values, names and surroundings, read off the data of the page.
const data = JSON.parse(document.getElementById("data").textContent);
const MARKS = { u: "P", m: "S", c: "C" };
const STATUS = data.adjusted
  ? { u: "Sensitive: moved beyond its levels", c: "Changed, so that sums hold", z: "Must be published as it is", s: "Not changed" }
  : { u: "Primary: hidden and protected", m: "Secondary: hidden so that primary cells cannot be worked out", z: "Must be published", s: "Published" };

const make = (tag, options = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

const amount = (scaled) => {
  if (scaled === null) return "∞";
  let digits = String(scaled);
  const sign = digits.startsWith("-") ? "-" : "";
  digits = digits.replace("-", "").padStart(data.decimals + 1, "0");
  const whole = digits.slice(0, digits.length - data.decimals).replace(/\B(?=(\d{3})+$)/g, ",");
  return sign + whole + (data.decimals ? "." + digits.slice(-data.decimals) : "");
};
const percent = (share) => (share === null ? "–" : share < 0 ? "∞" : `${share.toLocaleString("en", { maximumFractionDigits: share < 1000 ? 1 : 0 })} %`);
const span = (down, up) => (down === null || up === null ? "–" : `−${percent(down)} … +${percent(up)}`);
const count = (number) => number.toLocaleString("en");

const reader = {
  shown: false, // whether confidential values are to be seen
  listeners: [],
  isHidden: (cell) => !data.adjusted && "um".includes(data.status[cell]),
  show(wanted) {
    this.shown = wanted && Boolean(data.truth);
    for (const listener of this.listeners) listener();
  },
};
const truths = new Map();
if (data.truth) {
  let place = 0;
  for (let cell = 0; cell < data.status.length; cell++) if (data.adjusted || reader.isHidden(cell)) truths.set(cell, data.truth[place++]);
}
const primaryPlace = new Map(data.primaries.cells.map((cell, place) => [cell, place]));
const helpPlace = new Map(data.helps.cells.map((cell, place) => [cell, place]));
const valueText = (cell) => {
  if (!reader.isHidden(cell)) return amount(data.published[cell]);
  return reader.shown ? amount(truths.get(cell)) : "";
};

// Each table finds its cells by the numbers of their codes; the first table that holds a cell names it.
const tables = data.tables.map((table) => {
  const sizes = table.dimensions.map((dimension) => Math.max(...dimension.number, 0) + 1);
  const numbers = new Map();
  const size = table.keys.length ? table.keys[0].length : 0;
  for (let row = 0; row < size; row++) {
    let key = 0;
    for (let axis = 0; axis < sizes.length; axis++) key = key * sizes[axis] + table.keys[axis][row];
    numbers.set(key, table.cells ? table.cells[row] : row);
  }
  const lineOf = table.dimensions.map((dimension) => {
    const found = new Map();
    dimension.number.forEach((code, line) => { if (!found.has(code)) found.set(code, line); });
    return found;
  });
  return { ...table, sizes, numbers, lineOf };
});
const placeOf = new Map(); // cell → its table and row, made when first asked
const placed = (cell) => {
  if (!placeOf.size) tables.forEach((table, number) => table.keys[0].forEach((_, row) => {
    const own = table.cells ? table.cells[row] : row;
    if (!placeOf.has(own)) placeOf.set(own, [number, row]);
  }));
  return placeOf.get(cell);
};
const linesOf = (cell) => {
  const [number, row] = placed(cell);
  return tables[number].dimensions.map((dimension, axis) => [dimension, tables[number].lineOf[axis].get(tables[number].keys[axis][row])]);
};
const nameOf = (cell) => `(${linesOf(cell).map(([dimension, line]) => dimension.codes[line]).join(", ")})`;
let equationsOf = null;
const equations = (cell) => {
  if (!equationsOf) {
    equationsOf = new Map();
    data.equations.forEach((row, number) => {
      for (const other of row.slice(1)) equationsOf.set(other, [...(equationsOf.get(other) || []), number]);
    });
  }
  return (equationsOf.get(cell) || []).map((number) => data.equations[number]);
};
