// Selects a run: a list for each level of its name, with the values that the lists before it allow.

class Choice {
  constructor(bar, samples, chosen) {
    Object.assign(this, { samples, chosen, at: 0 });
    this.lists = samples.levels.map((title, level) => {
      const label = element(bar, "label", {}, title);
      const list = element(label, "select", {});
      list.addEventListener("change", () => this.#pick(level));
      return list;
    });
    if (samples.runs.length > 1) {
      for (const [text, by, words] of [["‹", -1, "The run before"], ["›", 1, "The next run"]]) {
        const button = element(bar, "button", { type: "button", title: words }, text);
        button.setAttribute("aria-label", words);
        button.addEventListener("click", () => this.#open(clamp(this.at + by, 0, samples.runs.length - 1)));
      }
    }
    this.#offer();
  }

  #open(at) {
    this.at = at;
    this.#offer();
    this.chosen(at);
  }

  // Opens the run that matches the lists up to the changed one, and most of the others.
  #pick(level) {
    const wanted = this.lists.map((list) => list.value);
    const agree = (run) => {
      let same = 0;
      while (same < wanted.length && run.name[same] === wanted[same]) same++;
      const others = run.name.filter((part, n) => part === wanted[n]).length;
      return same > level ? 100 * same + others : -1;
    };
    let best = this.at, most = -1;
    this.samples.runs.forEach((run, at) => {
      if (agree(run) > most) [best, most] = [at, agree(run)];
    });
    this.#open(best);
  }

  #offer() {
    const { name } = this.samples.runs[this.at];
    this.lists.forEach((list, level) => {
      const fits = this.samples.runs.filter((run) => name.slice(0, level).every((part, n) => run.name[n] === part));
      const offered = [...new Set(fits.map((run) => run.name[level]))];
      list.replaceChildren(...offered.map((text) => element(null, "option", { value: text, selected: text === name[level] }, text)));
    });
  }
}
