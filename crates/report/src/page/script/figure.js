// The page's figures: makes the drawings interactive.

function figures() {
  const groups = new Map();
  for (const figure of document.querySelectorAll("figure[id]")) {
    // Bars cannot be zoomed.
    if (figure.querySelector(".still")) continue;
    const box = figure.querySelector(".plot"), data = JSON.parse(figure.querySelector("script").textContent);
    const drawings = [...box.querySelectorAll("svg.chart")].map((svg) => {
      const { width, height } = svg.viewBox.baseVal;
      const [X, Y] = [svg.dataset.x, svg.dataset.y].map((scale) => new Scale(...JSON.parse(scale)));
      return { svg, frame: { width, height }, X, Y };
    });
    const { X, Y } = drawings[0];
    const plot = new Plot(box, new Curves(data), drawings, { x: [X.low, X.high], y: [Y.low, Y.high] });
    legend(figure, plot);
    tools(figure, plot);
    if (!figure.dataset.group) continue;
    const group = groups.get(figure.dataset.group) || [];
    group.push(plot);
    plot.group = group;
    groups.set(figure.dataset.group, group);
  }
}

function legend(figure, plot) {
  for (const button of figure.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      plot.toggle(Number(button.dataset.series));
    });
  }
}

// Adds a button for each axis, and one that shows everything.
function tools(figure, plot) {
  const bar = element(null, "div", { className: "tools" });
  plot.box.before(bar);
  const button = (text, act) => {
    const made = element(bar, "button", { type: "button" }, text);
    made.addEventListener("click", () => act(made));
    return made;
  };
  button("Reset zoom", () => plot.show(null)).className = "reset";
  const able = { x: plot.model.widths?.()[0] > 0, y: plot.model.heights()[0] > 0 };
  for (const axis of ["x", "y"]) {
    if (plot.model[axis].log || able[axis]) scaleButton(button, plot, axis);
  }
}

function scaleButton(button, plot, axis) {
  const word = { x: "Across", y: "Up" }[axis];
  const say = (made) => {
    const { log } = plot.model[axis];
    made.textContent = `${word}: ${log ? "log" : "linear"}`;
    made.title = `Make this axis ${log ? "linear" : "logarithmic"}`;
  };
  const made = button("", () => plot.setLog(axis, !plot.model[axis].log));
  say(made);
  plot.box.addEventListener("viewed", () => say(made));
}
