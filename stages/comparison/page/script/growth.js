// The size on a slider, and what some stages count at it: one program, two curves or more.

class Growth {
  constructor(root, programs) {
    this.root = root;
    this.data = programs.find(({ name }) => name === root.dataset.of);
    this.stages = root.dataset.stages.split(" ");
    this.count = root.dataset.count;
    this.law = JSON.parse(root.dataset.laws || "{}");
    const recordings = this.data.recordings.filter(({ scalars }) => scalars);
    this.points = recordings.map((recording) => {
      const inputs = recording.scalars.filter(({ kind }) => kind === "input").map(({ value }) => value);
      const counted = this.stages.map((name) => runStage(name, recording, inputs, [], 1).counts[this.count]);
      return { n: recording.size, counted };
    });
    this.build();
    this.slide.value = Math.min(this.data.start, this.points.length - 1);
    this.show();
  }

  build() {
    const label = make("label", "", `n, the number of ${this.data.unit}`);
    this.slide = make("input");
    Object.assign(this.slide, { type: "range", min: 0, max: this.points.length - 1, id: `${this.root.id}-n` });
    label.htmlFor = this.slide.id;
    this.out = make("output", "");
    const row = make("div", "input size");
    row.append(label, this.slide, this.out);
    this.bars = make("div", "bars");
    this.bars.setAttribute("role", "status");
    this.bars.setAttribute("aria-live", "polite");
    this.plot = make("div", "curves");
    this.root.replaceChildren(row, this.bars, this.plot);
    this.slide.addEventListener("input", () => this.show());
  }

  show() {
    const { n, counted } = this.points[Number(this.slide.value)];
    this.out.textContent = n;
    this.slide.setAttribute("aria-valuetext", `n = ${n}`);
    const most = Math.max(...counted);
    const rows = this.stages.map((name, k) => {
      const row = make("div", `tallied stage${SHOWN_STAGES.indexOf(name)}`);
      row.dataset.stage = name;
      const bar = make("span", "length");
      bar.style.width = `${Math.max((100 * counted[k]) / most, 0.4)}%`;
      const track = make("span", "track");
      track.append(bar);
      row.append(make("span", "name", name), track, make("b", "", grouped(counted[k])));
      row.append(make("span", "law", this.law[name] ? `= ${this.law[name]}` : ""));
      return row;
    });
    this.bars.replaceChildren(...rows);
    this.curves(n);
  }

  // Both axes are linear: on these the eye sees 2ⁿ leave n behind.
  curves(now) {
    const [width, height, left, bottom] = [420, 170, 46, 22];
    const most = Math.max(...this.points.flatMap(({ counted }) => counted));
    const sizes = this.points.map(({ n }) => n);
    const across = (n) => left + ((width - left - 12) * (n - sizes[0])) / Math.max(sizes[sizes.length - 1] - sizes[0], 1);
    const up = (y) => height - bottom - ((height - bottom - 12) * y) / most;
    const svg = drawn("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img" });
    svg.setAttribute("aria-label", `${HEADINGS[this.count]} over n, for ${listed(this.stages)}`);
    svg.append(drawn("path", { class: "grid", d: `M${left} ${up(0)}H${width - 12}M${left} ${up(most)}H${width - 12}` }));
    svg.append(drawn("text", { class: "tick end", x: left - 5, y: up(most) + 4 }, grouped(most)));
    svg.append(drawn("text", { class: "tick end", x: left - 5, y: up(0) + 4 }, "0"));
    for (const n of sizes) svg.append(drawn("text", { class: "tick", x: across(n), y: height - 6 }, String(n)));
    svg.append(drawn("path", { class: "current", d: `M${across(now)} ${up(0)}V${up(most)}` }));
    this.stages.forEach((name, k) => {
      const stage = SHOWN_STAGES.indexOf(name);
      const group = drawn("g", { class: `line stage${stage}` });
      const points = this.points.map(({ n, counted }) => [across(n), up(counted[k])]);
      group.append(drawn("path", { class: "curve", d: `M${points.map((p) => p.join(" ")).join("L")}` }));
      for (const [x, y] of points) group.append(drawn("path", { class: "mark", transform: `translate(${x} ${y})`, d: MARKS[stage % MARKS.length] }));
      svg.append(group);
    });
    this.plot.replaceChildren(svg);
  }
}
