// What stands around the hero's curves: grid and axes below them, labels and marks above, the difference strip under.

import { svg } from "./dom.js";
import { brief, fixed, loss, percent, short, signed } from "./format.js";
import { decimals, freePlace, linear, lineBoxes, spread, ticks } from "./scale.js";

/** @typedef {import("./types.js").HeroChart} HeroChart */
/** @typedef {import("./scale.js").Box} Box */
/**
 * @typedef {object} Area
 * @property {number} width
 * @property {number} height
 * @property {number} top
 * @property {number} bottom
 * @property {number} left
 * @property {number} right
 * @property {number} under
 * @property {boolean} narrow
 * @property {[number, number]} x
 * @property {[number, number]} y
 * @property {[number, number] | null} strip
 */

const LETTER = 6.4;

/**
 * Where everything goes at a width.
 * @param {number} width
 * @param {HeroChart} chart
 * @param {[number, number]} x
 * @param {[number, number]} y
 * @returns {Area}
 */
export function plan(width, chart, x, y) {
  const narrow = width < 560;
  const top = chart.phases.length ? 32 : 12;
  const bottom = top + (narrow ? 280 : 352);
  const hasStrip = chart.differences.length > 0;
  const strip = /** @type {[number, number]} */ ([bottom + 64, bottom + (narrow ? 120 : 136)]);
  const labels = chart.ghosts.length || chart.band;
  return { width, height: hasStrip ? strip[1] + (narrow ? 20 : 8) : bottom + 32, top, bottom, left: narrow ? 36 : 44, right: labels ? (narrow ? 52 : 112) : 16, under: 8, narrow, x, y, strip: hasStrip ? strip : null };
}

/** @param {Area} area */
function scales(area) {
  return { x: linear(area.x, [area.left, area.width - area.right]), y: linear(area.y, [area.bottom, area.top]) };
}

/** Grid, axes and the strip. @param {HeroChart} chart @param {Area} area */
export function below(chart, area) {
  const { x, y } = scales(area);
  const root = svg("svg", { class: "c", width: area.width, height: area.height, "aria-hidden": "true" });
  const right = area.width - area.right;
  const levels = ticks(area.y[0], area.y[1], area.narrow ? 7 : 6);
  const digits = decimals(levels);
  for (const level of levels) {
    root.append(svg("line", { class: "g", x1: area.left, y1: y(level), x2: right, y2: y(level) }));
    root.append(text(area.left - 8, y(level) + 4, fixed(level, digits), "t", "end"));
  }
  root.append(svg("line", { class: "ax", x1: area.left, y1: area.bottom, x2: right, y2: area.bottom }));
  phases(root, chart, area, x);
  const total = chart.tokens ?? chart.num_steps;
  const marks = ticks(area.x[0] * total, area.x[1] * total, area.narrow ? 5 : 7);
  marks.forEach((value, i) => {
    const at = x(value / total);
    const last = i === marks.length - 1;
    const number = chart.tokens ? brief(value) : fixed(value, 0);
    const said = `${number}${last ? (chart.tokens ? " tokens" : " steps") : ""}`;
    const from = Math.min(at - (number.length * LETTER) / 2, area.width - said.length * LETTER);
    root.append(svg("line", { class: "ax", x1: at, y1: area.bottom, x2: at, y2: area.bottom + 4 }));
    root.append(last ? text(from, area.bottom + 18, said, "t") : text(at, area.bottom + 18, said, "t", "middle"));
  });
  if (area.strip) strip(root, chart, area, x);
  return root;
}

/** @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x */
function phases(root, chart, area, x) {
  chart.phases.forEach((phase, i) => {
    const [from, to] = [Math.max(phase.first, area.x[0]), Math.min(phase.last, area.x[1])];
    if (to <= from) return;
    const [a, b] = [x(from) + (i ? 2 : 0), x(to) - 2];
    root.append(svg("line", { class: "ax", x1: a, y1: area.top - 10, x2: b, y2: area.top - 10 }));
    const long = phase.label;
    const label = b - a > long.length * LETTER ? long : b - a > 16 ? String(i + 1) : "";
    root.append(text(a, area.top - 17, label, "t"));
    const marks = [[area.top - 10, area.bottom], ...(area.strip ? [[area.bottom + 28, area.strip[1]]] : [])];
    for (const [y1, y2] of i && from === phase.first ? marks : []) root.append(svg("line", { class: "mk", x1: x(from), y1, x2: x(from), y2 }));
  });
}

/** @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x */
function strip(root, chart, area, x) {
  const [top, bottom] = /** @type {[number, number]} */ (area.strip);
  const shown = chart.differences.filter((d) => d.progress >= area.x[0] && d.progress <= area.x[1]);
  const settled = shown.filter((d) => d.progress >= 0.1);
  const most = Math.max(...(settled.length ? settled : shown).map((d) => Math.abs(d.difference)), 1e-3);
  const values = (settled.length ? settled : shown).map((d) => d.difference);
  const low = Math.min(0, ...values) - 0.15 * most;
  const high = Math.max(0, ...values) + 0.15 * most;
  const y = linear([low, high], [bottom, top]);
  const right = area.width - area.right;
  const out = shown.some((d) => !d.inside);
  const title = out && !area.narrow ? "Measured − forecast, dashed outside the band" : "Measured − forecast";
  root.append(text(0, top - 20, title, "t"));
  if (out && area.narrow) root.append(text(area.left, bottom + 16, "dashed: outside the band", "t"));
  means(root, chart, area, x, title.length * LETTER);
  const levels = ticks(low, high, area.narrow ? 3 : 5);
  for (const level of levels) {
    root.append(svg("line", { class: Math.abs(level) < 1e-12 ? "zero" : "g", x1: area.left, y1: y(level), x2: right, y2: y(level) }));
    root.append(text(area.left - 8, y(level) + 4, Math.abs(level) < 1e-12 ? "0" : signed(level, decimals(levels)), "t", "end"));
  }
  const clip = (/** @type {number} */ v) => Math.max(top, Math.min(bottom, v));
  for (const d of shown) {
    root.append(svg("line", { class: d.inside ? "stem" : "stem out", x1: x(d.progress), y1: y(0), x2: x(d.progress), y2: clip(y(d.difference)) }));
  }
  const newest = shown.at(-1);
  if (!newest) return;
  const at = x(newest.progress);
  const frac = newest.difference / (newest.measured - newest.difference);
  const [nats, share] = [signed(newest.difference, 3), `or ${frac > 0 ? "+" : ""}${percent(frac, 1)}`];
  const one = `${nats}, ${share}`;
  const fits = at + 10 + one.length * LETTER < area.width;
  const lines = area.narrow ? [nats] : fits ? [one] : [nats, share];
  const height = Math.min(bottom - 16 * (lines.length - 1), clip(y(newest.difference)) + (newest.difference > 0 ? -4 : 14));
  lines.forEach((line, i) => root.append(text(at + 10, height + 16 * i, line, "a halo")));
}

/** The mean difference on each side of a change of the mixture, above the strip. @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x @param {number} taken */
function means(root, chart, area, x, taken) {
  const phases = chart.phases.length ? chart.phases : [{ first: 0, last: 1 }];
  const y = /** @type {[number, number]} */ (area.strip)[0] - 20;
  let free = taken;
  phases.forEach((phase, i) => {
    const [from, to] = [Math.max(phase.first, area.x[0]), Math.min(phase.last, area.x[1])];
    const held = chart.differences.filter((d) => d.progress > from && d.progress <= to + 1e-9);
    if (!held.length) return;
    const mean = held.reduce((sum, d) => sum + d.difference, 0) / held.length;
    const count = phases.length === 1 ? ` over ${fixed(held.length, 0)} eval${held.length === 1 ? "" : "s"}` : "";
    const words = `mean ${signed(mean, 3)}${count}`;
    const begins = i > 0 && from === phase.first && to >= area.x[1];
    const left = begins ? x(from) + 6 : x(to) - 6 - words.length * LETTER;
    if (left < free + 8 || left + words.length * LETTER > area.width) return;
    root.append(text(left, y, words, "t halo"));
    free = left + words.length * LETTER;
  });
}

/** Labels and marks. @param {HeroChart} chart @param {Area} area */
export function above(chart, area) {
  const { x, y } = scales(area);
  const root = svg("svg", { class: "c", width: area.width, height: area.height, "aria-hidden": "true" });
  now(root, chart, area, x, y);
  restarts(root, chart, area, x);
  ends(root, chart, area, x, y);
  notFinite(root, chart, area, x);
  free(root, chart, area, x, y);
  return root;
}

/** @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x */
function restarts(root, chart, area, x) {
  for (const moment of chart.restarts.filter((m) => m.progress >= area.x[0] && m.progress <= area.x[1])) {
    root.append(svg("line", { class: "mk", x1: x(moment.progress), y1: area.top, x2: x(moment.progress), y2: area.bottom }));
    root.append(text(x(moment.progress) + 5, area.bottom - 8, moment.words, "t halo"));
  }
  for (const skip of chart.skips.filter((m) => m.progress >= area.x[0] && m.progress <= area.x[1])) {
    const at = x(skip.progress);
    root.append(svg("path", { class: "skip", d: `M${at - 4} ${area.bottom - 1}h8l-4-8z` }, svg("title", {}, `step ${skip.step}: ${skip.words}`)));
  }
}

/** @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x @param {(v: number) => number} y */
function now(root, chart, area, x, y) {
  const last = lastPoint(chart);
  if (!last || last.p < area.x[0] || last.p > area.x[1]) return;
  const [at, height] = [x(last.p), Math.max(area.top, Math.min(area.bottom, y(last.v)))];
  const stop = area.strip ? area.strip[1] : area.bottom;
  root.append(svg("line", { class: "now", x1: at, y1: height + 8, x2: at, y2: area.bottom }));
  if (area.strip) root.append(svg("line", { class: "now", x1: at, y1: area.strip[0], x2: at, y2: stop }));
  root.append(svg("circle", { class: "glow", cx: at, cy: height, r: 10 }), svg("circle", { class: "pt", cx: at, cy: height, r: 4.5 }));
}

/** @param {HeroChart} chart */
function lastPoint(chart) {
  const line = chart.evals ?? (chart.train && { progress: chart.train.progress, value: chart.train.mean });
  if (!line) return null;
  for (let i = line.value.length - 1; i >= 0; i -= 1) {
    const v = line.value[i];
    if (v !== null) return { p: line.progress[i], v, done: chart.step >= chart.num_steps };
  }
  return null;
}

/** Labels at the lines' right ends, moved apart. @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x @param {(v: number) => number} y */
function ends(root, chart, area, x, y) {
  const right = x(area.x[1]) + (area.narrow ? 10 : 14);
  /** @type {{ words: string, kind: string, at: number }[]} */
  const labels = [];
  const last = lastPoint(chart);
  if (last?.done && area.x[1] >= 1 && chart.evals) labels.push({ words: area.narrow ? loss(last.v) : `${loss(last.v)} measured`, kind: "a", at: y(last.v) + 4 });
  for (const ghost of chart.ghosts) {
    const value = ghost.points.value.findLast((v) => v !== null);
    if (value === undefined || value === null || value > area.y[1] || value < area.y[0] || area.x[1] < 1) continue;
    labels.push({ words: area.narrow ? ghost.run : `${ghost.run} · ${loss(value)}`, kind: "t", at: y(value) + 4 });
  }
  if (chart.band && area.x[1] >= 1) {
    const end = chart.band.end;
    labels.push({ words: area.narrow ? loss(end.p50) : `${loss(end.p50)} at the end`, kind: "f", at: y(end.p50) + 4 });
    if (!area.narrow || y(end.p10) - y(end.p90) > 32) {
      labels.push({ words: loss(end.p90), kind: "t", at: y(end.p90) + 4 }, { words: loss(end.p10), kind: "t", at: y(end.p10) + 4 });
    }
  }
  const placed = spread(labels.map((l) => l.at), 16, area.top + 8, area.bottom + 4);
  labels.forEach((label, i) => root.append(text(right, placed[i], label.words, `${label.kind} halo`)));
}

/** Crosses where values are not finite, with their count. @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x */
function notFinite(root, chart, area, x) {
  const marks = ((chart.evals ?? chart.train)?.marks ?? []).filter((m) => m.progress >= area.x[0] && m.progress <= area.x[1]);
  for (const mark of marks) {
    const [cx, cy] = [x(mark.progress), area.top + 8];
    root.append(svg("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8M${cx + 4} ${cy - 4}l-8 8` }));
  }
  if (!marks.length) return;
  const count = marks.reduce((sum, m) => sum + m.count, 0);
  const at = x(marks[marks.length - 1].progress);
  const fits = at + 130 < area.width - area.right;
  root.append(text(fits ? at + 10 : at - 10, area.top + 12, `${fixed(count, 0)} not finite`, "v halo", fits ? "start" : "end"));
}

/** Labels that look for free ground. @param {SVGElement} root @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x @param {(v: number) => number} y */
function free(root, chart, area, x, y) {
  const room = { x: area.left + 8, y: area.top + 4, w: area.width - area.right - area.left - 16, h: area.bottom - area.top - 16 };
  const taken = obstacles(chart, area, x, y);
  const place = (/** @type {string[]} */ lines, /** @type {string} */ kind, /** @type {{ x: number, y: number }} */ near, far = Infinity) => {
    const size = { w: Math.max(...lines.map((l) => l.length)) * LETTER + 8, h: lines.length * 17 + 4 };
    const box = freePlace(size, near, room, taken);
    if (!box || Math.hypot(box.x + size.w / 2 - near.x, box.y + size.h / 2 - near.y) > far) return;
    taken.push(box);
    lines.forEach((line, i) => root.append(text(box.x + 4, box.y + 14 + i * 17, line, i ? "halo" : `${kind} halo`)));
  };
  const last = lastPoint(chart);
  if (last && !(last.done && chart.evals)) {
    const tokens = chart.tokens ? `${short(last.p * chart.tokens)} tokens` : "";
    const where = `${tokens}${tokens ? ", " : ""}step ${fixed(Math.round(last.p * chart.num_steps), 0)}`;
    place([`${last.done ? "End" : "Now"} · ${loss(last.v)}`, area.narrow ? tokens || where : where], "a", { x: x(last.p) + 40, y: y(last.v) + 48 });
  }
  if (chart.band) {
    const p = Math.min(area.narrow ? 0.72 : 0.62, area.x[1]);
    const sealed = chart.band.before_step_0 ? "Sealed forecast, median" : "Later forecast, median";
    place([area.narrow ? sealed.split(",")[0] : sealed, `and ${percent(0.8)} band`], "f", { x: x(p), y: y(at(chart.band.progress, chart.band.p90, p)) - 28 });
  }
  if (chart.ghosts.length) {
    const ghost = chart.ghosts[0].points;
    const p = 0.72;
    place([area.narrow ? "smaller runs" : "smaller runs at equal progress"], "t", { x: x(p), y: y(at(ghost.progress, ghost.value, p)) - 16 }, 120);
  }
  if (chart.evals && !area.narrow) {
    const count = chart.evals.value.length;
    const p = (last?.p ?? 0.3) / 2;
    place([`Measured, ${fixed(count, 0)} eval${count === 1 ? "" : "s"}`], "a", { x: x(p), y: y(at(chart.evals.progress, chart.evals.value, p)) + 28 }, 160);
  }
}

/** @param {HeroChart} chart @param {Area} area @param {(v: number) => number} x @param {(v: number) => number} y @returns {Box[]} */
function obstacles(chart, area, x, y) {
  const clip = (/** @type {number} */ v) => Math.max(area.top, Math.min(area.bottom, y(v)));
  const line = (/** @type {number[]} */ progress, /** @type {(number | null)[]} */ values) =>
    lineBoxes(progress.flatMap((p, i) => (values[i] === null ? [] : [/** @type {[number, number]} */ ([x(p), clip(/** @type {number} */ (values[i]))])])));
  const lines = [...chart.ghosts.map((g) => line(g.points.progress, g.points.value))];
  if (chart.evals) lines.push(line(chart.evals.progress, chart.evals.value));
  if (chart.train && !chart.evals) lines.push(line(chart.train.progress, chart.train.low), line(chart.train.progress, chart.train.high));
  if (chart.band) {
    const band = chart.band;
    lines.push(
      band.progress.slice(1).map((p, i) => {
        const top = Math.min(clip(band.p90[i]), clip(band.p90[i + 1]));
        const low = Math.max(clip(band.p10[i]), clip(band.p10[i + 1]));
        return { x: x(band.progress[i]), y: top, w: x(p) - x(band.progress[i]), h: low - top };
      }),
    );
  }
  const restarted = chart.restarts.flatMap((m) => [
    { x: x(m.progress) - 2, y: area.top, w: 4, h: area.bottom - area.top },
    { x: x(m.progress), y: area.bottom - 24, w: m.words.length * LETTER + 10, h: 20 },
  ]);
  const last = lastPoint(chart);
  const nowLine = last ? [{ x: x(last.p) - 3, y: clip(last.v) - 10, w: 6, h: area.bottom - clip(last.v) + 10 }] : [];
  const marks = (area.narrow ? [] : chart.phases.slice(1)).map((p) => ({ x: x(p.first) - 2, y: area.top, w: 4, h: area.bottom - area.top }));
  return [...lines.flat(), ...nowLine, ...marks, ...restarted];
}

/** Linear interpolation through the finite values. @param {number[]} xs @param {(number | null)[]} ys @param {number} x @returns {number} */
function at(xs, ys, x) {
  const known = xs.flatMap((p, i) => (ys[i] === null ? [] : [{ p, v: /** @type {number} */ (ys[i]) }]));
  const i = known.findIndex((k) => k.p >= x);
  if (!known.length) return 0;
  if (i <= 0) return known[i === 0 ? 0 : known.length - 1].v;
  const [a, b] = [known[i - 1], known[i]];
  return a.v + ((b.v - a.v) * (x - a.p)) / (b.p - a.p);
}

/** @param {number} x @param {number} y @param {string} words @param {string} kind @param {string} [anchor] */
export function text(x, y, words, kind, anchor = "start") {
  return svg("text", { x, y, class: kind, "text-anchor": anchor }, words);
}
