// Controls for the parameters that the engine declares: a number, a choice, or yes and no.
import { field, make, select, tick } from "./dom.js";
import { known, t } from "./texts.js";

const asText = (value) => (value === null || value === undefined ? "" : String(value));

// One control; what is left at its default is not written.
const control = (parameter, about, options, changed) => {
  const name = known("parameters", parameter.name, parameter.name);
  const standard = asText(parameter.default);
  const set = (value) => {
    if (value === standard || value === "") delete options[parameter.name];
    else options[parameter.name] = value;
    changed();
  };
  const now = options[parameter.name] ?? standard;
  if (parameter.kind === "boolean") return make("div", { class: "field" }, tick(name, now === "true", (checked) => set(String(checked))), about ? make("p", { class: "about", text: about }) : null);
  if (parameter.kind === "choice") return field(name, select(parameter.choices.map((one) => [one, known("parameters", one, one)]), now, set), about);
  const input = make("input", { type: "number", value: now, step: parameter.kind === "integer" ? 1 : "any", min: parameter.least ?? 0, max: parameter.most, class: "short" });
  input.addEventListener("input", () => { if (input.validity.valid) set(input.value); });
  return field(name, input, about);
};

// The main ones in a line, in their order; the others folded away, with a sentence each.
export const controls = (parameters, main, options, changed) => {
  const first = main.map((name) => parameters.find((one) => one.name === name)).filter(Boolean);
  const rest = parameters.filter((one) => !main.includes(one.name));
  return [
    make("div", { class: "fields" }, first.map((one) => control(one, "", options, changed))),
    rest.length ? make("details", { open: rest.some((one) => one.name in options) }, make("summary", { text: t("parameters.further") }), make("div", { class: "fields" }, rest.map((one) => control(one, one.about ?? "", options, changed)))) : null,
  ].filter(Boolean);
};
