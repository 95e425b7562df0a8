// Step 3: which cells are unsafe. Rules with their parameters; the check beside them counts at once.
import * as api from "./api.js";
import { button, make, select } from "./dom.js";
import { known, t } from "./texts.js";
import { draft } from "./draft.js";
import { controls } from "./parameters.js";
import { read, write } from "./short_form.js";
import { ways } from "./new_job.js";

const MAIN = { threshold: ["minimum"], "p%": ["p", "level"], dominance: ["n", "k"], pq: ["p", "q"], request: ["share1"], zero: ["range"], group: ["k"] };

// Sets of rules that offices use; each takes the place of the rules that are there.
const PRESETS = {
  p_percent: ["p%:p=10", "threshold:minimum=3"],
  dominance: ["dominance:n=1,k=75", "dominance:n=2,k=85", "threshold:minimum=3"],
  prior_posterior: ["pq:p=10,q=100", "threshold:minimum=3"],
  counts: ["threshold:minimum=5"],
};

const parametersOf = (rule) => rule.parameters.filter((one) => (one.name !== "level" || draft.choices.holding) && ["number", "integer", "choice", "boolean"].includes(one.kind));

const card = (rule, place, rules, described, changed, redraw) => {
  const about = described.find((one) => one.name === rule.name);
  const name = known("rules", rule.name, about?.title ?? rule.name);
  const save = () => { draft.choices.rules[place] = write(rule); changed(); };
  return make("li", { class: "card rule" },
    make("div", { class: "card-head" }, make("b", { text: name }), button(t("rules.remove"), () => { draft.choices.rules.splice(place, 1); redraw(); }, { class: "button quiet", "aria-label": t("rules.remove_named", { name }) })),
    make("p", { class: "about", text: known("rules", `${rule.name}_about`, about?.about ?? "") }),
    ...(about ? controls(parametersOf(about), MAIN[rule.name] ?? [], rule.options, save) : [make("code", { text: write(rule) })]));
};

export const rulesStep = async (root, changed) => {
  const described = (await api.get("/rules")).rules.filter((one) => one.name !== "manual");
  const list = make("ul", { class: "cards" });
  const redraw = () => { draw(); changed(); };
  const draw = () => {
    const rules = draft.choices.rules.map(read);
    list.replaceChildren(...(rules.length ? rules.map((rule, place) => card(rule, place, rules, described, changed, redraw)) : [make("li", { class: "empty", text: t("rules.none") })]));
  };
  const add = select([["", t("rules.add")], ...described.map((one) => [one.name, known("rules", one.name, one.title ?? one.name)])], "", (name) => {
    if (!name) return;
    const needed = described.find((one) => one.name === name).parameters.filter((one) => one.default === null && MAIN[name]?.includes(one.name));
    draft.choices.rules.push(write({ name, options: Object.fromEntries(needed.map((one) => [one.name, "10"])) }));
    add.value = "";
    redraw();
  }, { "aria-label": t("rules.add") });
  root.append(
    make("h1", { text: t("rules.title") }),
    make("p", { class: "lead", text: t("rules.lead") }),
    make("div", { class: "presets", role: "group", "aria-label": t("rules.presets") }, make("span", { class: "soft", text: t("rules.presets") }),
      Object.entries(PRESETS).map(([name, rules]) => button(t(`presets.${name}`), () => { draft.choices.rules = [...rules]; redraw(); }))),
    list,
    make("p", {}, add),
    ways("table", "run"));
  draw();
};
