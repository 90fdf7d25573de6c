// The sessions of the page: their state, their limits, their logs, and a conversation.

import {
  $,
  breakable,
  button,
  code,
  el,
  figures,
  fill,
  longColumn,
  note,
  numberColumn,
  report,
  section,
  tableOrNote,
  textColumn,
  wholeColumn,
} from "./elements.js";
import { conversationView } from "./conversation.js";
import { inline, pretty } from "./exact.js";
import { budgetView, capView, loopView } from "./limits.js";
import { ask, guarded, path } from "./requests.js";
import { outcomeOf } from "./response.js";
import { app, closeDetail, openDetail } from "./views.js";

export function setSessions(sessions) {
  app.sessions = sessions;
  $("count-sessions").textContent = sessions.length || "";
  fill($("session-list"), ...sessions.map(sessionLine));
  app.target?.refill();
}

function sessionLine({ id, mode, turn, principal }) {
  const facts = [mode, `turn ${turn}`, principal].filter(Boolean).join(" · ");
  const open = guarded(() => openSession(id));
  const properties = { "data-key": `session-${id}`, "aria-current": String(id === app.session) };
  const line = button("", open, properties);
  line.append(el("strong", {}, ...breakable(id)), el("span", { class: "dim" }, facts));
  return el("li", {}, line);
}

export function updateSession(session) {
  const others = app.sessions.filter((one) => one.id !== session.id);
  setSessions([...others, session].filter((one) => !one.ended));
}

export async function openSession(id) {
  app.session = id;
  const at = `sessions/${path(id)}`;
  const [session, messages] = await Promise.all([ask("GET", at), ask("GET", `${at}/messages`)]);
  updateSession(session);
  fill($("session-detail"), ...sessionView(session, messages));
  openDetail("sessions");
}

/** Opens the session of the form, or joins it. */
export const createSession = guarded(async () => {
  const session = await ask("POST", "sessions", {
    id: $("session-id").value,
    mode: $("session-mode").value,
    principal: $("session-principal").value,
  });
  report(`Opened session ${session.id}`);
  updateSession(session);
  await openSession(session.id);
});

function sessionView(session, messages) {
  return [
    button("← All sessions", () => closeDetail("sessions"), { class: "back" }),
    el("h2", {}, "Session ", ...breakable(session.id)),
    figures([
      ["Mode", session.mode],
      ["Principal", session.principal || "(none)"],
      ["Turn", session.turn],
      ["Visible tools", session.visibleTools],
      ["Calls", session.totalCalls],
    ]),
    sessionActions(session),
    el(
      "div",
      { class: "columns" },
      conversationView(session, messages),
      el("div", {}, budgetView(session), capView(session), loopView(session)),
    ),
    callsView(session),
    auditView(session),
    section("State", code(pretty(session.state), "State")),
  ];
}

function sessionActions(session) {
  const at = `sessions/${path(session.id)}`;
  const other = session.mode === "voice" ? "text" : "voice";
  const act = (work, text) =>
    guarded(async () => {
      await work();
      report(text);
      await openSession(session.id);
    });
  const nextTurn = act(() => beginTurn(at), "The next turn has begun");
  const switchMode = act(() => ask("POST", `${at}/mode`, { mode: other }), `The mode is ${other}`);
  return el(
    "div",
    { class: "row wrap" },
    button("Next turn", nextTurn, { "data-key": "turn" }),
    button(`Switch to ${other}`, switchMode, { "data-key": "mode" }),
    button(
      "Refresh",
      guarded(() => openSession(session.id)),
      { "data-key": "refresh" },
    ),
    button(
      "End",
      guarded(() => endSession(session.id)),
      { "data-key": "end" },
    ),
  );
}

async function beginTurn(at) {
  const { turn } = await ask("POST", `${at}/turn`);
  if (turn.pendingMessage) report(`Message for this turn: ${turn.pendingMessage}`);
}

async function endSession(id) {
  await ask("DELETE", `sessions/${path(id)}`);
  app.session = null;
  setSessions(app.sessions.filter((one) => one.id !== id));
  fill($("session-detail"), note(`Session ${id} has ended.`));
  closeDetail("sessions");
}

function callsView({ calls }) {
  const columns = [
    textColumn("Tool"),
    numberColumn("Turn"),
    textColumn("Outcome"),
    numberColumn("ms"),
    longColumn("Arguments"),
  ];
  const rows = calls.map((call) => [
    call.tool,
    call.turn,
    call.ok ? "succeeded" : outcomeOf(call.error).words,
    Number(call.durationMs).toFixed(3),
    inline(call.arguments),
  ]);
  return section("Calls", tableOrNote("Calls", columns, rows, "There is no call yet."));
}

function auditView({ audit }) {
  const columns = [wholeColumn("Time"), ...["Tool", "Call", "Outcome"].map(textColumn)];
  const hasDecisions = audit.some(({ decision }) => decision);
  const hasIntents = audit.some(({ intents }) => intents?.length);
  if (hasDecisions) columns.push(textColumn("Decided by"));
  if (hasIntents) columns.push(longColumn("Intents"));

  const rows = audit.map(({ at, tool, callId, outcome, decision, intents }) => {
    const row = [timeOfDay(at), tool, callId, outcomeOf(outcome.error).words];
    if (hasDecisions) row.push(decision ? decided(decision) : "");
    if (hasIntents) row.push(intentsText(intents ?? []));
    return row;
  });
  return section("Audit log", tableOrNote("Audit log", columns, rows, "The log is empty."));
}

const intentsText = (intents) =>
  intents.map(({ intent, effect }) => `${inline(intent)}: ${effect}`).join("; ");

/** Returns the date and the time to milliseconds, as the server has written them. */
const timeOfDay = (at) => at.replace("T", " ").replace(/(\.\d{3})\d*Z$/, "$1Z");

const decided = ({ approved, by }) => `${approved ? "approved" : "denied"} by ${by || "(no name)"}`;
