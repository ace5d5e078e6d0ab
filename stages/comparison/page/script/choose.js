// The page of the related algorithms: it shows one program at a time.

const chooseProgram = (program) => {
  for (const part of document.querySelectorAll("[data-program]")) part.hidden = part.dataset.program !== program;
};
const programChoices = [...document.querySelectorAll("input[name=program]")];
for (const choice of programChoices) choice.addEventListener("change", () => chooseProgram(choice.value));
if (programChoices.length) chooseProgram((programChoices.find((choice) => choice.checked) || programChoices[0]).value);
