// The routers: load and bias of each expert over time as heat maps, entropy and dropped share as lines.

import { between, colour, heat } from "./colour.js";
import { el, svg } from "./dom.js";
import { Figure } from "./figure.js";
import { fixed, percent, signed } from "./format.js";
import { text } from "./heromarks.js";
import { decimals, linear, ticks } from "./scale.js";

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
    this.words.textContent = `Which experts ${chart.run} sends its tokens to, layer by layer, over the planned run. Left to right is time, one row an expert; strong is far from even.`;
    const panels = chart.layers.flatMap((layer) => drawings(chart, layer));
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
function drawings(chart, layer) {
  const made = [];
  const name = `Layer ${layer.layer}`;
  if (layer.load) made.push(mapPanel(chart, layer.load, `${name}, load, times the even share`, (v) => shade(v - 1, Math.max(1, (layer.load?.high ?? 2) - 1)), (v) => fixed(v, 2)));
  if (layer.bias) {
    const most = Math.max(Math.abs(layer.bias.low), Math.abs(layer.bias.high), 1e-9);
    made.push(mapPanel(chart, layer.bias, `${name}, balancing bias, added to the logit`, (v) => shade(v, most), (v) => signed(v, 2)));
  }
  if (layer.entropy) made.push(linePanel(layer.entropy, `${name}, entropy of the load, nats`, layer.even_entropy, chart));
  if (layer.dropped) made.push(linePanel(layer.dropped, `${name}, share of assignments dropped`, null, chart));
  return made;
}

/** Above the middle blue, below it purple, both stronger further away. @param {number} off @param {number} most */
function shade(off, most) {
  return off >= 0 ? heat(off / most) : between("h0", "purple", Math.sqrt(Math.min(1, -off / most)));
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
    root.append(text(width / 2, 16, `${say(map.low)} to ${say(map.high)}`, "t", "middle"));
    const columns = Array.from({ length: chart.num_columns }, (_, i) => i).filter((i) => map.cells.some((row) => row[i] !== null));
    const stops = columns.map((i) => ({ x: (i + 0.5) * per, y: height / 2, words: columnWords(chart, map, i, say) }));
    return { nodes: [canvas, root], stops, top: 0, bottom: height };
  };
  const last = map.cells[0].findLastIndex((v) => v !== null);
  return { paint, about: { title, summary: `${title}: ${last < 0 ? "nothing yet" : columnWords(chart, map, last, say)}. Arrow keys read the columns.` } };
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
  map.cells.forEach((row, r) => {
    row.forEach((value, i) => {
      if (value === null) return;
      pen.fillStyle = colourOf(value);
      pen.fillRect(i * per, r * cell, Math.ceil(per * ratio) / ratio, cell);
    });
  });
}

/** @param {RouterChart} chart @param {HeatMap} map @param {number} i @param {(v: number) => string} say */
function columnWords(chart, map, i, say) {
  const values = map.cells.map((row, expert) => ({ expert, value: row[i] })).filter((v) => v.value !== null);
  const sorted = [...values].sort((a, b) => /** @type {number} */ (a.value) - /** @type {number} */ (b.value));
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  return `from step ${fixed(i * chart.column_steps, 0)}: least ${say(/** @type {number} */ (least.value))} (expert ${least.expert}), most ${say(/** @type {number} */ (most.value))} (expert ${most.expert})`;
}

/** @param {import("./types.js").Envelope} line @param {string} title @param {number | null} even @param {RouterChart} chart */
function linePanel(line, title, even, chart) {
  const values = line.mean.filter((v) => v !== null);
  const share = even === null;
  const say = (/** @type {number} */ v) => (share ? percent(v, 2) : fixed(v, 3));
  const paint = (/** @type {number} */ width) => {
    const [left, right, top, bottom] = [44, 8, 8, 84];
    const low = share ? 0 : Math.min(...values, /** @type {number} */ (even)) - 0.02;
    const high = share ? Math.max(...values, 0.001) : /** @type {number} */ (even) + 0.02;
    const x = linear([0, 1], [left, width - right]);
    const y = linear([low, high], [bottom, top]);
    const root = svg("svg", { class: "c", width, height: bottom + 22, "aria-hidden": "true" });
    const levels = ticks(low, high, 3);
    for (const level of levels) {
      root.append(svg("line", { class: "g", x1: left, y1: y(level), x2: width - right, y2: y(level) }));
      root.append(text(left - 6, y(level) + 4, share ? percent(level, 1) : fixed(level, decimals(levels)), "t", "end"));
    }
    root.append(svg("line", { class: "ax", x1: left, y1: bottom, x2: width - right, y2: bottom }));
    if (even !== null) {
      root.append(svg("line", { class: "mk", x1: left, y1: y(even), x2: width - right, y2: y(even) }));
      root.append(text(width - right, y(even) - 4, `even, ${fixed(even, 3)}`, "t halo", "end"));
    }
    const d = line.mean.flatMap((v, i) => (v === null ? [] : [`${x(line.progress[i]).toFixed(1)} ${y(v).toFixed(1)}`]));
    if (d.length) root.append(svg("path", { class: "hero", d: `M${d.join("L")}` }));
    root.append(text(left, bottom + 16, "step 0", "t"), text(width - right, bottom + 16, fixed(chart.num_steps, 0), "t", "end"));
    const stops = line.mean.flatMap((v, i) => (v === null ? [] : [{ x: x(line.progress[i]), y: y(v), words: `${percent(line.progress[i])}: ${say(v)}` }]));
    return { nodes: [root], stops, top, bottom };
  };
  const newest = values[values.length - 1];
  return { paint, about: { title, summary: `${title}: ${newest === undefined ? "nothing yet" : `now ${say(newest)}`}. Arrow keys read the points.` } };
}
