// What the reader has chosen for the whole page: the program, its size, its inputs. Every stepper follows.

class Reader {
  constructor(programs) {
    this.programs = programs;
    this.followers = [];
    this.typed = new Map(); // by program: the inputs by parameter, as numbers
    this.sizes = programs.map(({ start }) => start);
    this.program = 0;
  }

  get data() {
    return this.programs[this.program];
  }
  get place() {
    return this.sizes[this.program];
  }
  get recording() {
    return this.data.recordings[this.place];
  }

  recordedInputs(recording = this.recording) {
    return recording.scalars.filter(({ kind }) => kind === "input").map(({ value }) => value);
  }

  // The recorded inputs, with what the reader has typed in their place.
  get inputs() {
    const typed = this.typed.get(this.program) || new Map();
    const recorded = this.recordedInputs();
    let at = 0;
    return this.recording.parameters.flatMap(([name, names]) => {
      const own = recorded.slice(at, (at += names.length));
      const numbers = typed.get(name);
      return numbers && numbers.length === own.length ? numbers : own;
    });
  }

  type(name, numbers) {
    const typed = this.typed.get(this.program) || new Map();
    this.typed.set(this.program, typed.set(name, numbers));
    this.changed();
  }
  forget() {
    this.typed.delete(this.program);
    this.changed();
  }
  resize(place) {
    this.sizes[this.program] = place;
    this.changed();
  }
  choose(program) {
    this.program = program;
    for (const part of document.querySelectorAll("[data-program]")) part.hidden = Number(part.dataset.program) !== program;
    for (const choice of document.querySelectorAll("input[name=program]")) choice.checked = Number(choice.value) === program;
    this.changed();
  }
  changed() {
    for (const follower of this.followers) follower.refresh();
  }
}

// The numbers in a text; an error in words if it does not have as many as are needed.
// A number that still stands as it was shown keeps all its digits.
const parsed = (text, names, before) => {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  const wrong = parts.find((part) => !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(part));
  if (wrong !== undefined) return { error: `“${wrong}” is not a number: write 0.5 or -2` };
  if (parts.length !== names.length) return { error: `${plural(names.length, "number")} needed, and ${parts.length} there` };
  return { numbers: parts.map((part, k) => (part === number(before[k], 6) ? before[k] : Number(part))) };
};

let forms = 0;

// The fields for the inputs and the size, in the program's pane.
class Inputs {
  constructor(reader) {
    this.reader = reader;
    this.root = make("div", "inputs");
    this.id = `inputs${forms++}`;
  }

  refresh() {
    const { reader } = this;
    const fixed = reader.recording.fixed;
    const shape = JSON.stringify([reader.program, reader.recording.parameters.map(([name, names]) => [name, names.length]), fixed]);
    if (reader.program !== this.program) this.frame();
    this.program = reader.program;
    if (shape !== this.shape) this.build(fixed);
    this.shape = shape;
    const inputs = reader.recording.scalars ? reader.inputs : [];
    let at = 0;
    for (const { field, names, error } of this.fields) {
      const own = inputs.slice(at, (at += names.length));
      if (document.activeElement !== field || !field.hasAttribute("aria-invalid")) field.value = own.map((x) => number(x, 6)).join(", ");
      field.removeAttribute("aria-invalid");
      error.textContent = "";
    }
    const recorded = reader.recording.scalars ? reader.recordedInputs() : [];
    this.reset.hidden = inputs.every((x, i) => x === recorded[i]);
    if (this.slide) {
      this.slide.value = reader.place;
      const text = this.sizeText();
      this.slide.setAttribute("aria-valuetext", text);
      this.out.textContent = text;
    }
  }

  sizeText() {
    const { data, place } = this.reader;
    return `${data.recordings[place].size} ${data.unit === "size" ? "" : data.unit}`.trim();
  }

  own(name) {
    let at = 0;
    const { inputs, recording } = this.reader;
    for (const [other, names] of recording.parameters) {
      if (other === name) return inputs.slice(at, at + names.length);
      at += names.length;
    }
    return [];
  }

  build(fixed) {
    const { reader } = this;
    this.fields = [];
    const rows = reader.recording.parameters.map(([name, names, constant], k) => {
      const row = make("div", "input");
      const label = make("label", "", name);
      row.append(label);
      if (!names.length) {
        row.append(make("span", "constant", constant));
        return row;
      }
      const long = names.length > 4;
      const field = make(long ? "textarea" : "input");
      const error = make("p", "error");
      field.id = label.htmlFor = `${this.id}-${k}`;
      error.id = `${field.id}-error`;
      error.setAttribute("role", "alert");
      Object.assign(field, { readOnly: Boolean(fixed), autocomplete: "off", spellcheck: false });
      if (long) field.rows = Math.min(Math.ceil(names.length / 8) + 1, 5);
      else Object.assign(field, { type: "text", inputMode: names.length > 1 ? "text" : "decimal" });
      field.setAttribute("aria-describedby", error.id);
      if (names.length > 1) label.append(make("small", "", ` ${names.length} numbers`));
      field.addEventListener("change", () => this.typed(name, names, field, error));
      field.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.typed(name, names, field, error);
      });
      row.append(field, error);
      this.fields.push({ field, names, error });
      return row;
    });
    this.rows.replaceChildren(...rows);
    this.note.textContent = fixed;
  }

  // What stays when the size changes: the slider itself, which may be held at that moment.
  frame() {
    this.rows = make("div");
    this.note = make("p", "note");
    this.reset = button("first inputs again", "", () => this.reader.forget());
    this.reset.className = "small";
    this.slide = null;
    const parts = [this.rows, this.reset, this.note];
    if (this.reader.data.recordings.length > 1) parts.unshift(this.size());
    this.root.replaceChildren(...parts);
    this.shape = "";
  }

  typed(name, names, field, error) {
    const { numbers, error: wrong } = parsed(field.value, names, this.own(name));
    if (wrong) {
      field.setAttribute("aria-invalid", true);
      error.textContent = wrong;
    } else {
      field.removeAttribute("aria-invalid");
      this.reader.type(name, numbers);
    }
  }

  size() {
    const row = make("div", "input size");
    const label = make("label", "", "size");
    const slide = make("input");
    slide.type = "range";
    slide.min = 0;
    slide.max = this.reader.data.recordings.length - 1;
    slide.id = label.htmlFor = `${this.id}-size`;
    this.out = make("output", "");
    slide.addEventListener("input", () => this.reader.resize(Number(slide.value)));
    this.slide = slide;
    row.append(label, slide, this.out);
    return row;
  }
}
