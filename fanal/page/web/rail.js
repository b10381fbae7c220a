// The campaign from left to right: data, each size of the ladder, the hero; as wide as each takes.

import { svg } from "./dom.js";
import { about, duration } from "./format.js";
import { text } from "./heromarks.js";

/** @typedef {import("./types.js").Progress} Progress */

const LETTER = 6.6;

export class Rail {
  /** @param {HTMLElement} host */
  constructor(host) {
    this.host = host;
    /** @type {Progress | null} */
    this.progress = null;
    new ResizeObserver(() => this.redraw()).observe(host);
  }

  /** @param {Progress} progress */
  set(progress) {
    this.progress = progress;
    this.redraw();
  }

  redraw() {
    const width = this.host.clientWidth;
    const parts = this.progress?.rail ?? [];
    if (!width || !this.progress || !parts.length) {
      this.host.replaceChildren();
      return;
    }
    const now = parts.reduce((at, part) => (part.done > 0 ? part.first + (part.last - part.first) * part.done : at), 0);
    const at = Math.max(0, Math.min(width, now * width));
    const root = svg("svg", { class: "c", width, height: 52, role: "img", "aria-label": this.words() });
    root.append(svg("line", { class: "ax", x1: 0, y1: 16, x2: width, y2: 16 }), svg("line", { class: "run-done", x1: 2, y1: 16, x2: Math.max(2, at - 2), y2: 16 }));
    for (const part of parts.slice(1)) root.append(svg("line", { class: "zero", x1: part.first * width, y1: 11, x2: part.first * width, y2: 21 }));
    if (now < 1) root.append(svg("circle", { class: "glow", cx: at, cy: 16, r: 11 }));
    root.append(svg("circle", { class: "pt", cx: Math.max(5.5, Math.min(width - 5.5, at)), cy: 16, r: 5.5 }));
    this.labels(root, width);
    this.host.replaceChildren(root);
  }

  /** Labels where there is room; the running part's is never left out. @param {SVGElement} root @param {number} width */
  labels(root, width) {
    const progress = /** @type {Progress} */ (this.progress);
    const wide = width > 640;
    const all = progress.rail.map((part) => {
      const took = part.seconds !== null && wide ? `, ${part.phase === "finished" ? duration(part.seconds) : about(part.seconds)}` : "";
      const words = `${part.label}${took}`;
      const left = Math.min(part.first * width, width - words.length * LETTER);
      return { words, left: Math.max(0, left), right: left + words.length * LETTER, running: part.phase === "running" };
    });
    /** @type {typeof all} */
    const placed = [];
    for (const label of [...all].sort((a, b) => Number(b.running) - Number(a.running) || b.left - a.left)) {
      if (placed.every((p) => label.right + 12 < p.left || p.right + 12 < label.left)) placed.push(label);
    }
    const left = progress.seconds_left === null ? "" : `${about(progress.seconds_left)} to the end`;
    if (left && wide && placed.every((p) => p.right + 12 < width - left.length * LETTER)) root.append(text(width, 44, left, "t", "end"));
    for (const label of placed) root.append(text(label.left, 44, label.words, label.running ? "a" : "t"));
  }

  words() {
    const progress = /** @type {Progress} */ (this.progress);
    const said = progress.rail.map((p) => `${p.label} ${p.phase}`).join(", ");
    const left = progress.seconds_left === null ? "" : `; ${about(progress.seconds_left)} left`;
    return `Campaign: ${said}${left}`;
  }
}
