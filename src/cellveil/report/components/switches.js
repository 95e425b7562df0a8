// Switches above a table: after protection, with hidden values too, or before it; shaded by loss.
import { make } from "./dom.js";

const choices = (adjusted) => [
  { text: adjusted ? "After adjustment" : "After protection", state: { values: false, before: false } },
  ...(adjusted ? [] : [{ text: "Hidden values too", state: { values: true, before: false } }]),
  { text: adjusted ? "Before adjustment" : "Before protection", state: { values: true, before: true } },
];

// The bar, and how to take it off its cells again.
export function mountSwitches(cells) {
  const { data } = cells;
  const sides = data.truth ? choices(data.adjusted) : [];
  const buttons = sides.map(({ text, state }) => make("button", { class: "button", type: "button", text, onclick: () => cells.set(state) }));
  const heat = make("button", { class: "button", type: "button", text: data.adjusted ? "Shade by change" : "Shade by loss", onclick: () => cells.set({ heat: !cells.state.heat }) });
  const note = make("p", { class: "secret-note", text: `CONFIDENTIAL: ${data.adjusted ? "this page now shows values before adjustment." : "this page now shows values of hidden cells."}` });
  const scale = make("p", { class: "legend" });
  const group = make("div", { class: "switches no-print" }, ...(sides.length ? [make("div", { class: "sides", role: "group", "aria-label": "Values" }, ...buttons)] : []), ...(data.tables.some((table) => table.lost) ? [heat] : []));
  const draw = () => {
    const { state } = cells;
    buttons.forEach((button, number) => {
      const wanted = sides[number].state;
      button.setAttribute("aria-pressed", String(state.values === wanted.values && state.before === wanted.before));
    });
    heat.setAttribute("aria-pressed", String(state.heat));
    note.hidden = !state.values;
    scale.hidden = !state.heat;
    const keys = [["h0", "0"], ...cells.steps.map((step, number) => [`h${number + 1}`, `> ${step}`])];
    scale.replaceChildren(`Shade: ${cells.scaleWords} `, make("span", { class: "scale" }, ...keys.map(([kind, text]) => make("span", { class: `key ${kind}`, text }))));
  };
  draw();
  const linked = data.tables.length > 1 ? [make("p", { class: "legend" }, make("span", {}, make("span", { class: "key shared", text: "\u2003" }), " stands in several tables"))] : [];
  return { root: make("div", {}, group, note, scale, ...linked), forget: cells.listen(draw) };
}
