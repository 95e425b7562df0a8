// Who is kept off besides outsiders.
import { choice, make, tick } from "./dom.js";
import { known, t } from "./texts.js";
import { draft } from "./draft.js";
import { controls } from "./parameters.js";
import { read, write } from "./short_form.js";

const OFFERED = { insider: ["coalition", "level"], pq: ["p", "q"], integer: ["prior"], outsider: ["prior"] };
const PARAMETERS = {
  coalition: { name: "coalition", kind: "integer", default: 1, least: 1 },
  level: { name: "level", kind: "choice", default: "unit", choices: ["unit", "holding"] },
  p: { name: "p", kind: "number", default: null },
  q: { name: "q", kind: "number", default: 100 },
  prior: { name: "prior", kind: "number", default: null },
};
const BEGIN = { pq: { p: "10" }, outsider: { prior: "50" } };

const custom = (changed) => {
  const chosen = new Map(draft.choices.attackers.map(read).map((one) => [one.name, one]));
  const save = () => { draft.choices.attackers = [...chosen.values()].map(write); changed(); };
  return make("ul", { class: "rows attackers" }, Object.entries(OFFERED).map(([name, parameters]) => {
    const more = make("div", { class: "below" });
    const draw = () => more.replaceChildren(...(chosen.has(name) ? controls(parameters.filter((one) => one !== "level" || draft.choices.holding).map((one) => PARAMETERS[one]), parameters, chosen.get(name).options, save) : []));
    draw();
    return make("li", {}, make("div", { class: "grow" }, tick(t(`attackers.${name}`), chosen.has(name), (wanted) => {
      if (wanted) chosen.set(name, { name, options: { ...(BEGIN[name] ?? {}) } });
      else chosen.delete(name);
      draw();
      save();
    }), make("p", { class: "about", text: known("attackers", `${name}_about`, "") }), more));
  }));
};

export const attackersPart = (changed) => {
  const root = make("div");
  const kind = () => (draft.choices.attackers === null || draft.choices.attackers === undefined ? "standard" : draft.choices.attackers.length ? "chosen" : "nobody");
  const draw = (now) => {
    const set = (name, attackers) => choice("attackers", t(`attackers.${name}`), t(`attackers.${name}_about`), now === name, () => { draft.choices.attackers = attackers; draw(name); changed(); });
    root.replaceChildren(set("standard", null), set("nobody", []), set("chosen", ["insider"]), now === "chosen" ? custom(changed) : "");
  };
  draw(kind());
  return root;
};
