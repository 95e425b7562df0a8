// What the check says: how many cells become unsafe and by which rule, before anything is searched.
import { announce, make } from "./dom.js";
import { number, percent, t } from "./texts.js";
import { alertOf } from "./errors.js";
import { check, draft, keep } from "./draft.js";

const PAUSE = 500; // milliseconds without a change before the service is asked

const barOf = (share) => {
  const filled = make("span", { class: "filled" });
  filled.style.width = `${Math.min(100, 100 * share)}%`;
  return make("span", { class: "bar-line", "aria-hidden": "true" }, filled);
};

const byRule = (found) => (Object.keys(found.rules).length ? [make("table", { class: "plain" }, make("thead", {}, make("tr", {}, make("th", { scope: "col", text: t("check.by_rule") }), make("th", { scope: "col", class: "n", text: t("check.cells") }))),
    make("tbody", {}, Object.entries(found.rules).map(([name, count]) => make("tr", {}, make("td", { class: "t" }, name, barOf(count / Math.max(1, found.cells))), make("td", { text: number(count) })))))] : []);

const fact = (name, text) => (text ? [make("dt", { text: name }), make("dd", { text })] : []);

const told = (found) => {
  const share = found.cells ? found.primaries / found.cells : 0;
  announce(t("check.unsafe", { number: found.primaries, cells: found.cells }));
  return [
    make("p", { class: "figure" }, make("b", { text: number(found.primaries) }), make("span", { text: t("check.of_cells", { cells: found.cells, share: percent(share) }) })),
    found.feasible ? null : make("div", { class: "alert" }, make("b", { text: t("check.infeasible") })),
    ...byRule(found),
    make("h3", { text: t("check.tables") }),
    make("ul", { class: "tight" }, found.tables.map((table) => make("li", { text: t("check.table", { name: table.name, cells: table.cells, sizes: Object.entries(table.dimensions).map(([name, codes]) => `${name} ${number(codes)}`).join(" × ") }) }))),
    make("dl", { class: "pairs" },
      ...fact(t("check.against"), found.against),
      ...fact(t("check.not_asked"), found.not_asked),
      ...fact(t("check.frozen"), found.frozen ? number(found.frozen) : ""),
      ...fact(t("check.demands"), number(found.demands))),
    ...[["warnings", "warn"], ["notes", ""]].flatMap(([kind, tone]) => (found[kind].length ? [make("details", { open: kind === "warnings" }, make("summary", { text: t(`check.${kind}`, { number: found[kind].length }) }), make("ul", { class: `tight ${tone}` }, found[kind].map((text) => make("li", { text }))))] : [])),
  ];
};

export const checkPanel = () => {
  const body = make("div", { class: "check-body" });
  const state = make("span", { class: "soft" });
  const root = make("aside", { class: "check", "aria-label": t("check.title") }, make("h2", {}, t("check.title"), " ", state), body);
  let waiting = 0;
  let asked = null;
  const ask = async () => {
    asked?.abort();
    const own = asked = new AbortController();
    state.textContent = t("check.running");
    root.classList.add("busy");
    try {
      const found = await check(own.signal);
      if (own === asked) body.replaceChildren(...told(found).filter(Boolean));
    } catch (error) {
      if (error.name === "AbortError" || own !== asked) return;
      body.replaceChildren(alertOf(error, ask));
    }
    if (own !== asked) return;
    state.textContent = "";
    root.classList.remove("busy");
  };
  const isReady = () => draft.toml !== null || draft.choices.dimensions.length > 0;
  return {
    root,
    changed() {
      keep();
      clearTimeout(waiting);
      if (isReady()) waiting = setTimeout(ask, body.childElementCount ? PAUSE : 0);
      else body.replaceChildren(make("p", { class: "soft", text: t("check.nothing") }));
    },
    leave() { clearTimeout(waiting); asked?.abort(); },
  };
};
