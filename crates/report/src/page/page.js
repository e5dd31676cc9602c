"use strict";
// Values under the pointer or the arrow keys, and curves that can be hidden. The page is complete without.
(() => {
  const number = (v) =>
    v !== 0 && (Math.abs(v) < 1e-4 || Math.abs(v) >= 1e15)
      ? v.toExponential(3)
      : Number(v.toPrecision(Math.abs(v) >= 1000 ? 9 : 4)).toLocaleString("en", { maximumFractionDigits: Math.abs(v) >= 1000 ? 0 : 8 });

  function place(scale, value) {
    const [log, low, high, from, to] = scale;
    const f = log ? Math.log : (v) => v;
    return from + ((f(value) - f(low)) / (f(high) - f(low))) * (to - from);
  }

  function element(parent, name, properties, text) {
    const made = document.createElement(name);
    Object.assign(made, properties);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  }

  // The position in a sorted array whose value lies nearest on the paper.
  function nearest(xs, wanted, where) {
    let low = 0, high = xs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (where(xs[middle]) < wanted) low = middle + 1;
      else high = middle;
    }
    return low > 0 && wanted - where(xs[low - 1]) < where(xs[low]) - wanted ? low - 1 : low;
  }

  for (const figure of document.querySelectorAll("figure")) {
    const plot = figure.querySelector(".plot");
    const data = JSON.parse(figure.querySelector("script").textContent);
    const tip = element(plot, "div", { className: "tip", hidden: true });
    tip.setAttribute("role", "status");
    const drawings = [...plot.querySelectorAll("svg.chart")].map((svg) => {
      const guide = document.createElementNS(svg.namespaceURI, "path");
      guide.setAttribute("class", "guide");
      svg.insertBefore(guide, svg.querySelector("[data-series]"));
      return { svg, guide, x: JSON.parse(svg.dataset.x), y: JSON.parse(svg.dataset.y) };
    });
    const hidden = new Set();
    // Points of a series in order of x; the first of several at one x is the one that is told.
    for (const s of data.series) {
      s.points.sort((a, b) => a[0] - b[0]);
      s.xs = s.points.map((p) => p[0]);
    }
    let xs = [], at = -1;

    function collect() {
      const shown = data.series.filter((_, i) => !hidden.has(i));
      xs = [...new Set(shown.flatMap((s) => s.xs))].sort((a, b) => a - b);
    }

    const current = () => drawings.find((d) => d.svg.getBoundingClientRect().width > 0);

    function hide() {
      at = -1;
      tip.hidden = true;
      for (const d of drawings) d.guide.removeAttribute("d");
    }

    function show(position) {
      const d = current();
      if (!d || !xs.length) return hide();
      at = Math.max(0, Math.min(xs.length - 1, position));
      const value = xs[at], px = place(d.x, value);
      d.guide.setAttribute("d", `M${px} ${d.y[3]}V${d.y[4]}`);
      tip.replaceChildren();
      const unit = (axis) => (axis[1] ? ` ${axis[1]}` : "");
      element(tip, "p", {}, `${data.x[0]} ${number(value)}${unit(data.x)}`);
      data.series.forEach((s, i) => {
        if (hidden.has(i) || !s.points.length) return;
        const near = s.points[nearest(s.xs, value, (v) => v)];
        // A series without a point here says nothing here.
        if (Math.abs(place(d.x, near[0]) - px) > 2) return;
        const row = element(tip, "div", {});
        element(row, "i", { className: s.class });
        element(row, "span", {}, s.name || data.y[0]);
        element(row, "b", {}, number(near[1]) + unit(data.y));
      });
      tip.hidden = false;
      const ratio = d.svg.getBoundingClientRect().width / d.svg.viewBox.baseVal.width;
      const room = plot.clientWidth - tip.offsetWidth;
      const left = px * ratio + 14 > room ? px * ratio - tip.offsetWidth - 14 : px * ratio + 14;
      tip.style.transform = `translate(${Math.max(0, Math.min(room, left))}px,${d.y[4] * ratio}px)`;
    }

    function follow(event) {
      const d = current();
      if (!d || !xs.length) return;
      const box = d.svg.getBoundingClientRect();
      const px = ((event.clientX - box.left) / box.width) * d.svg.viewBox.baseVal.width;
      show(nearest(xs, px, (v) => place(d.x, v)));
    }

    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const far = Math.max(1, Math.round(xs.length / 10));
      const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? xs.length : at - 1, PageUp: at + far, PageDown: at - far, Home: 0, End: xs.length - 1 }[event.key];
      if (event.key === "Escape") hide();
      else if (to !== undefined) {
        event.preventDefault();
        show(to);
      }
    });
    for (const button of figure.querySelectorAll(".legend button")) {
      button.addEventListener("click", () => {
        const series = Number(button.dataset.series), off = !hidden.has(series);
        off ? hidden.add(series) : hidden.delete(series);
        button.setAttribute("aria-pressed", String(!off));
        for (const curve of plot.querySelectorAll(`[data-series="${series}"]`)) curve.classList.toggle("off", off);
        hide();
        collect();
      });
    }
    collect();
  }
})();
