// The result of a job: verdict and downloads first, then the table and the other parts of the report, as tabs.
import * as api from "./api.js";
import { button, fragment, make } from "./dom.js";
import { bytes, known, spoken, t } from "./texts.js";
import { alertOf, attempt } from "./errors.js";
import { tablePart } from "./table_part.js";

const FIRST = ["release.zip", "report.html", "certificate.zip", "job.toml", "job.zip"];

// Which parts of the report stand on which tab, and what is mounted below them.
const TABS = {
  verdict: { parts: ["first_screen.html", "conflicts.html"] },
  table: { parts: ["table.html"], mount: tablePart("table") },
  primaries: { parts: ["primaries.html"], mount: tablePart("primaries"), after: ["derivations.html"] },
  attack: { parts: ["attack.html"] },
  loss: { parts: ["loss.html", "search.svg", "adjustment.html", "comparison.html"] },
  run: { parts: ["run.html"] },
  terms: { parts: ["terms.html"] },
};
const REPORT_LANGUAGE = "en"; // of the parts that the report is composed of, and of what the engine says
const path = (job) => `/jobs/${encodeURIComponent(job.id)}`;

const downloads = async (job) => {
  const found = await api.get(`${path(job)}/downloads`);
  const errors = make("div");
  const row = (one) => make("li", {}, button(known("downloads", one.name, one.about), (event) => attempt(event.target, errors, () => api.download(job.id, one.name)), { class: one.is_public ? "button main" : "button" }), make("small", { text: `${one.name}${one.bytes ? ` · ${bytes(one.bytes)}` : ""}` }));
  const first = FIRST.map((name) => found.find((one) => one.name === name)).filter(Boolean);
  const rest = found.filter((one) => !FIRST.includes(one.name));
  return make("aside", { class: "card downloads", "aria-label": t("downloads.title") }, make("h2", { text: t("downloads.title") }),
    first.some((one) => one.is_public) ? null : make("p", { class: "soft", text: t("downloads.none") }),
    errors,
    make("ul", {}, first.map(row)),
    rest.length ? make("details", {}, make("summary", { text: t("downloads.further") }), make("ul", {}, rest.map(row))) : null,
    make("p", { class: "about", text: t("downloads.about") }));
};

// Fragments of the report, each below the title that the report gives it; the first needs none.
const reportParts = async (root, job, names, titles) => {
  for (const name of names.filter((one) => titles.has(one))) {
    const part = make("div", { class: "report-part" }, root.childElementCount ? make("h2", { text: titles.get(name) }) : null);
    part.append(fragment(await api.getText(`${path(job)}/view/${name}`)));
    part.querySelector("h1")?.remove();
    root.append(part);
  }
};

const drawTab = async (root, job, name, titles) => {
  const { parts, mount, after } = TABS[name];
  const body = make("div", { class: "grow", lang: REPORT_LANGUAGE });
  root.append(name === "verdict" ? make("div", { class: "verdict-part" }, body, await downloads(job)) : body);
  await reportParts(body, job, parts, titles);
  if (name === "verdict" && !titles.size) body.append(make("p", { class: "note", text: t("job.no_result") }));
  if (spoken() !== REPORT_LANGUAGE) body.prepend(make("p", { class: "about", lang: spoken(), text: t("job.report_language") }));
  const leave = mount ? await mount(body, job) : null;
  if (after) await reportParts(body, job, after, titles);
  return leave;
};

const titlesOf = async (job) => {
  try {
    const { parts } = await api.get(`${path(job)}/view`);
    return new Map(parts.map((one) => [one.name, one.title]));
  } catch (error) {
    if (error.status === 404 || error.status === 409) return new Map();
    throw error;
  }
};

export const resultView = async (root, job, wanted) => {
  const titles = await titlesOf(job);
  const names = Object.keys(TABS).filter((name) => name === "verdict" || TABS[name].parts.some((part) => titles.has(part)));
  const leaving = [];
  const drawn = new Map();
  const tabs = names.map((name) => make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `part-${name}`, text: t(`parts.${name}`) }));
  const panels = names.map((name) => make("section", { role: "tabpanel", id: `part-${name}`, "aria-labelledby": `tab-${name}`, tabindex: -1, hidden: true }));
  const draw = async (place) => {
    const wait = make("p", { class: "soft", text: t("job.loading") });
    panels[place].append(wait);
    try {
      const left = await drawTab(panels[place], job, names[place], titles);
      if (left) leaving.push(left);
    } catch (error) {
      panels[place].append(alertOf(error));
    }
    wait.remove();
  };
  const open = async (place, focus = false) => {
    tabs.forEach((tab, at) => { tab.setAttribute("aria-selected", String(at === place)); tab.tabIndex = at === place ? 0 : -1; });
    panels.forEach((panel, at) => { panel.hidden = at !== place; });
    history.replaceState(null, "", `#/jobs/${job.id}${place ? `/${names[place]}` : ""}`);
    document.body.classList.toggle("explaining", panels[place].querySelector(".panel:not([hidden])") !== null);
    if (focus) tabs[place].focus();
    if (!drawn.has(place)) drawn.set(place, draw(place));
    await drawn.get(place);
  };
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => open(place));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      open((to + tabs.length) % tabs.length, true);
    });
  });
  // Terms are explained where they stand, and lead to the list of terms.
  root.addEventListener("click", async (event) => {
    const href = event.target.closest?.("a[href^='#']")?.getAttribute("href");
    if (!href || href.startsWith("#/")) return;
    event.preventDefault();
    await open(names.indexOf("terms"), true);
    document.getElementById(href.slice(1))?.scrollIntoView({ block: "center" });
  });
  root.append(names.length > 1 ? make("div", { class: "tabs", role: "tablist", "aria-label": t("job.parts") }, tabs) : "", ...panels);
  await open(Math.max(0, names.indexOf(wanted)));
  return () => leaving.forEach((one) => one());
};
