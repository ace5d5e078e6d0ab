"use strict";

// The steps of every stage are data that Python wrote (build.py); nothing is computed here but which cells changed.

const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

// Scrolls the box, not the page, as `scrollIntoView` would.
const bringIntoView = (box, part, sideways = true) => {
  if (!box || !part) return;
  const outer = box.getBoundingClientRect();
  const inner = part.getBoundingClientRect();
  if (sideways && (inner.left < outer.left || inner.right > outer.right)) {
    box.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
  }
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    box.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
  }
};

class Stepper {
  constructor(root) {
    this.root = root;
    this.data = JSON.parse(root.querySelector("script").textContent);
    this.slide = root.querySelector("input[type=range]");
    this.at = 0;
    this.data.steps.forEach((step, k, steps) => {
      // the first cells of an area are not written again where they are those of the step before
      step.areas = step.areas.map(([name, kind, same, cells], i) => {
        return [name, kind, same ? steps[k - 1].areas[i][2].slice(0, same).concat(cells) : cells];
      });
    });
    for (const button of root.querySelectorAll("button[data-go]")) {
      button.addEventListener("click", () => this.go(this.target(button.dataset.go)));
    }
    this.slide.addEventListener("input", () => this.go(Number(this.slide.value)));
    root.addEventListener("keydown", (event) => this.key(event));
    this.show();
    const say = root.querySelector(".say");
    say.setAttribute("role", "status"); // from now on: what is there already need not be announced
    say.setAttribute("aria-live", "polite");
  }

  target(where) {
    return { first: 0, back: this.at - 1, on: this.at + 1, last: this.data.steps.length - 1 }[where];
  }

  key(event) {
    const where = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" }[event.key];
    const scrolls = event.target.closest(".scroll");
    if (!where || event.altKey || event.ctrlKey || event.metaKey || event.target === this.slide) return;
    if (scrolls && scrolls.scrollWidth > scrolls.clientWidth) return; // the arrows move its content
    event.preventDefault();
    this.go(this.target(where));
  }

  go(k) {
    this.at = Math.max(0, Math.min(k, this.data.steps.length - 1));
    this.show();
  }

  show() {
    const { steps } = this.data;
    const step = steps[this.at];
    const last = steps.length - 1;
    this.root.dataset.at = this.at;
    this.slide.value = this.at;
    this.slide.setAttribute("aria-valuetext", `step ${this.at + 1} of ${steps.length}`);
    this.root.querySelector(".where").textContent = `${this.at + 1} of ${steps.length}`;
    this.root.querySelector(".say").textContent = step.say;
    for (const button of this.root.querySelectorAll("button[data-go]")) {
      const off = ["first", "back"].includes(button.dataset.go) ? this.at === 0 : this.at === last;
      button.setAttribute("aria-disabled", off); // not `disabled`, which would lose the focus
    }
    for (const line of this.root.querySelectorAll("[data-line]")) {
      line.classList.toggle("now", Number(line.dataset.line) === step.line);
    }
    this.scalars(step);
    this.areas(step, this.at > 0 ? steps[this.at - 1] : null);
    this.drawing(step);
    this.counts(step, this.at > 0 ? steps[this.at - 1] : null);
  }

  scalars(step) {
    const rows = this.data.scalars.slice(0, step.made).map(([id, text, value, backpropagator], k) => {
      const row = make("tr", k === step.id ? "now" : step.to.includes(k) ? "next" : "");
      row.append(make("th", "", id), make("td", "", `v${k} = ${text === value ? "" : `${text} = `}${value}`));
      row.firstChild.scope = "row";
      row.append(make("td", "code", backpropagator));
      return row;
    });
    this.root.querySelector(".made tbody").replaceChildren(...rows);
    bringIntoView(this.root.querySelector(".numbers"), this.root.querySelector(".made .now"), false);
  }

  areas(step, before) {
    const shown = step.areas.map(([name, kind, cells]) => {
      const old = before && before.areas.find((area) => area[0] === name);
      const values = new Map(old ? old[2] : []);
      const area = make("div", `area ${kind}`);
      area.dataset.name = name;
      const heading = make("p", "heading");
      heading.append(make("code", "", name), ` (${kind}): ${this.data.labels[name]}`);
      const list = make("ul");
      for (const [key, value] of cells) {
        // a stack has the same key more than once, and its top is what is new
        const changed = kind !== "stack" && values.get(key) !== value && (old || value !== "0");
        const cell = make("li", changed ? "new" : "");
        cell.append(make("span", "key", this.label(name, key)), make("span", "value", value));
        if (changed) cell.append(make("span", "unseen", "changed"));
        list.append(cell);
      }
      area.append(heading, cells.length ? list : make("p", "empty", "empty"));
      return area;
    });
    this.root.querySelector(".areas").replaceChildren(...shown);
    for (const list of this.root.querySelectorAll(".area ul")) {
      bringIntoView(list, list.querySelector(".new"));
    }
  }

  label(name, key) {
    if (name === "c") return this.data.inputs[key];
    return ["m", "todo"].includes(name) ? `d${key}` : key;
  }

  drawing(step) {
    const times = new Map();
    for (const { call, id } of this.data.steps.slice(0, this.at + 1)) {
      if (call) times.set(id, (times.get(id) || 0) + 1);
    }
    for (const node of this.root.querySelectorAll(".node")) {
      const id = Number(node.dataset.id);
      const all = Number(node.dataset.times);
      const text = `${times.get(id) || 0} of ${all.toLocaleString("en")} ${all === 1 ? "call" : "calls"}`;
      node.querySelector(".times").textContent = text;
      node.classList.toggle("now", id === step.id);
      node.classList.toggle("later", id >= step.made);
    }
    for (const call of this.root.querySelectorAll(".call")) {
      const from = Number(call.dataset.from);
      call.classList.toggle("now", from === step.id && step.to.length > 0);
      call.classList.toggle("later", from >= step.made);
    }
    bringIntoView(this.root.querySelector(".drawn"), this.root.querySelector(".node.now"));
  }

  counts(step, before) {
    const names = ["created", "calls", "scalars", "pairs", "map nodes", "writes"];
    const shown = [make("span", "", "so far")];
    step.counts.forEach((n, k) => {
      const more = n - (before ? before.counts[k] : 0);
      const item = make("span", more ? "more" : "");
      item.dataset.count = names[k];
      item.append(make("b", "", n.toLocaleString("en")), ` ${names[k]}`);
      if (more) item.append(make("i", "", ` +${more.toLocaleString("en")}`));
      if (n) shown.push(item);
    });
    this.root.querySelector(".running").replaceChildren(...shown);
  }
}

const choose = (program) => {
  for (const part of document.querySelectorAll("[data-program]")) {
    part.hidden = part.dataset.program !== program;
  }
};

for (const root of document.querySelectorAll(".stepper")) new Stepper(root);

const choices = [...document.querySelectorAll("input[name=program]")];
for (const choice of choices) choice.addEventListener("change", () => choose(choice.value));
if (choices.length) choose((choices.find((choice) => choice.checked) || choices[0]).value);
