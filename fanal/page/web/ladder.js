// Loss against FLOPs, both logarithmic, with the sealed forecast's median, band and its hero.

import { svg } from "./dom.js";
import { Figure } from "./figure.js";
import { evalSet, fixed, loss, percent, short } from "./format.js";
import { text } from "./heromarks.js";
import { decimals, linear, lineBoxes, freePlace, ticks } from "./scale.js";

/** @typedef {import("./types.js").LadderChart} LadderChart */

const NUMBERS = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"];

export class LadderFigure {
  /** @param {HTMLElement} host @param {HTMLElement} words */
  constructor(host, words) {
    this.figure = new Figure(host);
    this.words = words;
  }

  /** @param {LadderChart} chart */
  set(chart) {
    this.words.textContent = sentence(chart);
    const above = chart.asymptote ? ` − ${fixed(chart.asymptote, 2)}` : "";
    const set = evalSet(chart.metric);
    this.figure.set((width) => paint(chart, width), {
      title: `Loss at the end${set ? ` on the ${set}` : ""}, ${chart.unit}; log of loss${above}`,
      summary: `Ladder. ${sentence(chart)} Arrow keys read the points.`,
      table: () => ({
        head: ["size", "FLOPs without the head", "loss", "seeds"].map((t, i) => ({ text: t, kind: i ? "n" : "" })),
        rows: chart.points.map((p) => [p.size, short(p.flops), loss(p.loss), p.seeds.map((s) => loss(s)).join(", ")]),
      }),
    });
  }
}

/** @param {LadderChart} chart */
function sentence(chart) {
  const number = NUMBERS[chart.planned] ?? String(chart.planned);
  if (!chart.forecast) return chart.points.length < chart.planned ? `${chart.points.length} of ${chart.planned} sizes finished; the forecast is sealed after the last.` : `${number} sizes finished; no forecast is published yet.`;
  const span = `${loss(chart.forecast.p50)}, ${percent(0.8)} band ${loss(chart.forecast.p10)} to ${loss(chart.forecast.p90)}`;
  const measured = chart.measured === null ? "" : ` Measured ${loss(chart.measured)}.`;
  return `${number} small sizes, one prediction: ${span}.${measured}`;
}

/** @param {LadderChart} chart @param {number} width */
function paint(chart, width) {
  const narrow = width < 480;
  const [left, right, top, bottom] = [40, narrow ? 56 : 88, 8, narrow ? 240 : 336];
  const flops = [...chart.points.map((p) => p.flops), ...(chart.hero_flops ? [chart.hero_flops] : []), ...(chart.path?.flops ?? [])];
  const losses = [...chart.points.flatMap((p) => [p.loss, ...p.seeds]), ...(chart.path ? [...chart.path.p10, ...chart.path.p90] : []), ...(chart.measured === null ? [] : [chart.measured])];
  const height = bottom + 44;
  const root = svg("svg", { class: "c", width, height, "aria-hidden": "true" });
  if (!flops.length || !losses.length) {
    root.append(text(left, 24, "No size has finished yet.", "t"));
    return { nodes: [root], stops: [], top, bottom: height };
  }
  const logs = /** @type {[number, number]} */ ([Math.log10(Math.min(...flops)) - 0.25, Math.log10(Math.max(...flops)) + 0.08]);
  const x = linear(logs, [left, width - right]);
  const rise = (/** @type {number} */ v) => Math.log(v - chart.asymptote);
  const heights = losses.map(rise);
  const room = 0.06 * (Math.max(...heights) - Math.min(...heights)) || 0.1;
  const y = linear([Math.min(...heights) - 2 * room, Math.max(...heights) + room], [bottom, top]);
  const map = { bottom, x: (/** @type {number} */ c) => x(Math.log10(c)), y: (/** @type {number} */ v) => y(rise(v)) };
  axes(root, losses, logs, map, { left, right: width - right, bottom, width });
  forecast(root, chart, map);
  const stops = points(root, chart, map);
  hero(root, chart, map, stops);
  if (chart.path) bandLabel(root, chart, map, { x: left, y: top, w: width - right - left, h: bottom - top });
  return { nodes: [root], stops, top, bottom: height };
}

/** @typedef {{ bottom: number, x: (flops: number) => number, y: (loss: number) => number }} Map2 */

/** @param {SVGElement} root @param {number[]} losses @param {[number, number]} logs @param {Map2} map @param {{ left: number, right: number, bottom: number, width: number }} area */
function axes(root, losses, logs, map, area) {
  const levels = ticks(Math.min(...losses), Math.max(...losses), 6);
  for (const level of levels) {
    root.append(svg("line", { class: "g", x1: area.left, y1: map.y(level), x2: area.right, y2: map.y(level) }));
    root.append(text(area.left - 8, map.y(level) + 4, fixed(level, Math.max(1, decimals(levels))), "t", "end"));
  }
  root.append(svg("line", { class: "ax", x1: area.left, y1: area.bottom, x2: area.right, y2: area.bottom }));
  for (let power = Math.floor(logs[0]); power <= logs[1]; power += 1) {
    for (const part of [2, 5].map((m) => power + Math.log10(m)).filter((p) => p >= logs[0] && p <= logs[1])) {
      root.append(svg("line", { class: "ax", x1: map.x(10 ** part), y1: area.bottom, x2: map.x(10 ** part), y2: area.bottom + 3 }));
    }
  }
  for (let power = Math.ceil(logs[0]); power <= logs[1]; power += 1) {
    const at = map.x(10 ** power);
    root.append(svg("line", { class: "ax", x1: at, y1: area.bottom, x2: at, y2: area.bottom + 4 }));
    root.append(svg("text", { x: at, y: area.bottom + 20, class: "t", "text-anchor": "middle" }, "10", svg("tspan", { dy: -5, class: "power" }, String(power))));
  }
  root.append(text(area.right, area.bottom + 40, "FLOPs of training, without the head", "t", "end"));
}

/** @param {SVGElement} root @param {LadderChart} chart @param {Map2} map */
function forecast(root, chart, map) {
  const path = chart.path;
  if (!path) return;
  const go = (/** @type {number[]} */ values) => path.flops.map((c, i) => `${map.x(c).toFixed(1)} ${map.y(values[i]).toFixed(1)}`);
  root.append(svg("path", { class: "band", d: `M${[...go(path.p90), ...go(path.p10).reverse()].join("L")}Z` }));
  root.append(svg("path", { class: "fit", d: `M${go(path.p50).join("L")}` }));
}

/** @param {SVGElement} root @param {LadderChart} chart @param {Map2} map */
function points(root, chart, map) {
  return chart.points.map((p) => {
    for (const seed of p.seeds.length > 1 ? p.seeds : []) root.append(svg("circle", { class: "seed", cx: map.x(p.flops), cy: map.y(seed), r: 2.5 }));
    root.append(svg("circle", { class: "inkf", cx: map.x(p.flops), cy: map.y(p.loss), r: 4.5 }));
    const under = isUnder(chart, p, map.x(p.flops));
    const [dx, dy] = under ? [-10, 18] : [10, -6];
    root.append(text(map.x(p.flops) + dx, map.y(p.loss) + dy, `${p.size} · ${loss(p.loss)}`, "halo", under ? "end" : "start"));
    const seeds = p.seeds.length > 1 ? `, mean of ${p.seeds.length} seeds` : "";
    return { x: map.x(p.flops), y: map.y(p.loss), words: `${p.size}: ${loss(p.loss)}${seeds}, ${short(p.flops)} FLOPs` };
  });
}

/** Whether a size's label stands under the line, where its point is and where there is room. @param {LadderChart} chart @param {import("./types.js").LadderPoint} p @param {number} at */
function isUnder(chart, p, at) {
  return chart.path !== null && at > 128 && p.loss < middle(chart.path, p.flops);
}

/** The forecast's median at a cost. @param {{ flops: number[], p50: number[] }} path @param {number} flops */
function middle(path, flops) {
  const i = path.flops.findIndex((c) => c >= flops);
  if (i <= 0) return path.p50[i === 0 ? 0 : path.p50.length - 1];
  const frac = Math.log(flops / path.flops[i - 1]) / Math.log(path.flops[i] / path.flops[i - 1]);
  return path.p50[i - 1] + (path.p50[i] - path.p50[i - 1]) * frac;
}

/** @param {SVGElement} root @param {LadderChart} chart @param {Map2} map @param {{ x: number, y: number, words: string }[]} stops */
function hero(root, chart, map, stops) {
  if (!chart.hero_flops || !chart.forecast) return;
  const at = map.x(chart.hero_flops);
  const { p10, p50, p90 } = chart.forecast;
  root.append(svg("line", { class: "hero", x1: at, y1: map.y(p10), x2: at, y2: map.y(p90) }));
  root.append(svg("circle", { class: "hol amber", cx: at, cy: map.y(p50), r: 5 }));
  if (chart.measured !== null) root.append(svg("circle", { class: "pt", cx: at, cy: map.y(chart.measured), r: 4.5 }));
  const shown = chart.measured ?? p50;
  const labels = Math.min(map.y(shown), map.bottom - 32);
  const lines = [["hero", "a halo"], [loss(shown), "a halo"], [chart.measured === null ? "foretold" : "measured", "halo"]];
  lines.forEach(([words, kind], i) => root.append(text(at + 12, labels - 12 + i * 16, words, kind)));
  const measured = chart.measured === null ? "not finished" : `measured ${loss(chart.measured)}`;
  stops.push({ x: at, y: map.y(shown), words: `hero: foretold ${loss(p50)}, ${loss(p10)} to ${loss(p90)}; ${measured}` });
}

/** @param {SVGElement} root @param {LadderChart} chart @param {Map2} map @param {import("./scale.js").Box} room */
function bandLabel(root, chart, map, room) {
  const path = chart.path;
  if (!path) return;
  const middle = Math.floor(path.flops.length * 0.75);
  const near = { x: map.x(path.flops[middle]), y: map.y(path.p90[middle]) - 24 };
  const edge = (/** @type {number[]} */ v) => /** @type {[number, number][]} */ (path.flops.map((c, i) => [map.x(c), map.y(v[i])]));
  const taken = [...lineBoxes(edge(path.p90)), ...lineBoxes(edge(path.p50)), ...lineBoxes(edge(path.p10))];
  for (const p of chart.points) {
    const [dx, dy] = isUnder(chart, p, map.x(p.flops)) ? [-92, -6] : [-8, -22];
    taken.push({ x: map.x(p.flops) + dx, y: map.y(p.loss) + dy, w: 100, h: 30 });
  }
  const box = freePlace({ w: 150, h: 36 }, near, room, taken);
  if (!box) return;
  root.append(text(box.x + 2, box.y + 14, "Sealed forecast, median", "f halo"), text(box.x + 2, box.y + 31, `and ${percent(0.8)} band`, "halo"));
}
