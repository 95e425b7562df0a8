// Two jobs side by side: two methods, or suppression and adjustment.
import { Cells } from "/components/cells.js";
import { mountTables } from "/components/table.js";
import * as api from "./api.js";
import { make } from "./dom.js";
import { large, number, percent, t } from "./texts.js";
import { badge } from "./job_state.js";
import { panelFor } from "./table_part.js";

const hidden = ({ cells, primaries, secondaries }) => (cells ? (primaries + secondaries) / cells : 0);

const FIGURES = {
  method: (report) => report.method ?? "–",
  published: (report, { adjusted }) => percent(adjusted ? 1 : 1 - hidden(report)),
  primaries: (report) => number(report.primaries),
  secondaries: (report) => number(report.secondaries),
  cost: (report) => large(report.cost),
  bound: (report) => large(report.lower_bound),
  gap: (report) => percent(report.gap),
};

const load = async (id) => {
  const path = `/jobs/${encodeURIComponent(id)}`;
  const [job, result, data] = await Promise.all([api.get(path), api.get(`${path}/result`), api.get(`${path}/view/cells.json`)]);
  return { job, result, data };
};

const figures = (sides) => make("div", { class: "scroll fit", tabindex: 0, role: "region", "aria-label": t("beside.figures") }, make("table", { class: "plain" },
  make("thead", {}, make("tr", {}, ["job", "verdict", "against", ...Object.keys(FIGURES)].map((name) => make("th", { scope: "col", class: ["job", "verdict", "against", "method"].includes(name) ? "" : "n", text: t(`beside.${name}`) })))),
  make("tbody", {}, sides.map(({ job, result, data }) => make("tr", {},
    make("th", { scope: "row" }, make("a", { href: `#/jobs/${job.id}`, text: job.name })),
    make("td", { class: "t" }, badge(job)),
    make("td", { class: "t", text: result.against || "–" }),
    Object.entries(FIGURES).map(([name, of]) => make("td", { class: name === "method" ? "t" : "n", text: of(result.report, data) })))))));

// Both frames scroll together.
const tie = (roots) => {
  const frames = () => roots.map((root) => [...root.querySelectorAll(".frame")].find((frame) => frame.offsetParent));
  const moved = (event) => {
    const [one, two] = frames();
    const other = event.target === one ? two : event.target === two ? one : null;
    if (!other || (other.scrollTop === event.target.scrollTop && other.scrollLeft === event.target.scrollLeft)) return;
    Object.assign(other, { scrollTop: event.target.scrollTop, scrollLeft: event.target.scrollLeft });
  };
  for (const root of roots) root.addEventListener("scroll", moved, { capture: true, passive: true });
};

// What one side shows of its values, the other shows too.
const mirror = (sides) => {
  let isBusy = false;
  return sides.map((one, at) => one.listen(() => {
    if (isBusy) return;
    isBusy = true;
    const { values, before, heat } = one.state;
    sides[1 - at].set({ values, before, heat });
    isBusy = false;
  }));
};

export const sideBySide = async (root, first, second) => {
  const sides = await Promise.all([first, second].map(load));
  const places = sides.map(() => make("div"));
  root.append(
    make("h1", { text: t("beside.title") }),
    figures(sides),
    make("div", { class: "beside" }, sides.map(({ job }, at) => make("section", { "aria-label": job.name }, make("h2", { text: job.name }), places[at]))));
  const panels = sides.map(({ job }) => panelFor(job.id, root));
  const cells = sides.map(({ data }) => Cells.of(data));
  const mounted = cells.map((own, at) => mountTables(places[at], own, { panel: panels[at], compact: true }));
  const forget = mirror(cells);
  tie(places);
  return () => { forget.forEach((one) => one()); for (const one of [...mounted, ...panels]) one?.destroy?.(); document.body.classList.remove("explaining"); };
};
