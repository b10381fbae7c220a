// The page: asks for the manifest at the run's own pace, draws what has changed, and says when nothing comes.
//
// It reads three things by relative addresses: manifest.json, the view it names, and its own assets. A
// hidden tab asks for nothing and catches up in one request when it is shown.

import { forgetColours } from "./colour.js";
import { byId, el } from "./dom.js";
import { duration, milliseconds } from "./format.js";
import { Parts } from "./parts.js";

/** @typedef {import("./types.js").PageState} PageState */
/** @typedef {{ kind: string, format: number, view: string, poll_seconds: number, phase: string, record_manifest_sha256: string | null }} Manifest */

const VIEW_NAME = /^view\/[0-9a-f]{64}\.json$/;
const FORMAT = 1;
const [LEAST_SECONDS, MOST_SECONDS] = [0.5, 60];

const parts = new Parts();
/** @type {PageState | null} */
let state = null;
/** @type {Manifest | null} */
let manifest = null;
let shownView = "";
let failures = 0;
let clockAhead = 0;
let timer = 0;
let asking = false;

async function ask() {
  const answer = await fetch("manifest.json", { cache: "no-cache" });
  if (!answer.ok) throw new Error(`the manifest answered ${answer.status}`);
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (Number.isFinite(date) && Math.abs(Date.now() - date) > 5000) clockAhead = Date.now() - date;
  const found = /** @type {Manifest} */ (await answer.json());
  if (found.format !== FORMAT || !VIEW_NAME.test(found.view)) throw new Error("the manifest is of another format; load the page again");
  if (found.view !== shownView) {
    const view = await fetch(found.view);
    if (!view.ok) throw new Error(`the view answered ${view.status}`);
    state = /** @type {PageState} */ (await view.json());
    shownView = found.view;
    parts.draw(state);
  }
  manifest = found;
}

async function poll() {
  clearTimeout(timer);
  if (asking || document.visibilityState === "hidden") return;
  asking = true;
  try {
    await ask();
    failures = 0;
  } catch (error) {
    failures += 1;
    byId("fault").textContent = `No answer (${error instanceof Error ? error.message : "cause unknown"}); the page asks again by itself. What is shown is the last that came.`;
  }
  asking = false;
  byId("fault").hidden = failures < 2;
  sayAge();
  const seconds = failures ? Math.min(MOST_SECONDS, 2 ** failures) : Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, manifest?.poll_seconds ?? 1));
  timer = setTimeout(poll, seconds * 1000);
}

/** The state line, the age of the newest row, and the headline for a run that fell silent. */
function sayAge() {
  if (!state) return;
  const { headline, status, progress } = state;
  const age = progress.last_ns ? Math.max(0, (Date.now() - clockAhead - milliseconds(progress.last_ns)) / 1000) : null;
  const silent = headline.silent_after_seconds !== null && age !== null && age > headline.silent_after_seconds;
  const [lead, rest] = silent ? [headline.silent_lead, headline.silent_rest] : [headline.lead, headline.rest];
  parts.headline(lead, rest, state);
  const live = progress.phase === "running";
  const facts = [...status.facts, ...(live && age !== null ? [`last row ${duration(age)} ago`] : [])];
  const word = el("span", { class: live && !silent ? "word live" : "word" }, el("span", { class: "dot" }), silent ? "Silent" : status.word);
  byId("state").replaceChildren(word, ...facts.map((fact) => el("span", { class: "fact" }, fact)));
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("fanal-theme", root.dataset.theme);
  } catch {
    // storage is blocked: the choice holds until the page is left
  }
  recolour();
}

function recolour() {
  forgetColours();
  if (state) parts.recolour(state);
}

byId("theme").addEventListener("click", switchTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
document.addEventListener("visibilitychange", poll);
window.addEventListener("online", poll);
setInterval(sayAge, 1000);
document.fonts.ready.then(recolour);
poll();
