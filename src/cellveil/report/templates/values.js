// Confidential values: to be seen when the reader asks for them, and then the page says so, also in print.
const secret = document.getElementById("secret");
const reveal = document.getElementById("reveal");
const setShown = (wanted) => {
  reader.show(wanted);
  secret.hidden = !reader.shown;
  document.body.classList.toggle("secret", reader.shown);
  if (reveal) reveal.hidden = reader.shown;
};
reveal?.addEventListener("click", () => { setShown(true); document.getElementById("conceal").focus(); });
document.getElementById("conceal").addEventListener("click", () => { setShown(false); reveal.focus(); });
window.addEventListener("beforeprint", () => views.forEach((view) => view.print()));
window.addEventListener("afterprint", () => views.forEach((view) => view.paper.replaceChildren()));
