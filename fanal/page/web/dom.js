// Elements from values. Strings become text nodes, never markup, so nothing a record holds can run.

/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * An HTML element.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  element.append(...children);
  return element;
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  dress(element, attributes);
  element.append(...children);
  return element;
}

/**
 * The element of that id, which the page's own markup holds.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/**
 * A table; columns marked `n` hold figures and stand to the right, `hn` are left out on a narrow screen.
 * @param {{ text: string, kind?: string }[]} head
 * @param {(Node | string)[][]} rows
 * @returns {HTMLElement}
 */
export function table(head, rows) {
  const top = el("tr", {}, ...head.map((h) => el("th", { class: h.kind, scope: "col" }, h.text)));
  const body = rows.map((row) => el("tr", {}, ...row.map((cell, i) => el(i ? "td" : "th", { class: head[i].kind, scope: i ? null : "row" }, cell))));
  return el("table", {}, el("thead", {}, top), el("tbody", {}, ...body));
}

/** Folds as the reader left them, so that a part which is drawn again does not shut. @type {Map<string, boolean>} */
const folds = new Map();

/**
 * What a reader may open: the words stay, the rest is one press away.
 * @param {string} name
 * @param {string} words
 * @param {Node[]} children
 * @param {boolean} [open]
 * @returns {HTMLElement}
 */
export function fold(name, words, children, open = false) {
  const box = /** @type {HTMLDetailsElement} */ (el("details", { class: "fold", open: folds.get(name) ?? open }, el("summary", {}, words), ...children));
  box.addEventListener("toggle", () => folds.set(name, box.open));
  return box;
}

let live = false;

/** Whether what is absent may still come. @param {boolean} value */
export function setLive(value) {
  live = value;
}

/** A line in place of what the record does not hold. @param {string} what @returns {HTMLElement} */
export function absent(what) {
  return el("p", { class: "absent" }, live ? `${what}: not in the record yet.` : `${what}: not published by this run.`);
}
