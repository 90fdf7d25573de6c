// The metrics of the program, as figures, as charts and as a table.

import {
  $,
  breakable,
  el,
  figures,
  fill,
  note,
  numberColumn,
  svg,
  table,
  textColumn,
  wholeColumn,
} from "./elements.js";
import { app, onShow } from "./views.js";

/** The seconds that the chart of calls covers. */
const MAX_SAMPLES = 120;
const MAX_BARS = 10;
const MAX_ROWS = 200;

const WAITING = "CONFIRMATION_REQUIRED";

const metrics = {
  document: null,
  /** The number of calls so far, a second apart. */
  samples: [],
};

export function listenToMetrics() {
  onShow("metrics", draw);
  setInterval(sampleCalls, 1_000);
}

export function takeMetrics(document) {
  metrics.document = document;
  draw();
}

/** Takes a sample of the number of calls each second, so that the chart moves without calls too. */
function sampleCalls() {
  if (!metrics.document) return;
  metrics.samples.push(sum(metrics.document.calls));
  metrics.samples.splice(0, metrics.samples.length - MAX_SAMPLES - 1);
  if (app.view === "metrics") drawCharts(metrics.document);
}

function draw() {
  const { document } = metrics;
  if (app.view !== "metrics" || !document) return;
  fill($("figures"), figures(totals(document)));
  drawCharts(document);
  drawCircuits(document);
  drawTable(document);
}

const sum = (counts) => Object.values(counts ?? {}).reduce((total, count) => total + count, 0);
const sumOfAll = (byTool) => Object.values(byTool).reduce((total, kinds) => total + sum(kinds), 0);

/** Returns the calls of a tool that wait, or waited, for a person. */
const asked = (kinds) => kinds?.[WAITING] ?? 0;
const refused = (kinds) => sum(kinds) - asked(kinds);

function totals(document) {
  const { calls, errors, refusals, loopDetection, context, cost } = document;
  const kinds = Object.values(refusals);
  return [
    ["Calls", sum(calls)],
    ["Errors", sumOfAll(errors)],
    ["Refused", kinds.reduce((total, of) => total + refused(of), 0)],
    ["Approval asked", kinds.reduce((total, of) => total + asked(of), 0)],
    ["Cost", `$${cost.total.dollars}`],
    ["Open sessions", loopDetection.activeSessions],
    ["Tokens at session start", context.sessionInitTokens],
    ["Largest context", context.peakTokens],
  ];
}

function drawCharts({ calls, errors, latency, cost }) {
  const { samples } = metrics;
  const rates = samples.slice(1).map((count, at) => Math.max(0, count - samples[at]));
  const latencies = Object.entries(latency).map(([name, of]) => [name, of.p95]);
  const costs = Object.entries(cost.models).map(([name, of]) => [name, of.dollars]);
  fill(
    $("charts"),
    lineChart("Calls a second", rates),
    barChart("Calls of a tool", Object.entries(calls), brief, "No calls yet."),
    barChart("Latency, 95th percentile", latencies, (ms) => `${brief(ms)} ms`, "No calls yet."),
    barChart("Errors", Object.entries(countByKind(errors)), brief, "No errors.", "bad"),
    barChart("Cost of a model", costs, (dollars) => `$${brief(dollars)}`, "No costs."),
  );
}

function countByKind(errors) {
  const counts = {};
  for (const kinds of Object.values(errors)) {
    for (const [kind, count] of Object.entries(kinds)) counts[kind] = (counts[kind] ?? 0) + count;
  }
  return counts;
}

const STATES = { open: "open", halfOpen: "half-open", closed: "closed" };

/** Lists the circuit breakers, those that let no call run first. Most programs have none. */
function drawCircuits({ circuits }) {
  const columns = [
    textColumn("Circuit breaker"),
    wholeColumn("Of"),
    wholeColumn("State"),
    numberColumn("Opened"),
    numberColumn("Refused calls"),
  ];
  const order = Object.keys(STATES);
  const rows = [...circuits]
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
    .slice(0, MAX_ROWS)
    .map(({ name, scope, state, opened, refused }) => [
      name,
      scope,
      STATES[state] ?? state,
      opened,
      refused,
    ]);
  fill($("circuit-table"), rows.length > 0 && table("Circuit breakers", columns, rows));
}

function drawTable(document) {
  const { calls, errors, latency, refusals, responseSizes, responseTokens, slowCalls } = document;
  const names = [
    "Calls",
    "Errors",
    "Refused",
    "Approval asked",
    "Slow",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "p95 characters",
    "Mean tokens",
  ];
  const columns = [textColumn("Tool"), ...names.map(numberColumn)];
  const most = Object.keys(calls).sort((a, b) => calls[b] - calls[a]);
  const rows = most
    .slice(0, MAX_ROWS)
    .map((name) => [
      name,
      calls[name],
      sum(errors[name]),
      refused(refusals[name]),
      asked(refusals[name]),
      slowCalls[name],
      latency[name].p50.toFixed(3),
      latency[name].p95.toFixed(3),
      latency[name].p99.toFixed(3),
      responseSizes[name].p95,
      Math.round(responseTokens[name].avg),
    ]);
  const shown = rows.length ? table("Metrics of each tool", columns, rows) : note("No calls yet.");
  fill($("metric-table"), shown);
}

// ---- Charts. Their texts are those of the page, so they do not shrink with a picture.

const WIDTH = 600;
const HEIGHT = 160;

function lineChart(title, values) {
  const now = values.at(-1) ?? 0;
  const most = Math.max(1, ...values);
  const x = (at) => (WIDTH * at) / Math.max(values.length - 1, 1);
  const y = (value) => HEIGHT - (HEIGHT * value) / most;
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  const area = [`0,${HEIGHT}`, ...points, `${WIDTH},${HEIGHT}`];

  const text = `${title}: now ${now}, at most ${most}`;
  const size = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  const picture = svg("svg", { ...size, role: "img", "aria-label": text });
  for (const part of [0, 0.5, 1]) {
    picture.append(svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT * part, y2: HEIGHT * part }));
  }
  if (values.length > 1) {
    picture.append(svg("polygon", { points: area.join(" ") }));
    picture.append(svg("polyline", { points: points.join(" ") }));
  }
  const plot = el(
    "div",
    { class: "plot" },
    el("div", { class: "scale" }, el("span", {}, String(most)), el("span", {}, "0")),
    picture,
    el("div", { class: "times" }, el("span", {}, `${values.length} s ago`), el("span", {}, "now")),
  );
  return el(
    "figure",
    { class: "chart" },
    el("figcaption", {}, title, el("span", { class: "now" }, `now ${now}`)),
    plot,
  );
}

function barChart(title, entries, format, none, colour = "good") {
  const largest = entries.filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
  const shown = largest.slice(0, MAX_BARS);
  const most = shown[0]?.[1] ?? 1;
  const rows = shown.map(([name, value]) => {
    const bar = el("span", { class: `amount ${colour}` });
    bar.style.width = `${(100 * value) / most}%`;
    return el(
      "li",
      {},
      el("span", { class: "of" }, ...breakable(name)),
      el("span", { class: "space", "aria-hidden": "true" }, bar),
      el("span", { class: "value" }, format(value)),
    );
  });
  const rest = largest.length - shown.length;
  return el(
    "figure",
    { class: "chart" },
    el("figcaption", {}, title),
    shown.length ? el("ul", { class: "bars", "aria-label": title }, ...rows) : note(none),
    rest > 0 ? note(`and ${rest} more, in the table`) : null,
  );
}

const brief = (value) =>
  Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
