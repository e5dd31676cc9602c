// Overview of the whole run below the plot, with the part in view, which can be moved, resized or redrawn.

const OVERVIEW_HEIGHT = 48;

class Overview {
  constructor(box, chosen) {
    Object.assign(this, { box, chosen });
    this.canvas = element(box, "canvas", {});
    this.window = element(box, "div", { className: "window" });
    box.addEventListener("pointerdown", (event) => this.#down(event));
    box.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => (this.held = null));
  }

  open(scatter, above) {
    this.scatter = scatter;
    this.range = null;
    this.draw(above);
  }

  // Draws the overview, aligned with the plot above.
  draw(above) {
    if (!this.scatter) return;
    this.box.style.marginLeft = `${above.from}px`;
    const width = this.box.clientWidth, { scatter } = this, frame = { width, height: OVERVIEW_HEIGHT };
    this.X = new Scale(false, ...scatter.full, 0, width - 1);
    const Y = new Scale(true, ...roomy(...scatter.heights(null), true), OVERVIEW_HEIGHT - 1, 1);
    new ScatterPlot(this.canvas, scatter.samples, scatter.run).paint({ X: this.X, Y }, frame);
    this.show(this.range);
  }

  show(range) {
    this.range = range;
    if (!this.X) return;
    const [from, to] = (range || this.scatter.full).map((x) => this.X.place(x));
    this.window.style.left = `${from}px`;
    this.window.style.width = `${Math.max(3, to - from)}px`;
    this.window.classList.toggle("whole", !range);
  }

  #down(event) {
    const px = event.clientX - this.box.getBoundingClientRect().left;
    const [from, to] = (this.range || this.scatter.full).map((x) => this.X.place(x));
    const near = (edge) => this.range && Math.abs(px - edge) < 10;
    const part = near(to) ? "to" : near(from) ? "from" : this.range && px > from && px < to ? "both" : "new";
    this.held = { part, px, from, to };
    this.box.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  #move(event) {
    if (!this.held) return;
    const { part, px, from, to } = this.held, now = event.clientX - this.box.getBoundingClientRect().left, by = now - px;
    const ends = { new: [px, now], from: [from + by, to], to: [from, to + by], both: [from + by, to + by] }[part];
    const [low, high] = ends.sort((a, b) => a - b);
    if (high - low < 2) return;
    this.chosen(this.X.range(low, high, this.scatter.full));
  }
}
