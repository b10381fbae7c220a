// Loss by domain: small multiples that share one scale, the run in front against the smaller ones behind.

import { svg, el } from "./dom.js";
import { Figure } from "./figure.js";
import { fixed, loss, named, percent } from "./format.js";
import { text } from "./heromarks.js";
import { decimals, linear, ticks } from "./scale.js";

/** @typedef {import("./types.js").DomainsChart} DomainsChart */
/** @typedef {import("./types.js").DomainPanel} DomainPanel */
/** @typedef {import("./types.js").Points} Points */

const HEIGHT = 144;

export class Domains {
  /** @param {HTMLElement} host @param {HTMLElement} words */
  constructor(host, words) {
    this.host = host;
    this.words = words;
    /** @type {Map<string, Figure>} */
    this.figures = new Map();
  }

  /** @param {DomainsChart} chart */
  set(chart) {
    const behind = chart.panels.some((p) => p.ghosts.length) ? " against the smaller sizes at equal progress" : "";
    this.words.textContent = `Loss on the ${chart.eval_set} set, ${chart.unit}: ${named(chart.run)}${behind}. One scale for all.`;
    const names = chart.panels.map((p) => p.domain);
    if (names.join("\n") !== [...this.figures.keys()].join("\n")) {
      this.figures = new Map();
      const hosts = names.map((name) => {
        const host = el("figure", {});
        this.figures.set(name, new Figure(host, false));
        return host;
      });
      this.host.replaceChildren(...hosts);
    }
    for (const panel of chart.panels) {
      const now = last(panel.points);
      const said = now === null ? "not scored yet" : loss(now);
      this.figures.get(panel.domain)?.set((width) => paint(chart, panel, width), {
        title: panel.domain.replaceAll("_", " "),
        summary: `${panel.domain.replaceAll("_", " ")}, loss of ${named(chart.run)}: ${said}. Arrow keys read the points.`,
      });
    }
  }
}

/** @param {Points | null} points */
function last(points) {
  return points?.value.findLast((v) => v !== null) ?? null;
}

/** @param {DomainsChart} chart @param {DomainPanel} panel @param {number} width */
function paint(chart, panel, width) {
  const [left, right, top, bottom] = [28, 40, 6, HEIGHT - 20];
  const x = linear([0, 1], [left, width - right]);
  const y = linear([chart.low, chart.high], [bottom, top]);
  const root = svg("svg", { class: "c", width, height: HEIGHT, "aria-hidden": "true" });
  const levels = ticks(chart.low, chart.high, 3);
  for (const level of levels) {
    root.append(svg("line", { class: "g", x1: left, y1: y(level), x2: width - right, y2: y(level) }));
    root.append(text(left - 6, y(level) + 4, fixed(level, decimals(levels)), "t", "end"));
  }
  root.append(svg("line", { class: "ax", x1: left, y1: bottom, x2: width - right, y2: bottom }));
  root.append(text(left, bottom + 15, "0", "t", "middle"), text(width - right, bottom + 15, percent(1), "t", "middle"));
  const inner = { x: left, y: top, width: width - right - left, height: bottom - top };
  const window = svg("svg", { class: "window", ...inner, viewBox: `${left} ${top} ${inner.width} ${inner.height}` });
  for (const ghost of panel.ghosts) window.append(...line(ghost.points, x, y, "ghost"));
  if (panel.points) window.append(...line(panel.points, x, y, "hero"));
  root.append(window);
  const stops = [];
  if (panel.points) {
    const now = last(panel.points);
    const i = panel.points.value.findLastIndex((v) => v !== null);
    if (now !== null && now <= chart.high) {
      const at = x(panel.points.progress[i]);
      root.append(svg("circle", { class: "pt", cx: at, cy: y(now), r: 3.5 }), text(at + 7, y(now) + 4, fixed(now, 2), "a halo"));
    }
    for (const [k, value] of panel.points.value.entries()) {
      const height = value === null ? bottom : Math.max(top, y(value));
      const words = `step ${fixed(panel.points.step[k], 0)}, ${percent(panel.points.progress[k])}: ${value === null ? "not finite" : loss(value)}`;
      stops.push({ x: x(panel.points.progress[k]), y: height, words });
    }
  }
  return { nodes: [root], stops, top, bottom: HEIGHT };
}

/** The pieces of a line between its gaps. @param {Points} points @param {(v: number) => number} x @param {(v: number) => number} y @param {string} kind */
function line(points, x, y, kind) {
  /** @type {string[][]} */
  const pieces = [[]];
  for (const [i, value] of points.value.entries()) {
    if (value === null) pieces.push([]);
    else pieces[pieces.length - 1].push(`${x(points.progress[i]).toFixed(1)} ${y(value).toFixed(1)}`);
  }
  return pieces.filter((p) => p.length > 1).map((p) => svg("path", { class: kind, d: `M${p.join("L")}` }));
}
