// The whole run in small under the plot, with the part in view, which can be moved, made wider, or drawn anew.

const STRIP_HEIGHT = 48;

class Strip {
  constructor(box, chosen) {
    Object.assign(this, { box, chosen });
    this.canvas = element(box, "canvas", {});
    this.window = element(box, "div", { className: "window" });
    box.addEventListener("pointerdown", (event) => this.#down(event));
    box.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => (this.held = null));
  }

  open(cloud, above) {
    this.cloud = cloud;
    this.range = null;
    this.draw(above);
  }

  // Under the scale of the plot above it.
  draw(above) {
    if (!this.cloud) return;
    this.box.style.marginLeft = `${above.from}px`;
    const width = this.box.clientWidth, { cloud } = this, frame = { width, height: STRIP_HEIGHT };
    this.X = new Scale(false, ...cloud.full, 0, width - 1);
    const Y = new Scale(true, ...roomy(...cloud.heights(null), true), STRIP_HEIGHT - 1, 1);
    new Cloud(this.canvas, cloud.singles, cloud.run).paint({ X: this.X, Y }, frame);
    this.show(this.range);
  }

  show(range) {
    this.range = range;
    if (!this.X) return;
    const [from, to] = (range || this.cloud.full).map((x) => this.X.place(x));
    this.window.style.left = `${from}px`;
    this.window.style.width = `${Math.max(3, to - from)}px`;
    this.window.classList.toggle("whole", !range);
  }

  #down(event) {
    const px = event.clientX - this.box.getBoundingClientRect().left;
    const [from, to] = (this.range || this.cloud.full).map((x) => this.X.place(x));
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
    this.chosen(this.X.range(low, high, this.cloud.full));
  }
}
