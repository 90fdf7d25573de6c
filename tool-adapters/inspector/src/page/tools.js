// The tools: the list, the form of one, and its call.

import {
  $,
  breakable,
  button,
  bullets,
  chip,
  code,
  counted,
  el,
  factList,
  fill,
  fold,
  labelled,
  longColumn,
  note,
  prose,
  report,
  section,
  table,
  textColumn,
} from "./elements.js";
import { pretty } from "./exact.js";
import { ArgumentsForm } from "./form.js";
import { drawHome } from "./home.js";
import { VirtualList } from "./list.js";
import { ask, guarded, path } from "./requests.js";
import { outcomeOfCall, responseView } from "./response.js";
import { updateSession } from "./sessions.js";
import { callProgress } from "./traces.js";
import { app, closeDetail, openDetail } from "./views.js";

/** The height of a row of the list, in pixels: a name and two lines of its description. */
const ROW_HEIGHT = 72;
const MAX_FORMS = 50;

/** The forms of tools that were open, so that what was typed stays. */
const forms = new Map();
let list;
let requests = 0;

export function listenToTools() {
  const root = $("tool-list");
  list = new VirtualList(root, {
    label: "Tools",
    rowHeight: ROW_HEIGHT,
    draw: drawTool,
    onSelect: openTool,
  });
}

export async function loadTools() {
  const { tools, providerTools, unconfigured } = await ask("GET", "tools");
  for (const tool of tools) {
    tool.found = `${tool.name} ${tool.title ?? ""} ${tool.summary}`.toLowerCase();
  }
  app.tools = tools;
  app.providerTools = providerTools;
  app.unconfigured = unconfigured;
  $("count-tools").textContent = tools.length;
  filterTools();
  drawHome();
}

export function filterTools() {
  const words = $("tool-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const category = $("tool-category").value;
  const mode = $("tool-mode").value;
  const found = app.tools.filter(
    (tool) =>
      words.every((word) => tool.found.includes(word)) &&
      (!category || tool.category === category) &&
      (!mode || tool.modes.includes(mode)),
  );
  list.set(found);
  $("tool-found").textContent = `${found.length} of ${app.tools.length} tools`;
}

/** Selects a tool in the list, as a click on it does. */
export function selectTool(name) {
  list.selectWhere((tool) => tool.name === name);
}

function drawTool(tool) {
  const asks = tool.options.some((option) => option.startsWith("confirm"));
  const marks = [tool.category, asks ? "needs approval" : null].filter(Boolean);
  return [
    el(
      "span",
      { class: "line" },
      el("span", { class: "one name" }, tool.name),
      el("span", { class: "mark" }, marks.join(" · ")),
    ),
    el("span", { class: "summary" }, tool.summary || "No description."),
  ];
}

const openTool = (tool, opens) => guarded(() => showTool(tool.name, opens))();

async function showTool(name, opens) {
  requests += 1;
  const request = requests;
  const tool = await ask("GET", `tools/${path(name)}`);
  if (request !== requests) return;
  app.tool = name;
  fill($("tool-detail"), ...toolView(tool));
  if (opens) openDetail("tools");
}

function closeTool() {
  app.tool = null;
  app.target = null;
  list.clearSelection();
  closeDetail("tools");
  drawHome();
}

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
  const target = targetPicker(tool);
  app.target = target;
  const answer = el("div", { class: "answer", role: "group", "aria-label": "Response" });
  answer.append(
    el("h3", {}, "Response"),
    note("Press Call, or Ctrl+Enter in a field. The response appears here."),
  );
  const call = guarded(() => callTool(tool, form, target, answer));
  const callOnKey = (event) => event.key === "Enter" && event.ctrlKey && call(event);
  const callButton = el("button", { class: "main", "data-key": "call" }, "Call");
  return [
    button("← All tools", closeTool, { class: "back" }),
    el("h2", {}, ...breakable(tool.title ? `${tool.title} (${tool.name})` : tool.name)),
    el("div", { class: "chips" }, ...[tool.category, ...tool.modes, ...tool.options].map(chip)),
    ...prose(tool.description || "The tool has no description."),
    el("p", { class: "dim source" }, ...breakable(sourceOf(tool))),
    el(
      "div",
      { class: "call" },
      el(
        "form",
        { onsubmit: call, onkeydown: callOnKey, novalidate: true },
        el("h3", {}, "Arguments"),
        examplePicker(tool, form),
        form.node,
        el("div", { class: "go" }, target.node, callButton),
      ),
      answer,
    ),
    el("div", { class: "more" }, ...toolDetails(tool)),
  ];
}

/** Returns the place of a tool in the program. The tools of a gateway have their place in no program of the reader. */
function sourceOf({ source, tokens }) {
  const size = `about ${counted(tokens, "token")}`;
  return app.overview.sessionsOnly ? size : `${source} · ${size}`;
}

/** Puts the mode of text first, which needs no host with sound. */
const textFirst = (modes) => [...modes].sort((a, b) => (b === "text") - (a === "text"));

/** A choice between a call without a session, or in a new one, and the open sessions. */
function targetPicker(tool) {
  const select = el("select", { class: "target" });
  const refill = () => {
    const where = app.overview.sessionsOnly ? "in a new session" : "without a session";
    const fresh = textFirst(tool.modes).map((mode) =>
      el("option", { value: `m:${mode}` }, `${where}, ${mode}`),
    );
    const open = app.sessions.map(({ id, mode }) =>
      el("option", { value: `s:${id}` }, `in session ${id} (${mode})`),
    );
    const wanted = select.value || `s:${app.session}`;
    select.replaceChildren(...fresh, ...open);
    select.value = wanted;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  };
  refill();
  select.addEventListener("change", () => {
    app.session = select.value.startsWith("s:") ? select.value.slice(2) : null;
  });
  return { node: labelled("Where", select), select, refill };
}

function examplePicker(tool, form) {
  if (tool.examples.length === 0) return null;
  const options = tool.examples.map((_, at) => el("option", { value: at }, `example ${at + 1}`));
  const write = (event) => form.write(tool.examples[event.target.value]);
  return labelled("Example", el("select", { onchange: write }, ...options));
}

async function callTool(tool, form, { select }, answer) {
  const isSession = select.value.startsWith("s:");
  const name = select.value.slice(2);
  const request = { tool: tool.name, arguments: form.read(), id: callId() };
  request[isSession ? "session" : "mode"] = name;

  report(`Calling ${tool.name} …`);
  const progress = callProgress(request.id);
  answer.prepend(progress);
  const reply = await ask("POST", "call", request).finally(() => progress.remove());
  const { envelope } = reply.response;
  form.show(envelope.meta.problems ?? []);
  report(`${tool.name} ${outcomeOfCall(envelope).words}`);
  fill(answer, responseView(reply, form));
  answer.scrollIntoView({ block: "nearest" });
  if (reply.session) {
    app.session = reply.session.id;
    updateSession(reply.session);
  }
}

const callId = () => `inspector_${crypto.getRandomValues(new Uint32Array(2)).join("_")}`;

function toolDetails(tool) {
  const details = (title, text) => (text ? fold(title, code(text, title)) : null);
  return [
    details("Schema of the arguments", pretty(tool.parameters)),
    details("Schema of the result", tool.output && pretty(tool.output)),
    details("Result", tool.returns),
    details("Guide", tool.guide),
    declarationView(tool),
  ].filter(Boolean);
}

/** Shows the declaration of a tool to the provider that is chosen. */
function declarationView(tool) {
  const out = el("div");
  const names = app.overview.providers ?? [];
  const provider = el("select", {}, ...names.map((name) => el("option", {}, name)));
  const strict = el("input", { type: "checkbox" });
  const load = guarded(async () => {
    const at = `tools/${path(tool.name)}/declarations/${path(provider.value)}`;
    fill(out, declared(await ask("POST", at, { strict: strict.checked })));
  });
  provider.addEventListener("change", load);
  strict.addEventListener("change", load);
  const controls = el(
    "div",
    { class: "row wrap" },
    labelled("Provider", provider),
    el("label", { class: "check" }, strict, "Strict"),
  );
  const declarations = fold("Declaration to a provider", controls, out);
  declarations.classList.add("declarations");
  declarations.addEventListener("toggle", () => declarations.open && load());
  return declarations;
}

function declared({ declaration, settings, report: of, nameAmongAll, warnings }) {
  const facts = [
    ["Declared as", nameAmongAll ?? of?.declaredAs ?? "(refused)"],
    ["Strict", of?.strict ? "yes" : "no"],
    ["Tokens", of?.tokens ?? 0],
  ];
  if (of?.refused) facts.push(["Refused", pretty(of.refused)]);
  if (of?.notStrict) facts.push(["Not strict", pretty(of.notStrict)]);
  const changes = (of?.changes ?? []).map(({ pointer, keyword, kind, detail }) => [
    pointer || "/",
    keyword,
    kind,
    detail,
  ]);
  const columns = [...["Place", "Keyword", "Change"].map(textColumn), longColumn("Detail")];
  const hasSettings = Object.keys(settings).length > 0;
  return el(
    "div",
    { class: "columns" },
    section(
      "Declaration",
      code(pretty(declaration), "Declaration"),
      hasSettings ? code(pretty(settings), "Settings of the request") : null,
    ),
    section(
      "Report",
      factList(facts),
      changes.length ? table("Changes", columns, changes) : el("p", {}, "No change."),
      bullets("Warnings", warnings),
    ),
  );
}
