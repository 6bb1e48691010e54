// What the page was given, what is chosen on it, and how to make elements.

const METRICS = {
  error: ["absolute", "absolute error"],
  relative: ["relative", "error / largest value in the array"],
  ulps: ["ulp", "error in units in the last place"],
  to_distance: ["of distance", "error / distance travelled"],
};
const LANE = 22; // pixels for what a log scale has no place for: 0, and what is not finite
const data = JSON.parse(document.getElementById("data").textContent);
const { curves, starts } = data;
const table = document.getElementById("arrays");
const plot = document.getElementById("plot");
const state = { metric: "to_distance", selected: 0 };

const whole = (number) => number.toLocaleString("en-US");
const name = (curve) => `${curve.leaf || "(the only array)"}, ${curve.quantity}`;
const last = (point) => (point + 1 < starts.length ? starts[point + 1] - 1 : data.steps);
const middle = (point) => (starts[point] + last(point)) / 2;

function element(tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function drawn(parent, tag, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
  return made;
}
