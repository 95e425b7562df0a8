for (const grid of document.querySelectorAll("[data-grid]")) {
  const selects = [...grid.querySelectorAll("select")];
  const none = grid.querySelector("[data-none]");
  const show = () => {
    const wanted = selects.map((select) => select.value).join("-");
    let found = false;
    for (const block of grid.querySelectorAll("[data-block]")) {
      block.hidden = block.dataset.block !== wanted;
      found = found || !block.hidden;
    }
    if (none) none.hidden = found;
  };
  for (const select of selects) select.addEventListener("change", show);
  if (selects.length) show();
  const depthOf = (row) => Number(row.dataset.depth);
  const fold = (row, open) => {
    const button = row.querySelector(".fold");
    if (!button) return;
    button.setAttribute("aria-expanded", String(open));
    for (let next = row.nextElementSibling; next && depthOf(next) > depthOf(row); next = next.nextElementSibling) {
      if (!open) next.hidden = true;
      else if (depthOf(next) === depthOf(row) + 1) { next.hidden = false; fold(next, false); }
    }
  };
  grid.addEventListener("click", (event) => {
    if (event.target.matches(".fold")) fold(event.target.closest("tr"), event.target.getAttribute("aria-expanded") === "false");
    if (event.target.matches("[data-all]")) {
      const open = event.target.dataset.all === "open";
      for (const row of grid.querySelectorAll("tbody tr")) {
        row.hidden = !open && depthOf(row) > 1;
        row.querySelector(".fold")?.setAttribute("aria-expanded", String(open || depthOf(row) < 1));
      }
    }
  });
}
