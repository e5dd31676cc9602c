// Scales between values and pixels, and ticks: as svg/scale.rs, for the ranges in view.

class Scale {
  constructor(log, low, high, from, to) {
    Object.assign(this, { log, low, high, from, to });
  }

  #share(value) {
    const { log, low, high } = this;
    return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  }

  place(value) {
    return this.from + this.#share(value) * (this.to - this.from);
  }

  value(place) {
    const share = (place - this.from) / (this.to - this.from);
    return this.log ? this.low * (this.high / this.low) ** share : this.low + share * (this.high - this.low);
  }

  // Returns the range between two pixels, moved into another range without a change of its width in pixels.
  range(from, to, within) {
    const whole = new Scale(this.log, within[0], within[1], this.place(within[0]), this.place(within[1]));
    if (Math.abs(to - from) >= Math.abs(whole.to - whole.from)) return null;
    const sign = Math.sign(this.to - this.from);
    const back = Math.max(0, sign * (whole.from - from)) - Math.max(0, sign * (to - whole.to));
    return [whole.value(from + sign * back), whole.value(to + sign * back)];
  }
}

const drawable = (value, log) => Math.abs(value) <= 1e100 && (!log || value >= 1e-100);

// Returns a range around values that begins at zero unless that flattens the curve.
function roomy(low, high, log) {
  if (!(low <= high)) return log ? [1, 10] : [0, 1];
  if (log) {
    const space = (high / low) ** 0.05;
    return high / low < 1 + 1e-9 ? [low / 2, high * 2] : [low / space, high * space];
  }
  if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) {
    return low === 0 ? [0, 1] : low > 0 ? [0, 1.25 * low] : [1.25 * low, 0];
  }
  const toZero = (end, other) => (end * other >= 0 && Math.abs(end) <= 0.55 * Math.abs(other) ? 0 : end);
  const from = toZero(low, high), to = toZero(high, low), space = 0.06 * (to - from);
  return [from && from - space, to && to + space];
}

// Returns the least round step that gives at most `most` ticks over `span`.
function pleasant(span, most, binary) {
  const least = span / most;
  if (binary && least > 0.5) return 2 ** Math.ceil(Math.log2(least));
  const decade = 10 ** Math.floor(Math.log10(least));
  return decade * ([1, 2, 5].find((digit) => digit * decade >= least) || 10);
}

function ticks(scale, axis, apart) {
  const { low, high, log } = scale;
  const most = clamp(Math.abs(scale.to - scale.from) / apart, 1, 40);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const inside = (value) => value >= low - 1e-9 * Math.abs(low) && value <= high + 1e-9 * Math.abs(high);
  const tick = (value, step) => ({ value, label: label(value, step, step ? largest : Math.abs(value), axis.bytes && axis.binary) });

  function steps() {
    let step = pleasant(high - low, most, axis.binary);
    if (axis.whole) step = Math.max(1, step);
    const first = Math.ceil(low / step - 1e-6), count = Math.min(100, Math.floor(high / step + 1e-6) - first + 1);
    return Array.from({ length: Math.max(0, count) }, (_, n) => tick((first + n) * step + 0, step));
  }

  if (!log) return steps();
  if (axis.binary) {
    const first = Math.ceil(Math.log2(low) - 1e-9), count = Math.floor(Math.log2(high) + 1e-9) - first + 1;
    const every = Math.max(1, Math.ceil(count / most));
    if (count > 2) return Array.from({ length: Math.ceil(count / every) }, (_, n) => tick(2 ** (first + n * every), 0));
  }
  const decades = Math.log10(high / low);
  if (decades < 0.7) return steps();
  const every = Math.max(1, Math.ceil(decades / most));
  const labelled = most / decades >= 3 ? [1, 2, 5] : most / decades >= 2 ? [1, 3] : [1];
  const all = [];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent++) {
    for (let digit = 1; digit < 10; digit++) {
      const value = Number(`${digit}e${exponent}`);
      if (!inside(value)) continue;
      if (labelled.includes(digit) && exponent % every === 0) all.push(tick(value, 0));
      else if (digit === 1 || decades <= 4) all.push({ value, label: "" });
    }
  }
  return all;
}

// Formats the label of a tick; `step` is the distance to the next one, zero where distances differ.
function label(value, step, like, isBytes) {
  if (isBytes && value >= 1 && value <= 1e15) return bytes(value);
  const size = Math.max(Math.abs(value), step);
  if (value === 0) return "0";
  if (size < 1e-4 || size >= 1e15) return value.toExponential();
  const [scale, suffix] = like >= 1e9 ? [1e9, "G"] : like >= 1e6 ? [1e6, "M"] : like >= 1e4 ? [1e3, "k"] : [1, ""];
  const digits = clamp(1 - Math.floor(Math.log10((step || Math.abs(value)) / scale)), 0, 9);
  return Number((value / scale).toFixed(digits)) + suffix;
}
