// A stage's run on a program, as a list of steps; a pure function of program, inputs, and the reader's choices.

const MOST_STEPS = 600; // that are kept
const MOST_WORK = 400000; // all counts together; a stage that takes more is cut off

const depthsOf = (shape, depth = 0, depths = []) => {
  if (Array.isArray(shape)) for (const half of shape) depthsOf(half, depth + 1, depths);
  else depths[shape] = depth;
  return depths;
};

// choices[j] is the id that the j-th call is to be of, where the reader chose one.
const runStage = (name, recording, inputs, choices = [], most = MOST_STEPS) => {
  const every = evaluate(recording, inputs);
  const bare = WITHOUT_CONSTANTS.includes(name);
  const scalars = bare ? withoutConstants(every) : every;
  const n = every.filter(({ kind }) => kind === "input").length;
  const outputs = bare ? outputsOf(recording, scalars) : recording.outputs;
  const counts = zeroCounts();
  const stage = new STAGES[name]({ scalars, n, depths: depthsOf(recording.shape) }, counts);
  const run = { name, recording, every, scalars, steps: [], calls: [], counts, cut: "" };
  const times = new Map();
  const keep = (kind, id = null, argument = null, passed = [], early = []) => {
    if (run.steps.length < most) {
      const waiting = FREE_ORDER.includes(name) && stage.c !== undefined ? stage.pending() : [];
      const made = kind === "make" ? id + 1 : scalars.length;
      const seen = { areas: stage.areas(), waiting, made, calls: run.calls.length, times: times.get(id) || 0 };
      run.steps.push({ kind, id, argument, passed, early, counts: { ...counts }, ...seen });
    } else run.cut = `only the first ${most} steps are shown`;
    stage.fresh();
  };
  for (const scalar of scalars) {
    counts.created += 1;
    stage.make(scalar);
    keep("make", scalar.id);
  }
  keep("seed", null, null, stage.seed(outputs));
  for (let waiting = stage.pending(); waiting.length; waiting = stage.pending()) {
    const chosen = choices[run.calls.length];
    const k = chosen === undefined ? 0 : waiting.findIndex(([id]) => id === chosen);
    counts.calls += 1;
    const [id, z, passed] = stage.call(Math.max(k, 0));
    run.calls.push([id, z]);
    times.set(id, (times.get(id) || 0) + 1);
    const early = name === "naive" ? [] : waiting.map(([i]) => i).filter((i) => i > id);
    keep("call", id, z, passed, early);
    if (COUNTS.reduce((sum, count) => sum + counts[count], 0) > MOST_WORK) {
      run.cut = `cut off after ${MOST_WORK.toLocaleString("en")} units of work`;
      return run;
    }
  }
  stage.finish();
  keep("result");
  run.gradient = gradientOf(stage, n);
  return run;
};

const outputsOf = (recording, scalars) => {
  const ids = new Map(scalars.map(({ id, drawn }) => [drawn, id]));
  return recording.outputs.filter((i) => ids.has(i)).map((i) => ids.get(i));
};

const gradientOf = (stage, n) => {
  const places = stage.arguments || (Array.isArray(stage.c) ? stage.c : stage.m);
  if (Array.isArray(places)) return places.slice(0, n);
  const found = new Map(entries(stage.c));
  return Array.from({ length: n }, (_, i) => found.get(i) || 0);
};
