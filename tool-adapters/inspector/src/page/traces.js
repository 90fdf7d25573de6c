// The waterfall of spans that have ended and of those that run. `waterfall.css` draws it, as it draws the report of a trace. The
// rows differ: here they grow, are selected, and only those on the screen exist; the report reads without a script.

import { partsIn, partsView } from "./content.js";
import {
  $,
  breakable,
  button,
  code,
  eachFrame,
  el,
  factList,
  fill,
  longColumn,
  note,
  numberColumn,
  section,
  table,
  textColumn,
} from "./elements.js";
import { parseJson, pretty, readable } from "./exact.js";
import { duration } from "./limits.js";
import { VirtualList } from "./list.js";
import { app, closeDetail, onShow, openDetail } from "./views.js";

const ROW_HEIGHT = 32;
const MAX_SPANS = 10_000;
/** The time after which the bars of running spans grow, in milliseconds. */
const GROWTH = 500;
/** The levels that are indented. */
const MAX_INDENT = 12;

const traces = {
  spans: [],
  running: [],
  /** The spans in the order of the waterfall. */
  rows: [],
  lost: 0,
  /** The spans that arrived during a pause. */
  waiting: [],
  /** The milliseconds by which the clock of the server is ahead. */
  clock: 0,
  /** The span in the detail. */
  shown: null,
  /** The time that all spans cover. */
  window: { start: 0, end: 0 },
  /** The call of the page whose progress is shown. */
  calling: null,
};
let list;

export function listenToTraces() {
  list = new VirtualList($("span-list"), {
    label: "Spans",
    rowHeight: ROW_HEIGHT,
    draw: drawSpan,
    onSelect: selectSpan,
    key: (row) => keyOfSpan(row.span),
  });
  for (const id of ["span-search", "span-kind", "span-errors"]) {
    $(id).addEventListener("input", eachFrame(filterSpans));
  }
  $("span-scale").addEventListener("change", changeScale);
  $("span-pause").addEventListener("change", endPause);
  $("span-clear").addEventListener("click", clearSpans);
  onShow("traces", orderSpans);
  showNothing();
  setInterval(growRunning, GROWTH);
}

const isPaused = () => $("span-pause").checked;
const isForAll = () => $("span-scale").value === "all";

export function addSpans({ spans, lost }) {
  traces.lost += lost;
  // An ended span is no longer a running one, whichever event comes first.
  const ended = new Set(spans.map(keyOfSpan));
  traces.running = traces.running.filter((span) => !ended.has(keyOfSpan(span)));
  const into = isPaused() ? traces.waiting : traces.spans;
  into.push(...spans);
  into.splice(0, into.length - MAX_SPANS);
  $("count-traces").textContent = traces.spans.length || "";
  if (into === traces.spans) orderSpans();
}

export function takeRunning({ nowMs, spans }) {
  traces.clock = nowMs - Date.now();
  traces.running = spans;
  drawProgress();
  if (!isPaused()) orderSpans();
}

/** Returns the milliseconds of a span, of a running one so far by the clock of the server. */
const lengthOf = (span) => span.durationMs ?? Math.max(0, Date.now() + traces.clock - span.startMs);
const isRunning = (span) => span.status === "running";
const hasFailed = (span) => span.status !== "ok" && !isRunning(span);

/** Returns the class that a span's state has in `waterfall.css`. */
function stateOf(span) {
  if (span.status === "ok") return "";
  return isRunning(span) || span.status === "cancelled" ? span.status : "wrong";
}

function growRunning() {
  if (traces.running.length === 0 || document.hidden) return;
  drawProgress();
  if (!isPaused()) orderSpans();
}

// ---- The order of the waterfall

/** Puts each span behind the one that it is inside of, the newest trace first and siblings by their start. */
const orderSpans = eachFrame(() => {
  if (app.view !== "traces") return;
  traces.rows = treeOf([...traces.spans, ...traces.running]);
  filterSpans();
  // The detail of a running span follows it until it has ended.
  const key = traces.shown && keyOfSpan(traces.shown);
  const shown = key && traces.rows.find(({ span }) => keyOfSpan(span) === key);
  if (shown && isRunning(traces.shown)) showSpan(shown);
});

const keyOf = (trace, id) => `${trace}/${id}`;
const keyOfSpan = (span) => keyOf(span.trace, span.id);

function treeOf(spans) {
  const byKey = new Map();
  for (const span of spans) byKey.set(keyOfSpan(span), { span, children: [], depth: 0 });

  const roots = [];
  for (const node of byKey.values()) {
    const parent = byKey.get(keyOf(node.span.trace, node.span.parent));
    const siblings = parent && parent !== node ? parent.children : roots;
    siblings.push(node);
  }

  const rows = [];
  const ahead = newestTraceLast(byStart(roots));
  while (ahead.length) {
    const node = ahead.pop();
    rows.push(node);
    for (const child of byStart(node.children).reverse()) {
      child.depth = node.depth + 1;
      ahead.push(child);
    }
  }
  return withWindows(rows);
}

const byStart = (nodes) => nodes.sort((a, b) => a.span.startMs - b.span.startMs);

/** Returns the roots as a stack, whose last one is shown first. The roots of one trace stay together, by their start. */
function newestTraceLast(roots) {
  const traces = new Map();
  for (const root of roots) {
    const { trace } = root.span;
    if (traces.has(trace)) traces.get(trace).push(root);
    else traces.set(trace, [root]);
  }
  return [...traces.values()].flatMap((own) => own.reverse());
}

/** Notes on each row the time that its trace covers, as far as the page has it. */
function withWindows(rows) {
  const windows = new Map();
  const all = { start: Infinity, end: 0 };
  let last = null;
  for (const row of rows) {
    const { span } = row;
    const own = windows.get(span.trace) ?? { start: Infinity, end: 0 };
    for (const window of [own, all]) {
      window.start = Math.min(window.start, span.startMs);
      window.end = Math.max(window.end, span.startMs + lengthOf(span));
    }
    windows.set(span.trace, own);
    row.window = own;
    row.isFirst = span.trace !== last;
    last = span.trace;
  }
  traces.window = all;
  return rows;
}

function filterSpans() {
  const text = $("span-search").value.toLowerCase();
  const kind = $("span-kind").value;
  const failedOnly = $("span-errors").checked;
  const isFound = ({ span }) =>
    (!kind || span.kind === kind) &&
    (!failedOnly || hasFailed(span)) &&
    (!text || textOf(span).includes(text));
  const rows = traces.rows.filter(isFound);
  list.set(rows);
  drawAxis(rows.length > 0);

  const counts = [`${rows.length} of ${traces.rows.length} spans`];
  if (traces.running.length) counts.push(`${traces.running.length} running`);
  if (traces.lost) counts.push(`${traces.lost} more were not kept`);
  $("span-found").textContent = counts.join(", ");
  $("no-spans").hidden = traces.rows.length > 0;
}

/** Returns the text in which a span is searched, and keeps it. */
function textOf(span) {
  if (span.text === undefined) {
    const { kind, name, error, callId } = span;
    const texts = [`${kind}:${name}`, error?.kind, error?.message, callId];
    span.text = texts.filter(Boolean).join(" ").toLowerCase();
  }
  return span.text;
}

// ---- Rows

function changeScale() {
  list.redraw();
  drawAxis(true);
}

/** Shows the scale above the bars: the part of each trace, or the time since the first span. */
function drawAxis(isShown) {
  $("span-axis").hidden = !isShown;
  if (!isShown) return;
  const { start, end } = traces.window;
  const tick = (part) => (isForAll() ? duration((end - start) * part) : `${100 * part} %`);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => el("span", {}, tick(part)));
  fill($("span-ticks"), ...ticks);
}

function drawSpan({ span, depth, isFirst, window: own }) {
  const label = el("span", { class: "one label" }, ...labelOf(span));
  label.style.paddingLeft = `${Math.min(depth, MAX_INDENT) * 0.75}rem`;
  const track = el("span", { class: "track", "aria-hidden": "true" }, barOf(span, own));
  const took = el("span", { class: "took" }, duration(lengthOf(span)));
  return [el("span", { class: isFirst ? "span first" : "span" }, label, track, took)];
}

function labelOf(span) {
  const parts = [
    el("span", { class: `kind ${span.kind}` }, span.kind),
    " ",
    el("bdi", {}, span.name),
  ];
  if (span.status !== "ok")
    parts.push(
      el("span", { class: `mark ${stateOf(span)}` }, ` ${span.error?.kind ?? span.status}`),
    );
  const update = span.updates?.at(-1);
  if (update) parts.push(el("span", { class: "dim" }, ` ${percented(update)}`));
  return parts;
}

function barOf(span, own) {
  const { start, end } = isForAll() ? traces.window : own;
  const percent = (ms) => (100 * ms) / Math.max(end - start, 1e-6);
  const bar = el("span", { class: `bar ${span.kind} ${stateOf(span)}` });
  bar.style.setProperty("--l", `${percent(span.startMs - start)}%`);
  bar.style.setProperty("--w", `${percent(lengthOf(span))}%`);
  return bar;
}

// ---- The detail of a span

function selectSpan(row, opens) {
  showSpan(row);
  if (opens) openDetail("traces");
}

function showSpan({ span, depth }) {
  traces.shown = span;
  const attributes = span.attributes ?? {};
  const {
    "gen_ai.tool.call.arguments": input,
    "gen_ai.tool.call.result": output,
    ...others
  } = attributes;
  const facts = [
    ["Status", span.status],
    ["Duration", `${duration(lengthOf(span))}${isRunning(span) ? " so far" : ""}`],
    ["Began", new Date(span.startMs).toISOString()],
    ["Depth", depth],
    ["Call", span.callId],
    ["Trace", span.trace],
    ["Span", span.id],
  ];
  fill(
    $("span-detail"),
    button("← All spans", () => closeDetail("traces"), { class: "back" }),
    el(
      "h3",
      {},
      el("span", { class: `kind ${span.kind}` }, span.kind),
      " ",
      el("bdi", {}, ...breakable(span.name)),
    ),
    factList(facts.filter(([, value]) => value !== undefined)),
    span.error ? section("Error", el("p", { class: "wrong text" }, errorText(span.error))) : null,
    span.updates?.length ? section("Progress", ...progressView(span)) : null,
    input === undefined ? null : section("Input", code(readable(input), "Input")),
    output === undefined ? null : section("Output", outputView(output)),
    span.cost?.length ? section("Cost", costTable(span.cost)) : null,
    Object.keys(others).length ? section("Attributes", code(pretty(others), "Attributes")) : null,
  );
}

const errorText = ({ kind, message }) => (message ? `${kind}: ${message}` : kind);

/** Shows an output as its parts, if it has some. A long output was cut, so it is a text. */
function outputView(text) {
  try {
    const parts = partsIn(parseJson(text));
    if (parts) return partsView(parts);
  } catch {
    return code(String(text), "Output");
  }
  return code(readable(text), "Output");
}

function costTable(cost) {
  const columns = [
    textColumn("Model"),
    numberColumn("Cost"),
    numberColumn("Uses"),
    longColumn("Tokens"),
  ];
  const rows = cost.map(({ model, dollars, times, usage }) => [
    model,
    dollars === null ? "unknown" : `$${Number(dollars)}`,
    times,
    tokens(usage),
  ]);
  return table("Cost", columns, rows);
}

const tokens = (usage) =>
  Object.entries(usage ?? {})
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name.replace("_", " ")} ${count}`)
    .join(", ") || "none";

function showNothing() {
  traces.shown = null;
  fill($("span-detail"), note("Select a span to see its input, its output and its cost."));
}

// ---- Progress

/** Returns an element that shows how far a call of the page is, until it is removed. */
export function callProgress(id) {
  const node = el("div", { class: "progress", "aria-live": "polite" });
  traces.calling = { id, node };
  return node;
}

function drawProgress() {
  if (!traces.calling?.node.isConnected) return;
  const { id, node } = traces.calling;
  const call = traces.running.find((span) => span.callId === id);
  if (!call) return;
  node.replaceChildren(
    el("p", {}, `Running for ${duration(lengthOf(call))}`),
    ...progressView(call),
  );
}

function progressView({ updates }) {
  if (!updates?.length) return [];
  const known = updates.findLast((update) => update.fraction !== null);
  const lines = el("ul", {}, ...updates.map((update) => el("li", {}, percented(update))));
  if (!known) return [lines];
  const bar = { max: "1", value: String(known.fraction), "aria-label": "Completed part" };
  return [el("progress", bar), lines];
}

const percented = ({ message, fraction }) =>
  fraction === null ? message : `${Math.round(100 * fraction)} % ${message}`;

// ---- Pause and clear

function endPause() {
  if (isPaused()) return;
  addSpans({ spans: traces.waiting.splice(0), lost: 0 });
}

function clearSpans() {
  traces.spans = [];
  traces.lost = 0;
  $("count-traces").textContent = "";
  showNothing();
  closeDetail("traces");
  orderSpans();
}
