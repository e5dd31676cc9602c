// The curves of a figure: their range, their paths, and their values at a position.

// Most points of a series in view that are drawn without thinning.
const ENOUGH = 1500;
// Most single points drawn as hollow rings; more are drawn as dots.
const RINGS = 120;

class Curves {
  constructor({ x, y, series, marks }) {
    Object.assign(this, { x, y, series, marks: marks || [] });
    this.hidden = new Set();
    // Of several points at one x the first is read out.
    for (const s of series) s.sorted = s.points.slice().sort((a, b) => a[0] - b[0]);
    this.#collect();
  }

  toggle(at) {
    this.hidden.has(at) ? this.hidden.delete(at) : this.hidden.add(at);
    this.#collect();
  }

  #collect() {
    const shown = this.series.filter((_, at) => !this.hidden.has(at));
    this.stops = [...new Set(shown.flatMap((s) => s.sorted.map((p) => p[0])))].sort((a, b) => a - b);
  }

  // Returns the least and greatest values in a range of the horizontal axis, or in all of it.
  heights(range) {
    let low = Infinity, high = -Infinity;
    this.series.forEach((s, at) => {
      if (this.hidden.has(at)) return;
      const ends = (s.intervals || []).flatMap(([from, to], n) => [[s.points[n][0], from], [s.points[n][0], to]]);
      for (const [x, y] of s.points.concat(ends)) {
        if ((range && (x < range[0] || x > range[1])) || !drawable(y, this.y.log)) continue;
        low = Math.min(low, y);
        high = Math.max(high, y);
      }
    });
    return [low, high];
  }

  // Returns the range of the horizontal axis after a change from or to a logarithmic scale.
  widths() {
    const xs = this.series.flatMap((s) => s.points.map((p) => p[0])).concat(this.marks.map((m) => m.x));
    const shown = xs.filter((x) => drawable(x, this.x.log));
    return [Math.min(...shown), Math.max(...shown)];
  }

  draw(X, Y) {
    return this.series.map((s, at) => this.#curve(s, at, X, Y)).join("");
  }

  #curve(s, at, X, Y) {
    const paper = s.points.filter(([x, y]) => drawable(x, X.log) && drawable(y, Y.log)).map(([x, y]) => [X.place(x), Y.place(y)]);
    const inside = ([x]) => x >= X.from - 1 && x <= X.to + 1;
    // A line also needs the next point on either side of the view.
    let seen = paper.filter((p, n) => inside(p) || (!s.scatter && ((paper[n - 1] && inside(paper[n - 1])) || (paper[n + 1] && inside(paper[n + 1])) || straddles(p, paper[n + 1], X))));
    seen = thinned(seen, s.scatter);
    if (!seen.length) return "";
    const off = this.hidden.has(at) ? " off" : "";
    const begin = `<g class="${s.class}${off}" data-series="${at}">`;
    const path = (width, d, more = "") => `<path stroke-width="${width}"${more} d="${d}"/>`;
    const dots = () => seen.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
    if (s.scatter && seen.length <= RINGS) {
      const ring = ([x, y]) => `<circle class="hollow" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4"/>`;
      return `${begin}<g stroke-width="1.8">${seen.map(ring).join("")}</g></g>`;
    }
    if (s.scatter) return `${begin}${path(3, dots(), ' stroke-opacity=".5"')}</g>`;
    const line = seen.map(([x, y], n) => `${n ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const dash = s.dashes ? ` stroke-dasharray="${s.dashes}"` : "";
    const dotted = (X.to - X.from) / seen.length >= 6 || seen.length === 1 ? path(5, dots()) : "";
    return `${begin}${path(2, line, dash)}${dotted}${this.#intervals(s, X, Y)}</g>`;
  }

  // Draws the intervals as thin lines with ends, over the points.
  #intervals(s, X, Y) {
    const one = ([from, to], n) => {
      const [at] = s.points[n];
      if (!drawable(at, X.log) || !drawable(to, Y.log)) return "";
      const x = X.place(at), a = drawable(from, Y.log) ? Y.place(from) : Y.from, b = Y.place(to);
      return `M${x.toFixed(1)} ${a.toFixed(1)}V${b.toFixed(1)}` + [a, b].map((y) => `M${(x - 4).toFixed(1)} ${y.toFixed(1)}h8`).join("");
    };
    const d = (s.intervals || []).map(one).join("");
    return d && `<path stroke-width="1.2" d="${d}"/>`;
  }

  // Returns the index of the nearest stop.
  nearest(X, px) {
    const where = (at) => X.place(this.stops[at]);
    let low = 0, high = this.stops.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (where(middle) < px) low = middle + 1;
      else high = middle;
    }
    return low > 0 && px - where(low - 1) < where(low) - px ? low - 1 : low;
  }

  // Returns the read-out at a stop: its position, a heading, and a row per series.
  read(at, X) {
    const value = this.stops[at], px = X.place(value);
    const unit = (axis, v) => (axis.bytes ? bytes(v) : number(v) + (axis.unit && ` ${axis.unit}`));
    const rows = [];
    this.series.forEach((s, n) => {
      if (this.hidden.has(n) || !s.sorted.length) return;
      const near = nearestPoint(s.sorted, value);
      // A series without a point here has no row.
      if (Math.abs(X.place(near[0]) - px) > 2) return;
      rows.push({ class: s.class, name: s.name || this.y.label, text: unit(this.y, near[1]), y: near[1] });
    });
    return { x: value, heading: `${this.x.label} ${unit(this.x, value)}`, rows };
  }
}

const straddles = (a, b, X) => b && a[0] < X.from && b[0] > X.to;

function nearestPoint(sorted, x) {
  let low = 0, high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle][0] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - sorted[low - 1][0] < sorted[low][0] - x ? sorted[low - 1] : sorted[low];
}

// Thins points without a visible change: of a line the first, lowest, highest and last in each column of pixels, of
// single points one per pixel.
function thinned(points, scatter) {
  if (points.length <= ENOUGH) return points;
  if (scatter) {
    const seen = new Set();
    return points.filter(([x, y]) => !seen.has((x | 0) * 65536 + (y | 0)) && seen.add((x | 0) * 65536 + (y | 0)));
  }
  const kept = [];
  for (let start = 0; start < points.length; ) {
    let end = start, low = start, high = start;
    for (; end < points.length && Math.floor(points[end][0]) === Math.floor(points[start][0]); end++) {
      if (points[end][1] < points[low][1]) low = end;
      if (points[end][1] > points[high][1]) high = end;
    }
    for (const at of [...new Set([start, low, high, end - 1])].sort((a, b) => a - b)) kept.push(points[at]);
    start = end;
  }
  return kept;
}
