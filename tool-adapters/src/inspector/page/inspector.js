"use strict";
// The page of the inspector. Texts of tools, models and users are inserted as text only.

// ---- Elements

const $ = (id) => document.getElementById(id);

/** Creates an element. A property that begins with "on" is a listener, and others are attributes. */
function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

let lastId = 0;
const freshId = () => `e${++lastId}`;
const button = (text, onclick, properties = {}) => el("button", { type: "button", onclick, ...properties }, text);
const chip = (text) => el("span", { class: "chip" }, text);
const report = (text) => { $("status").textContent = text; };

/** Replaces the content of an element, and keeps the focus on the control with the same key. */
function fill(parent, ...children) {
  const key = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  parent.replaceChildren(...children.filter(Boolean));
  if (key) parent.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
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

// ---- JSON that keeps numbers as they were written

class ExactNumber {
  constructor(source) { this.source = source; }
  toJSON() { return JSON.rawJSON ? JSON.rawJSON(this.source) : Number(this.source); }
}

function exactly(_, value, context) {
  const changed = typeof value === "number" && context?.source !== undefined && String(value) !== context.source;
  return changed ? new ExactNumber(context.source) : value;
}

const parseJson = (text) => JSON.parse(text, exactly);
const pretty = (value) => JSON.stringify(value, null, 2) ?? "";

/** The most characters of a text that the page shows. */
const MAX_TEXT = 100_000;

function code(text, label) {
  const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n… ${text.length - MAX_TEXT} more characters` : text;
  return el("pre", { tabindex: "0", role: "group", "aria-label": label }, shown);
}

// ---- Requests

const TOKEN = "inspector-token";

/** Moves the token from the address into the storage of this tab. */
function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!found) return;
  sessionStorage.setItem(TOKEN, found);
  history.replaceState(null, "", location.pathname);
}

const headers = () => ({ authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}` });

async function ask(method, path, body) {
  const token = sessionStorage.getItem(TOKEN);
  const request = { method, headers: headers(), cache: "no-store", credentials: "omit" };
  if (body !== undefined) request.body = JSON.stringify(body);
  const response = await fetch(`/api/${path}`, request);
  const text = await response.text();
  if (response.status === 401) return lock(token);
  if (!response.ok) throw new Error(errorIn(text));
  return parseJson(text);
}

function errorIn(text) {
  try { return JSON.parse(text).error; } catch { return text; }
}

/** Shows the form for the token. The request that was refused does not go on. */
function lock(token) {
  if (sessionStorage.getItem(TOKEN) === token) sessionStorage.removeItem(TOKEN);
  show("locked");
  throw new Error("the server refused the token");
}

const path = (...parts) => parts.map(encodeURIComponent).join("/");

/** Runs a handler, and shows its error. */
function guarded(handler) {
  return async (event) => {
    event?.preventDefault?.();
    try { await handler(event); } catch (error) { report(error.message); }
  };
}

// ---- A list that draws only what is visible

class VirtualList {
  constructor(root, { label, rowHeight, draw, onSelect, detail, key = (item) => item }) {
    Object.assign(this, { root, rowHeight, drawRow: draw, onSelect, detail, key, items: [], index: -1, id: freshId(), drawn: new Map() });
    this.rows = el("div", { class: "rows", role: "presentation" });
    root.append(this.rows);
    root.tabIndex = 0;
    root.setAttribute("role", "listbox");
    root.setAttribute("aria-label", label);
    root.addEventListener("scroll", eachFrame(() => this.draw()));
    root.addEventListener("keydown", (event) => this.press(event));
    root.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(eachFrame(() => this.draw())).observe(root);
  }

  /** Replaces the items. The selection stays at the item with the same key. */
  set(items) {
    const selected = this.items[this.index];
    this.items = items;
    this.index = selected === undefined ? -1 : items.findIndex((item) => this.key(item) === this.key(selected));
    this.rows.style.height = `${items.length * this.rowHeight}px`;
    this.draw();
  }

  /** Draws the rows in sight. Rows that stay keep their elements, so that a click is not lost between press and release. */
  draw() {
    const first = Math.max(0, Math.floor(this.root.scrollTop / this.rowHeight) - 5);
    const last = Math.min(this.items.length, Math.ceil((this.root.scrollTop + this.root.clientHeight) / this.rowHeight) + 5);
    const drawn = new Map();
    for (let at = first; at < last; at += 1) drawn.set(this.key(this.items[at]), this.row(at));
    for (const [key, { row }] of this.drawn) if (!drawn.has(key)) row.remove();
    for (const { row } of drawn.values()) if (!row.isConnected) this.rows.append(row);
    this.drawn = drawn;
    if (this.index >= first && this.index < last) this.root.setAttribute("aria-activedescendant", `${this.id}-${this.index}`);
    else this.root.removeAttribute("aria-activedescendant");
  }

  row(at) {
    const item = this.items[at];
    const known = this.drawn.get(this.key(item)) ?? { row: el("div", { role: "option" }), item: undefined };
    if (known.item !== item) known.row.replaceChildren(...this.drawRow(item));
    const attributes = {
      id: `${this.id}-${at}`, "data-at": at, "aria-selected": at === this.index, "aria-posinset": at + 1, "aria-setsize": this.items.length,
    };
    for (const [name, value] of Object.entries(attributes)) known.row.setAttribute(name, value);
    known.row.style.height = `${this.rowHeight}px`;
    known.row.style.transform = `translateY(${at * this.rowHeight}px)`;
    return { row: known.row, item };
  }

  /** Draws all rows anew. */
  redraw() {
    this.drawn.forEach((known) => { known.item = undefined; });
    this.draw();
  }

  click(event) {
    const row = event.target.closest("[role=option]");
    if (row) this.select(Number(row.dataset.at));
    // On a narrow screen the detail is below the list.
    if (row && matchMedia("(max-width: 60rem)").matches) this.detail.scrollIntoView();
  }

  press(event) {
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || this.items.length === 0) return;
    event.preventDefault();
    this.select(Math.min(this.items.length - 1, Math.max(0, this.index + step)));
  }

  select(index) {
    this.index = index;
    const top = index * this.rowHeight;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    const under = top + this.rowHeight - this.root.clientHeight;
    if (under > this.root.scrollTop) this.root.scrollTop = under;
    this.draw();
    if (this.items[index] !== undefined) this.onSelect(this.items[index]);
  }
}

// ---- Forms of schemas
//
// A field reads itself as JSON text, or as undefined for an absent value, so that numbers stay as they were written.

/** The levels of required objects that a form opens by itself. */
const MAX_DEPTH = 12;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const escapePointer = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

/** Returns a schema with the members of the schemas that it refers to. */
function resolve(schema, root, depth = 0) {
  if (!isObject(schema) || depth > 20) return {};
  const { $ref, allOf, ...own } = schema;
  const parts = [own];
  if (typeof $ref === "string") parts.unshift(resolve(pointedAt(root, $ref), root, depth + 1));
  if (Array.isArray(allOf) && allOf.length === 1) parts.unshift(resolve(allOf[0], root, depth + 1));
  else if (allOf) own.allOf = allOf;
  return Object.assign({}, ...parts);
}

function pointedAt(root, reference) {
  const names = reference.replace(/^#\/?/, "").split("/").filter(Boolean);
  const unescaped = names.map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"));
  return unescaped.reduce((schema, name) => schema?.[name], root);
}

/** Returns the kind of control for a schema, with what it needs. */
function controlOf(given, root) {
  const schema = resolve(given, root);
  const { alternatives, nullable } = alternativesOf(schema, root);
  const as = (kind, more = {}) => ({ kind, schema, nullable, ...more });
  if (alternatives) {
    const { anyOf, oneOf, ...outside } = schema;
    if (alternatives.length === 1) return { ...controlOf({ ...alternatives[0], ...outside }, root), nullable };
    const values = alternatives.map((one) => ("const" in one ? [one.const] : one.enum));
    if (values.every(Array.isArray)) return as("choice", { values: values.flat() });
    return as("union", { alternatives });
  }
  if ("const" in schema) return as("choice", { values: [schema.const] });
  if (Array.isArray(schema.enum)) return as("choice", { values: schema.enum.filter((value) => value !== null) });
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (types.length !== 1 || schema.allOf) return as("json");
  return as(kindOfType(types[0], schema));
}

function alternativesOf(schema, root) {
  const types = [schema.type ?? []].flat();
  const listed = schema.anyOf ?? schema.oneOf;
  const nullable = types.includes("null") || (schema.enum ?? []).includes(null);
  if (!Array.isArray(listed) || schema.properties) return { nullable };
  const all = listed.map((one) => resolve(one, root));
  const alternatives = all.filter((one) => one.type !== "null" && one.const !== null);
  return { alternatives, nullable: nullable || alternatives.length < all.length };
}

function kindOfType(type, schema) {
  const isMap = isObject(schema.additionalProperties) || schema.additionalProperties === true;
  if (type === "object") return schema.properties ? "object" : isMap ? "map" : "json";
  return { array: "array", string: "string", integer: "number", number: "number", boolean: "boolean" }[type] ?? "json";
}

/** Describes the limits of a schema in a line. */
function limitsOf(schema) {
  const words = [
    ["minimum", (v) => `at least ${v}`], ["exclusiveMinimum", (v) => `above ${v}`], ["maximum", (v) => `at most ${v}`],
    ["exclusiveMaximum", (v) => `below ${v}`], ["multipleOf", (v) => `a multiple of ${v}`], ["format", (v) => `format ${v}`],
    ["pattern", (v) => `matches ${v}`], ["minLength", (v) => `at least ${v} characters`], ["maxLength", (v) => `at most ${v} characters`],
    ["minItems", (v) => `at least ${v} items`], ["maxItems", (v) => `at most ${v} items`], ["uniqueItems", (v) => (v ? "no item twice" : null)],
  ];
  const said = words.filter(([name]) => schema[name] !== undefined).map(([name, say]) => say(schema[name]));
  if ("default" in schema) said.push(`default ${pretty(schema.default)}`);
  const type = ["string", "number", "integer", "boolean"].includes(schema.type) ? schema.type : null;
  return [type, ...said].filter(Boolean).join(", ");
}

/** One value of a form. Its parts are the control, the hint, and the problems of the last answer. */
class Field {
  constructor(form, control, name, required) {
    Object.assign(this, { form, schema: control.schema, nullable: control.nullable, name, required, id: freshId() });
    this.problems = el("p", { class: "problem", id: `${this.id}-problem` });
    const hint = [this.schema.description, limitsOf(this.schema)].filter(Boolean).join(" · ");
    this.hint = el("p", { class: "hint", id: `${this.id}-hint` }, hint);
  }

  /** Reads the field, and notes its place for the problems of the answer. */
  read(pointer) {
    this.form.places.set(pointer, this);
    return this.text(pointer);
  }

  show(lines) {
    this.problems.textContent = lines.join("\n");
    const input = this.input ?? this.node;
    if (lines.length) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }

  focus() { (this.input ?? this.node.querySelector("input, select, textarea, button"))?.focus(); }

  described() { return { id: this.id, "aria-describedby": `${this.id}-hint ${this.id}-problem` }; }

  /** Puts a label and the hint around a control. */
  labelled(input) {
    this.input = input;
    const need = el("span", { class: "need" }, this.required ? " required" : " optional");
    this.node = el("div", { class: "field" }, el("label", { for: this.id }, this.name, need), this.hint, input, this.problems);
  }

  /** Puts a legend and the hint around further fields. */
  grouped(...parts) {
    const legend = this.name ? el("legend", {}, this.name, el("span", { class: "need" }, this.required ? " required" : " optional")) : null;
    const group = { class: this.name ? null : "bare", "aria-describedby": `${this.id}-hint ${this.id}-problem` };
    this.node = el("fieldset", group, legend, this.hint, this.problems, ...parts);
  }
}

class TextField extends Field {
  constructor(form, control, name, required, isNumber) {
    super(form, control, name, required);
    this.isNumber = isNumber;
    const placeholder = "default" in this.schema ? pretty(this.schema.default) : null;
    this.labelled(el("input", { ...this.described(), type: "text", autocomplete: "off", spellcheck: "false", placeholder,
      inputmode: isNumber ? "decimal" : null }));
  }

  text() {
    const { value } = this.input;
    if (value === "") return this.required && this.nullable ? "null" : undefined;
    // A text that is no number is sent as it is, so that the answer names the problem.
    return this.isNumber && isJsonNumber(value.trim()) ? value.trim() : JSON.stringify(value);
  }

  write(value) {
    this.input.value = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  }
}

const isJsonNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);

class ChoiceField extends Field {
  constructor(form, control, name, required, values) {
    super(form, control, name, required);
    this.values = values.map((value) => JSON.stringify(value));
    const none = "default" in this.schema ? `(default: ${pretty(this.schema.default)})` : "(not set)";
    const options = this.values.map((text, at) => el("option", { value: text }, typeof values[at] === "string" ? values[at] : text));
    this.labelled(el("select", this.described(), el("option", { value: "" }, none), ...options));
  }

  text() { return this.input.value === "" ? (this.required && this.nullable ? "null" : undefined) : this.input.value; }

  write(value) { this.input.value = value === undefined || value === null ? "" : JSON.stringify(value); }
}

class JsonField extends Field {
  constructor(form, control, name, required) {
    super(form, control, name, required);
    this.labelled(el("textarea", { ...this.described(), rows: "3", spellcheck: "false", placeholder: "JSON" }));
  }

  text() {
    const { value } = this.input;
    if (value.trim() === "") return undefined;
    try { JSON.parse(value); return value; } catch { return JSON.stringify(value); }
  }

  write(value) { this.input.value = value === undefined ? "" : pretty(value); }
}

class ObjectField extends Field {
  constructor(form, control, name, required, depth) {
    super(form, control, name, required);
    this.members = new Map();
    this.body = el("div");
    // The arguments as a whole and required objects are always there.
    this.toggle = depth > 0 && (!required || this.nullable || depth > MAX_DEPTH) ? includeBox(`Include ${name}`, (on) => this.include(on)) : null;
    this.depth = depth;
    this.grouped(this.toggle?.label, this.body);
    if (!this.toggle) this.build();
  }

  get isIncluded() { return !this.toggle || this.toggle.box.checked; }

  include(on) {
    if (this.toggle) this.toggle.box.checked = on;
    if (on) this.build();
    this.body.hidden = !on;
  }

  /** Creates the members at the first use, as a schema may contain itself. */
  build() {
    if (this.members.size) return;
    const required = new Set(this.schema.required ?? []);
    for (const [name, schema] of inOrder(this.schema.properties, this.depth === 0 ? this.form.order : [])) {
      const member = makeField(this.form, schema, name, required.has(name), this.depth + 1);
      this.members.set(name, member);
      this.body.append(member.node);
    }
  }

  text(pointer) {
    if (!this.isIncluded) return this.required && this.nullable ? "null" : undefined;
    const parts = [];
    for (const [name, member] of this.members) {
      const text = member.read(`${pointer}/${escapePointer(name)}`);
      if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`);
    }
    return `{${parts.join(",")}}`;
  }

  write(value) {
    this.include(isObject(value));
    for (const [name, member] of this.members) member.write(isObject(value) ? value[name] : undefined);
  }
}

const inOrder = (properties, order) =>
  Object.entries(properties ?? {}).sort(([a], [b]) => rank(order, a) - rank(order, b));
const rank = (order, name) => (order.includes(name) ? order.indexOf(name) : order.length);

function includeBox(text, onchange) {
  const box = el("input", { id: freshId(), type: "checkbox", onchange: () => onchange(box.checked) });
  return { box, label: el("label", { class: "check" }, box, text) };
}

/** The items of an array, or the members of an object with free names. */
class ListField extends Field {
  constructor(form, control, name, required, depth, isMap) {
    super(form, control, name, required);
    Object.assign(this, { depth, isMap, items: [] });
    this.list = el("div");
    const noun = isMap ? "member" : "item";
    this.toggle = required ? null : includeBox(`Include ${name || "list"}`, () => {});
    this.grouped(this.toggle?.label, this.list, button(`Add ${noun}`, () => this.add().field.focus(), { "aria-label": `Add ${noun} to ${name || "list"}` }));
  }

  add(key = "") {
    if (this.toggle) this.toggle.box.checked = true;
    const number = this.items.length;
    const schema = this.isMap ? this.schema.additionalProperties : this.schema.prefixItems?.[number] ?? this.schema.items ?? {};
    const field = makeField(this.form, schema, `${this.name || "item"} ${number + 1}`, true, this.depth + 1);
    const item = { field };
    const remove = button("Remove", () => this.remove(item), { class: "small", "aria-label": `Remove ${field.name}` });
    if (this.isMap) item.key = el("input", { id: freshId(), type: "text", value: key, "aria-label": `Name of ${field.name}`, autocomplete: "off" });
    item.node = el("div", { class: this.isMap ? "item pair" : "item" }, item.key, field.node, remove);
    this.items.push(item);
    this.list.append(item.node);
    return item;
  }

  remove(item) {
    this.items = this.items.filter((other) => other !== item);
    item.node.remove();
    this.focus();
  }

  text(pointer) {
    const included = this.toggle ? this.toggle.box.checked : true;
    if (!included) return undefined;
    const texts = this.items.map((item, at) => this.itemText(item, pointer, at));
    return this.isMap ? `{${texts.join(",")}}` : `[${texts.join(",")}]`;
  }

  itemText({ key, field }, pointer, at) {
    const name = this.isMap ? key.value : at;
    const text = field.read(`${pointer}/${escapePointer(name)}`) ?? "null";
    return this.isMap ? `${JSON.stringify(name)}:${text}` : text;
  }

  write(value) {
    this.items = [];
    this.list.replaceChildren();
    const isThere = this.isMap ? isObject(value) : Array.isArray(value);
    if (this.toggle) this.toggle.box.checked = isThere;
    if (!isThere) return;
    for (const [key, item] of Object.entries(value)) this.add(key).field.write(item);
  }
}

class UnionField extends Field {
  constructor(form, control, name, required, depth) {
    super(form, control, name, required);
    Object.assign(this, { alternatives: control.alternatives, depth });
    const options = this.alternatives.map((one, at) => el("option", { value: at }, formName(one, at)));
    const none = required ? null : el("option", { value: "" }, "(not set)");
    const properties = { id: freshId(), "aria-label": `Form of ${name || "the value"}`, onchange: () => this.choose(this.choice.value) };
    this.choice = el("select", properties, none, ...options);
    this.body = el("div");
    this.grouped(this.choice, this.body);
    if (required) this.choose("0");
  }

  choose(at) {
    this.choice.value = at;
    this.inner = at === "" ? null : makeField(this.form, this.alternatives[Number(at)], "", true, this.depth + 1, this.name);
    this.body.replaceChildren(...(this.inner ? [this.inner.node] : []));
  }

  text(pointer) {
    const text = this.inner?.read(pointer);
    this.form.places.set(pointer, this.inner?.input ? this.inner : this);
    return text;
  }

  write(value) {
    const fits = this.alternatives.findIndex((one) => fitsRoughly(value, one, this.form.root));
    this.choose(value === undefined || value === null ? (this.required ? "0" : "") : String(Math.max(0, fits)));
    this.inner?.write(value);
  }
}

/** Returns a name for an alternative: its title, its tag, or its type. */
function formName(schema, at) {
  const values = "const" in schema ? [schema.const] : schema.enum;
  if (values) return values.map(String).join(", ");
  const tag = Object.entries(schema.properties ?? {}).find(([, member]) => "const" in member);
  const only = Object.keys(schema.properties ?? {}).length === 1 ? Object.keys(schema.properties)[0] : null;
  return schema.title ?? (tag ? String(tag[1].const) : only) ?? [schema.type ?? `form ${at + 1}`].flat().join(" or ");
}

/** Returns true if a value could be of a schema, by its type, its tags and its required members. */
function fitsRoughly(value, schema, root) {
  if ("const" in schema) return JSON.stringify(value) === JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value));
  const type = Array.isArray(value) ? "array" : value instanceof ExactNumber ? "number" : typeof value;
  const types = [schema.type ?? []].flat().map((name) => (name === "integer" ? "number" : name));
  if (types.length && !types.includes(type)) return false;
  if (type !== "object") return true;
  const members = Object.entries(schema.properties ?? {});
  return (schema.required ?? []).every((name) => name in value)
    && members.every(([name, member]) => !("const" in resolve(member, root)) || !(name in value) || value[name] === resolve(member, root).const);
}

function makeField(form, schema, name, required, depth, label = name) {
  const control = controlOf(schema, form.root);
  const named = ["string", "number", "boolean", "choice", "json"].includes(control.kind) ? label : name;
  switch (depth > MAX_DEPTH && control.kind !== "object" ? "json" : control.kind) {
    case "string": return new TextField(form, control, named, required, false);
    case "number": return new TextField(form, control, named, required, true);
    case "boolean": return new ChoiceField(form, control, named, required, [true, false]);
    case "choice": return new ChoiceField(form, control, named, required, control.values);
    case "object": return new ObjectField(form, control, named, required, depth);
    case "array": return new ListField(form, control, named, required, depth, false);
    case "map": return new ListField(form, control, named, required, depth, true);
    case "union": return new UnionField(form, control, named, required, depth);
    default: return new JsonField(form, control, named, required);
  }
}

/** The arguments of a tool: as a form, or as JSON. */
class ArgumentsForm {
  constructor(schema, order) {
    Object.assign(this, { root: schema, order, places: new Map(), isRaw: false });
    this.field = makeField(this, schema, "", true, 0, "Arguments");
    this.raw = el("textarea", { id: freshId(), rows: "10", spellcheck: "false" });
    this.problems = el("p", { class: "problem" });
    this.rawView = el("div", { class: "field", hidden: true }, el("label", { for: this.raw.id }, "Arguments as JSON"), this.raw);
    this.switches = ["Form", "JSON"].map((name, at) => button(name, () => this.view(at === 1), { "data-key": `view-${name}` }));
    this.node = el("div", {}, el("div", { class: "row", role: "group", "aria-label": "View of the arguments" }, ...this.switches),
      this.problems, this.field.node, this.rawView);
    this.view(false);
  }

  /** Changes the view, and takes the arguments along. JSON that is not valid stays in its view. */
  view(isRaw) {
    if (this.isRaw && !isRaw && !this.take(this.raw.value)) return;
    if (!this.isRaw && isRaw) this.raw.value = pretty(parseJson(this.read()));
    this.isRaw = isRaw;
    [this.field.node.hidden, this.rawView.hidden] = [isRaw, !isRaw];
    this.switches.forEach((one, at) => one.setAttribute("aria-pressed", String((at === 1) === isRaw)));
  }

  take(text) {
    try {
      this.field.write(text.trim() === "" ? {} : parseJson(text));
      return true;
    } catch (error) {
      this.problems.textContent = `This is not JSON: ${error.message}`;
      return false;
    }
  }

  /** Shows an example in the current view. */
  write(text) {
    this.raw.value = text;
    if (!this.isRaw) this.take(text);
  }

  read() {
    this.places.clear();
    return this.isRaw ? this.raw.value : this.field.read("") ?? "{}";
  }

  /** Shows each problem at its field, or at the nearest field around it. */
  show(problems) {
    const lines = new Map();
    for (const problem of problems) {
      const field = this.isRaw ? null : this.fieldAt(problem.pointer);
      lines.set(field, [...(lines.get(field) ?? []), problemText(problem, field && this.places.get(problem.pointer) === field)]);
    }
    for (const field of new Set(this.places.values())) field.show(lines.get(field) ?? []);
    this.problems.textContent = (lines.get(null) ?? []).join("\n");
    if (this.isRaw && problems.length) this.raw.setAttribute("aria-invalid", "true");
    else this.raw.removeAttribute("aria-invalid");
  }

  fieldAt(pointer) {
    for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      if (this.places.has(at)) return this.places.get(at);
    }
    return this.places.get("") ?? null;
  }
}

function problemText({ pointer, expected, got, hint }, isAtPlace) {
  const place = isAtPlace ? "" : `${pointer || "arguments"}: `;
  const text = expected === "" ? got : got === "nothing" ? `missing, expected ${expected}` : `expected ${expected}, got ${got}`;
  return place + text + (hint ? `, ${hint}` : "");
}

// ---- Tools

const app = { tools: [], sessions: [], approvals: [], overview: {}, session: null, target: null, view: null };
/** The forms of tools that were open, so that what was typed stays. */
const forms = new Map();
const MAX_FORMS = 50;

async function loadTools() {
  const { tools } = await ask("GET", "tools");
  for (const tool of tools) tool.found = `${tool.name} ${tool.title ?? ""} ${tool.summary}`.toLowerCase();
  app.tools = tools;
  $("count-tools").textContent = tools.length;
  filterTools();
}

function filterTools() {
  const words = $("tool-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [category, mode] = [$("tool-category").value, $("tool-mode").value];
  const found = app.tools.filter((tool) => words.every((word) => tool.found.includes(word))
    && (!category || tool.category === category) && (!mode || tool.modes.includes(mode)));
  toolList.set(found);
  $("tool-found").textContent = `${found.length} of ${app.tools.length} tools`;
}

const drawTool = (tool) => [
  el("span", { class: "one" }, tool.name),
  el("span", { class: "one dim" }, `${tool.category} · ${tool.modes.join(", ")}${tool.options.length ? ` · ${tool.options.join(", ")}` : ""}`),
];

let toolList;
let opened = 0;

const openTool = guarded(async ({ name }) => {
  const number = ++opened;
  const tool = await ask("GET", `tools/${path(name)}`);
  if (number === opened) fill($("tool-detail"), ...toolView(tool));
});

function formOf(tool) {
  const known = forms.get(tool.name);
  if (known) return known;
  if (forms.size >= MAX_FORMS) forms.delete(forms.keys().next().value);
  const form = new ArgumentsForm(tool.parameters, tool.order);
  if (tool.examples.length) form.write(tool.examples[0]);
  forms.set(tool.name, form);
  return form;
}

function toolView(tool) {
  const form = formOf(tool);
  const result = el("div", { role: "group", "aria-label": "Response" });
  const target = targetPicker(tool);
  app.target = target;
  const call = guarded(() => callTool(tool, form, target, result));
  return [
    el("h2", {}, tool.title ? `${tool.title} (${tool.name})` : tool.name),
    el("div", {}, ...[tool.category, ...tool.modes, ...tool.options].map(chip)),
    el("p", { class: "text" }, tool.description),
    el("p", { class: "dim" }, `${tool.source} · about ${tool.tokens} tokens`),
    el("form", { onsubmit: call, onkeydown: (event) => event.key === "Enter" && event.ctrlKey && call(event), novalidate: true },
      form.node,
      el("div", { class: "row wrap" }, target.node, el("button", { class: "main", "data-key": "call" }, "Call"), examplePicker(tool, form))),
    result,
    ...toolDetails(tool),
  ];
}

/** A choice between a bare call, or one in a new session, and the open sessions. */
function targetPicker(tool) {
  const select = el("select", { id: freshId(), class: "target" });
  const refill = () => {
    const open = app.sessions.map((one) => el("option", { value: `s:${one.id}` }, `in session ${one.id} (${one.mode})`));
    const where = app.overview.sessionsOnly ? "in a new session" : "without a session";
    const bare = tool.modes.map((mode) => el("option", { value: `m:${mode}` }, `${where}, ${mode}`));
    const wanted = select.value || `s:${app.session}`;
    select.replaceChildren(...bare, ...open);
    select.value = wanted;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  };
  refill();
  select.addEventListener("change", () => { app.session = select.value.startsWith("s:") ? select.value.slice(2) : null; });
  return { node: el("span", { class: "row" }, el("label", { for: select.id }, "Where"), select), select, refill };
}

function examplePicker(tool, form) {
  if (tool.examples.length === 0) return null;
  const options = tool.examples.map((_, at) => el("option", { value: at }, `example ${at + 1}`));
  return el("select", { id: freshId(), "aria-label": "Fill in an example", onchange: (event) => form.write(tool.examples[event.target.value]) }, ...options);
}

async function callTool(tool, form, { select }, result) {
  const [kind, name] = [select.value.slice(0, 1), select.value.slice(2)];
  const to = kind === "s" ? { session: name } : { mode: name };
  const text = form.read();
  const id = `inspector_${crypto.getRandomValues(new Uint32Array(2)).join("_")}`;
  report(`Calling ${tool.name} …`);
  app.calling = { id, progress: el("div", { class: "progress", "aria-live": "polite" }), result };
  result.prepend(app.calling.progress);
  const answer = await ask("POST", "call", { tool: tool.name, arguments: text, id, ...to }).finally(() => app.calling?.progress.remove());
  const { envelope } = answer.response;
  form.show(envelope.meta.problems ?? []);
  report(envelope.ok ? `${tool.name} succeeded` : `${tool.name}: ${envelope.error.type}`);
  fill(result, ...responseView(answer, form));
  if (answer.session) {
    app.session = answer.session.id;
    updateSession(answer.session);
  }
}

/** Shows how far the call of the page is. */
function drawProgress() {
  const { id, progress } = app.calling ?? {};
  const call = traces.running.find((span) => span.callId === id);
  if (call && progress.isConnected) progress.replaceChildren(el("p", {}, `Running for ${duration(lengthOf(call))}`), ...progressView(call));
}

function progressView({ updates }) {
  const last = updates?.at(-1);
  const known = updates?.findLast((update) => update.fraction !== null);
  if (!last) return [];
  const bar = known ? el("progress", { max: "1", value: String(known.fraction), "aria-label": "Completed part" }) : null;
  return [bar, el("ul", {}, ...updates.map((update) => el("li", {}, percented(update))))].filter(Boolean);
}

const percented = ({ message, fraction }) => (fraction === null ? message : `${Math.round(100 * fraction)} % ${message}`);

function responseView({ response, session }, form) {
  const { envelope, model } = response;
  const { meta } = envelope;
  return [
    el("div", { class: "result" },
      el("h3", { class: envelope.ok ? "good" : "wrong" }, envelope.ok ? "Success" : envelope.error.type),
      el("p", { class: "dim" }, `${meta.durationMs} ms · ${meta.sizeChars} characters · about ${meta.tokenEstimate} tokens`),
      envelope.ok ? code(pretty(envelope.data), "Data") : errorView(envelope.error),
      problemList(meta.problems ?? [], form),
      bullets("Warnings", meta.warnings), bullets("Coerced arguments", meta.coerced),
      envelope.intents?.length ? section("Intents", code(pretty(envelope.intents), "Intents")) : null,
      meta.confirmation ? el("p", {}, "The call waits for approval. ", button("Show approvals", () => show("approvals"), { class: "link" })) : null,
      session ? budgetView(session) : null, session ? capView(session) : null,
      el("details", {}, el("summary", {}, "Envelope"), code(pretty(envelope), "Envelope")),
      el("details", {}, el("summary", {}, "Text for the model"), code(model, "Text for the model"))),
  ];
}

const errorView = (error) => el("div", {}, el("p", { class: "text" }, error.message),
  el("p", { class: "dim" }, `${error.retryable ? "May be tried again" : "Not to be tried again"}${error.partialSideEffects ? ", may have had effects" : ""}`));

function problemList(problems, form) {
  if (problems.length === 0) return null;
  const line = (problem) => el("li", {}, button(problemText(problem, false), () => form?.fieldAt(problem.pointer)?.focus(), { class: "link" }));
  return section("Problems", el("ul", {}, ...problems.map(line)));
}

const section = (title, ...children) => el("div", {}, el("h3", {}, title), ...children);
const bullets = (title, lines) => (lines?.length ? section(title, el("ul", {}, ...lines.map((line) => el("li", {}, line)))) : null);

function toolDetails(tool) {
  const details = (title, text) => (text ? el("details", {}, el("summary", {}, title), code(text, title)) : null);
  return [
    details("Schema of the arguments", pretty(tool.parameters)), details("Schema of the result", tool.output && pretty(tool.output)),
    details("Result", tool.returns), details("Guide", tool.guide), declarationView(tool),
  ];
}

// ---- Declarations

function declarationView(tool) {
  const out = el("div");
  const provider = el("select", { id: freshId() }, ...(app.overview.providers ?? []).map((name) => el("option", {}, name)));
  const strict = el("input", { id: freshId(), type: "checkbox" });
  const load = guarded(async () => {
    const found = await ask("POST", `tools/${path(tool.name)}/declarations/${path(provider.value)}`, { strict: strict.checked });
    fill(out, ...declared(found));
  });
  for (const control of [provider, strict]) control.addEventListener("change", load);
  const fold = el("details", { class: "declarations" }, el("summary", {}, "Declaration to a provider"),
    el("div", { class: "row wrap" }, el("label", { for: provider.id }, "Provider"), provider, el("label", { class: "check" }, strict, "Strict")), out);
  fold.addEventListener("toggle", () => fold.open && load());
  return fold;
}

function declared({ declaration, settings, report: of, nameAmongAll, warnings }) {
  const facts = [["Declared as", nameAmongAll ?? of?.declaredAs ?? "(refused)"], ["Strict", of?.strict ? "yes" : "no"], ["Tokens", of?.tokens ?? 0]];
  if (of?.refused) facts.push(["Refused", pretty(of.refused)]);
  if (of?.notStrict) facts.push(["Not strict", pretty(of.notStrict)]);
  const changes = (of?.changes ?? []).map((change) => [change.pointer || "/", change.keyword, change.kind, change.detail]);
  return [el("div", { class: "columns" },
    section("Declaration", code(pretty(declaration), "Declaration"), Object.keys(settings).length ? code(pretty(settings), "Settings of the request") : null),
    section("Report", factList(facts), changes.length ? table("Changes", ["Place", "Keyword", "Change", "Detail"], changes) : el("p", {}, "No change."),
      bullets("Warnings", warnings)))];
}

const factList = (pairs) => el("dl", {}, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));

function table(label, head, rows) {
  const cell = (value) => el("td", { class: typeof value === "number" ? null : "text" }, String(value));
  const row = ([first, ...rest]) => el("tr", {}, el("th", { scope: "row" }, String(first)), ...rest.map(cell));
  return el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": label }, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...rows.map(row))));
}

const tableOrNote = (label, head, rows, note) => (rows.length ? table(label, head, rows) : el("p", { class: "dim" }, note));

// ---- Sessions

function setSessions(sessions) {
  app.sessions = sessions;
  $("count-sessions").textContent = sessions.length || "";
  const line = (one) => el("li", {}, button(`${one.id} · ${one.mode} · turn ${one.turn}${one.principal ? ` · ${one.principal}` : ""}`,
    guarded(() => openSession(one.id)), { "data-key": `session-${one.id}`, "aria-current": String(one.id === app.session) }));
  fill($("session-list"), ...sessions.map(line));
  app.target?.refill();
}

function updateSession(session) {
  setSessions([...app.sessions.filter((one) => one.id !== session.id), session].filter((one) => !one.ended));
}

async function openSession(id) {
  app.session = id;
  const [session, messages] = await Promise.all([ask("GET", `sessions/${path(id)}`), ask("GET", `sessions/${path(id)}/messages`)]);
  updateSession(session);
  fill($("session-detail"), ...sessionView(session, messages));
}

const createSession = guarded(async () => {
  const opening = { id: $("session-id").value, mode: $("session-mode").value, principal: $("session-principal").value };
  const session = await ask("POST", "sessions", opening);
  report(`Opened session ${session.id}`);
  updateSession(session);
  await openSession(session.id);
});

function sessionView(session, messages) {
  const at = `sessions/${path(session.id)}`;
  const act = (work, text) => guarded(async () => { await work(); report(text); await openSession(session.id); });
  const other = session.mode === "voice" ? "text" : "voice";
  return [
    el("h2", {}, `Session ${session.id}`),
    factList([["Mode", session.mode], ["Principal", session.principal || "(none)"], ["Turn", session.turn], ["Visible tools", session.visibleTools],
      ["Calls", `${session.totalCalls}, ${session.totalErrors} failed`]]),
    el("div", { class: "row wrap" },
      button("Next turn", act(() => nextTurn(at), "The next turn has begun"), { "data-key": "turn" }),
      button(`Switch to ${other}`, act(() => ask("POST", `${at}/mode`, { mode: other }), `The mode is ${other}`), { "data-key": "mode" }),
      button("Refresh", () => guarded(() => openSession(session.id))(), { "data-key": "refresh" }),
      button("End", guarded(() => endSession(session.id)), { "data-key": "end" })),
    budgetView(session), capView(session), loopView(session),
    section("State", code(pretty(session.state), "State")),
    section("Audit log", tableOrNote("Audit log", ["Time", "Tool", "Call", "Outcome", "Decided by", "Intents"], session.audit.map(auditRow), "Empty.")),
    section("Calls", tableOrNote("Calls", ["Tool", "Turn", "Outcome", "ms", "Arguments"], session.calls.map(callRow), "None.")),
    conversationView(session, messages),
  ];
}

async function nextTurn(at) {
  const { turn } = await ask("POST", `${at}/turn`);
  if (turn.pendingMessage) report(`Message for this turn: ${turn.pendingMessage}`);
}

async function endSession(id) {
  await ask("DELETE", `sessions/${path(id)}`);
  app.session = null;
  setSessions(app.sessions.filter((one) => one.id !== id));
  fill($("session-detail"), el("p", {}, `Session ${id} has ended.`));
}

function auditRow({ at, tool, callId, outcome, decision, intents }) {
  const result = outcome.error ? `${outcome.is}: ${outcome.error}` : outcome.is;
  const decided = decision ? `${decision.approved ? "approved" : "denied"} by ${decision.by || "(no name)"}` : "";
  return [at, tool, callId, result, decided, (intents ?? []).map((one) => `${JSON.stringify(one.intent)}: ${one.effect}`).join("; ")];
}
const callRow = (call) => [call.tool, call.turn, call.ok ? "ok" : call.error, call.durationMs, JSON.stringify(call.arguments)];

function budgetView({ budgets }) {
  const limited = budgets.filter((budget) => budget.limit !== null);
  const rows = limited.map((budget) => [budget.name, budget.limit, budget.used ?? "unknown", budget.left ?? "unknown"]);
  return section("Budget of the turn", tableOrNote("Budget of the turn", ["Budget", "Limit", "Used", "Left"], rows, "Without limits."));
}

function capView({ caps }) {
  if (caps.length === 0) return null;
  const amount = (of, value) => (of === "cost" ? `$${Number(value)}` : duration(1000 * Number(value.source ?? value)));
  const known = (one, value) => (value === null ? (one.scope === "call" ? "of each call" : "unknown") : amount(one.of, value));
  const rows = caps.map((one) => [`${one.of} of a ${one.scope}`, amount(one.of, one.limit), known(one, one.used), known(one, one.left)]);
  return section("Caps on cost and time", table("Caps on cost and time", ["Cap", "Limit", "Used", "Left"], rows));
}

function loopView({ loops }) {
  if (!loops.tools) return section("Loop detection", el("p", { class: "dim" }, "The session store counts for itself."));
  const rows = loops.tools.map(([name, tool]) => [name, tool.calls, tool.mostEqualAttempts, tool.emptyResults]);
  const attempt = `Attempt ${loops.refusedAttempt ?? "(none)"} with equal arguments is refused`;
  const empty = `a call after ${loops.maxEmptyResults ?? "any number of"} empty results too.`;
  return section("Loop detection", el("p", { class: "dim" }, `${attempt}, ${empty}`),
    rows.length ? table("Loop detection", ["Tool", "Calls", "Equal attempts", "Empty results"], rows) : null);
}

// ---- Conversations

const SCRIPT = '[{"says": "Hello."}]';

function conversationView(session, messages) {
  const log = el("div", { role: "log", "aria-label": "Conversation", tabindex: "0" }, ...messages.map(messageView));
  const text = el("input", { id: freshId(), type: "text", autocomplete: "off", "data-key": "say" });
  text.value = app.message ?? "";
  text.addEventListener("input", () => { app.message = text.value; });
  const script = el("textarea", { id: freshId(), rows: "4", spellcheck: "false", "data-key": "script" });
  script.value = app.script ?? (app.overview.model ? "" : SCRIPT);
  script.addEventListener("input", () => { app.script = script.value; });
  const hint = app.overview.model ? `Leave the script empty to ask ${app.overview.model}.` : "The program gave no model, so a script answers.";
  const send = guarded(async () => {
    const steps = script.value.trim() === "" ? null : parseJson(script.value);
    app.message = "";
    const reply = await ask("POST", `sessions/${path(session.id)}/messages`, { text: text.value, script: steps });
    await openSession(session.id);
    const ended = reply.finish === "complete" ? "The model has replied" : `The reply ended: ${reply.finish}`;
    report(reply.error ?? ended);
  });
  return section("Conversation", log, el("form", { onsubmit: send },
    el("div", { class: "field" }, el("label", { for: text.id }, "Message"), text),
    el("div", { class: "field" }, el("label", { for: script.id }, "Steps of the model"),
      el("p", { class: "hint" }, `${hint} A step is {"says": …} or {"calls": [{"name": …, "arguments": {…}}]}.`), script),
    el("button", { "data-key": "send" }, "Send")));
}

function messageView(message) {
  const calls = (message.calls ?? []).map((call) => `${call.name} ${call.arguments}`);
  const from = message.from === "tool" ? `${message.tool}${message.isError ? " (error)" : ""}` : message.from;
  return el("p", { class: `message ${message.from}` }, el("strong", {}, `${from}: `), [message.text, ...calls].filter(Boolean).join("\n"));
}

// ---- Approvals

function setApprovals(approvals) {
  app.approvals = approvals;
  $("count-approvals").textContent = approvals.length || "";
  const none = el("li", { class: "dim" }, "No call waits.");
  fill($("approval-list"), ...(approvals.length ? approvals.map(approvalView) : [none]));
}

function approvalView(approval) {
  const decision = (name) => guarded(() => decide(approval, name));
  return el("li", {},
    el("h3", {}, approval.summary),
    factList([["Tool", approval.tool], ["Session", approval.session], ["Principal", approval.principal || "(none)"], ["Turn", approval.turn],
      ["Call", approval.callId], ["Expires", new Date(approval.expiresAtMs).toLocaleString()]]),
    approval.isRedacted ? el("p", { class: "wrong" }, "A part of the arguments is redacted.") : null,
    el("details", {}, el("summary", {}, "Whole call"), code(approval.payload, "Whole call"), el("p", { class: "dim" }, approval.digest)),
    el("div", { class: "row" },
      button("Approve", decision("approve"), { class: "main", "aria-label": `Approve ${approval.tool}`, "data-key": `approve-${approval.id}` }),
      button("Deny", decision("deny"), { "aria-label": `Deny ${approval.tool}`, "data-key": `deny-${approval.id}` })));
}

async function decide(approval, name) {
  const answer = await ask("POST", `approvals/${path(approval.id)}/${name}`);
  const { envelope } = answer.response;
  report(envelope.ok ? `${approval.tool} has run` : `${approval.tool}: ${envelope.error.type}`);
  fill($("approval-result"), ...responseView(answer, null));
  setApprovals(app.approvals.filter((one) => one.id !== approval.id));
  $("h-approvals").tabIndex = -1;
  $("h-approvals").focus();
}

// ---- Traces

const MAX_SPANS = 10_000;
/** The time after which the bars of running spans grow, in milliseconds. */
const GROWTH = 500;
const traces = { spans: [], running: [], rows: [], lost: 0, waiting: [], clock: 0, shown: null };
let spanList;

function addSpans({ spans, lost }) {
  traces.lost += lost;
  // An ended span is no longer a running one, whichever event comes first.
  const ended = new Set(spans.map(keyOfSpan));
  traces.running = traces.running.filter((span) => !ended.has(keyOfSpan(span)));
  const into = $("span-pause").checked ? traces.waiting : traces.spans;
  into.push(...spans);
  into.splice(0, into.length - MAX_SPANS);
  $("count-traces").textContent = traces.spans.length || "";
  if (into === traces.spans) orderSpans();
}

function takeRunning({ nowMs, spans }) {
  traces.clock = nowMs - Date.now();
  traces.running = spans;
  drawProgress();
  if (!$("span-pause").checked) orderSpans();
}

/** Returns the milliseconds of a span, of a running one so far by the clock of the server. */
const lengthOf = (span) => span.durationMs ?? Math.max(0, Date.now() + traces.clock - span.startMs);
const isRunning = (span) => span.status === "running";
const hasFailed = (span) => span.status !== "ok" && !isRunning(span);

function growRunning() {
  if (traces.running.length === 0 || document.hidden) return;
  drawProgress();
  if (!$("span-pause").checked) orderSpans();
}

/** Puts each span behind the one that it is inside of, the newest trace first and siblings by their start. */
const orderSpans = eachFrame(() => {
  if (app.view !== "traces") return;
  traces.rows = treeOf([...traces.spans, ...traces.running]);
  filterSpans();
  // The detail of a running span follows it until it has ended.
  const shown = traces.shown && traces.rows.find(({ span }) => keyOfSpan(span) === keyOfSpan(traces.shown));
  if (shown && isRunning(traces.shown)) showSpan(shown);
});

const keyOf = (trace, id) => `${trace}/${id}`;
const keyOfSpan = (span) => keyOf(span.trace, span.id);

function treeOf(spans) {
  const byKey = new Map(spans.map((span) => [keyOfSpan(span), { span, children: [], depth: 0 }]));
  const roots = [];
  for (const node of byKey.values()) {
    const parent = byKey.get(keyOf(node.span.trace, node.span.parent));
    (parent && parent !== node ? parent.children : roots).push(node);
  }
  const rows = [];
  const ahead = byStart(roots);
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

/** Notes on each row the time that its trace covers, as far as the page has it. */
function withWindows(rows) {
  const windows = new Map();
  for (const { span } of rows) {
    const known = windows.get(span.trace) ?? { start: Infinity, end: 0 };
    windows.set(span.trace, { start: Math.min(known.start, span.startMs), end: Math.max(known.end, span.startMs + lengthOf(span)) });
  }
  for (const row of rows) row.window = windows.get(row.span.trace);
  const all = [...windows.values()];
  traces.window = { start: all.reduce((least, one) => Math.min(least, one.start), Infinity), end: all.reduce((most, one) => Math.max(most, one.end), 0) };
  return rows;
}

function filterSpans() {
  const text = $("span-search").value.toLowerCase();
  const [kind, failed] = [$("span-kind").value, $("span-errors").checked];
  const rows = traces.rows.filter(({ span }) => (!kind || span.kind === kind) && (!failed || hasFailed(span)) && (!text || textOf(span).includes(text)));
  spanList.set(rows);
  const lost = traces.lost ? `, ${traces.lost} more were not kept` : "";
  const running = traces.running.length ? `, ${traces.running.length} running` : "";
  $("span-found").textContent = `${rows.length} of ${traces.rows.length} spans${running}${lost}`;
}

/** Returns the text in which a span is searched, and keeps it. */
function textOf(span) {
  span.text ??= `${span.kind}:${span.name} ${span.error?.kind ?? ""} ${span.error?.message ?? ""} ${span.callId ?? ""}`.toLowerCase();
  return span.text;
}

function drawSpan({ span, depth, window: own }) {
  const { start, end } = $("span-scale").value === "all" ? traces.window : own;
  const percent = (ms) => (100 * ms) / Math.max(end - start, 1e-6);
  const bar = el("span", { class: `bar ${span.kind} ${hasFailed(span) ? "failed" : isRunning(span) ? "running" : ""}` });
  bar.style.left = `min(${percent(span.startMs - start)}%, 100% - 3px)`;
  bar.style.width = `${Math.min(percent(lengthOf(span)), 100 - percent(span.startMs - start))}%`;
  const label = el("span", { class: "one" }, el("span", { class: `kind ${span.kind}` }, span.kind), " ", el("bdi", {}, span.name),
    hasFailed(span) ? el("span", { class: "wrong" }, ` ${span.error?.kind ?? span.status}`) : null,
    isRunning(span) ? el("span", { class: "state" }, " running") : null,
    span.updates?.length ? el("span", { class: "dim" }, ` ${percented(span.updates.at(-1))}`) : null);
  label.style.paddingLeft = `${Math.min(depth, 12) * 0.75}rem`;
  return [el("span", { class: "span" }, label, el("span", { class: "track", "aria-hidden": "true" }, bar),
    el("span", { class: "took" }, duration(lengthOf(span))))];
}

function duration(ms) {
  if (ms < 0.001) return `${Math.round(ms * 1e6)} ns`;
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  return ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

function showSpan({ span, depth }) {
  traces.shown = span;
  const { "gen_ai.tool.call.arguments": input, "gen_ai.tool.call.result": output, ...others } = span.attributes ?? {};
  const cost = (span.cost ?? []).map((use) => [use.model, use.dollars === null ? "unknown" : `$${Number(use.dollars)}`, use.times, pretty(use.usage)]);
  fill($("span-detail"),
    el("h3", {}, el("span", { class: span.kind }, span.kind), " ", el("bdi", {}, span.name)),
    factList([["Status", span.status], ["Duration", `${duration(lengthOf(span))}${isRunning(span) ? " so far" : ""}`], ["Began", new Date(span.startMs).toISOString()], ["Depth", depth],
      ...(span.callId ? [["Call", span.callId]] : []), ["Trace", span.trace], ["Span", span.id]]),
    span.error ? section("Error", el("p", { class: "wrong text" }, `${span.error.kind}${span.error.message ? `: ${span.error.message}` : ""}`)) : null,
    span.updates?.length ? section("Progress", ...progressView(span)) : null,
    input === undefined ? null : section("Input", code(shownJson(input), "Input")),
    output === undefined ? null : section("Output", code(shownJson(output), "Output")),
    cost.length ? section("Cost", table("Cost", ["Model", "Cost", "Uses", "Tokens"], cost)) : null,
    Object.keys(others).length ? section("Attributes", code(pretty(others), "Attributes")) : null);
}

function shownJson(text) {
  try { return pretty(parseJson(text)); } catch { return String(text); }
}

function pauseSpans() {
  if ($("span-pause").checked) return;
  addSpans({ spans: traces.waiting.splice(0), lost: 0 });
  orderSpans();
}

function clearSpans() {
  traces.spans = [];
  traces.lost = 0;
  $("count-traces").textContent = "";
  fill($("span-detail"), el("p", { class: "dim" }, "Select a span."));
  orderSpans();
}

// ---- Metrics

const MAX_SAMPLES = 120;
const MAX_BARS = 15;
const MAX_ROWS = 200;
const metrics = { document: null, samples: [] };

const sum = (object) => Object.values(object ?? {}).reduce((total, count) => total + count, 0);

/** Takes a sample of the number of calls each second, so that the chart moves without calls too. */
function sampleCalls() {
  if (!metrics.document) return;
  metrics.samples.push(sum(metrics.document.calls));
  metrics.samples.splice(0, metrics.samples.length - MAX_SAMPLES - 1);
  if (app.view === "metrics") drawCharts();
}

function drawCharts() {
  const figures = metrics.document;
  if (!figures) return;
  const rates = metrics.samples.slice(1).map((count, at) => Math.max(0, count - metrics.samples[at]));
  const errors = {};
  for (const kinds of Object.values(figures.errors)) for (const [kind, count] of Object.entries(kinds)) errors[kind] = (errors[kind] ?? 0) + count;
  fill($("charts"),
    lineChart("Calls a second", rates),
    barChart("Calls of a tool", Object.entries(figures.calls)),
    barChart("95th percentile of the latency, ms", Object.entries(figures.latency).map(([name, of]) => [name, of.p95])),
    barChart("Errors", Object.entries(errors), "bad"),
    barChart("Cost of a model, dollars", Object.entries(figures.cost.models).map(([name, of]) => [name, of.dollars])),
    el("figure", { class: "chart" }, el("figcaption", {}, "Sessions and context"), factList([
      ["Open sessions", figures.loopDetection.activeSessions], ["Turns tracked", figures.loopDetection.totalTurnsTracked],
      ["Tokens at session start", figures.context.sessionInitTokens], ["Tokens of declarations", figures.context.toolDeclTokens],
      ["Largest context", figures.context.peakTokens], ["Cost", `$${figures.cost.total.dollars}`]])));
}

function drawTable() {
  const { calls, errors, latency, refusals, responseSizes, responseTokens, slowCalls } = metrics.document;
  const names = Object.keys(calls).sort((a, b) => calls[b] - calls[a]).slice(0, MAX_ROWS);
  const rows = names.map((name) => [name, calls[name], sum(errors[name]), sum(refusals[name]), slowCalls[name], latency[name].p50, latency[name].p95, latency[name].p99,
    responseSizes[name].p95, Math.round(responseTokens[name].avg)]);
  const head = ["Tool", "Calls", "Errors", "Refused", "Slow", "p50 ms", "p95 ms", "p99 ms", "p95 characters", "Mean tokens"];
  const wide = table("Metrics of each tool", head, rows);
  fill($("metric-table"), wide.firstChild);
}

function chart(title, text, height, ...parts) {
  return el("figure", { class: "chart" }, el("figcaption", {}, title),
    svg("svg", { viewBox: `0 0 320 ${height}`, role: "img", "aria-label": `${title}: ${text}` }, ...parts));
}

function lineChart(title, values) {
  const most = Math.max(1, ...values);
  const point = (value, at) => `${((320 * at) / Math.max(values.length - 1, 1)).toFixed(1)},${(95 - (80 * value) / most).toFixed(1)}`;
  return chart(title, `now ${values.at(-1) ?? 0}, at most ${most}`, 100,
    svg("line", { x1: 0, x2: 320, y1: 95, y2: 95 }), svg("polyline", { points: values.map(point).join(" ") }), svg("text", { x: 2, y: 11 }, `${most}`));
}

function barChart(title, entries, colour = "fill") {
  const shown = entries.filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]).slice(0, MAX_BARS);
  const most = shown[0]?.[1] ?? 1;
  const bars = shown.flatMap(([name, value], at) => [
    svg("text", { x: 0, y: at * 22 + 14 }, cut(name, 22)),
    svg("rect", { class: colour, x: 150, y: at * 22 + 5, height: 12, width: Math.max(1, (110 * value) / most).toFixed(1) }),
    svg("text", { x: 320, y: at * 22 + 14, "text-anchor": "end" }, brief(value)),
  ]);
  const text = shown.map(([name, value]) => `${name} ${brief(value)}`).join(", ") || "none";
  return chart(title, text, Math.max(22, shown.length * 22), ...(shown.length ? bars : [svg("text", { x: 0, y: 14 }, "none")]));
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const brief = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3))));

// ---- Events

/** The time before the next attempt to read events, in milliseconds. */
const RETRY = 2_000;
let lastEvent = 0;

/** Reads events for as long as the page is open. `EventSource` cannot send the token in a header. */
async function readEvents() {
  for (;;) {
    try {
      const response = await fetch(`/api/events/${lastEvent}`, { headers: headers(), cache: "no-store", credentials: "omit" });
      if (response.status === 401) return;
      if (!response.ok) throw new Error(errorIn(await response.text()));
      report("Connected");
      await readLines(response.body);
      report("The server has closed the connection");
      takeRunning({ nowMs: Date.now(), spans: [] });
    } catch (error) {
      report(`No connection: ${error.message}`);
    }
    await new Promise((done) => { setTimeout(done, RETRY); });
  }
}

async function readLines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    events.forEach(takeEvent);
  }
}

function takeEvent(text) {
  const members = Object.fromEntries(text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trimStart()]));
  if (members.id) lastEvent = Number(members.id);
  if (members.event === "spans") addSpans(JSON.parse(members.data));
  if (members.event === "running") takeRunning(JSON.parse(members.data));
  if (members.event === "metrics") takeMetrics(JSON.parse(members.data));
  if (members.event === "sessions") takeSessions(JSON.parse(members.data));
}

function takeMetrics(figures) {
  metrics.document = figures;
  if (app.view === "metrics") { drawCharts(); drawTable(); }
}

function takeSessions({ sessions, approvals }) {
  setSessions(sessions);
  setApprovals(approvals);
}

// ---- Views

function show(view) {
  app.view = view;
  for (const one of document.querySelectorAll("main > section")) one.hidden = one.id !== `view-${view}`;
  for (const one of document.querySelectorAll("nav button")) {
    if (one.dataset.view === view) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  if (view === "traces") orderSpans();
  if (view === "metrics" && metrics.document) { drawCharts(); drawTable(); }
  if (view === "sessions" && app.session) guarded(() => openSession(app.session))();
}

const unlock = guarded(async () => {
  sessionStorage.setItem(TOKEN, $("token").value.trim());
  await start();
});

async function start() {
  app.overview = await ask("GET", "overview");
  show("tools");
  await loadTools();
  readEvents();
}

/** Does work once in a frame after input. */
const onInput = (id, work) => $(id).addEventListener("input", eachFrame(work));

function listen() {
  toolList = new VirtualList($("tool-list"), { label: "Tools", rowHeight: 56, draw: drawTool, onSelect: openTool, detail: $("tool-detail") });
  spanList = new VirtualList($("span-list"), {
    label: "Spans", rowHeight: 28, draw: drawSpan, onSelect: showSpan, detail: $("span-detail"), key: (row) => keyOfSpan(row.span),
  });
  for (const id of ["tool-search", "tool-category", "tool-mode"]) onInput(id, filterTools);
  for (const id of ["span-search", "span-kind", "span-errors"]) onInput(id, filterSpans);
  $("span-scale").addEventListener("change", () => spanList.redraw());
  $("span-pause").addEventListener("change", pauseSpans);
  $("span-clear").addEventListener("click", clearSpans);
  $("open-session").addEventListener("submit", createSession);
  $("unlock").addEventListener("submit", unlock);
  for (const one of document.querySelectorAll("nav button")) one.addEventListener("click", () => show(one.dataset.view));
  setInterval(sampleCalls, 1_000);
  setInterval(growRunning, GROWTH);
}

takeToken();
listen();
guarded(start)();
