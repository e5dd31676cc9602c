// Explores samples: draws the chosen run, and the distribution of the part selected.

const QUANTILES = [["p50", 0.5], ["p90", 0.9], ["p99", 0.99], ["p99.9", 0.999], ["Longest", 1]];
// Bins of the histogram over the range of the part selected.
const BINS = 60;

class Explorer {
  constructor(section) {
    this.section = section;
    this.samples = new SampleRuns(section);
    const find = (name) => section.querySelector(`.${name}`);
    Object.assign(this, { body: find("explored"), state: find("state"), all: find("all"), numbers: find("numbers") });
    this.canvas = find("scatter");
    this.detail = this.#plotFrame(find("detail"), 360);
    this.overview = new Overview(find("overview"), (range) => this.plot.show(range));
    [this.histogram, this.tail] = ["histogram", "tail"].map((name) => this.#plotFrame(find(name), 290));
    this.choice = new Choice(find("choice"), this.samples, (at) => this.open(at));
    this.ends = section.querySelectorAll(".ends input");
    for (const end of this.ends) end.addEventListener("change", () => this.#typed());
    this.all.addEventListener("click", () => this.plot?.show(null));
    find("measured").addEventListener("click", () => this.#measured());
    new ResizeObserver(() => this.#resize()).observe(this.body);
    for (const query of ["print", "(prefers-color-scheme:dark)"]) matchMedia(query).addEventListener("change", () => this.plot?.redraw());
    this.open(this.choice.at);
  }

  #plotFrame(box, height) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "chart");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", box.getAttribute("aria-label"));
    box.append(svg);
    return { box, svg, frame: { width: 0, height } };
  }

  #fit(d) {
    d.frame.width = Math.max(240, Math.round(d.box.clientWidth));
    d.svg.setAttribute("viewBox", `0 0 ${d.frame.width} ${d.frame.height}`);
  }

  #resize() {
    if (!this.plot || this.detail.box.clientWidth === this.detail.frame.width) return;
    for (const d of [this.detail, this.histogram, this.tail]) this.#fit(d);
    this.plot.redraw();
    this.overview.draw(this.detail.plan.X);
  }

  async open(at) {
    this.opening = at;
    let run;
    try {
      run = await this.samples.run(at);
    } catch (error) {
      this.state.textContent = `The samples could not be unpacked: ${error.message}`;
      return;
    }
    // Another run may have been chosen meanwhile.
    if (this.opening !== at) return;
    for (const d of [this.detail, this.histogram, this.tail]) this.#fit(d);
    const scatter = new ScatterPlot(this.canvas, this.samples, run);
    const keep = this.plot;
    if (keep) {
      if (keep.model.y.log === false) scatter.y.log = false;
      scatter.hidden = keep.model.hidden;
      keep.model = scatter;
      keep.full = { x: scatter.full, y: null };
      keep.view = { x: null, y: null };
      keep.hide();
      keep.redraw();
    } else {
      this.plot = new Plot(this.detail.box, scatter, [this.detail], { x: scatter.full, y: null });
      this.plot.box.addEventListener("viewed", () => this.#viewed());
      legend(this.section, this.plot);
      tools(this.detail.box.parentElement, this.plot);
      this.plot.redraw();
    }
    this.overview.open(scatter, this.detail.plan.X);
    this.section.querySelector(".measured").hidden = !scatter.marks.length;
    this.section.dataset.run = at;
  }

  #measured() {
    const { model, full } = this.plot;
    this.plot.show([model.place(model.run.ignored), full.x[1]]);
  }

  #typed() {
    const { model, full } = this.plot, [from, to] = [...this.ends].map((end) => Number(end.value));
    if (from < to) this.plot.show([clamp(from, ...full.x), clamp(to, ...full.x)]);
    else this.#viewed();
  }

  // Updates the overview, the inputs of the range, and after a delay the distribution.
  #viewed() {
    const { view, full, model } = this.plot, range = view.x || full.x;
    this.overview.show(view.x);
    this.ends.forEach((end, n) => {
      end.value = model.timed ? Number(range[n].toPrecision(7)) : Math.round(range[n]);
    });
    clearTimeout(this.later);
    this.later = setTimeout(() => this.#distribute(), 60);
  }

  // Counts by code: exact for the codes in the page, and fast for millions.
  #distribute() {
    const { model, view } = this.plot, { run, samples } = model, [from, to] = model.within(view.x);
    const kinds = samples.kinds.map((kind) => ({ ...kind, counts: new Uint32Array(65536), requests: 0, sum: 0 }));
    for (let at = from; at < to; at++) {
      const code = run.codes[at], kind = kinds[run.kinds ? run.kinds[at] : 0];
      kind.counts[code]++;
      kind.requests++;
      kind.sum += samples.times[code];
    }
    const present = kinds.filter((kind, n) => kind.requests && !model.hidden.has(n));
    const all = present.reduce((sum, kind) => sum + kind.requests, 0);
    this.#tell(present, all, run.codes.length);
    this.#draw(this.histogram, { label: "Requests", unit: "%", log: false }, present.map((kind) => ({ ...kind, points: bins(kind, all, samples.times) })));
    this.#draw(this.tail, { label: "Took longer", unit: "%", log: true }, present.map((kind) => ({ ...kind, points: beyond(kind, samples.times) })));
    this.section.dataset.brushed = `${from}-${to}`;
  }

  #tell(present, all, whole) {
    const { samples } = this;
    const what = all === whole ? `all ${number(all)}` : `${number(all)} of ${number(whole)}`;
    this.state.textContent = `In view: ${what} requests.`;
    const heads = ["", "Requests", "Shortest", "Mean", ...QUANTILES.map(([words]) => words)];
    const row = (kind) => [
      kind.name,
      number(kind.requests),
      time(samples.times[kind.counts.findIndex((count) => count)]),
      time(kind.sum / kind.requests),
      ...QUANTILES.map(([, q]) => time(samples.times[quantile(kind, q)])),
    ];
    const rows = present.map(row);
    this.numbers.replaceChildren();
    const head = element(element(this.numbers, "thead", {}), "tr", {});
    heads.forEach((text, n) => element(head, "th", { scope: "col", className: n ? "r" : "" }, text));
    const body = element(this.numbers, "tbody", {});
    for (const cells of rows) {
      const line = element(body, "tr", {});
      cells.forEach((text, n) => element(line, n ? "td" : "th", n ? { className: "r" } : { scope: "row" }, text));
    }
  }

  #draw(d, y, series) {
    const model = new Curves({ x: { label: "Response time", unit: "ms", log: true }, y, series, marks: [] });
    const full = { x: model.widths(), y: null };
    if (!d.plot) {
      d.plot = new Plot(d.box, model, [d], full);
      tools(d.box.parentElement, d.plot);
    }
    Object.assign(d.plot, { model, full, view: { x: null, y: null } });
    d.plot.hide();
    d.plot.redraw();
  }
}

// Returns the code at or below which a share of the requests lies.
function quantile(kind, share) {
  const wanted = Math.max(1, Math.ceil(share * kind.requests));
  let seen = 0;
  return kind.counts.findIndex((count) => (seen += count) >= wanted);
}

const codesOf = (kind) => {
  const codes = [];
  for (let code = 1; code < 65536; code++) if (kind.counts[code]) codes.push(code);
  return codes;
};

// Returns the percentage of all requests in equal steps of a logarithmic axis, as outlines of bars.
function bins(kind, all, times) {
  const codes = codesOf(kind);
  if (!codes.length) return [];
  const low = codes[0], width = Math.max(1, Math.ceil((codes[codes.length - 1] - low + 1) / BINS)), sums = [];
  for (const code of codes) {
    const bin = Math.floor((code - low) / width);
    sums[bin] = (sums[bin] || 0) + kind.counts[code];
  }
  const ms = (bin) => times[Math.max(1, low + bin * width)] / 1e6, points = [[ms(0), 0]];
  for (let bin = 0; bin < sums.length; bin++) {
    const share = (100 * (sums[bin] || 0)) / all;
    points.push([ms(bin), share], [ms(bin + 1), share]);
  }
  return points.concat([[ms(sums.length), 0]]);
}

// Returns the percentage of a kind's requests that took longer than each response time.
function beyond(kind, times) {
  let left = kind.requests;
  const points = [];
  for (const code of codesOf(kind)) {
    const ms = times[code] / 1e6;
    points.push([ms, (100 * left) / kind.requests]);
    left -= kind.counts[code];
    if (left) points.push([ms, (100 * left) / kind.requests]);
  }
  return points;
}
