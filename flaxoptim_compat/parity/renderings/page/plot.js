// Drawing the curves of the chosen metric, with the selected one in front.

function domain() {
  let [low, high] = [Infinity, 0];
  const lists = curves.map((curve) => curve.of[state.metric]);
  for (const list of [...lists, curves[state.selected].allowed[state.metric]])
    for (const value of list)
      if (value > 0) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (!high) return [-1, 0];
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  return [from, Math.max(to, from + 1)];
}

function scales() {
  const width = Math.max(plot.clientWidth, 280);
  const height = Math.min(Math.max(width * 0.48, 280), 430);
  const lists = [...curves.map((curve) => curve.of), curves[state.selected].allowed];
  const strange = lists.some((of) => of[state.metric].some((v) => typeof v === "string"));
  const box = { left: 62, right: width - 24, top: 26 + (strange ? LANE + 6 : 0), bottom: height - 46 };
  box.floor = box.bottom;
  box.bottom -= LANE;
  const [from, to] = domain();
  const x = (step) => box.left + (step / Math.max(data.steps, 1)) * (box.right - box.left);
  const log = (exponent) => box.bottom - ((exponent - from) / (to - from)) * (box.bottom - box.top);
  const y = (value) => {
    if (typeof value === "string") return box.top - LANE;
    return value > 0 ? log(Math.log10(value)) : box.floor;
  };
  return { width, height, box, from, to, x, y, log, strange };
}

const lane = (value) => (typeof value === "string" ? "strange" : value > 0 ? "number" : "zero");

// Lines through neighbouring points of one lane, so that none runs from a number to zero; a point
// that has no such neighbour is a dot.
function plotted(svg, kind, values, { x, y }) {
  let [line, dots] = ["", ""];
  const lanes = values.map(lane);
  values.forEach((value, point) => {
    const at = `${x(middle(point)).toFixed(1)} ${y(value).toFixed(1)}`;
    const goesOn = lanes[point] === lanes[point - 1];
    if (goesOn || lanes[point] === lanes[point + 1]) line += `${goesOn ? "L" : "M"}${at}`;
    else dots += `M${at}h0`; // with no length it is round, as the ends of lines are
  });
  drawn(svg, "path", { class: `curve ${kind}`, d: line });
  if (dots) drawn(svg, "path", { class: `dots ${kind}`, d: dots });
}

const power = (exponent) =>
  `10${[...String(exponent)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("")}`;

function axes(svg, { box, from, to, x, log, strange }) {
  const every = Math.ceil((to - from) / Math.max(Math.floor((box.bottom - box.top) / 34), 1));
  for (let exponent = from; exponent <= to; exponent += every) {
    const at = log(exponent);
    drawn(svg, "path", { class: "grid", d: `M${box.left} ${at}H${box.right}` });
    drawn(svg, "text", { class: "tick y", x: box.left - 8, y: at + 4 }, power(exponent));
  }
  drawn(svg, "path", { class: "grid lane", d: `M${box.left} ${box.floor}H${box.right}` });
  drawn(svg, "text", { class: "tick y", x: box.left - 8, y: box.floor + 4 }, "0");
  if (strange) {
    const at = box.top - LANE;
    drawn(svg, "path", { class: "grid lane", d: `M${box.left} ${at}H${box.right}` });
    drawn(svg, "text", { class: "tick y", x: box.left - 8, y: at + 4 }, "NaN, ∞");
  }
  const most = Math.max(Math.floor((box.right - box.left) / 90), 1);
  const unit = 10 ** Math.floor(Math.log10(Math.max(data.steps / most, 1)));
  const stride = [1, 2, 5, 10].map((n) => n * unit).find((n) => data.steps / n <= most);
  for (let step = 0; step <= data.steps; step += stride)
    drawn(svg, "text", { class: "tick x", x: x(step), y: box.floor + 20 }, whole(step));
  const center = (box.left + box.right) / 2;
  drawn(svg, "text", { class: "tick x", x: center, y: box.floor + 38 }, "steps done");
  drawn(svg, "text", { class: "tick", x: 4, y: 12 }, METRICS[state.metric][1]);
}

function mark(svg, { box, x, width }) {
  if (data.parting === null) return;
  const at = x(data.parting);
  const side = at > width / 2 ? "before" : "after";
  drawn(svg, "path", { class: "parting", d: `M${at} ${box.top - 8}V${box.floor}` });
  const place = { x: at + (side === "after" ? 6 : -6), y: box.floor - LANE / 2 + 4 };
  drawn(svg, "text", { class: `parting ${side}`, ...place }, `first parting: ${data.parting}`);
}

function draw() {
  const scale = scales();
  const selected = curves[state.selected];
  const title = `${METRICS[state.metric][1]} of ${curves.length} arrays at each step`;
  plot.replaceChildren();
  const svg = drawn(plot, "svg", {
    width: scale.width,
    height: scale.height,
    viewBox: `0 0 ${scale.width} ${scale.height}`,
    tabindex: 0,
    role: "img",
    "aria-label": `${title}. Left and right arrow keys move along the selected one.`,
  });
  axes(svg, scale);
  mark(svg, scale);
  for (const parts of [false, true])
    for (const curve of curves.filter((each) => each.parts === parts && each !== selected))
      plotted(svg, curve.parts ? "part" : "fine", curve.of[state.metric], scale);
  plotted(svg, "allowed", selected.allowed[state.metric], scale);
  plotted(svg, "selected", selected.of[state.metric], scale);
  explain(selected);
  watch(svg, scale);
}

function explain(selected) {
  const line = document.getElementById("key");
  line.replaceChildren();
  const swatch = (kind, text) => {
    const entry = element("span");
    const svg = drawn(entry, "svg", { width: 26, height: 10, "aria-hidden": "true" });
    drawn(svg, "path", { class: `curve ${kind}`, d: "M2 5H24" });
    entry.append(text);
    line.append(entry, " ");
  };
  swatch("selected", name(selected));
  swatch("allowed", "allowed for it");
  const others = curves.filter((curve) => curve !== selected);
  if (others.some((curve) => curve.parts)) swatch("part", "others that part");
  if (others.some((curve) => !curve.parts)) swatch("fine", "others within the tolerance");
}

function watch(svg, { box, x, y }) {
  const cross = drawn(svg, "path", { class: "cross" });
  const dot = drawn(svg, "circle", { class: "dot", r: 4 });
  const tip = element("div", { id: "tip", role: "status" });
  tip.hidden = true;
  plot.append(tip);
  let now = null;

  function show(point, index) {
    const value = curves[index].of[state.metric][point];
    now = { point, index };
    const [across, height] = [x(middle(point)), y(value)];
    cross.setAttribute("d", `M${across} ${box.top - 8}V${box.floor}`);
    dot.setAttribute("cx", across);
    dot.setAttribute("cy", height);
    svg.classList.add("watched");
    tip.hidden = false;
    tip.replaceChildren(element("strong", {}, name(curves[index])));
    tip.append(element("span", {}, `${moment(point)}: ${words(value)}`));
    const most = curves[index].allowed[state.metric][point];
    tip.append(element("span", {}, `allowed: ${words(most)}`));
    const room = plot.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(Math.min(across + 12, room), 0)}px`;
    tip.style.top = `${Math.max(height - tip.offsetHeight - 12, 0)}px`;
  }

  function hide() {
    svg.classList.remove("watched");
    tip.hidden = true;
    now = null;
  }

  svg.addEventListener("pointermove", (event) => {
    const { left, top } = svg.getBoundingClientRect();
    const [across, height] = [event.clientX - left, event.clientY - top];
    const step = ((across - box.left) / (box.right - box.left)) * Math.max(data.steps, 1);
    const point = nearest(starts.length, (each) => Math.abs(middle(each) - step));
    const far = (each) => Math.abs(y(curves[each].of[state.metric][point]) - height);
    show(point, nearest(curves.length, far));
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("click", () => now && select(now.index));
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    const point = now ? now.point + move : 0;
    show(Math.min(Math.max(point, 0), starts.length - 1), state.selected);
  });
}

function nearest(count, distance) {
  let best = 0;
  for (let each = 1; each < count; each += 1) if (distance(each) < distance(best)) best = each;
  return best;
}

const moment = (point) =>
  starts[point] === last(point)
    ? `step ${whole(starts[point])}`
    : `steps ${whole(starts[point])} to ${whole(last(point))}, at most`;

function words(value) {
  if (value === "x") return "not finite on one side";
  if (value === "i") return "∞, as the first side has not moved";
  return value && (value < 1e-3 || value >= 1e6) ? value.toExponential(2) : whole(value);
}
