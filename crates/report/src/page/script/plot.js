// One plot on the page: the range in view, and the read-out at the pointer or by the arrow keys.
//
// A model supplies the content: axes, marks, `heights(range)`, `draw(X, Y)`, `nearest`, `read`; one that uses a canvas
// has `paint` too. Drawings are the same plot in several frames, of which the style shows one.

class Plot {
  static #count = 0;

  constructor(box, model, drawings, full) {
    Object.assign(this, { box, model, drawings, full });
    // Plots in a group share one range.
    this.group = [this];
    this.view = { x: null, y: null };
    this.at = -1;
    this.clip = `clip-${++Plot.#count}`;
    this.tip = element(box, "div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "status");
    for (const d of drawings) {
      d.original = d.svg.innerHTML;
      d.plan = d.original && { X: d.X, Y: d.Y };
    }
    new Gestures(this);
    box.plot = this;
  }

  get drawing() {
    return this.drawings.find((d) => d.svg.getBoundingClientRect().width > 0) || this.drawings[0];
  }

  // The horizontal scale of the range in view, which may not be drawn yet.
  get X() {
    const { from, to } = this.drawing.plan.X;
    return new Scale(this.model.x.log, ...(this.view.x || this.full.x), from, to);
  }

  get isZoomed() {
    return Boolean(this.view.x || this.view.y);
  }

  // Shows a range, null for all; a null vertical range fits the values in view.
  show(x, y = null) {
    for (const plot of this.group) {
      plot.view = { x, y };
      plot.hide();
      plot.refresh();
    }
  }

  refresh() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.redraw();
    });
  }

  redraw() {
    const { model, view } = this;
    this.box.classList.toggle("zoomed", this.isZoomed);
    const ranges = { x: view.x || this.full.x, y: view.y };
    if (!ranges.y) {
      const all = this.group.map((plot) => plot.model.heights(view.x));
      const of = (end) => all.map((pair) => pair[end]);
      ranges.y = view.x || !this.full.y ? roomy(Math.min(...of(0)), Math.max(...of(1)), model.y.log) : this.full.y;
    }
    this.drawings.forEach((d, at) => {
      if (!this.isZoomed && d.original && !this.changed) {
        d.svg.innerHTML = d.original;
        d.plan = { X: d.X, Y: d.Y };
        for (const at of model.hidden) for (const curve of d.svg.querySelectorAll(`[data-series="${at}"]`)) curve.classList.add("off");
      } else {
        d.plan = layout(model, ranges, d.frame);
        // Each drawing needs its own clip path: a hidden one clips by its own size.
        d.svg.innerHTML = drawing(model, d.plan, d.frame, `${this.clip}-${at}`);
      }
      model.paint?.(d.plan, d.frame);
    });
    this.box.dispatchEvent(new CustomEvent("viewed"));
  }

  // Shows or hides a curve.
  toggle(at) {
    this.hide();
    this.model.toggle(at);
    this.redraw();
  }

  // Toggles an axis between linear and logarithmic.
  setLog(axis, log) {
    for (const plot of this.group) plot.model[axis].log = log;
    const widths = this.group.map((plot) => plot.model.widths());
    const x = [Math.min(...widths.map((w) => w[0])), Math.max(...widths.map((w) => w[1]))];
    for (const plot of this.group) {
      // The drawing in the page has another scale.
      plot.changed = true;
      plot.full = { x: axis === "x" ? x : plot.full.x, y: null };
    }
    this.show(null);
  }

  hide() {
    this.at = -1;
    this.tip.hidden = true;
    for (const d of this.drawings) d.svg.querySelector(".guide")?.remove();
  }

  // Shows the read-out at a stop of the model.
  tell(at) {
    const { plan, svg, frame } = this.drawing;
    if (!this.model.stops.length || !plan) return this.hide();
    this.hide();
    this.at = clamp(at, 0, this.model.stops.length - 1);
    const { x, heading, rows } = this.model.read(this.at, plan.X);
    const px = plan.X.place(x);
    if (px < plan.X.from - 1 || px > plan.X.to + 1) return;
    const guide = document.createElementNS(svg.namespaceURI, "g");
    guide.setAttribute("class", "guide");
    const inside = (y) => drawable(y, plan.Y.log) && y >= plan.Y.low && y <= plan.Y.high;
    const ring = (row) => `<circle class="${row.class}" cx="${px}" cy="${plan.Y.place(row.y)}" r="4.5" stroke-width="2"/>`;
    guide.innerHTML = `<path d="M${px} ${plan.Y.from}V${plan.Y.to}"/>${rows.filter((row) => inside(row.y)).map(ring).join("")}`;
    svg.append(guide);
    this.tip.replaceChildren();
    element(this.tip, "p", {}, heading);
    for (const row of rows) {
      const line = element(this.tip, "div", {});
      element(line, "i", { className: row.class });
      element(line, "span", {}, row.name);
      element(line, "b", {}, row.text);
    }
    this.tip.hidden = false;
    const ratio = svg.getBoundingClientRect().width / frame.width;
    const room = this.box.clientWidth - this.tip.offsetWidth;
    const left = px * ratio + 14 > room ? px * ratio - this.tip.offsetWidth - 14 : px * ratio + 14;
    this.tip.style.transform = `translate(${clamp(left, 0, Math.max(0, room))}px,${plan.Y.to * ratio}px)`;
  }

  // Moves by one stop, and into view.
  step(to) {
    const { X } = this.drawing.plan;
    if (this.at < 0 && this.view.x) to = this.model.nearest(X, to < 0 || to >= this.model.stops.length ? X.to : X.from, null);
    this.tell(to);
    if (this.at < 0 || !this.view.x) return;
    const px = X.place(this.model.read(this.at, X).x);
    if (px >= X.from - 1 && px <= X.to + 1) return;
    const at = this.at;
    this.pan(px - (X.from + X.to) / 2);
    this.redraw();
    this.tell(at);
  }

  // Shows the range between two points of the drawing.
  brush(x0, x1, y0, y1) {
    const { X } = this, { Y } = this.drawing.plan, inside = (x) => clamp(x, X.from, X.to);
    const x = x0 === undefined ? this.view.x : X.range(inside(Math.min(x0, x1)), inside(Math.max(x0, x1)), this.full.x);
    const y = y0 === undefined ? null : [Y.value(Math.max(y0, y1)), Y.value(Math.min(y0, y1))];
    this.show(this.#wideEnough(x), y);
  }

  #wideEnough(x) {
    const least = this.model.least ?? 1e-6 * (this.full.x[1] - this.full.x[0]);
    return x && x[1] - x[0] < least && !this.model.x.log ? [(x[0] + x[1] - least) / 2, (x[0] + x[1] + least) / 2] : x;
  }

  // Zooms around a point of the drawing.
  zoom(factor, about) {
    const { X } = this;
    about ??= (X.from + X.to) / 2;
    const x = X.range(about - (about - X.from) / factor, about + (X.to - about) / factor, this.full.x);
    this.show(this.#wideEnough(x), this.view.y);
  }

  pan(pixels) {
    if (!this.view.x) return;
    const { X } = this;
    this.show(X.range(X.from + pixels, X.to + pixels, this.full.x) || this.view.x, this.view.y);
  }
}
