// A job under way: phase, time, cost, bound and share published as they move; stop early, or cancel.
import * as api from "./api.js";
import { button, fragment, make } from "./dom.js";
import { clock, known, large, percent, t } from "./texts.js";
import { attempt } from "./errors.js";

const PAUSE = 1500; // milliseconds between two drawings of the search

const tile = (name) => {
  const figure = make("b", { text: "–" });
  return { root: make("div", { class: "tile" }, make("span", { text: t(`progress.${name}`) }), figure), figure };
};

export const progressView = (job, errors) => {
  const path = `/jobs/${encodeURIComponent(job.id)}`;
  const state = make("p", { class: "phase" });
  const bar = make("progress", { "aria-label": t("progress.time") });
  const time = make("span", { class: "soft" });
  const lost = make("p", { class: "note", text: t("progress.lost"), hidden: true });
  const chart = make("figure", { class: "search", hidden: true });
  const tiles = { cost: tile("cost"), bound: tile("bound"), gap: tile("gap"), published: tile("published") };
  const stop = button(t("progress.stop"), () => attempt(stop, errors, async () => { await api.post(`${path}/stop`); stop.textContent = t("progress.stopping"); }), { class: "button main" });
  const cancel = button(t("progress.cancel"), () => attempt(cancel, errors, () => api.post(`${path}/cancel`)));
  let began = null;
  let limit = null;
  let until = null;
  let share;
  let drawn = 0;
  let waiting = 0;

  const tick = () => {
    if (began === null) return;
    const elapsed = clock((Date.now() - began) / 1000);
    const left = until === null ? null : Math.max(0, (until - Date.now()) / 1000);
    time.textContent = left === null ? elapsed : t("progress.left", { elapsed, left: clock(left) });
    if (left !== null && limit) Object.assign(bar, { max: limit, value: Math.max(0, limit - left) });
    else if (typeof share === "number") Object.assign(bar, { max: 1, value: share });
    else bar.removeAttribute("value");
  };
  const ticking = setInterval(tick, 500);

  const drawChart = async () => {
    drawn = Date.now();
    try {
      const svg = await api.getText(`${path}/view/search.svg`);
      if (svg.includes("<svg")) { chart.replaceChildren(fragment(svg)); chart.hidden = false; }
    } catch { /* no drawing yet: the figures above tell the same */ }
  };

  const show = (now) => {
    if (!now || !Object.keys(now).length) return;
    if (typeof now.elapsed === "number") began = Date.now() - 1000 * now.elapsed;
    [limit, share] = [now.limit ?? null, now.share];
    until = typeof now.left === "number" ? Date.now() + 1000 * now.left : null;
    tick();
    const counted = now.place && now.phases ? t("progress.phase", { k: now.place, n: now.phases }) : "";
    state.replaceChildren(`${counted} ${known("phases", now.phase, now.phase ?? "")}`.trim(), now.stage ? make("span", { class: "soft", text: ` (${now.stage})` }) : "");
    tiles.cost.figure.textContent = large(now.cost);
    tiles.bound.figure.textContent = large(now.bound);
    tiles.gap.figure.textContent = percent(now.gap);
    tiles.published.figure.textContent = percent(now.published);
    stop.hidden = now.cost === null || now.cost === undefined;
    if (now.cost !== null && now.cost !== undefined) {
      clearTimeout(waiting);
      waiting = setTimeout(drawChart, Math.max(0, PAUSE - (Date.now() - drawn)));
    }
  };
  stop.hidden = true;
  state.textContent = t(`states.${job.state}`);
  show(job.progress);
  const root = make("div", { class: "card progress" }, state,
    make("div", { class: "time" }, bar, time),
    make("div", { class: "tiles" }, Object.values(tiles).map((one) => one.root)),
    lost, chart,
    make("p", { class: "ways" }, stop, cancel),
    make("p", { class: "about", text: t("progress.about") }));
  return {
    root,
    progress: show,
    connected(is) { lost.hidden = is; },
    leave() { clearInterval(ticking); clearTimeout(waiting); },
  };
};
