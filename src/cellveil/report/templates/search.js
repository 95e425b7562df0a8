const search = document.getElementById("search");
if (search) {
  const rows = [...document.querySelectorAll("#primaries tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    rows.forEach((row, number) => {
      row.hidden = !words.every((word) => texts[number].includes(word));
      found += row.hidden ? 0 : 1;
    });
    document.getElementById("found").textContent = words.length ? `${found} found` : "";
  });
}
