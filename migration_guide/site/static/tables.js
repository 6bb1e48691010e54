// A long table can be searched, and sorted by a click on a heading. Without scripts it is a table.
"use strict";

const LONG = 20; // rows

function filtered(table, rows) {
  const line = document.createElement("div");
  const input = document.createElement("input");
  const count = document.createElement("span");
  line.className = "table-filter";
  input.type = "search";
  input.placeholder = "Search in this table";
  input.setAttribute("aria-label", input.placeholder);
  count.setAttribute("role", "status");
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, number) => {
      row.hidden = !words.every((word) => texts[number].includes(word));
      shown += !row.hidden;
    });
    count.textContent = words.length ? `${shown} of ${rows.length}` : `${rows.length} rows`;
  };
  input.addEventListener("input", show);
  line.append(input, count);
  (table.closest(".pst-scrollable-table-container") ?? table).before(line);
  show();
}

function sortable(table, rows) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.className = "sort";
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent;
      const compared = (a, b) => text(a).localeCompare(text(b), "en", { numeric: true });
      rows.sort((a, b) => (down ? compared(b, a) : compared(a, b)));
      table.tBodies[0].append(...rows);
    });
  });
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table")) {
    const rows = table.tHead ? [...table.tBodies[0].rows] : [];
    if (rows.length >= LONG) {
      filtered(table, [...rows]);
      sortable(table, [...rows]);
    }
  }
});
