// Elements and numbers, for all components.
export const make = (tag, options = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};
export const percent = (share) => (share === null ? "–" : share < 0 ? "∞" : `${share.toLocaleString("en", { maximumFractionDigits: share < 1000 ? 1 : 0 })} %`);
export const span = (down, up) => (down === null || up === null ? "–" : `−${percent(down)} … +${percent(up)}`);
export const count = (number) => number.toLocaleString("en");
