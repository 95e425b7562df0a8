// The shell: session, language, theme, and which view the address names.
import * as api from "./api.js";
import { announce, button, make, select } from "./dom.js";
import { load, spoken, t } from "./texts.js";
import { alertOf } from "./errors.js";
import { forget } from "./draft.js";
import { signIn } from "./sign_in.js";
import { newJob } from "./new_job.js";
import { jobsPage } from "./jobs_page.js";
import { jobPage } from "./job_page.js";
import { sideBySide } from "./side_by_side.js";

const LANGUAGES = { en: "English", de: "Deutsch" };
const THEMES = ["auto", "light", "dark"];
const main = document.getElementById("main");
let leave = () => {};
let user = null;
let shown = 0;

const stored = (key, allowed, otherwise) => {
  const found = localStorage.getItem(`cellveil.${key}`);
  return allowed.includes(found) ? found : otherwise;
};
const ownLanguage = () => (navigator.language.slice(0, 2) in LANGUAGES ? navigator.language.slice(0, 2) : "en");

const setTheme = (theme) => {
  localStorage.setItem("cellveil.theme", theme);
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};

const setLanguage = async (language) => {
  localStorage.setItem("cellveil.language", language);
  await load(language);
  drawTop();
  document.querySelector(".settings select").focus();
  await route();
};

const signOut = async () => {
  await api.closeSession();
  forget();
  await signedOut();
};

const drawTop = () => {
  const link = (to, text) => make("a", { href: to, text });
  const links = user === null ? [] : [link("#/new", t("nav.new")), link("#/jobs", t("nav.jobs"))];
  const skip = document.getElementById("skip");
  skip.textContent = t("nav.skip");
  skip.onclick = (event) => { event.preventDefault(); main.focus(); };
  document.getElementById("top").replaceChildren(
    make("a", { class: "brand", href: "#/new" }, make("img", { src: "/page/icon.svg", alt: "", width: 22, height: 22 }), "cellveil"),
    make("nav", { "aria-label": t("nav.pages") }, links),
    make("div", { class: "settings" },
      select(Object.entries(LANGUAGES), spoken(), setLanguage, { "aria-label": t("nav.language") }),
      select(THEMES.map((theme) => [theme, t(`nav.theme_${theme}`)]), stored("theme", THEMES, "auto"), setTheme, { "aria-label": t("nav.theme") }),
      user === null ? null : button(t("nav.sign_out", { user }), signOut, { class: "button quiet" })),
  );
};

// Which page of the bar is open, once the view has settled its address.
const mark = () => {
  for (const link of document.querySelectorAll("#top nav a")) {
    if (location.hash.startsWith(link.hash)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
};

const ROUTES = [
  [/^#\/new(?:\/(\w+))?$/, newJob],
  [/^#\/jobs$/, jobsPage],
  [/^#\/jobs\/([\w-]+)(?:\/(\w+))?$/, jobPage],
  [/^#\/jobs\/([\w-]+)\/beside\/([\w-]+)$/, sideBySide],
];

// Draw the view that the address names; what the former one had under way ends.
const route = async () => {
  const turn = ++shown;
  leave();
  leave = () => {};
  const [view, ...names] = found();
  const root = make("div", { class: "view-root" });
  main.replaceChildren(root);
  try {
    const left = await view(root, ...names);
    if (turn === shown) leave = left ?? (() => {});
    else left?.();
  } catch (error) {
    if (error.status === 401) await signedOut();
    else root.replaceChildren(alertOf(error, () => route()));
  }
  if (turn !== shown) return;
  mark();
  const title = root.querySelector("h1")?.textContent;
  document.title = title ? `${title} – cellveil` : "cellveil";
  if (title) announce(title);
};

const signedOut = async () => {
  user = null;
  api.forgetSession();
  drawTop();
  await route();
};

const found = () => {
  if (user === null) return [(root) => signIn(root, enter)];
  for (const [pattern, view] of ROUTES) {
    const match = pattern.exec(location.hash);
    if (match) return [view, ...match.slice(1)];
  }
  return [newJob];
};

const enter = async (token) => {
  user = (await api.openSession(token)).user;
  drawTop();
  if (location.hash.startsWith("#token=")) history.replaceState(null, "", "#/new");
  await route();
};

const start = async () => {
  setTheme(stored("theme", THEMES, "auto"));
  await load(stored("language", Object.keys(LANGUAGES), ownLanguage()));
  const token = /^#token=(.+)$/.exec(location.hash);
  try {
    if (token) return await enter(decodeURIComponent(token[1]));
    if (api.hasSession()) user = (await api.session()).user;
  } catch (error) {
    if (error.status !== 401) return main.replaceChildren(alertOf(error, start));
    api.forgetSession();
    if (token) history.replaceState(null, "", "#/new");
  }
  drawTop();
  await route();
};

api.onWaiting((is) => {
  const note = document.getElementById("waiting");
  note.textContent = is ? t("nav.waiting") : "";
  note.hidden = !is;
});

window.addEventListener("hashchange", async () => {
  await route();
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
await start();
