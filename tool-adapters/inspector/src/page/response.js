// The response to a call.

import { partsIn, partsView } from "./content.js";
import { bullets, button, code, counted, el, fold, note, section } from "./elements.js";
import { pretty } from "./exact.js";
import { problemText } from "./form.js";
import { budgetView, capView } from "./limits.js";
import { show } from "./views.js";

/** Returns the name of an outcome, and the class of its colour. A person's decision is a regular outcome, not an error. */
export function outcomeOf(type) {
  if (!type) return { title: "Success", tone: "good", words: "succeeded" };
  if (type === "CONFIRMATION_REQUIRED") {
    return { title: "Waiting for approval", tone: "waits", words: "asked for approval" };
  }
  if (type === "DENIED") return { title: "Denied", tone: "waits", words: "was denied by a person" };
  return { title: type, tone: "wrong", words: `ended with ${type}` };
}

export const outcomeOfCall = ({ ok, error }) => outcomeOf(ok ? null : error.type);

/** Shows an answer of the server to a call. With the form of its arguments, problems are shown there alone. */
export function responseView({ response, session }, form) {
  const { envelope, model, content } = response;
  const { meta } = envelope;
  const { title, tone } = outcomeOfCall(envelope);
  return el(
    "div",
    { class: "result" },
    el("h3", { class: tone }, title),
    note(measures(meta)),
    envelope.ok ? dataView(envelope.data, content) : errorView(envelope, form),
    bullets("Warnings", meta.warnings),
    bullets("Coerced arguments", meta.coerced),
    envelope.intents?.length ? section("Intents", code(pretty(envelope.intents), "Intents")) : null,
    session ? budgetView(session) : null,
    session ? capView(session) : null,
    fold("Envelope", code(pretty(envelope), "Envelope")),
    fold("Text for the model", code(model, "Text for the model")),
  );
}

function measures({ durationMs, sizeChars, tokenEstimate }) {
  const size = counted(sizeChars, "character");
  return `${durationMs} ms · ${size} · about ${counted(tokenEstimate, "token")}`;
}

/** Shows the data. Parts that are the data are shown once, and parts beside the data come first. */
function dataView(data, content) {
  const parts = content ?? partsIn(data);
  if (!parts) return code(pretty(data), "Data");
  const isAllData = JSON.stringify(parts) === JSON.stringify(data);
  return el("div", {}, partsView(parts), isAllData ? null : code(pretty(data), "Data"));
}

function errorView({ error, meta }, form) {
  if (error.type === "CONFIRMATION_REQUIRED") return waitingView();
  const problems = meta.problems ?? [];
  if (problems.length > 0) return problemsView(problems, form);
  const effects = error.partialSideEffects ? " It may have had effects." : "";
  const again = error.retryable ? "The call may be tried again." : "";
  return el(
    "div",
    {},
    el("p", { class: "text" }, error.message),
    note(`${again}${effects}`.trim()),
  );
}

function waitingView() {
  const open = button("Show approvals", () => show("approvals"), { class: "link" });
  return el("p", {}, "A person has to approve the call. It has not run. ", open);
}

function problemsView(problems, form) {
  if (!form) {
    const lines = problems.map((problem) => el("li", {}, problemText(problem, false)));
    return el("ul", { class: "text" }, ...lines);
  }
  const count = counted(problems.length, "problem");
  const at = form.isRaw ? "below the JSON" : "at the fields";
  const go = button("Go to the first", () => form.focusFirst(), { class: "link" });
  return el("p", {}, `The tool did not run. The arguments have ${count}, shown ${at}. `, go);
}
