// One job: under way with its figures, or over with its result. The address holds its id, so a reload comes back.
import * as api from "./api.js";
import { announce, button, make, select } from "./dom.js";
import { t, when } from "./texts.js";
import { alertOf, attempt } from "./errors.js";
import { reopen } from "./draft.js";
import { badge, isOver } from "./job_state.js";
import { progressView } from "./progress_view.js";
import { resultView } from "./result_view.js";

const besides = async (job) => {
  const jobs = await api.get("/jobs?limit=100");
  const others = jobs.filter((one) => one.id !== job.id && isOver(one) && one.has_view !== false && ["done", "failed"].includes(one.state));
  return others.length ? select([["", t("job.beside")], ...others.map((one) => [one.id, `${one.name} (${when(one.created)})`])], "", (other) => { if (other) location.hash = `#/jobs/${job.id}/beside/${other}`; }, { "aria-label": t("job.beside") }) : null;
};

const head = (job, errors, beside) => make("div", { class: "job-head" },
  make("div", {}, make("h1", { text: job.name || t("run.unnamed") }), make("p", { class: "soft" }, badge(job), ` · ${t("job.created", { moment: when(job.created) })}`)),
  make("div", { class: "acts" },
    isOver(job) ? beside : null,
    isOver(job) ? button(t("jobs.again"), (event) => attempt(event.target, errors, async () => { await reopen(job.id); location.hash = "#/new/run"; })) : null));

const why = (job) => {
  if (job.state === "interrupted") return make("p", { class: "note", text: t("job.interrupted") });
  if (job.state === "cancelled") return make("p", { class: "note", text: t("job.cancelled") });
  return job.error ? alertOf(job.error) : null;
};

export const jobPage = async (root, id, tab = "") => {
  const path = `/jobs/${encodeURIComponent(id)}`;
  let left = () => {};
  let gone = false;
  const draw = async () => {
    const job = await api.get(path);
    if (gone) return;
    const errors = make("div", { class: "errors" });
    if (isOver(job)) {
      const body = make("div");
      root.replaceChildren(head(job, errors, await besides(job)), errors, why(job) ?? "", body);
      left = (await resultView(body, job, tab)) ?? (() => {});
      if (gone) left();
      return;
    }
    const view = progressView(job, errors);
    root.replaceChildren(head(job, errors, null), errors, view.root);
    const stop = api.follow(id, {
      state: (told) => { Object.assign(job, told); root.querySelector(".state")?.replaceWith(badge(job)); view.progress(job.progress); },
      progress: (told) => view.progress(told),
      connected: (is) => view.connected(is),
      end: async () => { left(); if (!gone) { await draw(); announce(t("job.over")); } },
    });
    left = () => { stop(); view.leave(); };
  };
  await draw();
  return () => { gone = true; left(); };
};
