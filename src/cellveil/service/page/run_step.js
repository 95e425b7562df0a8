// Step 4: against whom, by which method, for how long; the job file that says it all; and off it goes.
import * as api from "./api.js";
import { button, choice, field, make, select } from "./dom.js";
import { known, t } from "./texts.js";
import { attempt } from "./errors.js";
import { draft, run } from "./draft.js";
import { jobFilePart } from "./job_file_part.js";
import { attackersPart } from "./attackers_part.js";

const WEIGHTS = ["value", "one", "count", "log"];

const publishPart = (changed) => make("div", {}, ["suppressed", "both", "adjusted"].map((kind) => choice("publish", t(`run.${kind}`), t(`run.${kind}_about`), (draft.choices.publish ?? "suppressed") === kind, () => { draft.choices.publish = kind; changed(); })));

const searchPart = (methods, changed) => {
  const { choices } = draft;
  const about = make("p", { class: "about", id: "method-about" });
  const tell = () => { about.textContent = known("methods", choices.method, methods.find((one) => one.name === choices.method)?.about ?? ""); };
  const method = select(methods.map((one) => [one.name, one.name]), choices.method, (name) => { choices.method = name; tell(); changed(); }, { id: "method", "aria-describedby": "method-about" });
  const limit = make("input", { type: "number", min: 1, step: "any", class: "short", value: choices.time_limit ?? "" });
  limit.addEventListener("input", () => { if (limit.validity.valid) { choices.time_limit = limit.value === "" ? null : Number(limit.value); changed(); } });
  const weights = select([...new Set([...WEIGHTS, choices.weights ?? "value"])].map((kind) => [kind, known("weights", kind, kind)]), choices.weights ?? "value", (kind) => { choices.weights = kind; changed(); });
  const language = select(["en", "de"].map((one) => [one, t(`languages.${one}`)]), choices.language ?? "en", (one) => { choices.language = one; changed(); });
  tell();
  return make("div", { class: "fields" },
    make("div", { class: "field" }, make("label", { for: "method", text: t("run.method") }), method, about),
    field(t("run.limit"), limit, t("run.limit_about")),
    field(t("run.weights"), weights, t("run.weights_about")),
    field(t("run.language"), language, t("run.language_about")));
};

export const runStep = async (root, changed) => {
  const methods = await api.get("/methods");
  const errors = make("div", { class: "errors" });
  const isByHand = draft.toml !== null;
  const redraw = () => { root.replaceChildren(); runStep(root, changed); changed(); };
  const file = jobFilePart(changed, redraw);
  const moved = () => { changed(); file.refresh(); };
  const name = make("input", { type: "text", maxlength: 200, value: draft.choices?.title ?? "" });
  const start = button(t("run.start"), () => attempt(start, errors, async () => {
    const job = await run(name.value.trim() || t("run.unnamed"));
    location.hash = `#/jobs/${job.id}`;
  }), { class: "button main large" });
  root.append(
    make("h1", { text: t("run.title") }),
    ...(isByHand ? [make("p", { class: "note", text: t("run.by_hand") })] : [
      make("h2", { text: t("run.publish") }), publishPart(moved),
      make("h2", { text: t("run.against") }), make("p", { class: "about", text: t("run.against_about") }), attackersPart(moved),
      make("h2", { text: t("run.search") }), searchPart(methods, moved)]),
    file.root,
    make("h2", { text: t("run.go") }),
    field(t("run.name"), name, t("run.name_about")),
    errors,
    make("p", { class: "ways" }, isByHand ? null : make("a", { class: "button", href: "#/new/rules", text: t("steps.back") }), start));
};
