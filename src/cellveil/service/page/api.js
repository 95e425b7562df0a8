// The service: JSON in, JSON out. The secret of the session is kept for this origin, port included, and sent as
// a header: a cookie would reach every other server on this host.

const BASE = "/api/v1";
const KEPT = "cellveil.session";
const authorization = () => {
  const session = localStorage.getItem(KEPT);
  return session ? { Authorization: `Bearer ${session}` } : {};
};

// An error of the service or of the engine, with the place and the remedy it names.
export class ApiError extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, { status, kind: error.kind, hint: error.hint, file: error.file, line: error.line, cell: error.cell });
  }
}

const unknown = (status, text) => ({ kind: status === 503 ? "busy" : "service", message: `${status} ${text}` });

const failure = async (answer) => {
  const told = await answer.json().catch(() => null);
  return new ApiError(answer.status, told?.error ?? unknown(answer.status, answer.statusText));
};

const once = async (method, path, body, signal, more = {}) => {
  const headers = { ...authorization(), ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(BASE + path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { kind: "unreachable", message: "" });
  }
  if (!answer.ok) throw await failure(answer);
  return answer;
};

const PAUSES = [2, 4, 8, 15, 30]; // seconds before a request that found the service busy is made again
let waiting = 0;
let tellWaiting = () => {};

// Called with true while any request waits until the service is less busy, then with false.
export const onWaiting = (tell) => { tellWaiting = tell; };

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

// A busy service has done nothing yet, so asking again is safe; a worker that died or ran out of time is no such case.
const request = async (method, path, body, signal) => {
  let isWaiting = false;
  try {
    for (const seconds of PAUSES) {
      try {
        return await once(method, path, body, signal);
      } catch (error) {
        if (error.status !== 503 || error.kind !== "busy") throw error;
      }
      if (!isWaiting) tellWaiting(++waiting > 0);
      isWaiting = true;
      await pause(seconds, signal);
    }
    return await once(method, path, body, signal);
  } finally {
    if (isWaiting) tellWaiting(--waiting > 0);
  }
};

export const get = async (path, signal) => (await request("GET", path, undefined, signal)).json();
export const getText = async (path, signal) => (await request("GET", path, undefined, signal)).text();
export const post = async (path, body = {}, signal) => (await request("POST", path, body, signal)).json();
export const remove = (path) => request("DELETE", path);

export const openSession = async (token) => {
  const found = await post("/session", { token });
  localStorage.setItem(KEPT, found.session);
  return found;
};
export const hasSession = () => localStorage.getItem(KEPT) !== null;
export const session = () => get("/session");
export const forgetSession = () => localStorage.removeItem(KEPT);
export const closeSession = async () => { await remove("/session"); forgetSession(); };

// The file goes up as it is, with word of how far it is.
export const upload = (file, onprogress) => new Promise((resolve, reject) => {
  const sent = new XMLHttpRequest();
  sent.open("POST", `${BASE}/files?name=${encodeURIComponent(file.name)}`);
  for (const [name, value] of Object.entries(authorization())) sent.setRequestHeader(name, value);
  sent.setRequestHeader("Content-Type", "application/octet-stream");
  sent.upload.onprogress = (event) => { if (event.lengthComputable) onprogress(event.loaded / event.total); };
  sent.onerror = () => reject(new ApiError(0, { kind: "unreachable", message: "" }));
  sent.onload = () => {
    let told = null;
    try { told = JSON.parse(sent.responseText); } catch { /* not JSON: an error below */ }
    if (sent.status < 300 && told) resolve(told);
    else reject(new ApiError(sent.status, told?.error ?? unknown(sent.status, sent.statusText)));
  };
  sent.send(file);
});

// Server-sent events as they come: the fields of each.
const eventsOf = async function* (body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "";;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
      if (fields.event) yield fields;
    }
  }
};

const RETRY = 2; // seconds before a stream that broke is opened again

// Progress of a job as it comes, while the tab is in sight: browsers open six connections to a server in all.
// Gives back what ends it.
export const follow = (job, handlers) => {
  const path = `/jobs/${encodeURIComponent(job)}/events`;
  let seen = null;
  let isOver = false;
  let under = new AbortController();
  const listen = async ({ signal }) => {
    while (!isOver && !signal.aborted) {
      try {
        const answer = await once("GET", path, undefined, signal, seen === null ? {} : { "Last-Event-ID": seen });
        handlers.connected?.(true);
        for await (const { id, event, data } of eventsOf(answer.body)) {
          seen = id;
          isOver = event === "end";
          handlers[event]?.(JSON.parse(data));
        }
      } catch (error) {
        if (signal.aborted) return;
        handlers.connected?.(false);
        if (error.status >= 400 && error.status < 500) return; // signed out, or the job is gone
      }
      if (!isOver) await pause(RETRY, signal).catch(() => {});
    }
  };
  const look = () => {
    under.abort();
    under = new AbortController();
    if (!document.hidden && !isOver) listen(under);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    isOver = true;
    document.removeEventListener("visibilitychange", look);
    under.abort();
  };
};

// Save a download: a link could not send the header.
export const download = async (job, name) => {
  const answer = await once("GET", `/jobs/${encodeURIComponent(job)}/downloads/${encodeURIComponent(name)}`);
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await answer.blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};
