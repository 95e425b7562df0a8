// A new job in four steps: data, table, rules, run; beside them what the check finds, as soon as it is known.
import { make } from "./dom.js";
import { t } from "./texts.js";
import { alertOf } from "./errors.js";
import { draft, ensureColumns, restore } from "./draft.js";
import { checkPanel } from "./check_panel.js";
import { dataStep } from "./data_step.js";
import { tableStep } from "./table_step.js";
import { rulesStep } from "./rules_step.js";
import { runStep } from "./run_step.js";

const STEPS = { data: dataStep, table: tableStep, rules: rulesStep, run: runStep };
const NAMES = Object.keys(STEPS);

const reachable = (step) => step === "data" || (draft.toml !== null ? step === "run" : draft.choices !== null);

const stepsOf = (now) => make("nav", { class: "steps", "aria-label": t("steps.title") }, make("ol", {}, NAMES.map((name, place) => {
  const inside = [make("span", { class: "number", text: String(place + 1) }), make("span", {}, make("b", { text: t(`steps.${name}`) }), make("small", { text: t(`steps.${name}_about`) }))];
  const isOpen = reachable(name);
  return make("li", { class: name === now ? "now" : isOpen ? "" : "closed" },
    isOpen ? make("a", { href: `#/new/${name}`, "aria-current": name === now ? "step" : null }, inside) : make("span", { "aria-disabled": "true" }, inside));
})));

export const newJob = async (root, wanted = "") => {
  restore();
  const name = NAMES.includes(wanted) && reachable(wanted) ? wanted : draft.toml !== null ? "run" : wanted || !draft.choices ? "data" : "table";
  if (wanted !== name) history.replaceState(null, "", `#/new/${name}`);
  const body = make("section", { class: "step" });
  const panel = name === "data" ? null : checkPanel();
  root.append(make("div", { class: panel ? "form with-check" : "form" }, stepsOf(name), body, panel?.root));
  try {
    if (name !== "data" && draft.toml === null) await ensureColumns();
    await STEPS[name](body, () => panel.changed());
  } catch (error) {
    if (error.status === 401) throw error;
    body.append(alertOf(error));
  }
  panel?.changed();
  return () => panel?.leave();
};

// The way on and back below a step.
export const ways = (back, on) => make("p", { class: "ways" },
  back ? make("a", { class: "button", href: `#/new/${back}`, text: t("steps.back") }) : null,
  on ? make("a", { class: "button main", href: `#/new/${on}`, text: t("steps.on", { step: t(`steps.${on}`) }) }) : null);
