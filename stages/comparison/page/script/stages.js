// The stages, as the files stages/d1_naive.py to d4_tape.py do it: what waits to be called, and what a call does.
// Counts and states are those of the Python code, step by step (a test compares them on every program).
//
//   areas()      the state: [{ name, kind, cells: [[key, value]], touched, ... }]
//   seed(ids)    the pullback gets the cotangent 1 for every output; what it notes: [[id, z]]
//   pending()    the calls that wait, the stage's own choice first: [[id, z]]
//   call(k)      the k-th of these is made; [id, z, what it passes on]

class Stage {
  constructor(run, counts) {
    Object.assign(this, run); // scalars, represented ids; n: how many scalars the input has; depths: pairs above each
    this.counts = counts;
    this.touched = new Set();
  }

  make() {}
  fresh() {
    this.touched = new Set();
    if (this.map) this.map.visited = new Set();
  }
  finish() {}
  whole() {
    this.counts.scalars += this.n; // 0, + or a one-hot: all of a cotangent of the input
    this.touched = new Set(this.c.keys());
  }
  way(i) {
    this.counts.scalars += 1;
    this.counts.pairs += this.depths[i];
    this.touched.add(i);
  }
  terms({ refers }, z) {
    return refers.map(([p, i]) => [i, z * p]);
  }
  cotangent(kind = "pairs") {
    return { name: "c", kind, cells: [...this.c.entries()], touched: this.touched };
  }
  delayed() {
    return { name: "m", kind: "map", cells: entries(this.m), root: this.m, touched: this.map.visited };
  }
}

class Naive extends Stage {
  seed(ids) {
    this.todo = ids.map((i) => [i, 1]);
    this.c = new Array(this.n).fill(0);
    this.whole();
    return this.todo.slice();
  }
  pending() {
    return this.todo;
  }
  call(k) {
    const [[i, z]] = this.todo.splice(k, 1);
    const scalar = this.scalars[i];
    const terms = this.terms(scalar, z);
    if (scalar.kind === "operation") this.todo.unshift(...terms);
    else {
      this.whole(); // its one-hot, or its 0
      if (scalar.kind === "input") {
        this.counts.pairs += this.depths[i];
        this.c[i] += z;
      }
      this.whole(); // added
    }
    return [i, z, terms];
  }
  areas() {
    if (!this.todo) return [];
    return [{ name: "todo", kind: "stack", cells: this.todo.map((call) => [...call]), touched: new Set() }, this.cotangent()];
  }
}

class Staged extends Stage {
  constructor(run, counts) {
    super(run, counts);
    this.map = new OrderedMap(counts);
  }
  // SCall of every term, added up: a whole 0 for each, and a whole + between two
  calls(terms) {
    let sum = null;
    terms.forEach(([i, z], k) => {
      this.whole();
      if (k) this.whole();
      sum = k ? this.map.union(sum, this.map.node(i, z, null, null)) : this.map.node(i, z, null, null);
      this.map.visited.add(i);
    });
    return sum;
  }
  seed(ids) {
    this.c = new Array(this.n).fill(0);
    const terms = ids.map((i) => [i, 1]);
    this.m = this.calls(terms);
    return terms;
  }
  pending() {
    return entries(this.m).reverse();
  }
  call(k) {
    const [i] = this.pending()[k];
    const [z, rest] = this.map.take(this.m, i);
    const scalar = this.scalars[i];
    const terms = this.terms(scalar, z);
    let made = null;
    if (scalar.kind === "operation") made = this.calls(terms);
    else this.whole();
    if (scalar.kind === "input") {
      this.counts.pairs += this.depths[i];
      this.c[i] += z;
    }
    this.whole();
    this.m = this.map.union(made, rest);
    return [i, z, terms];
  }
  areas() {
    return this.c ? [this.delayed(), this.cotangent()] : [];
  }
}

class Cayley extends Staged {
  // a composition: its parts are applied from the last to the first
  calls(terms) {
    for (const [i, z] of [...terms].reverse()) {
      this.m = this.map.insert(this.m, i, z);
      this.map.visited.add(i);
    }
  }
  seed(ids) {
    this.start();
    const terms = ids.map((i) => [i, 1]);
    this.calls(terms);
    return terms;
  }
  start() {
    this.c = new Array(this.n).fill(0);
    this.m = null;
    this.whole();
  }
  call(k) {
    const [i] = this.pending()[k];
    const [z, rest] = this.map.take(this.m, i);
    const scalar = this.scalars[i];
    const terms = this.terms(scalar, z);
    this.m = rest;
    this.calls(terms);
    if (scalar.kind === "input") this.add(i, z);
    return [i, z, terms];
  }
  add(i, z) {
    this.way(i);
    this.c[i] += z;
  }
}

class Sparse extends Cayley {
  start() {
    this.m = null;
    this.c = null;
    this.collector = new OrderedMap(this.counts);
    this.started = true;
  }
  fresh() {
    super.fresh();
    if (this.collector) this.collector.visited = new Set();
  }
  add(i, z) {
    this.c = this.collector.insert(this.c, i, z);
    this.collector.visited.add(i);
  }
  finish() {
    for (let i = 0; i < this.n; i++) this.collector.find(this.c, i);
  }
  areas() {
    if (!this.started) return [];
    const c = { name: "c", kind: "map", cells: entries(this.c), root: this.c, touched: this.collector.visited };
    return [this.delayed(), c];
  }
}

// From here on a call is not taken out of the array: the loop goes down, and does not come back.
class Arrays extends Stage {
  seed(ids) {
    this.m = new Array(this.scalars.length).fill(0);
    this.noted = new Set();
    if (this.collects) this.c = new Array(this.n).fill(0);
    this.next = this.scalars.length - 1;
    const terms = ids.map((i) => [i, 1]);
    this.calls(terms);
    return terms;
  }
  calls(terms) {
    for (const [i, z] of [...terms].reverse()) {
      this.m[i] += z;
      this.noted.add(i);
      this.written = (this.written || new Set()).add(i);
      this.counts.array_writes += 1;
    }
  }
  fresh() {
    super.fresh();
    this.written = new Set();
  }
  pending() {
    const waiting = [...this.noted].filter((i) => i <= this.next).sort((a, b) => b - a);
    return waiting.map((i) => [i, this.m[i]]);
  }
  call() {
    const [[i, z]] = this.pending();
    this.next = i - 1;
    const terms = this.terms(this.scalars[i], z);
    this.calls(terms);
    if (this.collects && this.scalars[i].kind === "input") {
      this.c[i] += z;
      this.counts.array_writes += 1;
      this.touched.add(i);
    }
    return [i, z, terms];
  }
  get collects() {
    return true;
  }
  areas() {
    if (!this.m) return [];
    const m = { name: "m", kind: "array", cells: [...this.m.entries()], touched: this.written };
    return this.collects ? [m, this.cotangent("array")] : [m];
  }
}

class Collectorless extends Arrays {
  get collects() {
    return false;
  }
}

// Data in place of functions, interpreted: from the first contribution to the last.
class Lists extends Collectorless {
  calls(terms) {
    super.calls([...terms].reverse());
  }
}

class Contrib extends Stage {
  seed(ids) {
    this.arguments = new Array(this.scalars.length).fill(0);
    const reached = new Set();
    const todo = [...ids];
    while (todo.length) {
      const i = todo.pop();
      if (!reached.has(i)) {
        reached.add(i);
        todo.push(...this.scalars[i].refers.map(([, j]) => j));
      }
    }
    this.rows = [...reached].sort((a, b) => b - a);
    this.flat(this.rows);
    this.counts.array_writes += this.rows.length + this.ends.length + this.partials.length + this.ids.length;
    this.row = 0;
    return ids.map((i) => [i, this.write(i, 1)]);
  }
  flat(rows) {
    this.ends = [0];
    this.partials = [];
    this.ids = [];
    for (const i of rows) this.append(this.scalars[i].refers);
  }
  append(refers) {
    this.partials.push(...refers.map(([p]) => p));
    this.ids.push(...refers.map(([, i]) => i));
    this.ends.push(this.ids.length);
  }
  write(i, z) {
    this.arguments[i] += z;
    this.counts.array_writes += 1;
    this.touched.add(i);
    return this.arguments[i];
  }
  pending() {
    return this.rows.slice(this.row).map((i) => [i, this.arguments[i]]);
  }
  call() {
    const i = this.rows[this.row];
    this.row += 1;
    const z = this.arguments[i];
    return [i, z, this.terms(this.scalars[i], z).map(([j, more]) => [j, this.write(j, more)])];
  }
  areas() {
    if (!this.arguments) return [];
    return this.arrays(["arguments", "rows", "ends", "partials", "ids"]);
  }
  arrays(names) {
    const now = { arguments: this.touched };
    return names.map((name) => {
      return { name, kind: "array", cells: [...this[name].entries()], touched: now[name] || new Set() };
    });
  }
}

class Tape extends Contrib {
  make(scalar) {
    if (!this.ends) {
      this.ends = new Array(this.n + 1).fill(0);
      this.partials = [];
      this.ids = [];
      this.counts.array_writes += this.n;
    }
    if (scalar.kind === "operation") {
      this.append(scalar.refers);
      this.counts.array_writes += 2 * scalar.refers.length + 1;
    }
  }
  seed(ids) {
    this.arguments = new Array(this.scalars.length).fill(0);
    this.called = new Array(this.scalars.length).fill(false);
    this.next = this.scalars.length - 1;
    return ids.map((i) => [i, this.write(i, 1)]);
  }
  write(i, z) {
    this.called[i] = true;
    this.counts.array_writes += 1;
    return super.write(i, z);
  }
  pending() {
    const waiting = [];
    for (let i = this.next; i >= 0; i--) if (this.called[i]) waiting.push([i, this.arguments[i]]);
    return waiting;
  }
  call() {
    const [[i, z]] = this.pending();
    this.next = i - 1;
    return [i, z, this.terms(this.scalars[i], z).map(([j, more]) => [j, this.write(j, more)])];
  }
  areas() {
    return this.arguments ? this.arrays(["arguments", "called", "ends", "partials", "ids"]) : this.arrays(["ends", "partials", "ids"]);
  }
}

const STAGES = {
  naive: Naive,
  staged: Staged,
  cayley: Cayley,
  sparse: Sparse,
  arrays: Arrays,
  collectorless: Collectorless,
  lists: Lists,
  contrib: Contrib,
  tape: Tape,
};
const FREE_ORDER = ["naive", "staged", "cayley", "sparse"]; // what waits can be called in any order
const WITHOUT_CONSTANTS = ["contrib", "tape"];
