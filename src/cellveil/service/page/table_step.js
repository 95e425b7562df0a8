// Step 2: what each column is, how its codes are ordered, and which table they make.
import * as api from "./api.js";
import { button, field, make, select, tick } from "./dom.js";
import { known, number, t } from "./texts.js";
import { attempt } from "./errors.js";
import { draft } from "./draft.js";
import { ways } from "./new_job.js";

const OF_RECORDS = ["response", "contributor", "holding", "weight", "request", "waiver"];
const OF_TABLES = ["value", "status", "contributors"];
const single = () => (draft.columns.kind === "table" ? OF_TABLES : OF_RECORDS);

const columnOf = (dimension) => dimension.column ?? dimension.name;

const roleOf = (column) => {
  const { choices } = draft;
  if (choices.dimensions.some((one) => columnOf(one) === column)) return "dimension";
  if (choices.dimensions.some((one) => one.hierarchy.kind === "levels" && one.hierarchy.columns.includes(column))) return "level";
  return single().find((role) => choices[role] === column) ?? "ignore";
};

const dropDimension = (choices, column) => {
  choices.dimensions = choices.dimensions.filter((one) => columnOf(one) !== column);
  const names = choices.dimensions.map((one) => one.name);
  choices.tables = choices.tables.map((table) => ({ dimensions: table.dimensions.filter((name) => names.includes(name)) })).filter((table) => table.dimensions.length);
};

const setRole = (column, role) => {
  const { choices } = draft;
  dropDimension(choices, column.name);
  for (const one of choices.dimensions) if (one.hierarchy.kind === "levels" && one.hierarchy.columns.includes(column.name)) one.hierarchy = { kind: "flat" };
  for (const name of single()) if (choices[name] === column.name) choices[name] = null;
  if (role === "dimension") {
    choices.dimensions.push({ name: column.name, hierarchy: proposed(column) });
    if (choices.tables.length) choices.tables[0].dimensions.push(column.name);
    else choices.tables.push({ dimensions: [column.name] });
  } else if (role !== "ignore") choices[role] = column.name;
  if (["response", "value"].includes(role)) choices.allow_negative = column.has_negative;
};

const proposed = (column) => column.hierarchy ?? { kind: "flat" };

const columnTable = (redraw) => make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("table.columns") }, make("table", { class: "plain columns" },
  make("thead", {}, make("tr", {}, ["column", "role", "codes", "missing", "first"].map((name) => make("th", { scope: "col", class: ["codes", "missing"].includes(name) ? "n" : "", text: t(`table.${name}`) })))),
  make("tbody", {}, draft.columns.columns.map((column) => {
    const role = roleOf(column.name);
    const roles = ["dimension", ...single(), "ignore"].map((name) => [name, t(`roles.${name}`)]);
    if (role === "level") roles.push(["level", t("roles.level")]);
    return make("tr", { class: role === "ignore" ? "unused" : "" },
      make("th", { scope: "row" }, column.name, make("small", { text: known("kinds", column.kind, column.kind) })),
      make("td", { class: "t" }, select(roles, role, (chosen) => { if (chosen !== "level") setRole(column, chosen); redraw(); }, { "aria-label": t("table.role_of", { name: column.name }), "data-column": column.name })),
      make("td", { text: number(column.distinct) }),
      make("td", { class: column.missing ? "warn" : "", text: number(column.missing) }),
      make("td", { class: "t first", text: column.codes.slice(0, 6).join(", ") + (column.codes.length && column.distinct > 6 ? ", …" : "") }));
  }))));

const hierarchyOf = (one, redraw) => {
  const column = draft.columns.columns.find((other) => other.name === columnOf(one));
  const offered = column?.hierarchy ?? null;
  const entries = [["flat", t("hierarchies.flat")]];
  if (offered && offered.kind !== "flat") entries.push([offered.kind, words(offered)]);
  if (["levels", "built-in"].includes(one.hierarchy.kind) && offered?.kind !== one.hierarchy.kind) entries.push([one.hierarchy.kind, words(one.hierarchy)]);
  entries.push(["files", one.hierarchy.kind === "files" ? t("hierarchies.sent", { name: one.hierarchy.files.map((file) => file.name).join(", ") }) : t("hierarchies.files")]);
  const errors = make("div");
  const input = make("input", { type: "file", accept: ".csv,.hrc,.txt", multiple: true, "aria-label": t("hierarchies.file_of", { name: one.name }) });
  input.addEventListener("change", () => attempt(input, errors, async () => {
    const files = await Promise.all([...input.files].map((file) => api.upload(file, () => {})));
    one.hierarchy = { kind: "files", files: files.map(({ id, name }) => ({ id, name })) };
    redraw();
  }));
  const below = make("div", { class: "below", hidden: true }, input, make("small", { text: t("hierarchies.file_about") }), errors);
  const chosen = select(entries, one.hierarchy.kind, (kind) => {
    below.hidden = kind !== "files";
    if (kind === "files") return;
    one.hierarchy = kind === "flat" ? { kind: "flat" } : kind === offered?.kind ? offered : one.hierarchy;
    redraw();
  }, { "aria-label": t("hierarchies.of", { name: one.name }) });
  return make("li", {}, make("b", { text: one.name }), make("div", { class: "grow" }, chosen, below), make("span", { class: "soft", text: column ? t("table.num_codes", { number: column.distinct }) : "" }));
};

const words = (hierarchy) => ({
  levels: () => t("hierarchies.levels", { columns: hierarchy.columns.join(" › ") }),
  digits: () => t("hierarchies.digits", { digits: hierarchy.digits.join(" + ") }),
  "built-in": () => t("hierarchies.built_in"),
  files: () => t("hierarchies.files"),
}[hierarchy.kind]());

const tableList = (redraw) => {
  const { choices } = draft;
  const names = choices.dimensions.map((one) => one.name);
  const rows = choices.tables.map((table, place) => make("li", {},
    make("b", { text: t("table.number", { number: place + 1 }) }),
    make("span", { class: "grow ticks" }, names.map((name) => tick(name, table.dimensions.includes(name), (wanted) => {
      const others = table.dimensions.filter((other) => other !== name);
      if (!wanted && !others.length) return redraw();
      table.dimensions = wanted ? names.filter((other) => other === name || others.includes(other)) : others;
      redraw();
    }))),
    choices.tables.length > 1 ? button(t("table.remove"), () => { choices.tables.splice(place, 1); redraw(); }, { class: "button quiet", "aria-label": t("table.remove_number", { number: place + 1 }) }) : null));
  return [make("ul", { class: "rows" }, rows), names.length > 1 && draft.columns.kind !== "table" ? button(t("table.add"), () => { choices.tables.push({ dimensions: names.slice(0, 2) }); redraw(); }) : null];
};

export const tableStep = (root, changed) => {
  const title = make("input", { type: "text", value: draft.choices.title ?? "", maxlength: 200, oninput: () => { draft.choices.title = title.value; changed(); } });
  const parts = make("div");
  const draw = () => {
    const { choices, columns } = draft;
    const focused = document.activeElement?.dataset?.column;
    parts.replaceChildren(
      make("h2", { text: t("table.columns") }),
      make("p", { class: "about", text: t(columns.kind === "table" ? "table.is_table" : "table.is_records") }),
      columnTable(redraw),
      make("h2", { text: t("table.dimensions") }),
      choices.dimensions.length ? make("ul", { class: "rows" }, choices.dimensions.map((one) => hierarchyOf(one, redraw))) : make("p", { class: "note", text: t("table.no_dimensions") }),
      ...(choices.dimensions.length ? [make("h2", { text: t("table.tables") }), make("p", { class: "about", text: t("table.tables_about") }), ...tableList(redraw).filter(Boolean)] : []));
    if (focused) [...parts.querySelectorAll("[data-column]")].find((one) => one.dataset.column === focused)?.focus();
  };
  const redraw = () => { draw(); changed(); };
  root.append(
    make("h1", { text: t("table.title") }),
    make("p", { class: "lead", text: t("table.lead", { name: draft.source.name }) }),
    field(t("table.name"), title),
    parts,
    ways("data", "rules"));
  draw();
};
