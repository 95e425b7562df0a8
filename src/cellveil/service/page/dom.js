// Elements: everything a user or a file brings goes in as text, never as HTML.

export const make = (tag, options = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name === "value") made.value = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
};

export const button = (text, onclick, options = {}) => make("button", { type: "button", class: "button", text, onclick, ...options });

let fields = 0;
// A control with its name above it, and a sentence about it below.
export const field = (name, control, about = "") => {
  control.id ||= `field-${++fields}`;
  const told = about ? make("p", { class: "about", id: `${control.id}-about`, text: about }) : null;
  if (told) control.setAttribute("aria-describedby", told.id);
  return make("div", { class: "field" }, make("label", { for: control.id, text: name }), control, told);
};

export const select = (entries, chosen, onchange, options = {}) => {
  const made = make("select", { ...options }, entries.map(([value, text]) => make("option", { value, text, selected: value === chosen })));
  made.addEventListener("change", () => onchange(made.value));
  return made;
};

export const tick = (text, checked, onchange, options = {}) => {
  const box = make("input", { type: "checkbox", checked, ...options });
  box.addEventListener("change", () => onchange(box.checked));
  return make("label", { class: "tick" }, box, make("span", { text }));
};

export const choice = (group, text, about, checked, onchange) => {
  const input = make("input", { type: "radio", name: group, checked });
  input.addEventListener("change", () => onchange());
  return make("label", { class: "choice" }, input, make("span", {}, make("b", { text }), about ? make("small", { text: about }) : null));
};

// What screen readers are told while the eyes see it move.
export const announce = (text) => { document.getElementById("told").textContent = text; };

// Where markup is ours (fragments that the report is composed of, drawings), it is parsed, not written.
export const fragment = (html) => {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  const made = document.createDocumentFragment();
  made.append(...document.adoptNode(parsed.body).childNodes);
  return made;
};
