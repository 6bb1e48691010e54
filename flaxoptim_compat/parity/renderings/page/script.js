// Sorting the table by the column whose heading is clicked, and choosing an array in it. Without
// scripts the page has all but this.

const table = document.getElementById("arrays");
if (table) {
  sortable(table);
  selectable([...table.tBodies[0].rows]);
}

// The curves of an array whose name is clicked stand out, in front of the others.
function selectable(rows) {
  const shown = new Map();
  for (const curve of document.querySelectorAll("[data-row]")) {
    const row = rows[curve.dataset.row]; // the table does not show thousands of them
    if (row) shown.set(row, [...(shown.get(row) ?? []), curve]);
  }
  for (const [row, curves] of shown) {
    const name = button(row.cells[0]);
    name.addEventListener("click", () => {
      document.querySelectorAll(".selected").forEach((old) => old.classList.remove("selected"));
      document.querySelector("[aria-pressed=true]")?.setAttribute("aria-pressed", false);
      name.setAttribute("aria-pressed", true);
      for (const each of [row, ...curves]) each.classList.add("selected");
      for (const curve of curves) curve.parentNode.append(curve);
    });
  }
}

function button(cell) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = cell.textContent;
  cell.replaceChildren(made);
  return made;
}

function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];
  headings.forEach((heading, column) => {
    button(heading).addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      // Of words the first ones come first, of errors the largest ones, of steps the earliest.
      const start = column >= 2 && column < 6 ? "descending" : "ascending";
      const opposite = before === "ascending" ? "descending" : "ascending";
      const order = before ? opposite : start;
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const keys = new Map(original.map((row) => [row, key(row, column)]));
      const rows = [...original].sort((a, b) => compared(keys.get(a), keys.get(b), sign));
      body.replaceChildren(...rows);
    });
  });
}

function key(row, column) {
  if (column < 2) return row.cells[column].textContent;
  const spanned = row.cells.length < 7; // words in the place of the four errors
  if (column === 6) return number(row.cells[row.cells.length - 1].textContent);
  return spanned ? Infinity : number(row.cells[column].textContent);
}

const number = (text) => (text === "inf" ? Number.MAX_VALUE : parseFloat(text.replaceAll(",", "")));

function compared(a, b, sign) {
  if (typeof a === "string") return sign * (a < b ? -1 : a > b ? 1 : 0);
  // A dash comes last in either order.
  if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
  return a === b ? 0 : sign * (a < b ? -1 : 1);
}
