// The training loss of every batch in buckets, least to most with the mean on top, so that no spike hides.

import { svg } from "./dom.js";
import { Figure } from "./figure.js";
import { fixed, loss, named, percent } from "./format.js";
import { text } from "./heromarks.js";
import { decimals, linear, ticks } from "./scale.js";

/** @typedef {import("./types.js").HeroChart} HeroChart */
/** @typedef {import("./types.js").Envelope} Envelope */

const SCALE_FROM = 0.05;

export class TrainFigure {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.figure = new Figure(host);
  }

  /** @param {HeroChart} chart */
  set(chart) {
    const train = /** @type {Envelope} */ (chart.train);
    const steps = train.bucket_steps === 1 ? "each step" : `least, mean and most of every ${fixed(train.bucket_steps, 0)} steps`;
    const newest = train.mean.findLast((v) => v !== null) ?? null;
    this.figure.set((width) => paint(chart, train, width), {
      title: `Training loss, nats per token · ${steps}`,
      summary: `Training loss of ${named(chart.run)}: ${newest === null ? "none yet" : `now ${loss(newest)}`}, ${fixed(bad(train), 0)} values not finite. Arrow keys read the buckets.`,
      table: () => ({
        head: ["done", "least", "mean", "most"].map((t, i) => ({ text: t, kind: i ? "n" : "" })),
        rows: train.progress.map((p, i) => [percent(p, 1), loss(train.low[i]), loss(train.mean[i]), loss(train.high[i])]),
      }),
    });
  }
}

/** @param {Envelope} train */
function bad(train) {
  return train.marks.reduce((sum, m) => sum + m.count, 0);
}

/** @param {Envelope} train @returns {[number, number]} */
function range(train) {
  const settled = (/** @type {(number | null)[]} */ side, /** @type {number} */ from) => /** @type {number[]} */ (side.filter((v, i) => v !== null && train.progress[i] >= from));
  let values = [...settled(train.low, SCALE_FROM), ...settled(train.high, SCALE_FROM)];
  if (!values.length) values = [...settled(train.low, 0), ...settled(train.high, 0)];
  if (!values.length) return [0, 1];
  const sorted = values.sort((a, b) => a - b);
  const [low, high, middle] = [sorted[0], sorted[sorted.length - 1], sorted[Math.floor(sorted.length / 2)]];
  const most = high - low > 1e6 * Math.max(1, Math.abs(middle)) ? sorted[Math.floor(sorted.length * 0.98)] : high;
  const room = 0.06 * (most - low) || 0.5;
  return [low - room, most + room];
}

/** @param {HeroChart} chart @param {Envelope} train @param {number} width */
function paint(chart, train, width) {
  const narrow = width < 560;
  const [left, right, top, bottom] = [narrow ? 36 : 44, narrow ? 52 : 112, 8, 104];
  const [low, high] = range(train);
  const x = linear([0, 1], [left, width - right]);
  const scaled = linear([low, high], [bottom, top]);
  const y = (/** @type {number} */ v) => Math.max(top, Math.min(bottom, scaled(v)));
  const window = svg("svg", { class: "window", x: left, y: top, width: width - right - left, height: bottom - top, viewBox: `${left} ${top} ${width - right - left} ${bottom - top}` });
  const root = svg("svg", { class: "c", width, height: bottom + 22, "aria-hidden": "true" });
  const levels = ticks(low, high, 5);
  for (const level of levels) {
    root.append(svg("line", { class: "g", x1: left, y1: y(level), x2: width - right, y2: y(level) }));
    root.append(text(left - 8, y(level) + 4, fixed(level, decimals(levels)), "t", "end"));
  }
  root.append(svg("line", { class: "ax", x1: left, y1: bottom, x2: width - right, y2: bottom }));
  root.append(text(left, bottom + 18, "step 0", "t"), text(width - right, bottom + 18, fixed(chart.num_steps, 0), "t", "end"));
  for (const run of runs(train)) {
    const edge = (/** @type {(number | null)[]} */ side) => run.map((i) => `${x(train.progress[i]).toFixed(1)} ${scaled(/** @type {number} */ (side[i])).toFixed(1)}`);
    window.append(svg("path", { class: "wash", d: `M${[...edge(train.high), ...edge(train.low).reverse()].join("L")}Z` }));
    window.append(svg("path", { class: "hero thin", d: `M${edge(train.mean).join("L")}` }));
  }
  root.append(window);
  for (const mark of train.marks) {
    const at = x(mark.progress);
    root.append(svg("path", { class: "cross", d: `M${at - 4} ${top}l8 8M${at + 4} ${top}l-8 8` }));
  }
  if (train.marks.length) root.append(text(x(train.marks[train.marks.length - 1].progress) + 10, top + 9, `${fixed(bad(train), 0)} not finite`, "v halo"));
  const newest = train.mean.findLastIndex((v) => v !== null);
  if (newest >= 0) root.append(text(x(train.progress[newest]) + 8, y(/** @type {number} */ (train.mean[newest])) + 4, loss(train.mean[newest]), "a halo"));
  return { nodes: [root], stops: stops(train, x, y, bottom), top, bottom };
}

/** The stretches of buckets between gaps. @param {Envelope} train @returns {number[][]} */
function runs(train) {
  /** @type {number[][]} */
  const found = [[]];
  train.mean.forEach((v, i) => {
    if (v === null) found.push([]);
    else found[found.length - 1].push(i);
  });
  return found.filter((run) => run.length > 0);
}

/** @param {Envelope} train @param {(v: number) => number} x @param {(v: number) => number} y @param {number} bottom */
function stops(train, x, y, bottom) {
  return train.progress.map((p, i) => {
    const mark = train.marks.find((m) => Math.abs(m.progress - p) < 1 / 120 && m.progress <= p);
    const count = mark ? `, ${mark.count} ${mark.kind}` : "";
    const mean = train.mean[i];
    const words = mean === null ? `${percent(p)}: none finite${count}` : `${percent(p)}: mean ${loss(mean)}, ${loss(train.low[i])} to ${loss(train.high[i])}${count}`;
    return { x: x(p), y: mean === null ? bottom : y(mean), words };
  });
}
