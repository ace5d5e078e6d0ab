// What the steps say, in the notation of the calculus.

const number = (x, digits = 5) => {
  if (typeof x === "boolean") return x ? "yes" : "-";
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "-∞";
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return String(x === 0 ? 0 : x);
  return Math.abs(x) >= 10 ** digits ? x.toExponential(digits - 1) : String(Number(x.toPrecision(digits)));
};
const grouped = (n) => n.toLocaleString("en");
const plural = (n, what) => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;
const listed = (items) => {
  if (items.length < 2) return items[0] || "nothing";
  return `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
};
const ordinal = (n) => {
  const end = Math.floor((n % 100) / 10) === 1 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th";
  return `${n}${end}`;
};

const isData = (stage) => stage === "lists" || isFlat(stage);
const isFlat = (stage) => WITHOUT_CONSTANTS.includes(stage); // its loop writes to arrays of numbers
const shownText = (text) => text.replace(/ \* /g, " · ");
const nameOf = (stage, id) => (stage === "tape" ? String(id) : `d${id}`);

// The backpropagator of a scalar, in the stage's notation.
const backpropagator = (stage, { kind, refers, id, text }) => {
  if (isData(stage)) return `[${refers.map(([p, i]) => `(${number(p)}, ${nameOf(stage, i)})`).join(", ")}]`;
  const [call, plus] = stage === "naive" ? ["", " + "] : ["SCall ", stage === "staged" ? " + " : " ∘ "];
  if (kind === "operation") return `λz. ${refers.map(([p, i]) => `${call}d${i} (${number(p)}·z)`).join(plus)}`;
  if (kind === "constant") return stage === "naive" || stage === "staged" ? "λz. 0" : "λz. id";
  const atInput = {
    naive: `one-hot of z at ${text}`,
    staged: `SCotan (one-hot of z at ${text})`,
    cayley: `SCotan (add z at ${text})`,
    collectorless: "id",
  };
  return `λz. ${atInput[stage] || `SOneHot ${id} z`}`;
};

const AT_AN_INPUT = {
  naive: (i, name, z) => `That is one-hot, ${z} at ${name} and 0 elsewhere, and is added to the cotangent, all of it.`,
  cayley: (i, name, z) => `It adds ${z} at ${name}, and builds only the pairs on the way there.`,
  sparse: (i, name, z) => `It adds ${z} to what the map of cotangents has at ${i}.`,
  arrays: (i, name, z) => `It adds ${z} to the element ${i} of the array of cotangents.`,
  collectorless: (i, name) => `It does nothing: its argument is the cotangent of ${name}.`,
  lists: (i, name) => `It has no contributions: its argument is the cotangent of ${name}.`,
  contrib: (i, name) => `It has no contributions: its argument is the cotangent of ${name}.`,
  tape: (i, name) => `Its row of the tape is empty: its argument is the cotangent of ${name}.`,
};
AT_AN_INPUT.staged = AT_AN_INPUT.naive;

const sayMake = (run, { id }) => {
  const { name, scalars } = run;
  const scalar = scalars[id];
  const value = number(scalar.value);
  const text = shownText(scalar.text);
  const what = `v${id} = ${text === value ? "" : `${text} = `}${value}`;
  const origin = { input: "of the input", constant: "a constant", operation: "the result of an operation" }[scalar.kind];
  const made = backpropagator(name, scalar);
  if (name === "tape") {
    const entries = scalar.refers.length ? made : "nothing";
    return `Forward: ${what}, ${origin}, takes id ${id}. Written to the tape for it: ${entries}.`;
  }
  const draws = name === "naive" ? `gets the backpropagator d${id}` : `draws the id ${id}`;
  return `Forward: ${what}, ${origin}, ${draws}; ${isData(name) ? "the contributions" : `d${id} =`} ${made}.`;
};

const saySeed = ({ name, recording }, { passed }) => {
  const n = recording.outputs.length;
  const one = n === 1 ? "the cotangent 1" : `the cotangent 1 for each of the ${n} numbers of the output`;
  if (!passed.length) return `Reverse: the pullback gets ${one}, and the output depends on no input.`;
  if (isFlat(name)) {
    return `Reverse: the pullback gets ${one}. Written to the arguments: ${listed(passed.map(([i, z]) => `${number(z)} at id ${i}`))}.`;
  }
  const to = listed(passed.map(([i, z]) => `d${i} with ${number(z)}`));
  return `Reverse: the pullback gets ${one}. ${name === "naive" ? "To be called" : "Not called yet, but noted"}: ${to}.`;
};

const sayCall = ({ name, scalars }, { id, argument, passed, times, early }) => {
  const z = number(argument);
  const again = times > 1 ? `, for the ${ordinal(times)} time` : "";
  let start = `Reverse: ${id} is the highest id left, so all calls of d${id} are in. It is called with ${z}${again}.`;
  if (name === "naive") start = `Reverse: d${id} is called with ${z}${again}.`;
  else if (early.length) {
    const higher = listed(early.map((i) => `d${i}`));
    start = `Reverse: d${id} is called with ${z}${again}, although ${higher} still ${early.length > 1 ? "wait" : "waits"}. If more comes for d${id}, it has to be called again.`;
  } else if (times > 1) start = `Reverse: d${id} is called with ${z}${again}. The call before came too early: this came after it.`;
  else if (isFlat(name)) start = `Reverse: id ${id} is next; its argument is ${z}, and nothing can be added to it any more.`;
  if (passed.length && isFlat(name)) {
    const parts = listed(passed.map(([i, x]) => `${number(x)} at id ${i}`));
    return `${start} Its contributions, ${z} times each partial derivative, are added: now ${parts}.`;
  }
  if (passed.length) {
    const parts = listed(passed.map(([i, x]) => `d${i} with ${number(x)}`));
    return `${start} ${name === "naive" ? "It calls" : "Its own calls are delayed:"} ${parts}.`;
  }
  const scalar = scalars[id];
  if (scalar.kind === "input") return `${start} ${AT_AN_INPUT[name](id, scalar.text, z)}`;
  return `${start} It has nothing to pass on.`;
};

const sayResult = ({ gradient, scalars, calls, own }) => {
  const shown = gradient.slice(0, 12).map((z, i) => `${number(z)} for ${scalars[i].text}`);
  if (gradient.length > 12) shown.push(`${gradient.length - 12} more`);
  const more = own && calls.length > own ? ` It took ${calls.length} calls; from the highest id down it takes ${own}.` : "";
  return `Done. The cotangent of the input: ${listed(shown)}.${more}`;
};

const SAY = { make: sayMake, seed: saySeed, call: sayCall, result: sayResult };
const say = (run, step) => SAY[step.kind](run, step);
