// The service: JSON in, JSON out; the cookie says who asks, the CSRF token that this page does.

const BASE = "/api/v1";
let csrf = "";

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

const once = async (method, path, body, signal) => {
  const headers = method === "GET" ? {} : { "X-CSRF-Token": csrf };
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

export const openSession = async (token) => keep(await post("/session", { token }));
export const session = async () => keep(await get("/session"));
export const closeSession = async () => { await remove("/session"); csrf = ""; };
const keep = (found) => { csrf = found.csrf; return found; };

// The file goes up as it is, with word of how far it is.
export const upload = (file, onprogress) => new Promise((resolve, reject) => {
  const sent = new XMLHttpRequest();
  sent.open("POST", `${BASE}/files?name=${encodeURIComponent(file.name)}`);
  sent.setRequestHeader("X-CSRF-Token", csrf);
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

// Progress of a job as it comes; gives back what ends it.
export const follow = (job, handlers) => {
  const source = new EventSource(`${BASE}/jobs/${encodeURIComponent(job)}/events`);
  for (const kind of ["state", "progress", "end"]) source.addEventListener(kind, (event) => {
    handlers.connected?.(true);
    if (kind === "end") source.close();
    handlers[kind]?.(JSON.parse(event.data));
  });
  source.onopen = () => handlers.connected?.(true);
  source.onerror = () => handlers.connected?.(false);
  return () => source.close();
};

export const download = (job, name) => `${BASE}/jobs/${encodeURIComponent(job)}/downloads/${encodeURIComponent(name)}`;
