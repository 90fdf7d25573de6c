// The calls that wait for a person.

import { $, bullets, button, code, el, factList, fill, fold, freshId, report } from "./elements.js";
import { ask, guarded, path } from "./requests.js";
import { outcomeOfCall, responseView } from "./response.js";
import { app } from "./views.js";

/** The views of the calls, by id. A view stays as it is, with what the operator has written into it. */
const views = new Map();

export function setApprovals(approvals) {
  app.approvals = approvals;
  $("count-approvals").textContent = approvals.length || "";
  $("no-approvals").hidden = approvals.length > 0;
  const waiting = new Set(approvals.map(({ id }) => id));
  for (const [id, view] of views) {
    if (waiting.has(id)) continue;
    view.remove();
    views.delete(id);
  }
  for (const approval of approvals) {
    if (views.has(approval.id)) continue;
    const view = approvalView(approval);
    views.set(approval.id, view);
    $("approval-list").append(view);
  }
}

function approvalView(approval) {
  const { id, tool } = approval;
  return el(
    "li",
    {},
    el("h3", {}, tool),
    argumentList(approval.arguments),
    bullets("Reasons to ask", approval.reasons.map(({ source, text }) => `${source}: ${text}`)),
    factList([
      ["Session", approval.session],
      ["Principal", approval.principal || "(none)"],
      ["Turn", approval.turn],
      ["Call", approval.callId],
      ["Expires", new Date(approval.expiresAtMs).toLocaleString()],
    ]),
    approval.isRedacted
      ? el("p", { class: "wrong" }, "A part of the arguments is redacted.")
      : null,
    fold(
      "Whole call",
      code(approval.payload, "Whole call"),
      el("p", { class: "dim digest" }, approval.digest),
    ),
    approval.argumentsJson === null ? null : changeForm(approval),
    el(
      "div",
      { class: "row" },
      button("Approve", decision(approval, "approve"), {
        class: "main",
        "aria-label": `Approve ${tool}`,
        "data-key": `approve-${id}`,
      }),
      button("Deny", decision(approval, "deny"), {
        "aria-label": `Deny ${tool}`,
        "data-key": `deny-${id}`,
      }),
    ),
  );
}

/** Shows the arguments, one a line. */
function argumentList(lines) {
  if (!lines.length) return el("p", { class: "dim" }, "It has no arguments.");
  return el("ul", { class: "arguments" }, ...lines.map((line) => el("li", {}, line)));
}

/** Lets the operator approve the call with other arguments. */
function changeForm(approval) {
  const id = freshId();
  const input = el("textarea", { id, rows: "4", spellcheck: "false" });
  input.value = approval.argumentsJson;
  const send = guarded(() => decide(approval, "approve", { arguments: input.value }));
  return fold(
    "Change the arguments",
    el("label", { for: id }, "Arguments as JSON"),
    input,
    button("Approve with these", send, { "aria-label": `Approve with these: ${approval.tool}` }),
  );
}

const decision = (approval, name) => guarded(() => decide(approval, name));

/** If the arguments are invalid, the server refuses the request, and the call waits on. */
async function decide(approval, name, body) {
  const answer = await ask("POST", `approvals/${path(approval.id)}/${name}`, body);
  report(`${approval.tool} ${outcomeOfCall(answer.response.envelope).words}`);
  const title = el("h2", {}, `Result of ${approval.tool}`);
  fill($("approval-result"), title, responseView(answer, null));
  setApprovals(app.approvals.filter((one) => one.id !== approval.id));
  $("h-approvals").tabIndex = -1;
  $("h-approvals").focus();
}
