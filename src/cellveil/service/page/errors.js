// Errors whole: what is wrong, where, and what to do about it.
import { button, make } from "./dom.js";
import { known, t } from "./texts.js";

// Where it is, unless the message itself says so.
const place = (error) => [
  error.file ? t("errors.file", { name: error.file }) : null,
  error.line ? t("errors.line", { number: error.line }) : null,
  error.cell ? t("errors.cell", { name: error.cell }) : null,
].filter(Boolean).join(" · ");

// An error as a box; `again` offers to try once more.
export const alertOf = (error, again = null) => {
  const isOurs = error.kind !== undefined;
  const title = known("errors.kinds", error.kind ?? "page", t("errors.kinds.other"));
  const where = error.file && error.message.includes(error.file) ? "" : place(error);
  return make("div", { class: "alert", role: "alert" },
    make("b", { text: title }),
    where ? make("p", { class: "where", text: where }) : null,
    error.message ? make("p", { text: isOurs ? error.message : t("errors.page", { message: error.message }) }) : null,
    error.hint && !error.message.includes(error.hint) ? make("p", {}, make("b", { text: `${t("errors.remedy")} ` }), error.hint) : null,
    again ? button(t("errors.again"), () => again()) : null);
};

// Do something in answer to a click; what goes wrong is shown in `place`, and the button rests meanwhile.
export const attempt = async (element, place, work) => {
  if (element) element.disabled = true;
  place.replaceChildren();
  try {
    return await work();
  } catch (error) {
    place.replaceChildren(alertOf(error));
    place.firstChild.scrollIntoView({ block: "nearest" });
    return undefined;
  } finally {
    if (element) element.disabled = false;
  }
};
