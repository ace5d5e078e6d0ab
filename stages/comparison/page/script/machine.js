// One stage on the reader's program: what it says, who calls whom, its store, and its counts.

class Machine {
  constructor(name, onChoice) {
    this.name = name;
    this.choices = [];
    this.onChoice = onChoice;
    this.root = make("div", "machine");
    this.root.dataset.stage = name;
    this.title = make("h4", "", name);
    this.say = make("p", "say");
    this.graphPlace = make("div", "graph");
    this.store = new Store();
    this.counts = make("div", "running");
    this.counts.setAttribute("role", "group");
    this.counts.setAttribute("aria-label", `counts of ${name} so far`);
    this.root.append(this.title, this.say, this.graphPlace, this.store.box, this.counts);
  }

  // Runs anew: another program, other inputs, or another order.
  run(recording, inputs, choices = []) {
    const same = this.result && this.result.recording === recording;
    this.choices = choices;
    this.result = runStage(this.name, recording, inputs, choices);
    this.result.own = choices.length ? runStage(this.name, recording, inputs).calls.length : this.result.calls.length;
    if (same) this.graph.fill(this.result);
    else {
      this.graph = new Graph(this.result);
      this.graphPlace.replaceChildren(this.graph.box);
    }
  }

  get steps() {
    return this.result.steps;
  }

  // From the seed on, the reader may call what waits: the calls so far stay, and this one is next.
  choose(k, id) {
    const made = this.steps[k].calls;
    this.onChoice([...this.result.calls.slice(0, made).map(([i]) => i), id]);
  }

  show(k, choosing) {
    const step = this.steps[k];
    const before = k > 0 ? this.steps[k - 1] : null;
    const choose = choosing && step.waiting.length ? (id) => this.choose(k, id) : null;
    this.say.textContent = say(this.result, step);
    this.say.classList.toggle("again", step.kind === "call" && step.times > 1);
    this.store.show(this.result, step, before, choose);
    this.graph.show(this.result, step);
    this.showCounts(step, before);
  }

  showCounts({ counts }, before) {
    const shown = [make("span", "", "so far")];
    for (const [name, heading] of Object.entries(HEADINGS)) {
      const more = counts[name] - (before ? before.counts[name] : 0);
      const item = make("span", more ? "more" : "");
      item.dataset.count = name;
      item.append(make("b", "", grouped(counts[name])), ` ${heading}`);
      if (more) item.append(make("i", "", ` +${grouped(more)}`));
      if (counts[name]) shown.push(item);
    }
    if (this.result.cut) shown.push(make("span", "note", `The walk is cut: ${this.result.cut}.`));
    this.counts.replaceChildren(...shown);
  }

  // All backpropagators made so far, as functions or data.
  table(k) {
    const step = this.steps[k];
    const to = step.passed.map(([i]) => i);
    const rows = this.result.scalars.slice(0, step.made).map((scalar) => {
      const { id, text, value } = scalar;
      const row = make("tr", id === step.id ? "now" : to.includes(id) ? "next" : "");
      const [name, short] = [shownText(text), number(value)];
      row.append(make("th", "", nameOf(this.name, id)), make("td", "", `v${id} = ${name === short ? "" : `${name} = `}${short}`));
      row.firstChild.scope = "row";
      row.append(make("td", "code", backpropagator(this.name, scalar)));
      return row;
    });
    return rows;
  }
}

// Two stages in lockstep: the forward pass by the program's numbers, the reverse pass call by call.
// A stage that has nothing to do while the other does stays where it is.
const lockstep = (machines) => {
  const tracks = machines.map(({ result }) => {
    const forward = new Map();
    const calls = [];
    let [seed, last] = [0, 0];
    result.steps.forEach((step, k) => {
      if (step.kind === "make") forward.set(result.scalars[step.id].drawn ?? step.id, k);
      if (step.kind === "seed") seed = k;
      if (step.kind === "call") calls.push(k);
      last = k;
    });
    return { forward, calls, seed, last };
  });
  const frames = [];
  const program = machines[0].result.every.length;
  const at = tracks.map(() => 0);
  for (let i = 0; i < program; i++) {
    tracks.forEach(({ forward }, t) => (at[t] = forward.get(i) ?? at[t]));
    if (tracks.some(({ forward }) => forward.has(i))) frames.push([...at]);
  }
  if (tracks.every(({ seed }) => seed)) frames.push(tracks.map(({ seed }) => seed));
  const longest = Math.max(...tracks.map(({ calls }) => calls.length));
  for (let j = 0; j < longest; j++) frames.push(tracks.map(({ calls, last }) => calls[j] ?? last));
  frames.push(tracks.map(({ last }) => last));
  return frames;
};
