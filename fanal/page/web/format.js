// Numbers as the page writes them: real minus signs, commas between thousands, a no-break space before a unit.

const NBSP = "\u00a0";

/** A run as a sentence names it. @param {string} run */
export function named(run) {
  return run === "hero" ? "the hero" : run;
}

/** The eval set of a metric such as `eval/full/macro`; empty where it is none. @param {string} metric */
export function evalSet(metric) {
  const [kind, set] = metric.split("/");
  return kind === "eval" && set ? `${set} set` : "";
}

/** @param {number} value @param {number} digits */
export function fixed(value, digits) {
  const text = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
}

/** A difference with its sign. @param {number} value @param {number} digits */
export function signed(value, digits) {
  return value > 0 ? `+${fixed(value, digits)}` : fixed(value, digits);
}

/** @param {number} frac @param {number} [digits] */
export function percent(frac, digits = 0) {
  return `${fixed(100 * frac, digits)}${NBSP}%`;
}

/** A count in three figures: `451 K`, `9.83 T`. @param {number} count */
export function short(count) {
  for (const [size, letter] of /** @type {[number, string][]} */ ([[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]])) {
    if (Math.abs(count) >= size * 0.9995) {
      const scaled = count / size;
      const digits = Math.abs(scaled) >= 99.95 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2;
      return `${fixed(scaled, digits)}${NBSP}${letter}`;
    }
  }
  return fixed(count, 0);
}

/** A count on an axis: as `short`, without zeros after the point. @param {number} count */
export function brief(count) {
  return short(count).replace(/\.0+(?=\D)|(\.\d*?[1-9])0+(?=\D)/, "$1");
}

/** A loss: three decimals where it is of ordinary size. @param {number | null | undefined} value */
export function loss(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1e5 ? value.toExponential(2).replace("-", "−") : fixed(value, 3);
}

/** @param {number} seconds */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  for (const [size, unit, restSize, restUnit] of /** @type {[number, string, number, string][]} */ ([
    [86400, "days", 3600, "h"],
    [3600, "h", 60, "min"],
    [60, "min", 1, "s"],
  ])) {
    if (whole < size) continue;
    const big = Math.floor(whole / size);
    const rest = Math.floor((whole % size) / restSize);
    const named = unit === "days" && big === 1 ? "day" : unit;
    return `${big}${NBSP}${named}${rest ? ` ${rest}${NBSP}${restUnit}` : ""}`;
  }
  return `${whole}${NBSP}s`;
}

/** A span to a tenth of a second where it is short. @param {number} seconds */
export function span(seconds) {
  return seconds < 9.95 ? `${fixed(seconds, 1)}${NBSP}s` : duration(seconds);
}

/** Milliseconds of a time in nanoseconds, which travels as a string since it exceeds 2^53. @param {string | number} ns */
export function milliseconds(ns) {
  return Number(ns) / 1e6;
}

/** The UTC time of day, with the date where it is another day than `beside`. @param {string} ns @param {string | null} [beside] */
export function clock(ns, beside = null) {
  const at = new Date(milliseconds(ns)).toISOString();
  const other = beside === null ? null : new Date(milliseconds(beside)).toISOString();
  return other !== null && at.slice(0, 10) === other.slice(0, 10) ? at.slice(11, 19) : `${at.slice(0, 10)} ${at.slice(11, 19)}`;
}

/** A span that is an estimate, rounded to what it can claim. @param {number} seconds */
export function about(seconds) {
  const unit = seconds >= 6000 ? 600 : seconds >= 100 ? 60 : seconds >= 20 ? 10 : 1;
  return `about ${duration(Math.max(1, Math.round(seconds / unit) * unit))}`;
}
