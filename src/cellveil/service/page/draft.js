// The draft of a job: where the data are, what was chosen, and the job file that follows from it.
import * as api from "./api.js";
import { spoken } from "./texts.js";

const KEPT = "cellveil.draft";

export const draft = {
  source: null, // {file: id, name} or {dataset: id, name}
  choices: null,
  toml: null, // the job file as edited by hand, in place of the choices
  files: null, // of that job file: its names → uploads
  former: null, // the job that this one is a change of
  columns: null, // what the service recognised; asked again after a reload
};

const empty = { ...draft };

// What was chosen survives a reload; codes of the data are not kept in the browser.
export const keep = () => {
  const { source, choices, toml, files, former } = draft;
  sessionStorage.setItem(KEPT, JSON.stringify({ source, choices, toml, files, former }));
};
export const forget = () => { Object.assign(draft, structuredClone(empty)); sessionStorage.removeItem(KEPT); };
export const restore = () => {
  const kept = sessionStorage.getItem(KEPT);
  if (kept && !draft.source && draft.toml === null) Object.assign(draft, JSON.parse(kept));
};

const path = (source) => (source.file ? `/files/${encodeURIComponent(source.file)}` : `/datasets/${encodeURIComponent(source.dataset)}`);
const origin = (source) => (source.file ? { file: source.file } : { dataset: source.dataset });

// Look at the columns of the data; the choices proposed for them begin the draft, unless there are some.
export const recognise = async (source, isFresh) => {
  const found = await api.post(`${path(source)}/columns`);
  const nothing = { title: source.name, kind: found.kind, dimensions: [], tables: [], rules: [], attackers: null, method: "auto", time_limit: 60 };
  if (isFresh) Object.assign(draft, structuredClone(empty), { source, choices: { ...(found.proposed ?? nothing), language: spoken() } });
  if (isFresh && !draft.choices.tables.length && draft.choices.dimensions.length) draft.choices.tables = [{ dimensions: draft.choices.dimensions.map((one) => one.name) }];
  draft.columns = found;
  keep();
};

export const ensureColumns = async () => {
  if (draft.source && !draft.columns) await recognise(draft.source, false);
};

// The request that checks and runs share: the job file, and where its files are.
export const written = async (signal) => {
  if (draft.toml !== null) return { toml: draft.toml, files: draft.files ?? {} };
  const dimensions = draft.choices.dimensions.map((one) => (one.hierarchy.kind === "files" ? { ...one, hierarchy: { kind: "files", files: one.hierarchy.files.map((file) => file.id) } } : one));
  return api.post("/drafts", { source: origin(draft.source), choices: { ...draft.choices, dimensions } }, signal);
};

let checked = { key: "", found: null }; // the last answer: steps of one draft ask the same

export const check = async (signal) => {
  const asked = await written(signal);
  const key = JSON.stringify(asked);
  if (checked.key !== key) checked = { key, found: await api.post("/checks", asked, signal) };
  return checked.found;
};

export const run = async (name) => {
  const { source, choices, toml, files, former } = draft;
  return api.post("/jobs", { verb: "run", name, ...(await written()), draft: { source, choices, toml, files, former } });
};

// Bring the draft of a job back into the form, to run it again with changes.
export const reopen = async (job) => {
  const request = await api.get(`/jobs/${encodeURIComponent(job)}/request`);
  forget();
  if (request.draft) Object.assign(draft, request.draft);
  else Object.assign(draft, { toml: request.toml, files: request.files });
  draft.former = job;
  keep();
};
