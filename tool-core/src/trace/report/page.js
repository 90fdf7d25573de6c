"use strict";
// Searches the spans, and moves between them by the arrow keys. Without this script the page shows all it has.

/** The matches that a search shows, so that the page answers at once. */
const MAX_HITS = 200;

const tree = document.querySelector(".tree");
const rows = [...(tree?.querySelectorAll("li") ?? [])].map((item) => ({
  item, line: item.querySelector("summary"), fold: item.querySelector(":scope > .fold"), text: null,
}));
const rowOf = new Map(rows.map((row, at) => [row.item, at]));

/** Returns the texts of a row, without the names of its details. */
function textOf(row) {
  const parts = () => [...row.line.parentElement.querySelectorAll(".label, dd")];
  row.text ??= parts().map((part) => part.textContent).join("\n").toLowerCase();
  return row.text;
}

// ---- Search

const [field, found] = [document.querySelector("#search"), document.querySelector("output")];
/** The items that show a search, and the folds that it has opened. */
let marked = [];
let unfolded = [];

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length ? rows.filter((row) => words.every((word) => textOf(row).includes(word))) : [];
  for (const item of marked) item.classList.remove("hit", "around");
  for (const fold of unfolded) fold.open = false;
  [marked, unfolded] = [[], []];
  tree.classList.toggle("searched", words.length > 0);
  for (const { item } of hits.slice(0, MAX_HITS)) show(item);
  const first = hits.length > MAX_HITS ? `, the first ${MAX_HITS} are shown` : "";
  found.textContent = words.length ? `${hits.length} of ${rows.length} spans${first}` : "";
}

/** Shows an item in the spans around it. */
function show(item) {
  item.classList.add("hit");
  marked.push(item);
  for (let fold = item.parentElement.closest(".fold"); fold; fold = fold.parentElement.closest(".fold")) {
    const around = fold.parentElement;
    if (around.classList.contains("around")) return;
    around.classList.add("around");
    marked.push(around);
    if (!fold.open) {
      fold.open = true;
      unfolded.push(fold);
    }
  }
}

/** Calls a function once in a frame, however often it is asked for. */
function eachFrame(work) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; work(); });
  };
}

// ---- Keys

const isShown = (row) => row.line.checkVisibility();

function focus(from, step) {
  let at = from + step;
  while (rows[at] && !isShown(rows[at])) at += step;
  rows[at]?.line.focus();
}

function press(event) {
  const item = event.target.closest("summary") && event.target.closest("li");
  if (!item || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const at = rowOf.get(item);
  const { fold } = rows[at];
  const around = rowOf.get(item.parentElement.closest("li"));
  const keys = {
    ArrowDown: () => focus(at, 1),
    ArrowUp: () => focus(at, -1),
    ArrowRight: () => { if (fold?.open) focus(at, 1); else if (fold) fold.open = true; },
    ArrowLeft: () => { if (fold?.open) fold.open = false; else rows[around]?.line.focus(); },
    Home: () => focus(-1, 1),
    End: () => focus(rows.length, -1),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

if (tree) {
  field.parentElement.hidden = false;
  field.addEventListener("input", eachFrame(search));
  tree.addEventListener("keydown", press);
  // Texts are read before the first search, a part at a time.
  const read = (from) => {
    rows.slice(from, from + 250).forEach(textOf);
    if (from + 250 < rows.length) setTimeout(read, 0, from + 250);
  };
  setTimeout(read, 0, 0);
}
