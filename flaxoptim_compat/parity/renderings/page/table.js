// Sorting the table by the column whose heading is clicked.

function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const original = [...body.rows];
  headings.forEach((heading, column) => {
    const button = element("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
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
