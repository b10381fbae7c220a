// The theme's colours as numbers and strings, read from the style sheet once a theme.

const NAMES = ["paper", "ink", "ink-2", "ink-3", "rule", "rule-2", "grid", "amber", "amber-ink", "amber-wash", "blue", "band", "purple", "alarm", "ghost"];

/** @type {Map<string, string> | null} */
let known = null;

/** The value of a colour variable. @param {string} name */
export function colour(name) {
  if (!known) {
    const style = getComputedStyle(document.documentElement);
    const all = [...NAMES, ...Array.from({ length: 10 }, (_, i) => `h${i}`)];
    known = new Map(all.map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
  }
  return known.get(name) ?? "";
}

/** Forget the colours; the theme has changed. */
export function forgetColours() {
  known = null;
}

/** @param {string} hex */
function channels(hex) {
  return [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
}

/** A colour on the way from one to another. @param {string} from @param {string} to @param {number} frac */
export function between(from, to, frac) {
  const [a, b] = [channels(colour(from)), channels(colour(to))];
  const mixed = a.map((c, i) => Math.round(c + (b[i] - c) * Math.min(1, Math.max(0, frac))));
  return `rgb(${mixed.join(" ")})`;
}

/** The heat colour of a share of the scale, on a square-root scale. @param {number} frac */
export function heat(frac) {
  return colour(`h${Math.max(0, Math.min(9, Math.round(Math.sqrt(Math.max(0, frac)) * 9)))}`);
}
