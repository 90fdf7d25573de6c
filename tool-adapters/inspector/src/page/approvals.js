// The calls that wait for a person.

import { $, button, code, el, factList, fill, fold, report } from "./elements.js";
import { ask, guarded, path } from "./requests.js";
import { outcomeOfCall, responseView } from "./response.js";
import { app } from "./views.js";

export function setApprovals(approvals) {
  app.approvals = approvals;
  $("count-approvals").textContent = approvals.length || "";
  $("no-approvals").hidden = approvals.length > 0;
  fill($("approval-list"), ...approvals.map(approvalView));
}

function approvalView(approval) {
  const { id, tool } = approval;
  return el(
    "li",
    {},
    el("h3", {}, tool),
    el("p", { class: "text" }, approval.summary),
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

const decision = (approval, name) => guarded(() => decide(approval, name));

async function decide(approval, name) {
  const answer = await ask("POST", `approvals/${path(approval.id)}/${name}`);
  report(`${approval.tool} ${outcomeOfCall(answer.response.envelope).words}`);
  const title = el("h2", {}, `Result of ${approval.tool}`);
  fill($("approval-result"), title, responseView(answer, null));
  setApprovals(app.approvals.filter((one) => one.id !== approval.id));
  $("h-approvals").tabIndex = -1;
  $("h-approvals").focus();
}
