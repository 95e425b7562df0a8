// Step 1: a file of one's own, one sent before, or built-in data.
import * as api from "./api.js";
import { button, make } from "./dom.js";
import { bytes, known, t } from "./texts.js";
import { attempt } from "./errors.js";
import { draft, recognise } from "./draft.js";
import { openJobFile } from "./job_file_part.js";
import { ways } from "./new_job.js";

const open = async (source) => {
  await recognise(source, true);
  location.hash = "#/new/table";
};

const uploader = (errors, limit) => {
  const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-label": t("data.sending") });
  const input = make("input", { type: "file", id: "file", class: "unseen" });
  const zone = make("label", { class: "drop", for: "file" },
    make("b", { text: t("data.choose") }),
    make("span", { text: t("data.drop") }),
    make("small", { text: t("data.kinds", { size: bytes(limit) }) }), bar);
  const send = (file) => file && attempt(input, errors, async () => {
    bar.hidden = false;
    try {
      const sent = await api.upload(file, (share) => { bar.value = share; });
      await open({ file: sent.id, name: sent.name });
    } finally {
      bar.hidden = true;
      input.value = "";
    }
  });
  input.addEventListener("change", () => send(input.files[0]));
  for (const [kind, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) zone.addEventListener(kind, (event) => {
    event.preventDefault();
    zone.classList.toggle("over", over);
    if (kind === "drop") send(event.dataTransfer.files[0]);
  });
  return make("div", {}, input, zone);
};

const formerFiles = (files, errors) => {
  const list = make("ul", { class: "rows" });
  const draw = () => list.replaceChildren(...(files.length ? files.map((file) => make("li", {},
    make("span", { class: "grow" }, make("b", { text: file.name }), make("small", { text: bytes(file.bytes) })),
    button(t("data.use"), (event) => attempt(event.target, errors, () => open({ file: file.id, name: file.name })), { "aria-label": t("data.use_named", { name: file.name }) }),
    button(t("data.delete"), (event) => attempt(event.target, errors, async () => {
      await api.remove(`/files/${encodeURIComponent(file.id)}`);
      files.splice(files.indexOf(file), 1);
      draw();
    }), { class: "button quiet", "aria-label": t("data.delete_named", { name: file.name }) }))) : [make("li", { class: "empty", text: t("data.no_files") })]));
  draw();
  return list;
};

const builtIn = (datasets, errors) => make("ul", { class: "rows" }, datasets.map((one) => make("li", {},
  make("span", { class: "grow" },
    make("b", { text: known("datasets", one.name, one.title ?? one.name) }),
    make("small", { text: `${known("datasets", `${one.name}_about`, one.about ?? "")}${one.rows ? ` · ${t("data.records", { number: one.rows })}` : ""}` })),
  button(t("data.use"), (event) => attempt(event.target, errors, () => open({ dataset: one.name, name: known("datasets", one.name, one.title) })), { "aria-label": t("data.use_named", { name: one.title ?? one.name }) }))));

const jobFile = (errors) => {
  const input = make("input", { type: "file", accept: ".toml", "aria-label": t("data.job_file") });
  input.addEventListener("change", () => input.files[0] && attempt(input, errors, async () => { await openJobFile(input.files[0]); location.hash = "#/new/run"; }));
  return make("div", {}, make("p", { class: "about", text: t("data.job_file_about") }), input);
};

const opened = () => (draft.choices ? make("p", { class: "note" }, t("data.opened", { name: draft.source?.name ?? "" })) : null);

export const dataStep = async (root) => {
  const [about, files, datasets] = await Promise.all([api.get("/about"), api.get("/files"), api.get("/datasets")]);
  const errors = make("div", { class: "errors" });
  root.append(
    make("h1", { text: t("data.title") }),
    make("p", { class: "lead", text: t("data.about") }),
    opened() ?? "",
    errors,
    uploader(errors, about.limits.upload),
    make("h2", { text: t("data.built_in") }),
    builtIn(datasets, errors),
    make("h2", { text: t("data.files") }),
    formerFiles(files, errors),
    make("h2", { text: t("data.job_file") }),
    jobFile(errors),
    draft.choices ? ways(null, "table") : "");
};
