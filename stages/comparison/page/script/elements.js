// Helpers to make parts of the page.

const make = (tag, className = "", text = undefined) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

const drawn = (tag, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const button = (label, title, act) => {
  const made = make("button", "", label);
  made.type = "button";
  if (title) {
    made.title = title;
    made.setAttribute("aria-label", title.replace(/ \(.*\)$/, ""));
  }
  made.addEventListener("click", act);
  return made;
};

// What is wider or higher than its box: it can be scrolled to with the keyboard, too.
const scrolling = (className, label) => {
  const made = make("div", `scroll ${className}`);
  made.tabIndex = 0;
  made.setAttribute("role", "region");
  made.setAttribute("aria-label", label);
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
