// Lists and tables: runs, health, promises, time spent, samples, timeline, settings.

import { absent, el, fold, svg, table } from "./dom.js";
import { clock, duration, fixed, loss, percent, short } from "./format.js";

/** @typedef {import("./types.js").Progress} Progress */
/** @typedef {import("./types.js").PageState} PageState */
/** @typedef {import("./types.js").RunRow} RunRow */

const OTHERS_SHOWN = 3;
const HAPPENINGS_SHOWN = 8;

/** Dot, triangle, dash: steady, look here, absent. @param {string} kind */
function mark(kind) {
  const shapes = {
    steady: svg("circle", { class: "steady", cx: 5, cy: 5, r: 4 }),
    look: svg("path", { class: "look", d: "M5 .5 10 9.5H0Z" }),
    absent: svg("path", { class: "dash", d: "M1 5H9" }),
    fault: svg("path", { class: "steady", d: "M5 .5 10 9.5H0Z" }),
    planned: svg("rect", { class: "open", x: 1, y: 1, width: 8, height: 8 }),
    figure: svg("circle", { class: "open", cx: 5, cy: 5, r: 3.75 }),
  };
  return svg("svg", { class: "mark", width: 10, height: 10, viewBox: "0 0 10 10", "aria-hidden": "true" }, shapes[/** @type {keyof typeof shapes} */ (kind)] ?? shapes.absent);
}

/** @param {RunRow} run */
function stateWords(run) {
  if (run.phase === "finished") return "complete";
  if (run.phase === "running" && !run.step) return "begun";
  if (run.phase === "running" && run.frac !== null) return `${percent(run.frac)} run`;
  if (run.frac !== null && run.phase !== "planned") return `${run.phase} at ${percent(run.frac)}`;
  return run.phase;
}

/** @param {Progress} progress */
export function runsShort(progress) {
  const sizes = [...new Set(progress.runs.map((r) => r.size))];
  if (!sizes.length) return [el("li", {}, el("span", {}, "Runs"), el("b", {}, "not begun"))];
  return sizes.map((size) => {
    const group = progress.runs.filter((r) => r.size === size);
    const open = group.find((r) => r.phase === "running") ?? group.find((r) => r.phase !== "finished") ?? group[group.length - 1];
    const done = group.filter((r) => r.phase === "finished").length;
    const seeds = group.length > 1 ? `${done} of ${group.length} seeds` : "";
    const frac = group.reduce((sum, r) => sum + (r.frac ?? 0), 0) / group.length;
    const words = done === group.length ? (group.length > 1 ? `${group.length} seeds complete` : "complete") : [seeds, stateWords(open)].filter(Boolean).join(", ");
    const live = open.phase === "running";
    const bar = el("span", { class: live ? "bar live" : "bar" }, el("i", {}));
    /** @type {HTMLElement} */ (bar.firstChild).style.width = `${100 * frac}%`;
    return el("li", {}, el("span", {}, open.role === "hero" ? "hero" : size), bar, el("b", {}, words));
  });
}

/** @param {PageState["health"]} rows */
export function health(rows) {
  if (!rows.length) return [el("li", {}, mark("absent"), el("span", {}, "Nothing is published yet."))];
  return rows.map((row) => el("li", {}, mark(row.mark), el("span", {}, el("b", {}, row.name), ` ${row.words}`)));
}

/** `1.34 × 10^12` with its powers raised. @param {string} words */
function raised(words) {
  const parts = words.split(/\^([-−]?\d+(?:\.\d+)?)/);
  return parts.length === 1 ? words : el("span", {}, ...parts.map((part, i) => (i % 2 ? el("sup", {}, part.replace("-", "−")) : part)));
}

/** @param {PageState["promises"]} rows */
export function promises(rows) {
  if (!rows.length) return absent("Promises");
  const head = [{ text: "" }, { text: "promised", kind: "n" }, { text: "now", kind: "n" }, { text: "", kind: "n k hn" }];
  return table(head, rows.map((r) => [r.name, raised(r.promised ?? "–"), el("b", {}, raised(r.now ?? "–")), r.note]));
}

/** Wall time divided: data, steps with their evals, starts with their compilation, and what is left. @param {Progress} progress */
function divided(progress) {
  const sum = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0);
  const data = sum(progress.stages.filter((s) => s.stage.startsWith("data/")).map((s) => s.seconds ?? 0));
  const rungs = sum(progress.runs.filter((r) => r.role === "rung").map((r) => r.seconds));
  const rest = sum(progress.runs.filter((r) => r.role !== "rung").map((r) => r.seconds));
  const starts = sum(
    progress.runs.map((r) => {
      const stage = progress.stages.find((s) => s.stage === `train/${r.run}`);
      return stage?.seconds ? Math.max(0, stage.seconds - r.seconds) : 0;
    }),
  );
  const hero = progress.runs.some((r) => r.role === "hero") ? "hero, steps and evals" : "steps";
  return /** @type {[string, number, string][]} */ ([
    ["data", data, "s3"],
    ["rungs, steps and evals", rungs, "s6"],
    [hero, rest, "s8"],
    ["starts, compilation among them", starts, "s5"],
  ]);
}

/** @param {Progress} progress */
export function spent(progress) {
  const whole = progress.started_ns && progress.last_ns ? (Number(progress.last_ns) - Number(progress.started_ns)) / 1e9 : 0;
  if (whole < 1) return [absent("Wall time")];
  const known = divided(progress);
  const other = Math.max(0, whole - known.reduce((sum, [, seconds]) => sum + seconds, 0));
  const rest = /** @type {[string, number, string]} */ (["other", other, "s2"]);
  const shares = other / whole < 0.005 ? known : [...known, rest];
  const bar = el("div", { class: "shares", "aria-hidden": "true" });
  for (const [, seconds, kind] of shares) {
    const piece = el("i", { class: `share ${kind}` });
    piece.style.flexGrow = String(seconds);
    bar.append(piece);
  }
  const rows = shares.map(([name, seconds, kind]) => el("li", {}, el("span", {}, el("i", { class: `key ${kind}`, "aria-hidden": "true" }), name), el("b", {}, `${duration(seconds)}, ${percent(seconds / whole)}`)));
  return [el("ul", { class: "visit" }, ...rows), bar, el("p", { class: "small" }, `Wall time since the campaign began: ${duration(whole)}.`)];
}

/** @param {Progress} progress */
export function runsTable(progress) {
  if (!progress.runs.length) return [absent("Runs")];
  const head = [{ text: "run" }, { text: "active", kind: "n" }, { text: "total", kind: "n hn" }, { text: "tokens", kind: "n" }, { text: "loss", kind: "n" }, { text: "", kind: "n k hn" }];
  const said = (/** @type {number | null} */ v) => (v === null ? "–" : short(v));
  const rows = progress.runs.map((r) => [el("b", {}, r.run), said(r.params_active), said(r.params_total), said(r.tokens), loss(r.loss), stateWords(r)]);
  return [table(head, rows), el("p", { class: "small" }, "Active: matrices one token uses, without embedding and head. Loss: on the full set where it was scored, else on the pulse.")];
}

/** The same prediction under other choices. @param {import("./types.js").LadderChart | null} ladder */
export function others(ladder) {
  if (!ladder?.others.length) return [];
  const lines = ladder.others.map((o) => el("li", {}, el("span", {}, o.name), el("b", {}, loss(o.value))));
  const heading = el("h3", {}, "The same end, other choices");
  const list = (/** @type {HTMLElement[]} */ items) => el("ul", { class: "visit" }, ...items);
  if (lines.length <= OTHERS_SHOWN + 1) return [heading, list(lines)];
  return [heading, list(lines.slice(0, OTHERS_SHOWN)), fold("others", `${lines.length - OTHERS_SHOWN} more: one choice made otherwise`, [list(lines.slice(OTHERS_SHOWN))])];
}

/** The newest text and the strongest of the other runs' in sight, the rest folded. @param {HTMLElement} words @param {PageState["samples"]} prompts */
export function samples(words, prompts) {
  words.textContent = prompts.length ? "Fixed prompts, in bold, and what each model made of them." : "";
  if (!prompts.length) return [absent("Samples")];
  return prompts.map((p) => {
    const newest = p.rows.length - 1;
    const beside = p.rows.findLastIndex((row) => row.run !== p.rows[newest]?.run);
    const all = p.rows.map((row) => {
      const text = el("p", { class: "written" }, el("b", {}, p.prompt), row.text);
      return el("div", { class: "sample" }, el("span", {}, `${row.run}, step ${fixed(row.step, 0)}`), text);
    });
    const shown = all.filter((_, i) => all.length <= 3 || i === newest || i === beside);
    const others = all.filter((row) => !shown.includes(row));
    const left = p.left_out ? [el("p", { class: "small" }, `${fixed(p.left_out, 0)} more rounds are in the record.`)] : [];
    const rest = others.length ? [fold(`sample ${p.prompt}`, `${fixed(others.length, 0)} more, smaller models and earlier steps`, [...others, ...left])] : left;
    return el("div", { class: "prompt" }, el("h3", {}, `“${p.prompt}”`), ...shown, ...rest);
  });
}

/** @param {HTMLElement} host @param {HTMLElement} words @param {PageState["timeline"]} told */
export function timeline(host, words, told) {
  const left = told.left_out ? ` ${fixed(told.left_out, 0)} older ones are in the record.` : "";
  words.textContent = told.happenings.length ? `Newest first, UTC. Triangle, fault or restart; square, planned; ring, a result or a note.${left}` : "Nothing has happened yet.";
  const lines = told.happenings.map((h, i) => {
    const before = i ? told.happenings[i - 1].time_ns : null;
    const step = h.step === null ? "" : `step ${fixed(h.step, 0)}`;
    return el("li", {}, mark(h.kind), el("time", {}, clock(h.time_ns, before)), el("span", { class: "who" }, h.run), el("p", {}, el("b", {}, h.title), h.detail ? `; ${h.detail}` : ""), el("span", { class: "stp" }, step));
  });
  const list = (/** @type {HTMLElement[]} */ items) => el("ol", { class: "told" }, ...items);
  const older = lines.slice(HAPPENINGS_SHOWN);
  host.replaceChildren(list(lines.slice(0, HAPPENINGS_SHOWN)), ...(older.length ? [fold("timeline", `${fixed(older.length, 0)} older`, [list(older)])] : []));
}

/** @param {HTMLElement} host @param {HTMLElement} words @param {PageState["settings"]} settings */
export function settings(host, words, settings) {
  if (!settings) {
    words.textContent = "";
    host.replaceChildren(absent("Settings"));
    return;
  }
  const set = settings.rows.filter((r) => r.status === "set").length;
  words.textContent = `Every number with the law that gave it: measured by its source, assumed from it, or set by the campaign (${set} of ${settings.rows.length}), each with its reason.`;
  const follows = settings.rows.filter((r) => new Set(r.values).size > 1);
  const same = settings.rows.filter((r) => new Set(r.values).size === 1);
  const sizes = settings.sizes.map((s, i) => ({ text: s, kind: i === settings.sizes.length - 1 ? "n" : "n hn" }));
  const head = [{ text: "setting" }, ...sizes, { text: "law", kind: "law" }];
  const rows = follows.map((r) => {
    const values = r.values.map((v, i) => (i === r.values.length - 1 ? el("b", {}, raised(v)) : raised(v)));
    return [r.name.replaceAll("_", " "), ...values, law(r)];
  });
  const fixedRows = same.map((r) => el("li", {}, el("span", {}, r.name.replaceAll("_", " ")), el("b", {}, raised(r.values[0].replaceAll("_", " "))), law(r)));
  const wide = matchMedia("(min-width: 641px)").matches;
  host.replaceChildren(
    fold("settings", `${follows.length} that follow the size`, [table(head, rows)], wide),
    fold("constants", `${same.length} the same at every size`, [el("ul", { class: "constants" }, ...fixedRows)]),
  );
}

/** The formula, where it comes from and, where the campaign set it, why. @param {import("./types.js").SettingRow} row */
function law(row) {
  const formula = row.formula === "constant" ? "" : raised(row.formula.replaceAll("_", " "));
  const own = row.status === "set" && ["the campaign's file", "Fanal"].includes(row.source);
  const source = own || row.source === "arithmetic" ? "" : row.source.replaceAll("`", "");
  const said = row.why ? `set: ${[row.why.replaceAll("_", " "), source].filter(Boolean).join("; ")}` : [row.status === "defined" ? "" : row.status, source].filter(Boolean).join(", ");
  return el("span", { class: "lawful" }, formula, formula && said ? " " : "", el("span", { class: "why" }, said));
}
