// Starts everything: one reader, a stepper for each stage, the sliders in the text, and the buttons that set a scene.

const inflate = (recording) => {
  for (const one of recording.scalars || []) {
    one.args = one.args || [];
    one.zeros = one.zeros || one.args.map(() => false);
    if (one.value !== undefined) one.value = Number(one.value); // infinities and NaN come as text
    one.partials = (one.partials || []).map(Number);
  }
  return recording;
};

const programs = JSON.parse(document.getElementById("programs").textContent);
for (const program of programs) program.recordings.forEach(inflate);
const reader = new Reader(programs);
const steppers = new Map();
for (const root of document.querySelectorAll(".stepper")) steppers.set(root.dataset.stage, new Stepper(root, reader));
for (const root of document.querySelectorAll(".growing")) new Growth(root, programs);
for (const choice of document.querySelectorAll("input[name=program]")) {
  choice.addEventListener("change", () => reader.choose(Number(choice.value)));
}

// What is scrolled to stands below the bar, however many rows that has.
const bar = document.querySelector("nav.bar");
new ResizeObserver(() => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`)).observe(bar);

// A button in the text sets a scene: the program, its size, a stage beside, who chooses, and the step.
const play = (stage, scene) => {
  const stepper = steppers.get(stage);
  const program = programs.findIndex(({ name }) => name === scene.program);
  if (scene.size !== undefined) reader.sizes[program] = programs[program].recordings.findIndex(({ size }) => size === scene.size);
  reader.choose(program);
  stepper.pair(scene.beside || "");
  if (stepper.check) stepper.setChoosing(Boolean(scene.choose));
  if (scene.go === "last") stepper.go(stepper.target("last"));
  else stepper.goTo(scene.go || "make");
  stepper.root.focus({ preventScroll: true });
  stepper.root.scrollIntoView({ block: "start" });
};
for (const made of document.querySelectorAll("button.scene")) {
  const stage = made.closest("section").id;
  made.addEventListener("click", () => play(stage, JSON.parse(made.dataset.scene)));
}

const checked = document.querySelector("input[name=program]:checked");
reader.choose(checked ? Number(checked.value) : 0);
