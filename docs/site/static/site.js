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

// A text box above the tables of a page that has a place for it: it leaves the rows that have all of its words, in
// themselves or in the heading of their table. Without JavaScript there are the tables.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("article .filter-tables");
  if (!place) return;
  const sections = [...document.querySelectorAll("article section section")].filter((x) => x.querySelector("table"));
  const rows = sections.flatMap((section) => {
    const title = section.querySelector("h2").textContent;
    return [...section.querySelectorAll("tbody tr")].map((row) => ({
      row, section, text: `${title} ${row.textContent}`.toLowerCase(),
    }));
  });
  const box = Object.assign(document.createElement("input"), {
    type: "search", placeholder: `filter: ${place.dataset.example ?? "list append, refused, np.linalg ..."}`,
  });
  box.setAttribute("aria-label", "Filter the tables");
  const count = document.createElement("output");
  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const left = new Set();
    let shown = 0;
    for (const { row, section, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) { shown += 1; left.add(section); }
    }
    for (const section of sections) section.hidden = !left.has(section);
    count.textContent = `${shown} of ${rows.length}`;
    dispatchEvent(new Event("resize")); // tables may have become narrower
  };
  box.addEventListener("input", filter);
  place.append(box, count);
  filter();
});
