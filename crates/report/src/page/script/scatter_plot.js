// Scatter plot of the samples of a run, on a canvas: every sample in view is drawn.

// Up to this many samples in view are drawn as large points, up to MIDDLE as medium ones, more as single pixels.
const LARGE = 1200;
const MIDDLE = 40000;

class ScatterPlot {
  constructor(canvas, samples, run) {
    Object.assign(this, { canvas, samples, run, marks: [], hidden: new Set() });
    const { codes, times } = run;
    this.timed = Boolean(times);
    this.x = this.timed ? { label: "Submitted after", unit: "s", log: false } : { label: samples.counted, unit: "", log: false, whole: true };
    this.y = { label: "Response time", unit: "ms", log: true };
    this.ms = samples.times.map((ns) => ns / 1e6);
    this.stops = { length: codes.length };
    this.least = this.timed ? 1e-9 : 3;
    if (run.ignored > 0 && run.ignored < codes.length) this.marks.push({ x: this.place(run.ignored), label: "measured from here" });
  }

  // Horizontal value of request `at`.
  place(at) {
    return this.timed ? this.run.times[at] : at;
  }

  get full() {
    const last = this.place(this.run.codes.length - 1);
    return [this.timed ? this.place(0) : 0, last > 0 ? last : 1];
  }

  widths() {
    return [0, this.full[1]];
  }

  // Index of the first request at or after a horizontal value.
  index(x) {
    const { times, codes } = this.run;
    if (!times) return clamp(Math.ceil(x), 0, codes.length);
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Indices of the requests in a range: first, and end (exclusive).
  within(range) {
    if (!range) return [0, this.run.codes.length];
    const end = this.index(range[1]);
    return [this.index(range[0]), end < this.run.codes.length && this.place(end) <= range[1] ? end + 1 : end];
  }

  shows(at) {
    return !this.hidden.has(this.run.kinds ? this.run.kinds[at] : 0);
  }

  toggle(kind) {
    this.hidden.has(kind) ? this.hidden.delete(kind) : this.hidden.add(kind);
  }

  heights(range) {
    const [from, to] = this.within(range), { codes } = this.run;
    let low = 65535, high = 0;
    const all = !this.hidden.size;
    for (let at = from; at < to; at++) {
      const code = codes[at];
      if (!code || !(all || this.shows(at))) continue;
      if (code < low) low = code;
      if (code > high) high = code;
    }
    return low <= high ? [this.ms[low], this.ms[high]] : [Infinity, -Infinity];
  }

  draw() {
    return "";
  }

  // Counts the requests on each pixel, then colours the pixels: no outlier is lost, and dense areas are darker.
  paint({ X, Y }, frame) {
    const { canvas, run } = this, ratio = devicePixelRatio || 1;
    const wide = (canvas.width = Math.round(frame.width * ratio)), high = (canvas.height = Math.round(frame.height * ratio));
    const heights = new Int32Array(65536).fill(-1);
    for (let code = 1; code < 65536; code++) {
      const y = Y.place(this.ms[code]);
      if (y >= Y.to - 2 && y <= Y.from + 2) heights[code] = Math.round(y * ratio);
    }
    const [from, to] = this.within([X.low, X.high]), count = to - from;
    const size = Math.max(1, Math.round(ratio * (count <= LARGE ? 4 : count <= MIDDLE ? 2 : 1.4)));
    const kinds = this.samples.kinds.length, layers = Array.from({ length: kinds }, () => null);
    const { codes, times, kinds: kind } = run, hidden = layers.map((_, k) => this.hidden.has(k)), scale = ((X.to - X.from) / (X.high - X.low)) * ratio;
    const start = X.from * ratio - X.low * scale - size / 2, rise = size / 2;
    for (let at = from; at < to; at++) {
      const y = heights[codes[at]], k = kind ? kind[at] : 0;
      if (y < 0 || hidden[k]) continue;
      const layer = layers[k] || (layers[k] = new Uint16Array(wide * high));
      const left = Math.max(0, Math.round(start + (times ? times[at] : at) * scale)), top = Math.max(0, Math.round(y - rise));
      for (let row = top; row < top + size && row < high; row++) {
        for (let column = left; column < left + size && column < wide; column++) {
          const pixel = row * wide + column;
          if (layer[pixel] < 65535) layer[pixel]++;
        }
      }
    }
    this.#colour(layers, wide, high, count);
  }

  #colour(layers, wide, high, count) {
    // Not laid out yet, or being printed.
    if (!(wide > 0 && high > 0)) return;
    const context = this.canvas.getContext("2d"), image = context.createImageData(wide, high), { data } = image;
    // A single request must be visible; with many the density is.
    const one = count <= LARGE ? 230 : count <= MIDDLE ? 180 : 140;
    const colours = this.samples.kinds.map((kind) => colourOf(kind.class));
    const most = new Uint16Array(wide * high);
    layers.forEach((layer, kind) => {
      if (!layer) return;
      const [r, g, b] = colours[kind];
      for (let pixel = 0; pixel < layer.length; pixel++) {
        const hits = layer[pixel];
        // A pixel has the colour of its most frequent kind; equal kinds alternate.
        if (!hits || hits < most[pixel] || (hits === most[pixel] && (pixel + Math.floor(pixel / wide)) % 2)) continue;
        most[pixel] = hits;
        const at = pixel * 4;
        data[at] = r;
        data[at + 1] = g;
        data[at + 2] = b;
        data[at + 3] = Math.min(255, one + 22 * Math.log2(hits));
      }
    });
    context.putImageData(image, 0, 0);
  }

  nearest(X, px, Y, py) {
    if (!Y) return clamp(this.index(X.value(px)), 0, this.run.codes.length - 1);
    const [from, to] = this.within([X.value(px - 12), X.value(px + 12)]);
    let best = -1, least = Infinity;
    for (let at = from; at < to; at++) {
      if (!this.shows(at)) continue;
      const code = this.run.codes[at], away = Math.abs(X.place(this.place(at)) - px) + (code ? Math.abs(Y.place(this.ms[code]) - py) : 1e6);
      if (away < least) [best, least] = [at, away];
    }
    return best >= 0 ? best : clamp(this.index(X.value(px)), 0, this.run.codes.length - 1);
  }

  read(at) {
    const { run, samples } = this, ns = samples.times[run.codes[at]], kind = samples.kinds[run.kinds ? run.kinds[at] : 0];
    const heading = this.timed ? `${time(run.times[at] * 1e9)} after the first` : `${samples.counted} ${number(at)}`;
    return { x: this.place(at), heading, rows: [{ class: kind.class, name: kind.name, text: time(ns), y: ns / 1e6 }] };
  }
}

// The current colour of a series in the style.
function colourOf(name) {
  const probe = element(document.body, "i", { className: name });
  const colour = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  return colour;
}
