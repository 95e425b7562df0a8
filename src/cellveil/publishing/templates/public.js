const words = JSON.parse(document.getElementById("words").textContent);
const MAX_PRINTED = 1280; // pixels on the screen that fit on a printed page

class Fold { // lines of one dimension: what is shown follows from what is open
  constructor(elements) {
    this.depths = elements.map((element) => Number(element.dataset.depth || 0));
    this.buttons = elements.map((element) => element.querySelector(".fold"));
  }
  isOpen(place) { return this.buttons[place]?.getAttribute("aria-expanded") !== "false"; }
  set(place, open) { this.buttons[place]?.setAttribute("aria-expanded", String(open)); }
  setAll(open) { this.depths.forEach((depth, place) => this.set(place, open || depth < 1)); }
  shown() {
    let closed = Infinity;
    return this.depths.map((depth, place) => {
      if (depth > closed) return false;
      closed = this.isOpen(place) ? Infinity : depth;
      return true;
    });
  }
}

for (const view of document.querySelectorAll("[data-table]")) {
  const table = view.querySelector(".cross"), box = view.querySelector(".box");
  const rows = [...table.tBodies[0].rows], head = table.tHead.rows[0];
  const lead = head.querySelectorAll(".lead, .label").length;
  const columns = [...head.cells].slice(lead), wide = table.querySelectorAll("col");
  const down = new Fold(rows), across = new Fold(columns);
  const selects = [...view.querySelectorAll("select")];
  const slices = JSON.parse(view.querySelector("script")?.textContent || "{}");
  const { symbol, absent } = view.dataset;
  const style = document.head.appendChild(document.createElement("style"));

  const fold = () => {
    down.shown().forEach((shown, place) => { if (rows[place].hidden === shown) rows[place].hidden = !shown; });
    const hidden = across.shown().map((shown, place) => (shown ? 0 : place + lead + 1)).filter(Boolean);
    const own = `[data-table="${view.dataset.table}"] .cross:not(.in-print)`;
    const names = hidden.map((place) => `${own} :is(tr, colgroup) > :nth-child(${place})`);
    style.textContent = hidden.length ? `${names.join(",")} { display: none; }` : "";
  };
  const choose = () => {
    const texts = slices[selects.map((select) => select.value).join("-")];
    view.querySelector("[data-none]").hidden = Boolean(texts);
    box.hidden = !texts;
    view.querySelector("[data-slice]").textContent = chosen().map(([name, code]) => `${name}: ${code}`).join(", ");
    texts?.forEach((line, row) => line.forEach((text, column) => {
      const cell = rows[row].cells[column + lead];
      cell.textContent = text === null ? absent : text === 0 ? symbol : text;
      cell.className = text === null ? "e" : text === 0 ? "h" : columns[column].dataset.top ? "top" : "";
    }));
  };
  const chosen = () => selects.map((select) => [select.dataset.name, select.selectedOptions[0].textContent.trim()]);

  // What is shown as lines of cells: rows and columns that are not folded away.
  const shownRows = () => rows.filter((row) => !row.hidden);
  const shownColumns = () => across.shown().flatMap((shown, place) => (shown ? [place] : []));
  const guarded = (text) => (/^'*(?![+-]?\d*(?:[.,]\d+)?$)[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const quoted = (text) => (/["\n\r,;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const download = () => {
    const places = shownColumns(), others = chosen(), labels = table.tHead.rows[1]?.cells;
    const name = (cell) => cell.textContent;
    const heads = places.map((place) => [name(columns[place]), labels ? name(labels[place + lead]) : ""].join(" ").trim());
    const corner = [head.cells[0].firstChild.textContent.trim(), words.label].slice(0, lead);
    const lines = [[...others.map(([dimension]) => dimension), ...corner, ...heads].map(guarded)];
    for (const row of shownRows()) {
      const keys = [...row.cells].slice(0, lead).map(name);
      const values = places.map((place) => name(row.cells[place + lead]).replaceAll(words.thousands, ""));
      lines.push([...[...others.map(([, code]) => code), ...keys].map(guarded), ...values]);
    }
    const text = lines.map((line) => line.map(quoted).join(words.separator)).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv" }));
    link.download = `${box.getAttribute("aria-label").replace(/[^\p{L}\p{N}.-]+/gu, "-")}-${words.shown}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // On paper: tables of as many columns as fit, each with the codes at its left.
  const part = () => {
    const width = (cell) => cell.getBoundingClientRect().width;
    const first = [...head.cells].slice(0, lead).reduce((sum, cell) => sum + width(cell), 0);
    const groups = [[]];
    let used = first;
    for (const place of shownColumns()) {
      used += width(columns[place]);
      if (used > MAX_PRINTED && groups.at(-1).length) { groups.push([]); used = first + width(columns[place]); }
      groups.at(-1).push(place + lead);
    }
    if (groups.length < 2) return;
    box.classList.add("parted");
    for (const group of groups) {
      const copy = table.cloneNode(false);
      copy.classList.add("in-print");
      const widths = copy.appendChild(document.createElement("colgroup"));
      for (const place of [...Array(lead).keys(), ...group]) widths.append(wide[place].cloneNode());
      for (const [section, lines] of [[table.tHead, [...table.tHead.rows]], [table.tBodies[0], shownRows()]]) {
        const into = copy.appendChild(section.cloneNode(false));
        for (const line of lines) {
          const row = into.appendChild(line.cloneNode(false));
          for (let place = 0; place < lead; place++) row.append(line.cells[place].cloneNode(true));
          for (const place of group) row.append(line.cells[place].cloneNode(true));
        }
      }
      box.append(copy);
    }
  };
  const join = () => {
    box.classList.remove("parted");
    box.querySelectorAll(".in-print").forEach((copy) => copy.remove());
  };

  view.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (!button) return;
    if (button.matches(".fold")) {
      const [lines, place] = down.buttons.includes(button) ? [down, down.buttons.indexOf(button)] : [across, across.buttons.indexOf(button)];
      lines.set(place, !lines.isOpen(place));
    }
    if (button.dataset.all) for (const lines of [down, across]) lines.setAll(button.dataset.all === "open");
    if (button.matches("[data-download]")) download(); else fold();
  });
  for (const select of selects) select.addEventListener("change", choose);
  addEventListener("beforeprint", part);
  addEventListener("afterprint", join);
  view.querySelector(".choose").hidden = false;
  fold();
}
