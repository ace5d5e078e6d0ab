// A stage, step by step, alone or in lockstep with another; with buttons, a slider, arrow keys.

const PACE = 1000; // milliseconds from step to step, while it plays

class Stepper {
  constructor(root, reader) {
    this.root = root;
    this.reader = reader;
    this.name = root.dataset.stage;
    this.at = 0;
    this.choosing = false;
    this.timer = null; // while it plays
    this.machines = [this.machine(this.name)];
    this.inputs = new Inputs(reader);
    this.build();
    reader.followers.push(this);
    root.addEventListener("keydown", (event) => this.key(event));
  }

  machine(name) {
    const made = new Machine(name, (choices) => {
      made.run(this.reader.recording, this.reader.inputs, choices);
      this.frames = null;
      this.move(this.at + 1);
      const { store, say } = made;
      (store.box.querySelector("button") || say).focus(); // what was pressed is gone
    });
    return made;
  }

  build() {
    const go = (where, label, title) => {
      const made = button(label, title, () => this.move(this.target(where)));
      made.dataset.go = where;
      return made;
    };
    this.playing = button("▶ play", "", () => (this.timer ? this.stop() : this.play()));
    this.playing.className = "play";
    const controls = make("div", "controls");
    const options = make("div", "options");
    this.slide = make("input");
    this.slide.type = "range";
    this.slide.min = 0;
    this.slide.setAttribute("aria-label", "step");
    this.slide.addEventListener("input", () => this.move(Number(this.slide.value)));
    const slide = make("span", "slide");
    slide.append(this.slide);
    this.where = make("span", "where");
    controls.append(
      go("first", "|‹", "first step (Home)"),
      go("back", "‹ back", "one step back (left arrow)"),
      go("on", "step ›", "one step forward (right arrow)"),
      go("last", "›|", "last step (End)"),
      this.playing,
      slide,
      this.where,
    );
    options.append(this.beside());
    if (FREE_ORDER.includes(this.name) && this.name !== "naive") options.append(this.order());
    this.advice = make("p", "note advice");
    this.advice.setAttribute("role", "status");
    this.board = make("div", "board");
    this.pane = make("div", "program");
    this.source = scrolling("source", "the program");
    this.pane.append(this.source, this.inputs.root);
    this.details = make("details", "made");
    this.details.append(make("summary", "", "All backpropagators so far, as functions or data"));
    this.tables = make("div", "tables");
    this.details.append(this.tables);
    this.details.addEventListener("toggle", () => this.show());
    this.chosen = [controls, options, this.advice, this.details];
    this.root.replaceChildren(controls, options, this.advice, this.board, this.details);
    this.arrange();
  }

  beside() {
    const label = make("label", "beside", "beside ");
    const select = make("select");
    select.append(new Option("nothing", ""));
    for (const name of SHOWN_STAGES) if (name !== this.name) select.append(new Option(name, name));
    select.addEventListener("change", () => this.pair(select.value));
    label.append(select);
    this.select = select;
    return label;
  }

  order() {
    const label = make("label", "order");
    this.check = make("input");
    this.check.type = "checkbox";
    this.check.addEventListener("change", () => this.setChoosing(this.check.checked));
    this.again = button("the stage's own order again", "", () => this.ownOrder());
    this.again.className = "small";
    label.append(this.check, " I choose the next call");
    const both = make("span", "orders");
    both.append(label, this.again);
    return both;
  }

  setChoosing(on) {
    this.choosing = on;
    this.check.checked = on;
    const seed = this.machines[0].steps.findIndex(({ kind }) => kind === "seed");
    if (on && this.frame()[0] < seed) this.goTo("seed");
    else this.show();
  }

  ownOrder() {
    this.refresh();
    this.goTo("seed");
    this.check.focus();
  }

  pair(name) {
    const [first] = this.machines;
    this.machines = name ? [first, this.machine(name)] : [first];
    this.select.value = name;
    this.arrange();
    this.refresh();
  }

  arrange() {
    this.board.replaceChildren(this.pane, ...this.machines.map(({ root }) => root));
    this.board.classList.toggle("two", this.machines.length === 2);
    for (const { say } of this.machines) {
      say.setAttribute("role", "status");
      say.setAttribute("aria-live", "polite");
      say.tabIndex = -1;
    }
  }

  // Another program, size or input: the stage's own order, and the same step if there is one.
  refresh() {
    this.stop();
    const { recording, data, program } = this.reader;
    if (this.drawnProgram !== program) {
      this.source.replaceChildren(...(data.source ? [sourceOf(program)] : []));
      this.source.hidden = !data.source;
      this.at = 0;
    }
    this.drawnProgram = program;
    this.inputs.refresh();
    for (const part of [...this.chosen, ...this.machines.map(({ root }) => root)]) part.hidden = !recording.scalars;
    if (!recording.scalars) return; // too long: what there is to see is the program, and why
    for (const machine of this.machines) machine.run(recording, this.reader.inputs);
    this.frames = null;
    this.root.setAttribute("aria-label", `${this.name} on ${data.name}, step by step`);
    this.go(this.at);
  }

  frame() {
    this.frames = this.frames || lockstep(this.machines);
    return this.frames[this.at];
  }

  target(where) {
    return { first: 0, back: this.at - 1, on: this.at + 1, last: this.frames.length - 1 }[where];
  }

  key(event) {
    const where = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" }[event.key];
    const scrolls = event.target.closest(".scroll");
    const takesKeys = event.target.matches("input:not([type=checkbox]), select, textarea");
    if (!where || event.altKey || event.ctrlKey || event.metaKey || takesKeys) return;
    if (scrolls && scrolls.scrollWidth > scrolls.clientWidth && event.target === scrolls) return; // the arrows move its content
    event.preventDefault();
    this.move(this.target(where));
  }

  goTo(kind) {
    const k = this.machines[0].steps.findIndex((step) => step.kind === kind);
    this.frame();
    this.go(this.frames.findIndex(([first]) => first === k));
  }

  // A step a second, from the start if it is at its end.
  play() {
    if (this.at === this.frames.length - 1) this.go(0);
    this.timer = setInterval(() => {
      this.go(this.at + 1);
      if (this.at === this.frames.length - 1) this.stop();
    }, PACE);
    this.playing.textContent = "❚❚ pause";
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playing.textContent = "▶ play";
  }

  // The reader's own step ends the playing.
  move(k) {
    this.stop();
    this.go(k);
  }

  go(k) {
    this.frames = this.frames || lockstep(this.machines);
    this.at = Math.max(0, Math.min(k, this.frames.length - 1));
    this.show();
  }

  show() {
    const frame = this.frame();
    const last = this.frames.length - 1;
    this.root.dataset.at = this.at;
    this.slide.max = last;
    this.slide.value = this.at;
    this.slide.setAttribute("aria-valuetext", `step ${this.at + 1} of ${last + 1}`);
    this.where.textContent = `${this.at + 1} of ${last + 1}`;
    for (const control of this.root.querySelectorAll("button[data-go]")) {
      const off = ["first", "back"].includes(control.dataset.go) ? this.at === 0 : this.at === last;
      control.setAttribute("aria-disabled", off); // not `disabled`, which would lose the focus
    }
    this.machines.forEach((machine, t) => machine.show(frame[t], this.choosing && t === 0));
    if (this.again) this.again.hidden = !this.machines[0].choices.length;
    this.advice.textContent = this.choosing ? this.advise(frame[0]) : "";
    this.mark(frame);
    if (this.details.open) this.showTables(frame);
  }

  // What to do in order to choose a call.
  advise(k) {
    if (this.machines[0].steps[k].waiting.length) return "Press a call in the store.";
    if (k < this.machines[0].steps.findIndex(({ kind }) => kind === "seed")) return "No call waits yet: step on.";
    return "All calls are made: step back, and press one that waits.";
  }

  // The lines of the program that the steps are about, forwards and backwards.
  mark(frame) {
    const lines = this.machines.map(({ result, steps }, t) => {
      const { id } = steps[frame[t]];
      return id === null ? null : result.scalars[id].line;
    });
    for (const line of this.source.querySelectorAll("[data-line]")) {
      line.classList.toggle("now", lines.includes(Number(line.dataset.line)));
    }
    bringIntoView(this.source, this.source.querySelector(".now"), false);
  }

  showTables(frame) {
    const tables = this.machines.map((machine, t) => {
      const box = scrolling("numbers", `the numbers of ${machine.name} made so far`);
      const table = make("table", "made");
      const head = make("tr");
      const last = { tape: "its entries on the tape", lists: "its contributions", contrib: "its contributions" }[machine.name] || "its backpropagator";
      for (const text of ["id", "number", last]) {
        const cell = make("th", "", text);
        cell.scope = "col";
        head.append(cell);
      }
      const [thead, body] = [make("thead"), make("tbody")];
      thead.append(head);
      body.append(...machine.table(frame[t]));
      table.append(thead, body);
      box.append(table);
      return box;
    });
    this.tables.replaceChildren(...tables);
    for (const box of tables) bringIntoView(box, box.querySelector(".now"), false);
  }
}

// The source of a program stands on the page once; every stepper has a copy, with its own mark.
const sourceOf = (program) => {
  const original = document.querySelector(`[data-program="${program}"] pre.code`);
  return original.cloneNode(true);
};
