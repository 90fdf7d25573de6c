// Elements of the page. Texts of tools, models and users are inserted as text only.

export const $ = (id) => document.getElementById(id);

/** Creates an element. A property that begins with "on" is a listener, and others are attributes. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...present(children));
  return made;
}

/** Creates an element of an SVG picture. */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const present = (children) =>
  children.filter((child) => child !== null && child !== undefined && child !== false);

let lastId = 0;

export function freshId() {
  lastId += 1;
  return `e${lastId}`;
}

export const button = (text, onclick, properties = {}) =>
  el("button", { type: "button", onclick, ...properties }, text);

export const chip = (text) => el("span", { class: "chip" }, text);

export const note = (text) => el("p", { class: "dim" }, text);

/** Shows a text in the line of the header. */
export function report(text) {
  $("status").textContent = text;
}

/** Replaces the content of an element, and keeps the focus on the control with the same key. */
export function fill(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const key = focused?.dataset.key;
  parent.replaceChildren(...present(children));
  if (key) parent.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

/** Calls a function once in a frame, however often it is asked for. */
export function eachFrame(work) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      work();
    });
  };
}

/** The most characters of a name that gets places where a line may end. */
const MAX_BREAKABLE = 1_000;

/** Returns the parts of a name, with places where a line may end: after a sign, and before a capital letter. */
export function breakable(name) {
  const text = String(name);
  if (text.length > MAX_BREAKABLE) return [text];
  const parts = text.split(/(?<=[_./:-])|(?<=[a-z])(?=[A-Z])/u);
  return parts.flatMap((part, at) => (at === 0 ? [part] : [el("wbr"), part]));
}

/** Returns a number with its noun. */
export const counted = (count, noun) => `${count} ${noun}${Number(count) === 1 ? "" : "s"}`;

/** A line that stays a line of its own: of a list, of a table, or of code. */
const OWN_LINE = /^(\s|[-*+#|>`]|\d+[.)])/;

/** Returns the paragraphs of a text. Lines that the author has wrapped flow together. */
export function prose(text) {
  const paragraphs = text.split(/\n\s*\n/).map((paragraph) => {
    const lines = paragraph.split("\n");
    return lines.reduce((all, line) => all + (OWN_LINE.test(line) ? "\n" : " ") + line.trimEnd());
  });
  return paragraphs.map((paragraph) => el("p", { class: "text" }, paragraph));
}

/** The most characters of a text that the page shows. */
const MAX_TEXT = 100_000;

/** Shows a text as it is, in a box that scrolls. */
export function code(text, label) {
  const rest = text.length - MAX_TEXT;
  const shown = rest > 0 ? `${text.slice(0, MAX_TEXT)}\n… ${rest} more characters` : text;
  return el("pre", { tabindex: "0", role: "group", "aria-label": label }, shown);
}

export const section = (title, ...children) => el("section", {}, el("h3", {}, title), ...children);

export const fold = (title, ...children) =>
  el("details", {}, el("summary", {}, title), ...children);

export function bullets(title, lines) {
  if (!lines?.length) return null;
  return section(title, el("ul", {}, ...lines.map((line) => el("li", {}, line))));
}

/** Shows facts as pairs of a name and a value. */
export function factList(pairs) {
  const rows = pairs.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, ...breakable(value))),
  );
  return el("dl", { class: "facts" }, ...rows);
}

/** Shows figures, each below its name. */
export function figures(pairs) {
  const boxes = pairs.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, String(value))),
  );
  return el("dl", { class: "figures" }, ...boxes);
}

/** Puts a visible label above a control. */
export function labelled(text, control) {
  control.id ||= freshId();
  return el("div", { class: "control" }, el("label", { for: control.id }, text), control);
}

/** A column of names, whose lines may end after a sign. */
export const textColumn = (name) => ({ name, kind: "words" });
/** A column of texts of any length. */
export const longColumn = (name) => ({ name, kind: "words long" });
/** A column of texts that stay on one line. */
export const wholeColumn = (name) => ({ name, kind: "whole" });
export const numberColumn = (name) => ({ name, kind: "number" });

/** Shows rows under columns. The first value of a row is its heading, and numbers end where their heading ends. */
export function table(label, columns, rows) {
  const cell = (value, at) => {
    const { kind } = columns[at];
    const content = kind.startsWith("words") ? breakable(value) : [String(value)];
    const heading = { scope: "row", class: kind };
    return at === 0 ? el("th", heading, ...content) : el("td", { class: kind }, ...content);
  };
  const heading = ({ name, kind }) => el("th", { scope: "col", class: kind }, name);
  const head = el("thead", {}, el("tr", {}, ...columns.map(heading)));
  const body = el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell))));
  const scroller = { class: "wide", tabindex: "0", role: "group", "aria-label": label };
  return el("div", scroller, el("table", {}, head, body));
}

export const tableOrNote = (label, columns, rows, text) =>
  rows.length ? table(label, columns, rows) : note(text);
