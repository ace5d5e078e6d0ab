// Tables that are wider than their place say so (site.css), and can be scrolled with the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  const boxes = [...document.querySelectorAll("article .table-wrapper")];
  const mark = (box) => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("wide", wide);
    box.classList.toggle("at-end", wide && box.scrollLeft + box.clientWidth >= box.scrollWidth - 2);
    if (wide) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  for (const box of boxes) {
    mark(box);
    box.addEventListener("scroll", () => mark(box), { passive: true });
  }
  addEventListener("resize", () => boxes.forEach(mark));
});
