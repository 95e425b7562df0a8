// Recent jobs: what became of them, and the way back to each.
import * as api from "./api.js";
import { button, make } from "./dom.js";
import { t, when } from "./texts.js";
import { attempt } from "./errors.js";
import { reopen } from "./draft.js";
import { badge } from "./job_state.js";

const AGAIN = 3000; // milliseconds between two looks while a job is under way

export const jobsPage = async (root) => {
  const errors = make("div", { class: "errors" });
  const list = make("div");
  root.append(make("h1", { text: t("jobs.title") }), make("p", { class: "lead", text: t("jobs.lead") }), errors, list);
  let waiting = 0;
  let gone = false;
  let drawn = "";
  const row = (job) => make("tr", {},
    make("th", { scope: "row" }, make("a", { href: `#/jobs/${job.id}`, text: job.name || t("run.unnamed") })),
    make("td", { class: "t" }, badge(job)),
    make("td", { class: "t", text: when(job.created) }),
    make("td", { class: "t acts" },
      button(t("jobs.again"), (event) => attempt(event.target, errors, async () => { await reopen(job.id); location.hash = "#/new/run"; }), { "aria-label": t("jobs.again_named", { name: job.name }) }),
      button(t("jobs.delete"), (event) => {
        if (window.confirm(t("jobs.confirm", { name: job.name }))) attempt(event.target, errors, async () => { await api.remove(`/jobs/${job.id}`); await draw(); });
      }, { class: "button quiet", "aria-label": t("jobs.delete_named", { name: job.name }) })));
  const draw = async () => {
    const jobs = await api.get("/jobs?limit=100");
    if (gone) return;
    const now = JSON.stringify(jobs.map((job) => [job.id, job.state, job.verdict]));
    if (now !== drawn) list.replaceChildren(jobs.length
      ? make("div", { class: "scroll", tabindex: 0 }, make("table", { class: "plain jobs" }, make("thead", {}, make("tr", {}, ["name", "state", "created", "acts"].map((name) => make("th", { scope: "col", text: t(`jobs.${name}`) })))), make("tbody", {}, jobs.map(row))))
      : make("div", { class: "card empty" }, make("p", { text: t("jobs.none") }), make("p", {}, make("a", { class: "button main", href: "#/new/data", text: t("jobs.first") }))));
    drawn = now;
    if (jobs.some((job) => ["queued", "running"].includes(job.state))) waiting = setTimeout(() => draw().catch(() => {}), AGAIN);
  };
  await draw();
  return () => { gone = true; clearTimeout(waiting); };
};
