// The hero's loss: uPlot draws the curves, an SVG above and below it the axes, labels and the difference strip.
//
// Drag over the curves to look closer, double-click for the whole run. Null is a gap and stays one.

import { colour } from "./colour.js";
import { el } from "./dom.js";
import { Figure } from "./figure.js";
import { fixed, loss, named, percent, short, signed } from "./format.js";
import { above, below, plan } from "./heromarks.js";
import { linear } from "./scale.js";

/** @typedef {import("./types.js").HeroChart} HeroChart */
/** @typedef {import("./types.js").Points} Points */

const uPlot = /** @type {any} */ (globalThis).uPlot;

export class HeroFigure {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.figure = new Figure(host);
    this.under = el("div", { class: "under" });
    this.curves = el("div", { class: "curves" });
    this.over = el("div", { class: "over" });
    this.back = el("button", { type: "button", class: "whole", hidden: true }, "whole run");
    this.back.addEventListener("click", () => this.look(null));
    this.figure.button.before(this.back);
    /** @type {any} */
    this.plot = null;
    this.shape = "";
    /** @type {[number, number] | null} */
    this.zoom = null;
  }

  /** @param {HeroChart} chart */
  set(chart) {
    this.chart = chart;
    const unit = chart.unit ? `, ${chart.unit}` : "";
    this.figure.set((width) => this.paint(width), {
      title: chart.evals || chart.metric.startsWith("eval/") ? `Loss${unit} · ${chart.title}` : `${chart.metric}${unit} · least, mean and most of every ${fixed(chart.train?.bucket_steps ?? 1, 0)} steps`,
      summary: summary(chart),
      table: () => rows(chart),
    });
  }

  /** Draw again in the colours of the theme. */
  retheme() {
    this.plot?.destroy();
    this.plot = null;
    this.figure.redraw();
  }

  /** @param {number} width */
  paint(width) {
    const chart = /** @type {HeroChart} */ (this.chart);
    const x = this.zoom ?? [0, 1];
    const y = this.zoom ? visible(chart, this.zoom) : /** @type {[number, number]} */ ([chart.low, chart.high]);
    const area = plan(width, chart, x, y);
    this.drawCurves(width, area);
    this.under.replaceChildren(below(chart, area));
    this.over.replaceChildren(above(chart, area));
    this.under.style.height = `${area.height}px`;
    return { nodes: [this.under, this.curves, this.over], stops: stops(chart, area), top: area.top, bottom: area.height };
  }

  /** @param {number} width @param {import("./heromarks.js").Area} area */
  drawCurves(width, area) {
    const chart = /** @type {HeroChart} */ (this.chart);
    const made = series(chart);
    const shape = JSON.stringify([width, area.height, made.map((s) => s.label)]);
    const data = align(made);
    if (this.plot && shape === this.shape) {
      this.plot.setData(data, false);
    } else {
      this.plot?.destroy();
      this.curves.replaceChildren();
      this.plot = new uPlot(this.options(width, area, made), data, this.curves);
      this.shape = shape;
    }
    this.plot.setScale("y", { min: area.y[0], max: area.y[1] });
    this.plot.setScale("x", { min: area.x[0], max: area.x[1] });
  }

  /** @param {number} width @param {import("./heromarks.js").Area} area @param {ReturnType<typeof series>} made */
  options(width, area, made) {
    const index = (/** @type {string} */ label) => made.findIndex((s) => s.label === label) + 1;
    const bands = [
      { series: [index("p90"), index("p10")], fill: colour("band") },
      { series: [index("most"), index("least")], fill: colour("amber-wash") },
    ].filter((b) => b.series[0] > 0);
    return {
      width,
      height: area.bottom + area.under,
      padding: [area.top, area.right, area.under, area.left],
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [{ show: false }, { show: false }],
      legend: { show: false },
      cursor: {
        x: false,
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => this.look(null) },
      },
      hooks: { setSelect: [(/** @type {any} */ u) => this.selected(u)] },
      series: [{}, ...made.map((s) => s.options)],
      bands,
    };
  }

  /** @param {any} u */
  selected(u) {
    if (u.select.width < 8) return;
    const [a, b] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.look([Math.max(0, a), Math.min(1, b)]);
  }

  /** Show a stretch of the run, or all of it. @param {[number, number] | null} zoom */
  look(zoom) {
    this.zoom = zoom;
    this.back.hidden = zoom === null;
    this.figure.redraw();
  }
}

/** The lines of the chart in the order in which they are drawn. @param {HeroChart} chart */
function series(chart) {
  const none = { show: false };
  /** @type {{ label: string, x: number[], y: (number | null)[], options: object }[]} */
  const made = [];
  const add = (/** @type {string} */ label, /** @type {number[]} */ x, /** @type {(number | null)[]} */ y, /** @type {object} */ options) =>
    made.push({ label, x, y, options: { label, points: none, ...options } });
  if (chart.band) {
    add("p90", chart.band.progress, chart.band.p90, { stroke: "transparent", width: 0 });
    add("p10", chart.band.progress, chart.band.p10, { stroke: "transparent", width: 0 });
  }
  if (chart.train && !chart.evals) {
    add("most", chart.train.progress, chart.train.high, { stroke: "transparent", width: 0 });
    add("least", chart.train.progress, chart.train.low, { stroke: "transparent", width: 0 });
    add("mean", chart.train.progress, chart.train.mean, { stroke: colour("amber"), width: 1.5 });
  }
  for (const ghost of chart.ghosts) add(ghost.run, ghost.points.progress, ghost.points.value, { stroke: colour("ghost"), width: 1.25 });
  if (chart.band) add("p50", chart.band.progress, chart.band.p50, { stroke: colour("blue"), width: 1.5, dash: [6, 4] });
  if (chart.evals) {
    const points = { show: true, size: 5, width: 0, fill: colour("amber"), stroke: colour("amber") };
    add("evals", chart.evals.progress, chart.evals.value, { stroke: colour("amber"), width: 2, points });
  }
  return made;
}

/** One table of all lines: a line without a value at an x has undefined there (drawn through), null is a gap. @param {ReturnType<typeof series>} made */
function align(made) {
  const xs = [...new Set(made.flatMap((s) => s.x))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const columns = made.map((s) => {
    const column = new Array(xs.length).fill(undefined);
    s.x.forEach((x, i) => {
      column[/** @type {number} */ (place.get(x))] = s.y[i];
    });
    return gapped(column);
  });
  return [xs, ...columns];
}

/** A gap reaches to the values on both its sides: nothing may be drawn through what lies between. @param {(number | null | undefined)[]} column */
function gapped(column) {
  let before = /** @type {number | null | undefined} */ (undefined);
  let from = 0;
  column.forEach((value, i) => {
    if (value === undefined) return;
    if (before === null || (value === null && before !== undefined)) column.fill(null, before === null ? from : from + 1, i);
    before = value;
    from = i;
  });
  return column;
}

/** The y range of what lies in a stretch. @param {HeroChart} chart @param {[number, number]} zoom @returns {[number, number]} */
function visible(chart, [from, to]) {
  const values = series(chart).flatMap((s) => s.y.filter((v, i) => v !== null && s.x[i] >= from && s.x[i] <= to));
  const finite = /** @type {number[]} */ (values);
  if (!finite.length) return [chart.low, chart.high];
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const room = 0.06 * (high - low) || 0.1;
  return [low - room, high + room];
}

/** @param {HeroChart} chart @param {import("./heromarks.js").Area} area */
function stops(chart, area) {
  const x = linear(area.x, [area.left, area.width - area.right]);
  const y = linear(area.y, [area.bottom, area.top]);
  const line = chart.evals ?? trainPoints(chart);
  const found = line.progress.map((p, i) => {
    const value = line.value[i];
    const mark = line.marks.find((m) => m.step === line.step[i]);
    const height = value === null ? area.bottom : Math.max(area.top, Math.min(area.bottom, y(value)));
    return { p, x: x(p), y: height, words: words(chart, p, line.step[i], value, mark?.kind) };
  });
  return found.filter((s) => s.p >= area.x[0] && s.p <= area.x[1]);
}

/** @param {HeroChart} chart @returns {Points} */
function trainPoints(chart) {
  const train = chart.train;
  if (!train) return { progress: [], step: [], value: [], marks: [] };
  return { progress: train.progress, step: train.progress.map((p) => Math.round(p * chart.num_steps)), value: train.mean, marks: train.marks };
}

/**
 * @param {HeroChart} chart
 * @param {number} progress
 * @param {number} step
 * @param {number | null} value
 * @param {string} [bad]
 */
function words(chart, progress, step, value, bad) {
  const where = `step ${fixed(step, 0)}, ${percent(progress)}`;
  if (value === null) return `${where}: ${bad ?? "not finite"}`;
  const held = chart.differences.find((d) => Math.abs(d.progress - progress) < 1e-9);
  const against = held ? `, ${signed(held.difference, 3)} from the forecast, ${held.inside ? "inside" : "outside"} its band` : "";
  return `${where}: ${loss(value)}${against}`;
}

/** @param {HeroChart} chart */
function summary(chart) {
  const now = chart.now === null ? "no eval yet" : `now ${loss(chart.now)}`;
  const end = chart.band ? `forecast at the end ${loss(chart.band.end.p50)}, ${percent(0.8)} band ${loss(chart.band.end.p10)} to ${loss(chart.band.end.p90)}` : "no forecast published";
  const bad = (chart.evals ?? chart.train)?.marks.reduce((sum, m) => sum + m.count, 0) ?? 0;
  const count = chart.tokens ? `of ${short(chart.tokens)} tokens` : `of ${fixed(chart.num_steps, 0)} steps`;
  return `Loss of ${named(chart.run)} over its run ${count}: ${now}; ${end}; ${fixed(bad, 0)} values not finite. Arrow keys read the points.`;
}

/** @param {HeroChart} chart */
function rows(chart) {
  const line = chart.evals ?? trainPoints(chart);
  const head = ["step", "done", "measured", "forecast", "difference"].map((text, i) => ({ text, kind: i ? "n" : "" }));
  const made = line.progress.map((p, i) => {
    const held = chart.differences.find((d) => Math.abs(d.progress - p) < 1e-9);
    const value = line.value[i];
    const bad = line.marks.find((m) => m.step === line.step[i])?.kind ?? "not finite";
    const told = held ? [loss(held.measured - held.difference), signed(held.difference, 3)] : ["–", "–"];
    return [fixed(line.step[i], 0), percent(p), value === null ? bad : loss(value), ...told];
  });
  return { head, rows: made };
}
