// Draws a plot as the content of an SVG element: grid, axes, marks and curves, laid out as in svg/plot.rs.

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "12px system-ui, sans-serif";
const textWidth = (text) => ruler.measureText(text).width;

const LINE = 16;

// Lays out a plot for a range of both axes in a frame.
function layout(model, range, frame) {
  const bottom = frame.height - 42;
  const y = new Scale(model.y.log, ...range.y, bottom, 26);
  const yTicks = ticks(y, model.y, 36);
  const left = Math.min(Math.max(18, ...yTicks.map((tick) => textWidth(tick.label))) + 12, frame.width / 3);
  const X = new Scale(model.x.log, ...range.x, Math.ceil(left), frame.width - 16);
  const markLabels = labels(model.marks, X, frame.width);
  const Y = new Scale(model.y.log, ...range.y, bottom, 26 + LINE * Math.max(0, ...markLabels.map((label) => label.line + 1)));
  return { X, Y, yTicks, xTicks: ticks(X, model.x, model.x.bytes ? 56 : 44), markLabels };
}

// Places the labels of vertical marks in view, side by side where they fit.
function labels(marks, X, width) {
  const ends = [-Infinity, -Infinity], placed = [];
  const inView = marks.filter((mark) => mark.y === undefined && mark.label && mark.x >= X.low && mark.x <= X.high);
  for (const mark of inView.sort((a, b) => a.x - b.x)) {
    const half = textWidth(mark.label) / 2;
    const centre = clamp(X.place(mark.x), X.from + half, width - half);
    const line = ends.findIndex((end) => end + 8 <= centre - half);
    if (line < 0) continue;
    ends[line] = centre + half;
    placed.push({ text: mark.label, line, centre });
  }
  return placed;
}

function drawing(model, plan, frame, clip) {
  const { X, Y, xTicks, yTicks, markLabels } = plan;
  const at = (n) => n.toFixed(1);
  const text = (x, y, anchor, content, kind = "") =>
    content ? `<text${kind && ` class="${kind}"`} x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${escaped(content)}</text>` : "";
  let out = "";
  for (const tick of yTicks) {
    const y = Y.place(tick.value);
    out += `<path class="${tick.label ? "grid" : "minor"}" d="M${at(X.from)} ${at(y)}H${at(X.to)}"/>`;
    out += text(X.from - 8, y + 4, "end", tick.label);
  }
  let free = -Infinity;
  for (const tick of xTicks) {
    const x = X.place(tick.value), half = textWidth(tick.label) / 2;
    out += `<path class="${tick.label ? "grid" : "minor"}" d="M${at(x)} ${at(Y.from)}V${at(Y.to)}"/>`;
    if (!tick.label || x - half < free) continue;
    const centre = Math.min(x, frame.width - half);
    out += text(centre, Y.from + 17, "middle", tick.label);
    free = centre + half + 6;
  }
  for (const mark of model.marks) {
    if (mark.y !== undefined || mark.x < X.low || mark.x > X.high) continue;
    const x = at(X.place(mark.x));
    out += `<path class="mark" d="M${x} ${at(Y.from)}V${at(Y.to)}"><title>${escaped(mark.label)}</title></path>`;
  }
  out += `<path class="axis" d="M${at(X.from)} ${at(Y.from)}H${at(X.to)}"/>`;
  out += text(0, 12, "start", name(model.y, yTicks), "name");
  out += text((X.from + X.to) / 2, frame.height - 4, "middle", name(model.x, xTicks), "name");
  for (const label of markLabels) out += text(label.centre, Y.to - 5 - label.line * LINE, "middle", label.text);
  out += `<clipPath id="${clip}"><rect x="${at(X.from - 1)}" y="${at(Y.to - 3)}" width="${at(X.to - X.from + 4)}" height="${at(Y.from - Y.to + 6)}"/></clipPath>`;
  out += `<g clip-path="url(#${clip})">${model.draw(X, Y)}</g>`;
  for (const mark of model.marks) {
    if (mark.y === undefined || mark.x < X.low || mark.x > X.high || mark.y < Y.low || mark.y > Y.high) continue;
    const x = X.place(mark.x), y = Y.place(mark.y);
    out += `<circle class="spot" cx="${at(x)}" cy="${at(y)}" r="6"><title>${escaped(mark.label)}</title></circle>`;
    const half = textWidth(mark.label) / 2;
    out += text(clamp(x, X.from + half, X.to - half), y > Y.to + 26 ? y - 11 : y + 20, "middle", mark.label, "halo");
  }
  return out;
}

// Returns the axis' name, with the unit unless the ticks contain it (KiB).
function name(axis, ticks) {
  const unitInTicks = axis.bytes && ticks.some((tick) => tick.label.endsWith("B"));
  return axis.unit && !unitInTicks ? `${axis.label} (${axis.unit})` : axis.label;
}
