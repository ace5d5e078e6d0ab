// Who calls whom, with what factor, and how often each has been called. Python has found where everything stands.

const BOX = { width: 118, height: 40 };
let graphs = 0;

class Graph {
  constructor(run) {
    const { layout, scalars } = run.recording;
    this.box = scrolling("drawn", "who calls whom");
    if (!layout) {
      this.box.append(make("p", "note", `No drawing: with ${plural(scalars.length, "backpropagator")} it would be hard to read.`));
      return;
    }
    const name = `graph${graphs++}`;
    const { width, height, boxes, arrows } = layout;
    this.svg = drawn("svg", { class: "drawing", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    const tip = drawn("marker", { id: `${name}-tip`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" });
    tip.append(drawn("path", { class: "tip", d: "M0 0L10 5L0 10z" }));
    this.svg.append(tip);
    this.byDrawn = new Map(run.scalars.map((one) => [one.drawn ?? one.id, one]));
    const there = arrows.filter(([from, to, at]) => this.byDrawn.has(to) && !(isFlat(run.name) && scalars[from].zeros[at]));
    for (const [from, to, , d] of there) {
      const call = this.call(from, to);
      call.append(drawn("path", { class: "arrow", d, "marker-end": `url(#${name}-tip)` }));
    }
    this.factors = there.map(([from, to, at, , x, y]) => {
      const call = this.call(from, to);
      const ground = drawn("rect", { class: "ground", y: y - 8, height: 16 });
      const text = drawn("text", { class: "factor", x, y: y + 4 });
      call.append(ground, text);
      return { ground, text, from, at, x };
    });
    this.nodes = boxes.filter(([i]) => this.byDrawn.has(i)).map(([i, x, y]) => this.node(i, x, y));
    this.box.append(this.svg);
    this.fill(run);
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  // As large as the box allows, but not so small that it cannot be read: then the box scrolls.
  fit() {
    const { width, height } = this.svg.viewBox.baseVal;
    const [wide, high] = [this.box.clientWidth - 12, this.box.clientHeight - 12];
    const phone = matchMedia("(max-width: 760px)").matches; // there the box is as high as what is in it
    const scale = Math.max(0.68, Math.min(1.15, wide / width, phone ? 1 : high / height));
    this.svg.setAttribute("width", Math.round(width * scale));
    this.svg.setAttribute("height", Math.round(height * scale));
  }

  call(from, to) {
    const made = drawn("g", { class: "call", "data-from": from, "data-to": to });
    this.svg.append(made);
    return made;
  }

  node(i, x, y) {
    const scalar = this.byDrawn.get(i);
    const group = drawn("g", { class: `node ${scalar.kind}`, "data-id": scalar.id });
    const [left, right] = [x - BOX.width / 2, x + BOX.width / 2];
    const box = { x: left, y: y - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 6 };
    const times = drawn("text", { class: "times", x: right - 8, y: y - 4 });
    const what = drawn("text", { class: "what", x, y: y + 13 });
    const title = drawn("title", {});
    group.append(title, drawn("rect", box), drawn("text", { class: "id", x: left + 8, y: y - 4 }, `d${scalar.id}`), times, what);
    this.svg.append(group);
    return { group, id: scalar.id, drawn: i, times, what, title };
  }

  // The numbers, at these inputs.
  fill(run) {
    if (!this.svg) return;
    this.total = new Map();
    for (const [i] of run.calls) this.total.set(i, (this.total.get(i) || 0) + 1);
    for (const { ground, text, from, at, x } of this.factors) {
      text.textContent = `${number(run.every[from].refers[at][0], 4)}·z`;
      const room = 7 * text.textContent.length + 4;
      ground.setAttribute("x", x - room / 2);
      ground.setAttribute("width", room);
    }
    for (const node of this.nodes) {
      const { kind, text, value, id } = run.scalars[node.id];
      const short = `${kind === "constant" ? "constant" : shownText(text)} = ${number(value, 4)}`;
      node.what.textContent = short.length > 17 ? number(value) : short;
      node.title.textContent = `v${id} = ${shownText(text)} = ${number(value)}`;
    }
    const every = this.nodes.map(({ id }) => this.described(run, id)).join(" ");
    this.svg.setAttribute("aria-label", `Who calls whom. ${every}`);
  }

  described({ scalars }, id) {
    const { refers, kind, text } = scalars[id];
    const calls = listed(refers.map(([p, i]) => `d${i} with ${number(p, 4)}·z`));
    const does = refers.length ? `calls ${calls}` : `belongs to ${kind} ${text}`;
    return `d${id} is called ${plural(this.total.get(id) || 0, "time")} and ${does}.`;
  }

  show(run, step) {
    if (!this.svg) return;
    const times = new Map();
    for (const [i] of run.calls.slice(0, step.calls)) times.set(i, (times.get(i) || 0) + 1);
    const waits = new Set(step.waiting.map(([i]) => i));
    const to = step.kind === "call" ? step.passed.map(([i]) => i) : [];
    const madeById = new Map(this.nodes.map(({ drawn: d, id }) => [d, id]));
    for (const { group, id, times: text } of this.nodes) {
      const [n, all] = [times.get(id) || 0, this.total.get(id) || 0];
      text.textContent = all < 10 ? `${n} of ${plural(all, "call")}` : `${grouped(n)} of ${grouped(all)}`; // as there is room
      group.classList.toggle("now", id === step.id);
      group.classList.toggle("later", id >= step.made);
      group.classList.toggle("waits", waits.has(id));
      group.classList.toggle("again", n > 1);
    }
    for (const call of this.svg.querySelectorAll(".call")) {
      const from = madeById.get(Number(call.dataset.from));
      call.classList.toggle("now", from === step.id && to.length > 0);
      call.classList.toggle("later", from >= step.made);
    }
    bringIntoView(this.box, this.svg.querySelector(".node.now"));
  }
}
