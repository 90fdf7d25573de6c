// Forms of schemas. A field reads itself as JSON text, or as undefined for an absent value, so that numbers stay as they were
// written.

import { button, el, freshId, labelled, note } from "./elements.js";
import { ExactNumber, inline, isObject, parseJson, pretty } from "./exact.js";

/** The levels of required objects that a form opens by itself. */
const MAX_DEPTH = 12;

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
  const unescaped = names.map((name) =>
    decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"),
  );
  return unescaped.reduce((schema, name) => schema?.[name], root);
}

/** Returns the kind of control for a schema, with what it needs. */
function controlOf(given, root) {
  const schema = resolve(given, root);
  const { alternatives, nullable } = alternativesOf(schema, root);
  const as = (kind, more = {}) => ({ kind, schema, nullable, ...more });
  if (alternatives) {
    const { anyOf, oneOf, ...outside } = schema;
    if (alternatives.length === 1) {
      return { ...controlOf({ ...alternatives[0], ...outside }, root), nullable };
    }
    const values = alternatives.map((one) => ("const" in one ? [one.const] : one.enum));
    if (values.every(Array.isArray)) return as("choice", { values: values.flat() });
    return as("union", { alternatives });
  }
  if ("const" in schema) return as("choice", { values: [schema.const] });
  if (Array.isArray(schema.enum)) {
    return as("choice", { values: schema.enum.filter((value) => value !== null) });
  }
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

const KINDS = {
  array: "array",
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
};

function kindOfType(type, schema) {
  if (type !== "object") return KINDS[type] ?? "json";
  if (schema.properties) return "object";
  const isMap = isObject(schema.additionalProperties) || schema.additionalProperties === true;
  return isMap ? "map" : "json";
}

/** Returns a value of JSON in words: an empty text has its quotes. */
const named = (value) => inline(value) || '""';

/** The limits of a schema, in words. A value may be any JSON, as schemas are foreign. */
const LIMITS = {
  minimum: (value) => `at least ${value}`,
  exclusiveMinimum: (value) => `above ${value}`,
  maximum: (value) => `at most ${value}`,
  exclusiveMaximum: (value) => `below ${value}`,
  multipleOf: (value) => `a multiple of ${value}`,
  format: (value) => `format ${value}`,
  pattern: (value) => `matches ${value}`,
  minLength: (value) => `at least ${value} characters`,
  maxLength: (value) => `at most ${value} characters`,
  minItems: (value) => `at least ${value} items`,
  maxItems: (value) => `at most ${value} items`,
  uniqueItems: () => "no item twice",
};

/** Describes the limits of a schema in a line. */
function limitsOf(schema) {
  const words = [schema.type ?? []].flat().filter((type) => SCALARS.has(type));
  for (const [name, say] of Object.entries(LIMITS)) {
    const isSet = schema[name] !== undefined && schema[name] !== false;
    if (isSet) words.push(say(named(schema[name])));
  }
  if (hasDefault(schema)) words.push(`default ${named(schema.default)}`);
  return words.join(", ");
}

const SCALARS = new Set(["string", "number", "integer", "boolean"]);

/** Returns true if an absent value has a default. `null` says only that it is absent. */
const hasDefault = (schema) => schema.default !== undefined && schema.default !== null;

/** One value of a form. Its parts are the control, the hint, and the problems of the last answer. */
class Field {
  constructor(form, control, name, required) {
    Object.assign(this, {
      form,
      schema: control.schema,
      nullable: control.nullable,
      name,
      required,
      id: freshId(),
    });
    this.problems = el("p", { class: "problem", id: `${this.id}-problem` });
    const limits = limitsOf(this.schema);
    this.hint = el(
      "div",
      { class: "hint", id: `${this.id}-hint` },
      this.schema.description ? el("p", {}, this.schema.description) : null,
      limits ? el("p", {}, limits) : null,
    );
  }

  /** Returns the text of a value that was left out: a required one that may be null is null. */
  absent() {
    return this.required && this.nullable ? "null" : undefined;
  }

  /** Reads the field, and notes its place for the problems of the answer. */
  read(pointer) {
    this.form.places.set(pointer, this);
    return this.text(pointer);
  }

  show(lines) {
    this.problems.textContent = lines.join("\n");
    if (!this.input) this.node.classList.toggle("invalid", lines.length > 0);
    else if (lines.length) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
  }

  focus() {
    (this.input ?? this.node.querySelector("input, select, textarea, button"))?.focus();
  }

  described() {
    return { id: this.id, "aria-describedby": `${this.id}-hint ${this.id}-problem` };
  }

  /** Puts a label and the hint around a control. */
  labelled(input) {
    this.input = input;
    const need = el("span", { class: "need" }, this.required ? " required" : " optional");
    this.node = el(
      "div",
      { class: "field" },
      el("label", { for: this.id }, this.name, need),
      this.hint,
      input,
      this.problems,
    );
  }

  /** Puts a legend and the hint around further fields. */
  grouped(...parts) {
    const legend = this.name
      ? el(
          "legend",
          {},
          this.name,
          el("span", { class: "need" }, this.required ? " required" : " optional"),
        )
      : null;
    const group = {
      class: this.name ? null : "bare",
      "aria-describedby": `${this.id}-hint ${this.id}-problem`,
    };
    this.node = el("fieldset", group, legend, this.hint, this.problems, ...parts);
  }
}

class TextField extends Field {
  constructor(form, control, name, required, isNumber) {
    super(form, control, name, required);
    this.isNumber = isNumber;
    const placeholder = hasDefault(this.schema) ? inline(this.schema.default) : null;
    this.labelled(
      el("input", {
        ...this.described(),
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        placeholder,
        inputmode: isNumber ? "decimal" : null,
      }),
    );
  }

  text() {
    const { value } = this.input;
    if (value === "") return this.absent();
    // A text that is no number is sent as it is, so that the answer names the problem.
    return this.isNumber && isJsonNumber(value.trim()) ? value.trim() : JSON.stringify(value);
  }

  write(value) {
    const isAbsent = value === undefined || value === null;
    this.input.value = isAbsent ? "" : inline(value);
  }
}

const isJsonNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);

class ChoiceField extends Field {
  constructor(form, control, name, required, values) {
    super(form, control, name, required);
    this.values = values.map((value) => JSON.stringify(value));
    const unset = hasDefault(this.schema)
      ? `(default: ${named(this.schema.default)})`
      : "(not set)";
    const options = this.values.map((text, at) => el("option", { value: text }, named(values[at])));
    // A value that has to be there, and of which there is one, is chosen.
    this.isFixed = required && values.length === 1;
    if (!this.isFixed) options.unshift(el("option", { value: "" }, unset));
    this.labelled(el("select", this.described(), ...options));
  }

  text() {
    const { value } = this.input;
    return value === "" ? this.absent() : value;
  }

  write(value) {
    this.input.value = value === undefined || value === null ? "" : JSON.stringify(value);
    if (this.input.selectedIndex < 0) this.input.selectedIndex = 0;
  }
}

class JsonField extends Field {
  constructor(form, control, name, required) {
    super(form, control, name, required);
    this.labelled(
      el("textarea", { ...this.described(), rows: "3", spellcheck: "false", placeholder: "JSON" }),
    );
  }

  text() {
    const { value } = this.input;
    if (value.trim() === "") return undefined;
    try {
      JSON.parse(value);
      return value;
    } catch {
      return JSON.stringify(value);
    }
  }

  write(value) {
    this.input.value = value === undefined ? "" : pretty(value);
  }
}

class ObjectField extends Field {
  constructor(form, control, name, required, depth) {
    super(form, control, name, required);
    this.members = new Map();
    this.body = el("div");
    // The arguments as a whole and required objects are always there.
    const isOptional = depth > 0 && (!required || this.nullable || depth > MAX_DEPTH);
    this.toggle = isOptional ? includeBox(`Include ${name}`, (on) => this.include(on)) : null;
    this.depth = depth;
    this.grouped(this.toggle?.label, this.body);
    if (!this.toggle) this.build();
    if (depth === 0 && this.members.size === 0) {
      this.body.append(note("The tool has no arguments."));
    }
  }

  get isIncluded() {
    return !this.toggle || this.toggle.box.checked;
  }

  include(on) {
    if (this.toggle) this.toggle.box.checked = on;
    if (on) this.build();
    this.body.hidden = !on;
  }

  /** Creates the members at the first use, as a schema may contain itself. */
  build() {
    if (this.members.size) return;
    const required = new Set(this.schema.required ?? []);
    const order = this.depth === 0 ? this.form.order : [];
    for (const [name, schema] of inOrder(this.schema.properties, order)) {
      const member = makeField(this.form, schema, name, required.has(name), this.depth + 1);
      this.members.set(name, member);
      this.body.append(member.node);
    }
  }

  text(pointer) {
    if (!this.isIncluded) return this.absent();
    const parts = [];
    for (const [name, member] of this.members) {
      const text = member.read(`${pointer}/${escapePointer(name)}`);
      if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`);
    }
    return `{${parts.join(",")}}`;
  }

  write(value) {
    this.include(isObject(value));
    for (const [name, member] of this.members)
      member.write(isObject(value) ? value[name] : undefined);
  }
}

const inOrder = (properties, order) =>
  Object.entries(properties ?? {}).sort(([a], [b]) => rank(order, a) - rank(order, b));
const rank = (order, name) => (order.includes(name) ? order.indexOf(name) : order.length);

function includeBox(text, onchange) {
  const box = el("input", {
    id: freshId(),
    type: "checkbox",
    onchange: () => onchange(box.checked),
  });
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
    this.grouped(
      this.toggle?.label,
      this.list,
      button(`Add ${noun}`, () => this.add().field.focus(), {
        "aria-label": `Add ${noun} to ${name || "list"}`,
      }),
    );
  }

  add(key = "") {
    if (this.toggle) this.toggle.box.checked = true;
    const number = this.items.length;
    const schema = this.isMap
      ? this.schema.additionalProperties
      : (this.schema.prefixItems?.[number] ?? this.schema.items ?? {});
    const field = makeField(
      this.form,
      schema,
      `${this.name || "item"} ${number + 1}`,
      true,
      this.depth + 1,
    );
    const item = { field };
    const remove = button("Remove", () => this.remove(item), {
      class: "small",
      "aria-label": `Remove ${field.name}`,
    });
    if (this.isMap) {
      item.key = el("input", {
        type: "text",
        value: key,
        "aria-label": `Name of ${field.name}`,
        autocomplete: "off",
        spellcheck: "false",
      });
      item.name = labelled("Name", item.key);
    }
    item.node = el(
      "div",
      { class: this.isMap ? "item pair" : "item" },
      item.name,
      field.node,
      remove,
    );
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
    const options = this.alternatives.map((one, at) =>
      el("option", { value: at }, formName(one, at)),
    );
    const none = required ? null : el("option", { value: "" }, "(not set)");
    const properties = {
      "aria-label": `Form of ${name || "the value"}`,
      onchange: () => this.choose(this.choice.value),
    };
    this.choice = el("select", properties, none, ...options);
    this.body = el("div");
    this.grouped(labelled("Form", this.choice), this.body);
    if (required) this.choose("0");
  }

  choose(at) {
    this.choice.value = at;
    this.inner = at === "" ? null : this.makeInner(this.alternatives[Number(at)]);
    // A form that is one value needs no field of its own.
    if (this.inner?.isFixed) this.inner.node.hidden = true;
    this.body.replaceChildren(...(this.inner ? [this.inner.node] : []));
  }

  makeInner(schema) {
    return makeField(this.form, schema, "", true, this.depth + 1, this.name);
  }

  text(pointer) {
    const text = this.inner?.read(pointer);
    const isSeen = this.inner?.input && !this.inner.isFixed;
    this.form.places.set(pointer, isSeen ? this.inner : this);
    return text;
  }

  write(value) {
    const isAbsent = value === undefined || value === null;
    const fits = this.alternatives.findIndex((one) => fitsRoughly(value, one, this.form.root));
    const none = this.required ? "0" : "";
    this.choose(isAbsent ? none : String(Math.max(0, fits)));
    this.inner?.write(value);
  }
}

/** Returns a name for an alternative: its title, its tag, or its type. */
function formName(schema, at) {
  const values = "const" in schema ? [schema.const] : schema.enum;
  if (values) return values.map(named).join(", ");
  const tag = Object.entries(schema.properties ?? {}).find(([, member]) => "const" in member);
  const only =
    Object.keys(schema.properties ?? {}).length === 1 ? Object.keys(schema.properties)[0] : null;
  return (
    schema.title ??
    (tag ? inline(tag[1].const) : only) ??
    [schema.type ?? `form ${at + 1}`].flat().join(" or ")
  );
}

function typeOf(value) {
  if (Array.isArray(value)) return "array";
  return value instanceof ExactNumber ? "number" : typeof value;
}

/** Returns true if a value could be of a schema, by its type, its tags and its required members. */
function fitsRoughly(value, schema, root) {
  if ("const" in schema) return JSON.stringify(value) === JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value));
  const type = typeOf(value);
  const types = [schema.type ?? []].flat().map((name) => (name === "integer" ? "number" : name));
  if (types.length && !types.includes(type)) return false;
  if (type !== "object") return true;
  const members = Object.entries(schema.properties ?? {});
  return (
    (schema.required ?? []).every((name) => name in value) &&
    members.every(
      ([name, member]) =>
        !("const" in resolve(member, root)) ||
        !(name in value) ||
        value[name] === resolve(member, root).const,
    )
  );
}

function makeField(form, schema, name, required, depth, label = name) {
  const control = controlOf(schema, form.root);
  const named = ["string", "number", "boolean", "choice", "json"].includes(control.kind)
    ? label
    : name;
  switch (depth > MAX_DEPTH && control.kind !== "object" ? "json" : control.kind) {
    case "string":
      return new TextField(form, control, named, required, false);
    case "number":
      return new TextField(form, control, named, required, true);
    case "boolean":
      return new ChoiceField(form, control, named, required, [true, false]);
    case "choice":
      return new ChoiceField(form, control, named, required, control.values);
    case "object":
      return new ObjectField(form, control, named, required, depth);
    case "array":
      return new ListField(form, control, named, required, depth, false);
    case "map":
      return new ListField(form, control, named, required, depth, true);
    case "union":
      return new UnionField(form, control, named, required, depth);
    default:
      return new JsonField(form, control, named, required);
  }
}

/** The arguments of a tool: as a form, or as JSON. */
export class ArgumentsForm {
  constructor(schema, order) {
    Object.assign(this, { root: schema, order, places: new Map(), isRaw: false });
    this.field = makeField(this, schema, "", true, 0, "Arguments");
    this.raw = el("textarea", { id: freshId(), rows: "10", spellcheck: "false" });
    this.problems = el("p", { class: "problem", id: freshId() });
    this.raw.setAttribute("aria-describedby", this.problems.id);
    this.rawView = el(
      "div",
      { class: "field", hidden: true },
      el("label", { for: this.raw.id }, "Arguments as JSON"),
      this.raw,
    );
    this.switches = ["Form", "JSON"].map((name, at) =>
      button(name, () => this.view(at === 1), { "data-key": `view-${name}` }),
    );
    this.node = el(
      "div",
      {},
      el(
        "div",
        { class: "choices", role: "group", "aria-label": "View of the arguments" },
        ...this.switches,
      ),
      this.field.node,
      this.rawView,
      this.problems,
    );
    this.view(false);
  }

  /** Changes the view, and takes the arguments along. JSON that is not valid stays in its view. */
  view(isRaw) {
    if (this.isRaw && !isRaw && !this.take(this.raw.value)) return;
    if (!this.isRaw && isRaw) this.raw.value = pretty(parseJson(this.read()));
    this.isRaw = isRaw;
    this.field.node.hidden = isRaw;
    this.rawView.hidden = !isRaw;
    this.switches.forEach((one, at) =>
      one.setAttribute("aria-pressed", String((at === 1) === isRaw)),
    );
  }

  take(text) {
    this.problems.textContent = "";
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
    return this.isRaw ? this.raw.value : (this.field.read("") ?? "{}");
  }

  /** Shows each problem at its field, or at the nearest field around it. */
  show(problems) {
    const lines = new Map();
    for (const problem of problems) {
      const field = this.isRaw ? null : this.fieldAt(problem.pointer);
      lines.set(field, [
        ...(lines.get(field) ?? []),
        problemText(problem, field && this.places.get(problem.pointer) === field),
      ]);
    }
    for (const field of new Set(this.places.values())) field.show(lines.get(field) ?? []);
    this.problems.textContent = (lines.get(null) ?? []).join("\n");
    if (this.isRaw && problems.length) this.raw.setAttribute("aria-invalid", "true");
    else this.raw.removeAttribute("aria-invalid");
  }

  /** Moves the focus to the first problem. */
  focusFirst() {
    const first = this.node.querySelector("[aria-invalid=true], .invalid");
    const control = first?.matches(".invalid")
      ? first.querySelector("input, select, textarea, button")
      : first;
    control?.focus();
  }

  fieldAt(pointer) {
    for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      if (this.places.has(at)) return this.places.get(at);
    }
    return this.places.get("") ?? null;
  }
}

export function problemText({ pointer, expected, got, hint }, isAtPlace) {
  const place = isAtPlace ? "" : `${pointer || "arguments"}: `;
  return place + mismatch(expected, got) + (hint ? `, ${hint}` : "");
}

function mismatch(expected, got) {
  if (expected === "") return got;
  return got === "nothing" ? `missing, expected ${expected}` : `expected ${expected}, got ${got}`;
}
