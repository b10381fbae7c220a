// The frame around every chart: its name, its keyboard cursor and spoken readout, its table, its width.
//
// A chart is a function from a width in pixels to nodes and stops; it is drawn again when the width, the
// data or the theme changes and never scaled. Arrow keys, Home and End move the cursor from stop to stop.

import { el, svg, table } from "./dom.js";

/** @typedef {{ x: number, y: number, words: string }} Stop */
/** @typedef {{ nodes: Node[], stops: Stop[], top: number, bottom: number }} Drawing */
/** @typedef {{ title: string, summary: string, table?: () => { head: { text: string, kind?: string }[], rows: string[][] } }} About */

const SPEAK_AFTER_MS = 150;

export class Figure {
  /** @param {HTMLElement} host @param {boolean} [withTable] */
  constructor(host, withTable = true) {
    this.host = host;
    this.title = el("span", { class: "what" });
    this.button = el("button", { type: "button", class: "as-table", "aria-expanded": "false" }, "table");
    this.plot = el("div", { class: "plot", role: "img", tabindex: "0" });
    this.readout = el("div", { class: "readout", hidden: true });
    this.spoken = el("p", { class: "spoken", "aria-live": "polite" });
    this.box = el("div", { class: "figures", role: "region", tabindex: "0", hidden: true });
    this.cursor = svg("line", { class: "cursor" });
    this.layer = svg("svg", { class: "layer", "aria-hidden": "true" }, this.cursor);
    /** @type {Stop[]} */
    this.stops = [];
    this.index = -1;
    this.speaking = 0;
    /** @type {((width: number) => Drawing) | null} */
    this.paint = null;
    /** @type {About | null} */
    this.about = null;
    host.classList.add("chart");
    host.replaceChildren(el("figcaption", {}, this.title, ...(withTable ? [this.button] : [])), this.plot, this.readout, this.spoken, this.box);
    this.listen();
  }

  listen() {
    this.plot.addEventListener("keydown", (event) => this.key(/** @type {KeyboardEvent} */ (event)));
    this.plot.addEventListener("pointermove", (event) => this.point(/** @type {PointerEvent} */ (event)));
    this.plot.addEventListener("pointerdown", (event) => this.point(/** @type {PointerEvent} */ (event)));
    this.plot.addEventListener("pointerleave", () => this.show(-1));
    this.plot.addEventListener("blur", () => this.show(-1));
    this.button.addEventListener("click", () => this.toggleTable());
    new ResizeObserver(() => this.redraw()).observe(this.plot);
  }

  /**
   * Draw with this from now on.
   * @param {(width: number) => Drawing} paint
   * @param {About} about
   */
  set(paint, about) {
    this.paint = paint;
    this.about = about;
    this.title.textContent = about.title;
    this.plot.setAttribute("aria-label", about.summary);
    this.box.setAttribute("aria-label", about.title);
    this.nameButton();
    this.redraw();
    if (!this.box.hidden) this.fillTable();
  }

  redraw() {
    const width = this.plot.clientWidth;
    if (!width || !this.paint) return;
    const drawing = this.paint(width);
    this.stops = drawing.stops;
    this.cursor.setAttribute("y1", String(drawing.top));
    this.cursor.setAttribute("y2", String(drawing.bottom));
    for (const [name, value] of [["width", width], ["height", drawing.bottom + 1]]) this.layer.setAttribute(String(name), String(value));
    this.plot.replaceChildren(...drawing.nodes, this.layer);
    this.show(Math.min(this.index, this.stops.length - 1), false);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const last = this.stops.length - 1;
    const from = this.index < 0 ? (event.key === "ArrowRight" ? -1 : last + 1) : this.index;
    const moves = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last, Escape: -1 };
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    const wanted = moves[/** @type {keyof typeof moves} */ (event.key)];
    this.show(event.key === "Escape" ? -1 : Math.max(0, Math.min(last, wanted)));
  }

  /** @param {PointerEvent} event */
  point(event) {
    const x = event.clientX - this.plot.getBoundingClientRect().left;
    let nearest = -1;
    this.stops.forEach((stop, i) => {
      if (nearest < 0 || Math.abs(stop.x - x) < Math.abs(this.stops[nearest].x - x)) nearest = i;
    });
    this.show(nearest);
  }

  /** Put the cursor on a stop, or take it away with −1. @param {number} index @param {boolean} [speak] */
  show(index, speak = true) {
    this.index = index;
    const stop = this.stops[index];
    this.layer.classList.toggle("on", Boolean(stop));
    this.readout.hidden = !stop;
    if (!stop) return;
    this.cursor.setAttribute("x1", String(stop.x));
    this.cursor.setAttribute("x2", String(stop.x));
    this.readout.textContent = stop.words;
    this.placeReadout(stop);
    if (!speak) return;
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => {
      this.spoken.textContent = stop.words;
    }, SPEAK_AFTER_MS);
  }

  /** @param {Stop} stop */
  placeReadout(stop) {
    const width = this.host.clientWidth;
    const own = this.readout.offsetWidth;
    const right = stop.x + 12 + own <= width;
    const left = right ? stop.x + 12 : Math.max(0, Math.min(width - own, stop.x - 12 - own));
    this.readout.style.left = `${left}px`;
    this.readout.style.top = `${this.plot.offsetTop + Math.max(0, stop.y - 40)}px`;
  }

  toggleTable() {
    this.box.hidden = !this.box.hidden;
    this.button.setAttribute("aria-expanded", String(!this.box.hidden));
    this.nameButton();
    if (!this.box.hidden) this.fillTable();
  }

  nameButton() {
    const words = this.box.hidden ? "table" : "close table";
    this.button.textContent = words;
    this.button.setAttribute("aria-label", `${words}: ${this.about?.title ?? ""}`);
  }

  fillTable() {
    const made = this.about?.table?.();
    if (made) this.box.replaceChildren(table(made.head, made.rows));
  }
}
