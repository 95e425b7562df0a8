// The page of the report: its table, its list of primary cells and its panel share their cells.
const cells = new Cells(JSON.parse(document.getElementById("data").textContent));
const panel = mountPanel(document.getElementById("panel"), { changed: ({ isOpen }) => document.body.classList.toggle("explaining", isOpen) });
cells.listen(() => document.body.classList.toggle("secret", cells.state.values));
mountTables(document.getElementById("views"), cells, { panel });
const list = document.getElementById("list");
if (list) mountPrimaries(list, cells, { panel });
