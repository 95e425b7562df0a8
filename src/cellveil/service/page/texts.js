// Texts of the page in the reader's language, and numbers as that language writes them.

let texts = {};
let language = "en";

export const load = async (wanted) => {
  const answer = await fetch(`/api/v1/texts/${wanted}`);
  texts = await answer.json();
  language = wanted;
  document.documentElement.lang = wanted;
};

const found = (key) => key.split(".").reduce((at, name) => (at === undefined ? undefined : at[name]), texts);

// The text of a key such as "rules.title", with {names} filled in; of one or several things by {number}.
export const t = (key, filled = {}) => {
  let text = found(key);
  if (typeof text === "object" && "number" in filled) text = text[filled.number === 1 ? "one" : "many"];
  if (typeof text !== "string") throw new Error(`no text for ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, name) => (typeof filled[name] === "number" ? number(filled[name]) : String(filled[name])));
};

// The text of a key where there is one: names that the engine may add to later fall back on its own sentence.
export const known = (section, name, otherwise) => {
  const text = found(section)?.[name];
  return typeof text === "string" ? text : otherwise;
};

export const spoken = () => language;
// The reader's own variety of the language, for dates and numbers.
const locale = () => navigator.languages.find((one) => one.startsWith(language)) ?? language;
export const number = (amount, digits = 0) => amount.toLocaleString(locale(), { maximumFractionDigits: digits });
export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${number(100 * share, digits)}\u00a0%`);
export const large = (amount) => (amount === null || amount === undefined ? "–" : amount.toLocaleString(locale(), { notation: "compact", maximumSignificantDigits: 4 }));
export const bytes = (size) => (size < 1000 ? `${size} B` : size < 1e6 ? `${number(size / 1e3)} kB` : `${number(size / 1e6, 1)} MB`);
export const clock = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return `${hours ? `${hours}:${String(minutes).padStart(2, "0")}` : minutes}:${String(rest).padStart(2, "0")}`;
};
export const when = (moment) => (moment ? new Date(typeof moment === "number" ? 1000 * moment : moment).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" }) : "–");
