// Mouse, touch and keys on a plot.
//
// Mouse: dragging selects a part to zoom into (horizontal, or a box), with Shift it moves the view; Ctrl and the wheel
// zoom; a double click shows everything. Touch: two fingers zoom, one moves a zoomed plot and reads values in others,
// and the page still scrolls vertically. Keys: arrows read values, + and - zoom, Shift with arrows moves, Escape shows
// everything.

// A drag shorter than this is a click.
const SLIP = 6;
// A drag lower than this selects no vertical range.
const FLAT = 28;

class Gestures {
  constructor(plot) {
    this.plot = plot;
    this.pointers = new Map();
    const { box } = plot;
    const on = (event, handler) => box.addEventListener(event, (e) => handler.call(this, e), { passive: false });
    on("pointerdown", this.#down);
    on("pointermove", this.#move);
    on("pointerup", this.#up);
    on("pointercancel", this.#cancel);
    on("pointerleave", (event) => event.pointerType !== "touch" && !this.drag && plot.hide());
    on("dblclick", () => plot.show(null));
    on("wheel", this.#wheel);
    on("keydown", this.#key);
    on("blur", () => plot.hide());
  }

  // Converts a point on the screen to one in the drawing.
  #place(event) {
    const { svg, frame } = this.plot.drawing;
    const area = svg.getBoundingClientRect(), ratio = frame.width / area.width;
    return { x: (event.clientX - area.left) * ratio, y: (event.clientY - area.top) * ratio };
  }

  #read(place) {
    const { plot } = this, { plan } = plot.drawing;
    if (plan && plot.model.stops.length) plot.tell(plot.model.nearest(plan.X, place.x, plan.Y, place.y));
  }

  #down(event) {
    if (event.button !== 0) return;
    const place = this.#place(event);
    this.pointers.set(event.pointerId, place);
    if (event.pointerType === "touch") {
      this.drag = null;
      if (this.pointers.size === 1) this.#read(place);
    } else {
      this.drag = place;
    }
    try {
      this.plot.box.setPointerCapture(event.pointerId);
    } catch {
      // A pointer that has left needs no capture.
    }
  }

  #move(event) {
    const place = this.#place(event), before = this.pointers.get(event.pointerId), { plot } = this;
    if (!before) return this.#read(place);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.pointers.set(event.pointerId, place);
    if (others.length) {
      const was = Math.abs(before.x - others[0].x), is = Math.abs(place.x - others[0].x);
      if (was > 10 && is > 10) plot.zoom(is / was, (place.x + others[0].x) / 2);
    } else if (event.pointerType === "touch" || event.shiftKey) {
      this.#band();
      if (plot.view.x) plot.pan(before.x - place.x);
      else this.#read(place);
    } else if (this.drag) {
      plot.hide();
      this.#band(this.drag, place);
    }
  }

  #up(event) {
    const place = this.#place(event), { drag } = this;
    this.#cancel(event);
    if (!drag || event.shiftKey) return;
    const wide = Math.abs(place.x - drag.x) >= SLIP, high = Math.abs(place.y - drag.y) >= FLAT;
    if (wide && high) this.plot.brush(drag.x, place.x, drag.y, place.y);
    else if (wide) this.plot.brush(drag.x, place.x);
    else if (high) this.plot.brush(undefined, undefined, drag.y, place.y);
    else this.#read(place);
  }

  #cancel(event) {
    this.pointers.delete(event.pointerId);
    this.drag = null;
    this.#band();
  }

  // Draws the selection.
  #band(from, to) {
    const { svg, plan } = this.plot.drawing;
    svg.querySelector(".brush")?.remove();
    if (!from || Math.abs(to.x - from.x) + Math.abs(to.y - from.y) < SLIP) return;
    const { X, Y } = plan, band = document.createElementNS(svg.namespaceURI, "rect");
    const [left, right] = [from.x, to.x].map((x) => clamp(x, X.from, X.to)).sort((a, b) => a - b);
    const heights = Math.abs(to.y - from.y) >= FLAT ? [from.y, to.y].map((y) => clamp(y, Y.to, Y.from)) : [Y.to, Y.from];
    const [top, bottom] = heights.sort((a, b) => a - b);
    for (const [key, value] of Object.entries({ class: "brush", x: left, y: top, width: right - left, height: bottom - top })) band.setAttribute(key, value);
    svg.append(band);
  }

  #wheel(event) {
    // Without Ctrl the wheel scrolls the page. A touchpad pinch is a wheel event with Ctrl.
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.plot.zoom(2 ** (-event.deltaY / 120), this.#place(event).x);
  }

  #key(event) {
    const { plot } = this, { at, model } = plot, count = model.stops.length;
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== plot.box) return;
    const { X } = plot.drawing.plan, far = Math.max(1, Math.round(count / 10)), tenth = (X.to - X.from) / 10;
    const actions = {
      ArrowRight: () => (event.shiftKey ? plot.pan(tenth) : plot.step(at + 1)),
      ArrowLeft: () => (event.shiftKey ? plot.pan(-tenth) : plot.step(at < 0 ? count : at - 1)),
      PageUp: () => plot.step(at + far),
      PageDown: () => plot.step(at - far),
      Home: () => plot.step(0),
      End: () => plot.step(count - 1),
      "+": () => plot.zoom(2, at < 0 ? undefined : X.place(model.read(at, X).x)),
      "=": () => actions["+"](),
      "-": () => plot.zoom(0.5),
      Escape: () => plot.show(null),
      0: () => plot.show(null),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
