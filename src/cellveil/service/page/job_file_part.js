// The job file: to be read, or edited by hand; then it holds in place of the form, with the files that it names.
import * as api from "./api.js";
import { button, make } from "./dom.js";
import { t } from "./texts.js";
import { attempt } from "./errors.js";
import { draft, keep, written } from "./draft.js";

const MOST = 1_000_000; // characters of a job file

// Begin with a job file of one's own.
export const openJobFile = async (file) => {
  if (file.size > MOST) throw new Error(t("job_file.too_large"));
  const toml = await file.text();
  Object.assign(draft, { source: null, choices: null, columns: null, former: null, toml, files: {} });
  keep();
};

const filesPart = (changed) => {
  const errors = make("div");
  const list = make("ul", { class: "rows" });
  const draw = () => {
    const names = Object.keys(draft.files);
    list.replaceChildren(...(names.length ? names.map((name) => make("li", {}, make("code", { class: "grow", text: name }), button(t("job_file.remove"), () => { delete draft.files[name]; draw(); changed(); }, { class: "button quiet", "aria-label": t("job_file.remove_named", { name }) }))) : [make("li", { class: "empty", text: t("job_file.no_files") })]));
  };
  const input = make("input", { type: "file", multiple: true, "aria-label": t("job_file.add") });
  input.addEventListener("change", () => attempt(input, errors, async () => {
    for (const file of [...input.files]) draft.files[file.name] = (await api.upload(file, () => {})).id;
    input.value = "";
    draw();
    changed();
  }));
  draw();
  return make("div", {}, make("h3", { text: t("job_file.files") }), make("p", { class: "about", text: t("job_file.files_about") }), list, input, errors);
};

export const jobFilePart = (changed, redraw) => {
  const isByHand = draft.toml !== null;
  const errors = make("div");
  const text = make("textarea", { rows: 18, spellcheck: "false", "aria-label": t("job_file.title"), readonly: !isByHand });
  const fill = () => attempt(null, errors, async () => { text.value = (await written()).toml; });
  const edit = button(t("job_file.edit"), () => attempt(edit, errors, async () => {
    const { toml, files } = await written();
    Object.assign(draft, { toml, files });
    keep();
    redraw();
  }));
  const back = button(t("job_file.discard"), () => { Object.assign(draft, { toml: null, files: null }); keep(); redraw(); });
  const root = make("details", { open: isByHand }, make("summary", { text: t("job_file.title") }), make("p", { class: "about", text: t("job_file.about") }), errors, text,
    make("p", { class: "ways" }, isByHand ? (draft.choices ? back : null) : edit),
    isByHand ? filesPart(changed) : null);
  text.addEventListener("input", () => { draft.toml = text.value; changed(); });
  root.addEventListener("toggle", () => { if (root.open && !isByHand) fill(); });
  if (isByHand) text.value = draft.toml;
  return { root, refresh: () => { if (root.open && !isByHand) fill(); } };
};
