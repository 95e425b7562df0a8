// The table and the list of primary cells: the components of the report, with explanations asked of the service.
import { Cells } from "/components/cells.js";
import { mountPanel } from "/components/panel.js";
import { mountPrimaries } from "/components/primaries.js";
import { mountTables } from "/components/table.js";
import * as api from "./api.js";
import { make } from "./dom.js";

const kept = new Map(); // the cells of the last job looked at: shared by its tabs

export const cellsOf = async (job) => {
  if (!kept.has(job)) {
    kept.clear();
    kept.set(job, Cells.of(await api.get(`/jobs/${encodeURIComponent(job)}/view/cells.json`)));
  }
  return kept.get(job);
};

const explain = (job) => (cell, key) => api.get(`/jobs/${encodeURIComponent(job)}/cells/${encodeURIComponent(key)}/explanation`);

// A panel for explanations beside the page; when it is open, the page makes room.
export const panelFor = (job, root) => {
  const aside = make("aside");
  root.append(aside);
  return mountPanel(aside, { explain: explain(job), changed: ({ isOpen }) => document.body.classList.toggle("explaining", isOpen) });
};

export const tablePart = (kind) => async (root, job) => {
  const cells = await cellsOf(job.id);
  const place = make("div");
  root.append(place);
  const panel = panelFor(job.id, root);
  const mounted = (kind === "table" ? mountTables : mountPrimaries)(place, cells, { panel });
  return () => { mounted?.destroy?.(); panel.destroy?.(); document.body.classList.remove("explaining"); };
};
