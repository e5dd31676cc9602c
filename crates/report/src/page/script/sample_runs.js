// Samples in the page: response times on a logarithmic scale in 16 bits, in byte planes, deflated, in base64 (written
// by page/samples.rs and sample_runs.rs). A block is unpacked when one of its runs is first opened.

class SampleRuns {
  constructor(section) {
    Object.assign(this, JSON.parse(section.querySelector("script.runs").textContent));
    this.blocks = document.querySelectorAll(`script[data-of="${section.querySelector("script.runs").dataset.blocks}"]`);
    this.unpacked = new Map();
    // Response time of each code, in ns: 0, then a factor of `step` each.
    this.times = new Float64Array(65536).map((_, code) => (code ? this.step ** (code - 1) : 0));
  }

  async #block(at) {
    const text = atob(this.blocks[at].textContent);
    const packed = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++) packed[n] = text.charCodeAt(n);
    const inflate = new DecompressionStream("deflate"), writer = inflate.writable.getWriter();
    // Errors are reported where the data is read.
    writer.write(packed).catch(() => {});
    writer.close().catch(() => {});
    const planes = this.timed ? 7 : this.kinds.length > 1 ? 3 : 2;
    const bytes = new Uint8Array(planes * this.sizes[at]), reader = inflate.readable.getReader();
    for (let end = 0; ; ) {
      const { done, value } = await reader.read();
      if (done) return bytes;
      bytes.set(value, end);
      end += value.length;
    }
  }

  // Returns a run: codes of its response times, and times and kinds of its requests if recorded.
  async run(at) {
    const run = this.runs[at], { block, first, count } = run;
    if (!this.unpacked.has(block)) {
      // Only the last blocks stay unpacked.
      if (this.unpacked.size > 7) this.unpacked.delete(this.unpacked.keys().next().value);
      this.unpacked.set(block, this.#block(block));
    }
    const bytes = await this.unpacked.get(block), size = this.sizes[block];
    const plane = (n) => bytes.subarray(n * size + first, n * size + first + count);
    const [low, high] = [plane(0), plane(1)];
    const codes = new Uint16Array(count);
    for (let n = 0; n < count; n++) codes[n] = low[n] | (high[n] << 8);
    const found = { ...run, codes, kinds: this.kinds.length > 1 ? plane(2) : null };
    if (this.timed) {
      const deltas = [3, 4, 5, 6].map(plane);
      found.times = new Float64Array(count);
      for (let n = 0, now = 0; n < count; n++) {
        now += deltas[0][n] + deltas[1][n] * 256 + deltas[2][n] * 65536 + deltas[3][n] * 16777216;
        found.times[n] = (now * run.tick) / 1e9;
      }
    }
    return found;
  }
}
