// Scales, ticks and the places of labels; pure functions of numbers.

/** @typedef {{ x: number, y: number, w: number, h: number }} Box */

/**
 * From a stretch of values to a stretch of pixels.
 * @param {[number, number]} from
 * @param {[number, number]} to
 * @returns {(value: number) => number}
 */
export function linear([a, b], [p, q]) {
  const per = b === a ? 0 : (q - p) / (b - a);
  return (value) => p + (value - a) * per;
}

/**
 * Round values inside [low, high], about `count` of them.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 * @returns {number[]}
 */
export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let i = first; i * step <= high + step * 1e-9 && found.length < 100; i += 1) found.push(i * step);
  return found;
}

/** Decimals that tell two neighbouring ticks apart. @param {number[]} values */
export function decimals(values) {
  if (values.length < 2) return 2;
  return Math.min(6, Math.max(0, -Math.floor(Math.log10(Math.abs(values[1] - values[0])) + 1e-9)));
}

/**
 * Moves heights apart so that neighbours are at least `gap` from each other and all lie in [low, high].
 * @param {number[]} heights
 * @param {number} gap
 * @param {number} low
 * @param {number} high
 * @returns {number[]}
 */
export function spread(heights, gap, low, high) {
  const order = heights.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  for (let i = 0; i < order.length; i += 1) order[i].y = Math.max(order[i].y, i ? order[i - 1].y + gap : low);
  for (let i = order.length - 1; i >= 0; i -= 1) order[i].y = Math.min(order[i].y, i < order.length - 1 ? order[i + 1].y - gap : high);
  const moved = new Array(heights.length);
  for (const { y, i } of order) moved[i] = y;
  return moved;
}

/** @param {Box} a @param {Box} b */
function overlap(a, b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/**
 * The place nearest to `near` where a box of that size touches no obstacle and lies inside `room`; null where none is free.
 * @param {{ w: number, h: number }} size
 * @param {{ x: number, y: number }} near
 * @param {Box} room
 * @param {Box[]} obstacles
 * @returns {Box | null}
 */
export function freePlace(size, near, room, obstacles) {
  let best = null;
  let bestDistance = Infinity;
  for (let x = room.x; x + size.w <= room.x + room.w; x += 12) {
    for (let y = room.y; y + size.h <= room.y + room.h; y += 8) {
      const box = { x, y, w: size.w, h: size.h };
      const distance = Math.hypot(x + size.w / 2 - near.x, (y + size.h / 2 - near.y) * 1.5);
      if (distance < bestDistance && !obstacles.some((o) => overlap(box, o))) {
        best = box;
        bestDistance = distance;
      }
    }
  }
  return best;
}

/**
 * The boxes that a line of points covers, for `freePlace`.
 * @param {[number, number][]} line
 * @param {number} [thick]
 * @returns {Box[]}
 */
export function lineBoxes(line, thick = 3) {
  const boxes = [];
  for (let i = 1; i < line.length; i += 1) {
    const [[ax, ay], [bx, by]] = [line[i - 1], line[i]];
    const pieces = Math.max(1, Math.min(24, Math.ceil(Math.max(Math.abs(bx - ax), Math.abs(by - ay)) / 16)));
    for (let k = 0; k < pieces; k += 1) {
      const [x0, x1] = [ax + ((bx - ax) * k) / pieces, ax + ((bx - ax) * (k + 1)) / pieces];
      const [y0, y1] = [ay + ((by - ay) * k) / pieces, ay + ((by - ay) * (k + 1)) / pieces];
      boxes.push({ x: Math.min(x0, x1) - thick, y: Math.min(y0, y1) - thick, w: Math.abs(x1 - x0) + 2 * thick, h: Math.abs(y1 - y0) + 2 * thick });
    }
  }
  return boxes;
}
