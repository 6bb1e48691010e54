// Choosing an array and a metric.

function selectable(table) {
  const rows = [...table.tBodies[0].rows];
  return curves.map((curve, index) => {
    if (curve.row >= rows.length) return null; // beyond what the table shows
    const heading = rows[curve.row].cells[0];
    const button = element("button", { type: "button" }, heading.textContent);
    button.addEventListener("click", () => select(index));
    heading.replaceChildren(button);
    return rows[curve.row];
  });
}

function select(index) {
  state.selected = index;
  rows.forEach((row, each) => {
    if (row === null) return;
    row.classList.toggle("selected", each === index);
    row.cells[0].firstChild.setAttribute("aria-pressed", each === index);
  });
  draw();
}

function choices() {
  const box = document.getElementById("metrics");
  for (const [metric, [label]] of Object.entries(METRICS)) {
    const input = element("input", { type: "radio", name: "metric", value: metric });
    input.checked = metric === state.metric;
    input.addEventListener("change", () => {
      state.metric = metric;
      draw();
    });
    const around = element("label");
    around.append(input, label);
    box.append(around);
  }
}

if (table) sortable(table);
const rows = table && curves.length ? selectable(table) : [];
if (curves.length) {
  document.getElementById("figure").hidden = false;
  choices();
  select(Math.max(curves.findIndex((curve) => curve.row === data.first), 0));
  let width = plot.clientWidth;
  new ResizeObserver(() => {
    if (plot.clientWidth !== width) draw();
    width = plot.clientWidth;
  }).observe(plot);
}
