// Rules and attackers in one line, as job files write them in short: "p%:p=10, level=holding".

export const read = (text) => {
  const at = text.indexOf(":");
  const name = (at < 0 ? text : text.slice(0, at)).trim();
  const options = {};
  for (const entry of at < 0 ? [] : text.slice(at + 1).split(",")) {
    const [key, value] = entry.split("=").map((part) => part.trim());
    if (value !== undefined) options[key] = value;
  }
  return { name, options };
};

export const write = ({ name, options }) => {
  const given = Object.entries(options).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `${name}:${given.map(([key, value]) => `${key}=${value}`).join(",")}` : name;
};
