// The routers: load and bias of each expert over time as heat maps, entropy and dropped share as lines.

import { between, colour } from "./colour.js";
import { el, svg } from "./dom.js";
import { Figure } from "./figure.js";
import { fixed, named, percent, signed } from "./format.js";
import { text } from "./heromarks.js";
import { decimals, linear, spread, ticks } from "./scale.js";

/** @typedef {import("./types.js").RouterChart} RouterChart */
/** @typedef {import("./types.js").RouterLayer} RouterLayer */
/** @typedef {import("./types.js").HeatMap} HeatMap */

const MAX_CELL = 8;

export class Router {
  /** @param {HTMLElement} host @param {HTMLElement} words */
  constructor(host, words) {
    this.host = host;
    this.words = words;
    this.shape = "";
    /** @type {Figure[]} */
    this.figures = [];
  }

  /** @param {RouterChart} chart */
  set(chart) {
    this.words.textContent = `Which experts ${named(chart.run)} sends its tokens to, layer by layer, over the planned run. Left to right is time, one row an expert; blue is above even, purple below, strong is far from it.`;
    const panels = [...chart.layers.flatMap((layer) => maps(chart, layer)), ...lines(chart)];
    const shape = panels.map((p) => p.about.title).join("\n");
    if (shape !== this.shape) {
      this.figures = panels.map(() => new Figure(el("figure", {}), false));
      this.host.replaceChildren(...this.figures.map((f) => f.host));
      this.shape = shape;
    }
    panels.forEach((panel, i) => this.figures[i].set(panel.paint, panel.about));
  }
}

/** @param {RouterChart} chart @param {RouterLayer} layer */
function maps(chart, layer) {
  const made = [];
  const name = `Layer ${layer.layer}`;
  if (layer.load) {
    const most = Math.max(0.5, layer.load.high - 1, 1 - layer.load.low);
    made.push(mapPanel(chart, layer.load, `${name}, load, times the even share`, (v) => shade(v - 1, most), (v) => fixed(v, 2)));
  }
  if (layer.bias) {
    const most = Math.max(Math.abs(layer.bias.low), Math.abs(layer.bias.high), 1e-9);
    made.push(mapPanel(chart, layer.bias, `${name}, balancing bias, added to the logit`, (v) => shade(v, most), (v) => signed(v, 2)));
  }
  return made;
}

/** @param {RouterChart} chart */
function lines(chart) {
  const entropy = chart.layers.flatMap((l) => (l.entropy ? [{ name: `layer ${l.layer}`, line: l.entropy }] : []));
  const dropped = chart.layers.flatMap((l) => (l.dropped ? [{ name: `layer ${l.layer}`, line: l.dropped }] : []));
  const made = [];
  if (entropy.length) made.push(linePanel(entropy, "Entropy of the load by layer, nats", chart.layers[0].even_entropy, chart));
  if (dropped.length) made.push(linePanel(dropped, "Share of assignments that found no slot, by layer", null, chart));
  return made;
}

/** Above the middle blue, below it purple, both stronger further away. @param {number} off @param {number} most */
function shade(off, most) {
  return off >= 0 ? between("h0", "h8", off / most) : between("h0", "purple", -off / most);
}

/** @param {RouterChart} chart @param {HeatMap} map @param {string} title @param {(v: number) => string} colourOf @param {(v: number) => string} say */
function mapPanel(chart, map, title, colourOf, say) {
  const paint = (/** @type {number} */ width) => {
    const [left, right] = [0, 0];
    const cell = Math.max(3, Math.min(MAX_CELL, Math.floor(160 / map.cells.length)));
    const height = map.cells.length * cell;
    const inner = width - left - right;
    const per = inner / chart.num_columns;
    const canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "map", "aria-hidden": "true" }));
    draw(canvas, inner, height, map, per, cell, colourOf);
    const root = svg("svg", { class: "c", width, height: 22, "aria-hidden": "true" });
    root.append(text(0, 16, "step 0", "t"), text(width, 16, fixed(chart.num_steps, 0), "t", "end"));
    scale(root, width, map, colourOf, say);
    const columns = Array.from({ length: chart.num_columns }, (_, i) => i).filter((i) => map.cells.some((row) => row[i] !== null));
    const stops = columns.map((i) => ({ x: (i + 0.5) * per, y: height / 2, words: columnWords(chart, map, i, say) }));
    return { nodes: [canvas, root], stops, top: 0, bottom: height };
  };
  const last = map.cells[0].findLastIndex((v) => v !== null);
  return { paint, about: { title, summary: `${title}: ${last < 0 ? "nothing yet" : columnWords(chart, map, last, say)}. Arrow keys read the columns.` } };
}

/** The heat scale: seven steps from least to most, with both ends written. @param {SVGElement} root @param {number} width @param {HeatMap} map @param {(v: number) => string} colourOf @param {(v: number) => string} say */
function scale(root, width, map, colourOf, say) {
  const [steps, each] = [7, 14];
  const from = width / 2 - (steps * each) / 2;
  for (let i = 0; i < steps; i += 1) {
    const value = map.low + ((map.high - map.low) * i) / (steps - 1);
    root.append(svg("rect", { x: from + i * each, y: 7, width: each, height: 10, fill: colourOf(value) }));
  }
  root.append(text(from - 6, 16, say(map.low), "t", "end"), text(from + steps * each + 6, 16, say(map.high), "t"));
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {HeatMap} map @param {number} per @param {number} cell @param {(v: number) => string} colourOf */
function draw(canvas, width, height, map, per, cell, colourOf) {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(ratio, ratio);
  pen.fillStyle = colour("well");
  pen.fillRect(0, 0, width, height);
  map.cells.forEach((row, r) => {
    row.forEach((value, i) => {
      if (value === null) return;
      pen.fillStyle = colourOf(value);
      const [from, to] = [i, i + 1].map((edge) => Math.round(edge * per * ratio) / ratio);
      pen.fillRect(from, r * cell, to - from, cell);
    });
  });
}

/** @param {RouterChart} chart @param {HeatMap} map @param {number} i @param {(v: number) => string} say */
function columnWords(chart, map, i, say) {
  const values = map.cells.map((row, expert) => ({ expert, value: row[i] })).filter((v) => v.value !== null);
  const sorted = [...values].sort((a, b) => /** @type {number} */ (a.value) - /** @type {number} */ (b.value));
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  return `from step ${fixed(i * chart.column_steps + 1, 0)}: least ${say(/** @type {number} */ (least.value))} (expert ${least.expert}), most ${say(/** @type {number} */ (most.value))} (expert ${most.expert})`;
}

/** @param {{ name: string, line: import("./types.js").Envelope }[]} layers @param {string} title @param {number | null} even @param {RouterChart} chart */
function linePanel(layers, title, even, chart) {
  const values = layers.flatMap((l) => l.line.mean.filter((v) => v !== null));
  const share = even === null;
  const say = (/** @type {number} */ v) => (share ? percent(v, 2) : fixed(v, 3));
  const paint = (/** @type {number} */ width) => {
    const [left, right, top, bottom] = [44, 56, 12, 108];
    const low = share ? 0 : Math.min(...values, /** @type {number} */ (even)) - 0.02;
    const high = share ? Math.max(...values, 0.001) : /** @type {number} */ (even) + 0.02;
    const x = linear([0, 1], [left, width - right]);
    const y = linear([low, high], [bottom, top]);
    const root = svg("svg", { class: "c", width, height: bottom + 22, "aria-hidden": "true" });
    const levels = ticks(low, high, 5);
    for (const level of levels) {
      root.append(svg("line", { class: "g", x1: left, y1: y(level), x2: width - right, y2: y(level) }));
      root.append(text(left - 6, y(level) + 4, share ? percent(level, decimals(levels.map((v) => 100 * v))) : fixed(level, decimals(levels)), "t", "end"));
    }
    root.append(svg("line", { class: "ax", x1: left, y1: bottom, x2: width - right, y2: bottom }));
    if (even !== null) {
      root.append(svg("line", { class: "mk", x1: left, y1: y(even), x2: width - right, y2: y(even) }));
      root.append(text(width - right + 6, y(even) + 4, "even", "t"));
    }
    root.append(text(left, bottom + 16, "step 0", "t"), text(width - right, bottom + 16, fixed(chart.num_steps, 0), "t", "end"));
    layerLines(root, layers, { x, y, low: top + 4, high: bottom });
    return { nodes: [root], stops: lineStops(layers, x, y, say), top, bottom };
  };
  const newest = layers.map((l) => `${l.name} ${say(/** @type {number} */ (l.line.mean.findLast((v) => v !== null) ?? 0))}`).join(", ");
  return { paint, about: { title, summary: `${title}: ${values.length ? newest : "nothing yet"}. Arrow keys read the points.` } };
}

/** @param {SVGElement} root @param {{ name: string, line: import("./types.js").Envelope }[]} layers @param {{ x: (v: number) => number, y: (v: number) => number, low: number, high: number }} map */
function layerLines(root, layers, map) {
  const ends = layers.map(({ line }) => {
    const i = line.mean.findLastIndex((v) => v !== null);
    return i < 0 ? { x: 0, y: map.high } : { x: map.x(line.progress[i]), y: map.y(/** @type {number} */ (line.mean[i])) };
  });
  layers.forEach(({ line }, k) => {
    const d = line.mean.flatMap((v, i) => (v === null ? [] : [`${map.x(line.progress[i]).toFixed(1)} ${map.y(v).toFixed(1)}`]));
    if (d.length > 1) root.append(svg("path", { class: k % 2 ? "hero dashed" : "hero", d: `M${d.join("L")}` }));
  });
  const heights = spread(ends.map((e) => e.y + 4 + 14), 15, map.low, map.high - 2);
  layers.forEach(({ name }, k) => root.append(text(ends[k].x + 6, heights[k], name, "a halo")));
}

/** @param {{ name: string, line: import("./types.js").Envelope }[]} layers @param {(v: number) => number} x @param {(v: number) => number} y @param {(v: number) => string} say */
function lineStops(layers, x, y, say) {
  const first = layers[0].line;
  return first.progress.flatMap((p, i) => {
    const told = layers.map((l) => `${l.name} ${l.line.mean[i] === null || l.line.mean[i] === undefined ? "not finite" : say(/** @type {number} */ (l.line.mean[i]))}`);
    const at = first.mean[i];
    return at === null ? [] : [{ x: x(p), y: y(at), words: `${percent(p)}: ${told.join(", ")}` }];
  });
}
