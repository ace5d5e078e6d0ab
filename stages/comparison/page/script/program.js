// A program is the list of its operations, which Python recorded (recording.py): here it is computed at any inputs.

const COUNTS = ["created", "calls", "scalars", "pairs", "map_steps", "array_writes"];
const zeroCounts = () => Object.fromEntries(COUNTS.map((name) => [name, 0]));

// Every scalar with its value, and what its backpropagator refers to: [partial derivative, id] for every argument.
const evaluate = (recording, inputs) => {
  const scalars = [];
  for (const one of recording.scalars) {
    const rule = PRIMITIVES[one.rule];
    const xs = one.args.map((i) => scalars[i].value);
    let { value, partials } = one; // recorded, where they cannot be computed here
    if (one.kind === "input") value = inputs[scalars.length];
    if (rule) {
      value = rule.value(...xs);
      partials = rule.partials.map((partial) => partial(value, ...xs));
    }
    const refers = one.args.map((i, k) => [partials[k], i]);
    scalars.push({ id: scalars.length, kind: one.kind, text: one.text, line: one.line, zeros: one.zeros, value, refers });
  }
  return scalars;
};

// The same for a stage that does not represent constants: they have no id, and nothing refers to them.
const withoutConstants = (scalars) => {
  const ids = new Map();
  const kept = scalars.filter(({ kind }) => kind !== "constant");
  kept.forEach(({ id }, k) => ids.set(id, k));
  const renumbered = (text) => text.replace(/\bv(\d+)/g, (name, id) => (ids.has(+id) ? `v${ids.get(+id)}` : name));
  return kept.map((one) => ({
    ...one,
    id: ids.get(one.id),
    drawn: one.id, // its number in the drawing
    text: one.kind === "operation" ? renumbered(one.text) : one.text,
    refers: one.refers.filter(([, i], k) => ids.has(i) && !one.zeros[k]).map(([p, i]) => [p, ids.get(i)]),
  }));
};
