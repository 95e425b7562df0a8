// What became of a job, as a word with a colour and a sign.
import { make } from "./dom.js";
import { known, t } from "./texts.js";

const TONES = { queued: "", running: "busy", done: "good", failed: "bad", cancelled: "", interrupted: "warn" };
const SIGNS = { good: "✓", bad: "✕", warn: "!", busy: "●", "": "○" };
const STOPPED = 130; // exit code of a run that was stopped early
const NOT_SAFE = 1;

export const isOver = (job) => !["queued", "running"].includes(job.state);

// The exit code as far as it tells the verdict: whoever stops a run before it is safe has nothing.
const codeOf = (job) => (job.exit_code === STOPPED && !job.safe ? NOT_SAFE : job.exit_code);

const toneOf = (job) => {
  if (job.state !== "done" || !codeOf(job)) return TONES[job.state] ?? "";
  return codeOf(job) === STOPPED ? "warn" : "bad";
};

export const badge = (job) => {
  const tone = toneOf(job);
  const hasCode = job.exit_code !== null && ["done", "failed"].includes(job.state);
  const words = hasCode ? known("exits", String(codeOf(job)), t(`states.${job.state}`)) : t(`states.${job.state}`);
  return make("span", { class: `state ${tone}` }, make("span", { "aria-hidden": "true", text: SIGNS[tone] }), ` ${words}`);
};
