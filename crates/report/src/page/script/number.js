// Formats numbers and times for readers.

const number = (v) =>
  v !== 0 && (Math.abs(v) < 1e-4 || Math.abs(v) >= 1e15)
    ? v.toExponential(3)
    : Number(v.toPrecision(Math.abs(v) >= 1000 ? 9 : 4)).toLocaleString("en", { maximumFractionDigits: Math.abs(v) >= 1000 ? 0 : 8 });

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

function time(ns) {
  const [scale, unit] = TIMES.find(([scale]) => ns >= scale) || TIMES[3];
  return `${number(ns / scale)} ${unit}`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

function bytes(v) {
  let at = 0;
  for (; v >= 1024 && at + 1 < BYTES.length; at++) v /= 1024;
  return `${number(v)} ${BYTES[at]}`;
}

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

function element(parent, name, properties, text) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  if (text !== undefined) made.textContent = text;
  return parent ? parent.appendChild(made) : made;
}
