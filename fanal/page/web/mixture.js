// What is read: for each domain and phase the planned share as an outline and what was drawn so far as its filling.

import { absent, el, fold, svg, table } from "./dom.js";
import { Figure } from "./figure.js";
import { fixed, named, percent, short, span } from "./format.js";
import { text } from "./heromarks.js";

/** @typedef {import("./types.js").MixtureChart} MixtureChart */
/** @typedef {import("./types.js").MixturePhase} MixturePhase */

const ROW = 28;

export class MixtureFigure {
  /** @param {HTMLElement} host @param {HTMLElement} words */
  constructor(host, words) {
    this.figure = new Figure(host);
    this.words = words;
  }

  /** @param {MixtureChart} chart */
  set(chart) {
    const count = ["No", "One", "Two", "Three", "Four", "Five"][chart.phases.length] ?? fixed(chart.phases.length, 0);
    this.words.textContent = `${count} ${chart.phases.length === 1 ? "phase" : "phases, each in its own proportions"}. Outline: planned share of the phase’s tokens; filled: drawn so far by ${named(chart.run)}.`;
    this.figure.set((width) => paint(chart, width), {
      title: "Share of tokens by domain",
      summary: `Mixture of ${named(chart.run)}: ${chart.rows.map((r) => `${r.domain} ${r.phases.map((p) => percent(p.planned_frac)).join(" then ")}`).join("; ")}.`,
      table: () => rows(chart),
    });
  }
}

/** @param {MixtureChart} chart @param {number} width */
function paint(chart, width) {
  const narrow = width < 640;
  const now = chart.phases.findLast((p) => p.phase === "running") ?? chart.phases.findLast((p) => p.phase === "finished") ?? chart.phases[0];
  const shown = narrow ? [chart.phases.indexOf(now)] : chart.phases.map((_, i) => i);
  const names = narrow ? 116 : 152;
  const end = narrow ? 0 : 96;
  const column = (width - names - end) / shown.length;
  const most = Math.max(...chart.rows.flatMap((r) => r.phases.map((p) => p.planned_frac)), 1e-9);
  const height = 28 + chart.rows.length * ROW;
  const root = svg("svg", { class: "c", width, height, "aria-hidden": "true" });
  shown.forEach((phase, k) => root.append(text(names + k * column, 13, label(chart.phases[phase]), chart.phases[phase].phase === "running" ? "a" : "t")));
  if (!narrow) root.append(text(width, 13, "epochs, whole run", "t", "end"));
  const stops = chart.rows.map((row, i) => {
    const y = 28 + i * ROW;
    if (i) root.append(svg("line", { class: "g", x1: 0, y1: y - 4, x2: width, y2: y - 4 }));
    root.append(text(0, y + 14, row.domain.replaceAll("_", " "), "b"));
    shown.forEach((phase, k) => bar(root, { x: names + k * column, y: y + 2, w: column - 148, most }, row.phases[phase], chart.phases[phase]));
    if (!narrow) root.append(text(width, y + 14, row.epochs === null ? "–" : fixed(row.epochs, 2), "", "end"));
    return { x: names, y, words: `${row.domain}: ${row.phases.map((p, k) => `${chart.phases[k].label.toLowerCase()} ${share(p)}`).join("; ")}` };
  });
  return { nodes: [root], stops, top: 20, bottom: height };
}

/** @param {MixturePhase} phase */
function label(phase) {
  const state = phase.phase === "running" ? ", now" : phase.phase === "planned" ? ", planned" : "";
  return `${phase.label}${state} · ${fixed(100 * phase.first, 0)} to ${percent(phase.last)}`;
}

/** @param {SVGElement} root @param {{ x: number, y: number, w: number, most: number }} at @param {import("./types.js").PhaseShare} part @param {MixturePhase} phase */
function bar(root, at, part, phase) {
  const full = Math.max(1, (part.planned_frac / at.most) * Math.max(24, at.w));
  const done = part.consumed_tokens !== null && part.planned_tokens ? Math.min(1, part.consumed_tokens / part.planned_tokens) : 0;
  if (done) root.append(svg("rect", { class: phase.phase === "running" ? "fill now-fill" : "fill", x: at.x, y: at.y, width: full * done, height: 14 }));
  root.append(svg("rect", { class: "outline", x: at.x + 0.5, y: at.y + 0.5, width: Math.max(0.5, full - 1), height: 13 }));
  const tokens = part.planned_tokens === null ? "" : ` · ${part.consumed_tokens === null || phase.phase === "planned" ? "" : `${short(part.consumed_tokens)} of `}${short(part.planned_tokens)}`;
  root.append(text(at.x + full + 8, at.y + 12, `${percent(part.planned_frac)}${tokens}`, "t halo"));
}

/** @param {import("./types.js").PhaseShare} part */
function share(part) {
  const drawn = part.consumed_tokens === null ? "" : `, ${short(part.consumed_tokens)} tokens drawn`;
  return `${percent(part.planned_frac)} planned${drawn}`;
}

/** @param {MixtureChart} chart */
function rows(chart) {
  const head = [{ text: "domain" }, ...chart.phases.flatMap((p) => [{ text: `${p.label}, planned`, kind: "n" }, { text: "tokens planned", kind: "n" }, { text: "drawn", kind: "n" }]), { text: "epochs", kind: "n" }];
  const made = chart.rows.map((r) => [
    r.domain,
    ...r.phases.flatMap((p) => [percent(p.planned_frac, 1), p.planned_tokens === null ? "–" : fixed(p.planned_tokens, 0), p.consumed_tokens === null ? "–" : fixed(p.consumed_tokens, 0)]),
    r.epochs === null ? "–" : fixed(r.epochs, 2),
  ]);
  return { head, rows: made };
}

/** @param {import("./types.js").CorpusRow[]} corpus */
export function corpusTable(corpus) {
  if (!corpus.length) return [absent("Corpus")];
  const head = [{ text: "domain" }, { text: "licence of the text" }, { text: "from", kind: "hn" }, { text: "documents", kind: "n hn" }, { text: "text", kind: "n hn" }, { text: "tokens", kind: "n" }, { text: "bytes a token", kind: "n hn" }];
  const rows = corpus.map((d) => [d.name.replaceAll("_", " "), d.licence, d.origin, fixed(d.documents, 0), `${short(d.bytes)}B`, short(d.tokens), fixed(d.bytes_per_token, 2)]);
  const sum = (/** @type {"documents" | "bytes" | "tokens"} */ key) => corpus.reduce((all, d) => all + d[key], 0);
  const words = `The text by domain: ${fixed(sum("documents"), 0)} documents, ${short(sum("bytes"))}B, ${short(sum("tokens"))} tokens, with licences`;
  return [fold("corpus", words, [table(head, rows)])];
}

/** @param {import("./types.js").DataStage[]} stages */
export function stagesTable(stages) {
  if (!stages.some((s) => s.documents_in !== null)) return [];
  const head = [{ text: "stage" }, { text: "documents in", kind: "n" }, { text: "out", kind: "n" }, { text: "text out", kind: "n hn" }, { text: "removed", kind: "law" }, { text: "time", kind: "n hn" }];
  const rows = stages.map((s) => {
    const removed = Object.entries(s.removed).map(([cause, count]) => `${fixed(count, 0)} ${cause.replaceAll("_", " ")}`);
    const text = [removed.join(", ") || "–", ...s.alarms].join("; ");
    return [s.stage.replaceAll("_", " "), figure(s.documents_in), figure(s.documents_out), s.bytes_out ? `${short(s.bytes_out)}B` : "–", text, s.seconds === null ? s.phase : span(s.seconds)];
  });
  const [first, last] = [stages.find((s) => s.documents_in)?.documents_in ?? null, stages.findLast((s) => s.documents_out)?.documents_out ?? null];
  return [fold("stages", `From documents to tokens: ${figure(first)} documents in, ${figure(last)} out, by stage and cause`, [table(head, rows)])];
}

/** @param {number | null} count */
function figure(count) {
  return count ? fixed(count, 0) : "–";
}

/** What is going on before any run has a row: the stages so far. @param {import("./types.js").DataStage[]} stages */
export function opening(stages) {
  if (!stages.length) return [];
  const rows = stages.map((s) => {
    const kept = !s.documents_out ? "" : `${fixed(s.documents_out, 0)} documents, `;
    const words = s.phase === "running" ? "now" : `${kept}${s.seconds === null ? s.phase : span(s.seconds)}`;
    return el("li", { class: s.phase === "running" ? "is" : null }, el("span", {}, s.stage.replaceAll("_", " ")), el("b", {}, words));
  });
  return [el("h2", {}, "From documents to tokens"), el("ul", { class: "visit" }, ...rows)];
}
