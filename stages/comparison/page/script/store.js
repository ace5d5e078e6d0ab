// The state of a stage, drawn as what it is: a map as its search tree, a cotangent as its pairs, an array as cells.
// What a step touches has a frame, and what it changes a ground of its own.

const CELL = { height: 38, room: 6, gap: 2 };

// Where the nodes of a search tree stand: by their order from left to right, and by their depth.
const placedMap = (root) => {
  const placed = new Map();
  const lines = [];
  let next = 0;
  const place = (t, depth) => {
    if (!t) return;
    place(t.left, depth + 1);
    placed.set(t.key, [next++, depth]);
    place(t.right, depth + 1);
    for (const child of [t.left, t.right]) if (child) lines.push([t.key, child.key]);
  };
  place(root, 0);
  return { placed, lines, knots: [] };
};

// Scalars hang from pairs; a pair stands above the middle of its halves.
const placedPairs = (shape, touched) => {
  const placed = new Map();
  const knots = [];
  const lines = [];
  let next = 0;
  const place = (part, depth) => {
    if (!Array.isArray(part)) {
      placed.set(part, [next++, depth]);
      return { at: placed.get(part), key: part, hot: touched.has(part) };
    }
    const halves = part.map((half) => place(half, depth + 1));
    const at = [(halves[0].at[0] + halves[1].at[0]) / 2, depth];
    const knot = { at, hot: halves.some(({ hot }) => hot) };
    knots.push(knot);
    for (const half of halves) lines.push([at, half.at, half.hot]);
    return knot;
  };
  place(shape, 0);
  return { placed, lines, knots };
};

class Store {
  constructor() {
    this.box = scrolling("store", "the store");
  }

  // `choose` is called with the id of a waiting call that the reader picks; it is missing where there is no choice.
  show(run, step, before, choose) {
    const scrolled = this.box.scrollTop;
    const old = new Map((before ? before.areas : []).map((area) => [area.name, new Map(area.cells)]));
    const shown = step.areas.map((area) => this.area(run, step, area, old.get(area.name), choose));
    if (!shown.length) shown.push(make("p", "note", "Nothing yet: the forward pass writes down no call."));
    this.box.replaceChildren(...shown);
    this.box.scrollTop = scrolled;
    const hot = this.box.querySelector("li.new") || this.box.querySelector("li.touched");
    bringIntoView(this.box, hot, false);
    if (hot) bringIntoView(hot.closest(".sideways"), hot);
  }

  area(run, step, area, old, choose) {
    const made = make("div", `area ${area.kind}`);
    made.dataset.name = area.name;
    const heading = make("p", "heading");
    heading.append(make("code", "", area.name), ` ${area.kind}: ${AREAS[area.name]}`);
    const cells = area.cells.map(([key, value], k) => {
      // a stack has the same key more than once, and its top is what is new
      const changed = area.kind !== "stack" && (old ? old.get(key) !== value : Boolean(value));
      const waits = ["m", "todo"].includes(area.name) && area.kind !== "array";
      const act = choose && waits ? () => choose(key, k) : null;
      return this.cell(run, area, key, value, { changed, touched: area.touched.has(key), act, next: waits && this.isNext(step, area, key, k) });
    });
    const list = make("ul");
    list.append(...cells);
    if (!cells.length) made.append(heading, make("p", "empty", "empty"));
    else made.append(heading, area.kind === "map" || area.kind === "pairs" ? this.tree(run, area, list) : list);
    return made;
  }

  isNext(step, area, key, k) {
    return area.kind === "stack" ? k === 0 : step.waiting.length > 0 && step.waiting[0][0] === key;
  }

  cell(run, area, key, value, { changed, touched, act, next }) {
    const cell = make("li", [changed && "new", touched && "touched", next && "next"].filter(Boolean).join(" "));
    cell.dataset.key = key;
    const parts = [make("span", "key", this.label(run, area, key)), make("span", "value", number(value, area.kind === "pairs" ? 3 : 5))];
    cell.title = `${this.name(run, area, key)}: ${number(value)}`;
    if (!act) cell.append(...parts);
    else {
      const pick = button("", `call d${key} with ${number(value)}${next ? ", the next one" : ""}`, act);
      pick.append(...parts);
      cell.append(pick);
    }
    if (changed) cell.append(make("span", "unseen", "changed"));
    return cell;
  }

  label(run, area, key) {
    const name = this.name(run, area, key);
    return area.name === "c" && (name.length > 5 || area.cells.length > 10) ? key : name;
  }

  name(run, { name }, key) {
    if (name === "c") return run.scalars[key].text;
    return ["m", "todo"].includes(name) ? `d${key}` : key;
  }

  tree(run, area, list) {
    const pairs = area.kind === "pairs";
    const { placed, lines, knots } = pairs ? placedPairs(run.recording.shape, area.touched) : placedMap(area.root);
    const longest = Math.max(...[...list.children].flatMap((cell) => [...cell.querySelectorAll("span:not(.unseen)")].map((part) => part.textContent.length)));
    const width = Math.max(pairs ? 22 : 34, 9 * longest + CELL.room);
    const step = pairs ? 15 : CELL.height + 12;
    const middle = ([x, depth]) => [x * (width + CELL.gap) + width / 2 + 1, depth * step + (pairs ? 6 : 1)];
    let bottom = 0;
    for (const cell of list.children) {
      const [x, y] = middle(placed.get(Number(cell.dataset.key)));
      Object.assign(cell.style, { left: `${x - width / 2}px`, top: `${y}px`, width: `${width}px` });
      bottom = Math.max(bottom, y + CELL.height);
    }
    const svg = drawn("svg", { class: "lines", width: placed.size * (width + CELL.gap), height: bottom, "aria-hidden": true });
    for (const [from, to, hot] of lines) {
      const [[x, y], [x2, y2]] = pairs ? [middle(from), middle(to)] : [middle(placed.get(from)), middle(placed.get(to))];
      const start = pairs ? y : y + CELL.height / 2;
      svg.append(drawn("path", { class: hot ? "hot" : "", d: `M${x} ${start}L${x2} ${y2}` }));
    }
    for (const { at, hot } of knots) {
      const [x, y] = middle(at);
      svg.append(drawn("circle", { class: hot ? "hot" : "", cx: x, cy: y, r: 3.5 }));
    }
    const box = make("div", "tree");
    box.append(svg, list);
    Object.assign(box.style, { width: `${placed.size * (width + CELL.gap) + 2}px`, height: `${bottom + 3}px` });
    const outer = make("div", "sideways");
    outer.append(box);
    return outer;
  }
}
