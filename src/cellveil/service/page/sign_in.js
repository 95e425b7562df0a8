// Who are you: the token that the service printed when it started, or that its keeper gave out.
import { button, field, make } from "./dom.js";
import { t } from "./texts.js";
import { attempt } from "./errors.js";

export const signIn = (root, enter) => {
  const token = make("input", { type: "password", autocomplete: "off", required: true, spellcheck: "false" });
  const errors = make("div");
  const send = button(t("sign_in.enter"), () => {}, { class: "button main", type: "submit" });
  root.append(make("form", { class: "card narrow", onsubmit: (event) => {
    event.preventDefault();
    attempt(send, errors, () => enter(token.value.trim()));
  } },
  make("h1", { text: t("sign_in.title") }),
  make("p", { text: t("sign_in.about") }),
  field(t("sign_in.token"), token),
  errors,
  send));
  token.focus();
};
