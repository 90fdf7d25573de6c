// A conversation in a session, with the model of the program or with a script.

import { partsView } from "./content.js";
import { breakable, el, freshId, labelled, note, report, section } from "./elements.js";
import { parseJson } from "./exact.js";
import { ask, guarded, path } from "./requests.js";
import { openSession } from "./sessions.js";
import { app } from "./views.js";

const SCRIPT = '[{"says": "Hello."}]';

/** What was typed and not sent. */
const draft = { message: "", script: undefined };

export function conversationView(session, messages) {
  const log = el("div", { role: "log", "aria-label": "Conversation", tabindex: "0" });
  if (messages.length === 0)
    log.append(note("No message yet. Write one below, and a model replies with calls of tools."));
  log.append(...messages.map((message) => messageView(message, session.audit)));

  const text = el("input", { type: "text", autocomplete: "off", "data-key": "say" });
  text.value = draft.message;
  text.addEventListener("input", () => {
    draft.message = text.value;
  });

  const script = scriptInput();
  const send = guarded(async () => {
    const steps = script.input.value.trim() === "" ? null : parseJson(script.input.value);
    draft.message = "";
    const at = `sessions/${path(session.id)}/messages`;
    const reply = await ask("POST", at, { text: text.value, script: steps });
    await openSession(session.id);
    report(reply.error ?? finish(reply.finish));
  });
  const button = el("button", { class: "main", "data-key": "send" }, "Send");
  const form = el("form", { onsubmit: send }, labelled("Message", text), script.node, button);
  return section("Conversation", log, form);
}

const finish = (reason) =>
  reason === "complete" ? "The model has replied" : `The reply ended: ${reason}`;

function scriptInput() {
  const { model } = app.overview;
  const input = el("textarea", {
    id: freshId(),
    rows: "4",
    spellcheck: "false",
    "data-key": "script",
  });
  input.value = draft.script ?? (model ? "" : SCRIPT);
  input.addEventListener("input", () => {
    draft.script = input.value;
  });
  const who = model
    ? `Leave it empty to ask ${model}.`
    : "The program gave no model, so a script answers.";
  const form = 'A step is {"says": …} or {"calls": [{"name": …, "arguments": {…}}]}.';
  const hint = el("p", { class: "hint", id: freshId() }, `${who} ${form}`);
  input.setAttribute("aria-describedby", hint.id);
  const label = el("label", { for: input.id }, "Steps of the model");
  return { input, node: el("div", { class: "control" }, label, hint, input) };
}

function messageView(message, audit) {
  const asked = message.isError && wasAsked(message, audit);
  const failed = message.isError && !asked;
  const who = message.from === "tool" ? message.tool : message.from;
  const title = el("p", { class: "who" }, el("strong", {}, ...breakable(who)));
  if (asked) title.append(" asked for approval");
  if (failed) title.append(" failed");

  const view = el("div", { class: `message ${message.from}` }, title);
  if (failed) view.classList.add("wrong");
  if (asked) view.append(el("p", {}, stateOfApproval(message, audit)));
  else if (message.content) view.append(partsView(message.content));
  else if (message.text) view.append(el("p", { class: "text" }, message.text));
  for (const call of message.calls ?? []) view.append(callView(call));
  return view;
}

const callView = (call) =>
  el("p", { class: "called" }, el("strong", {}, call.name), " ", el("code", {}, call.arguments));

const isOf =
  ({ callId, tool }) =>
  (entry) =>
    entry.callId === callId && entry.tool === tool;

/** Returns true if the answer to a call was that a person has to approve it. */
function wasAsked(message, audit) {
  const entries = audit.filter(isOf(message));
  return entries.some(({ outcome }) => outcome.error === "CONFIRMATION_REQUIRED");
}

function stateOfApproval(message, audit) {
  const { decision } = audit.filter(isOf(message)).find((entry) => entry.decision) ?? {};
  if (!decision) return "A person has to approve the call. It has not run.";
  return decision.approved ? "A person has approved the call." : "A person has denied the call.";
}
