// The limits of a session, and what is left of them.

import { el, note, numberColumn, section, table, tableOrNote, textColumn } from "./elements.js";

export function budgetView({ budgets }) {
  const title = "Budget of the turn";
  const columns = [textColumn("Budget"), ...["Limit", "Used", "Left"].map(numberColumn)];
  const limited = budgets.filter((budget) => budget.limit !== null);
  const rows = limited.map(({ name, limit, used, left }) => [
    name,
    limit,
    used ?? "unknown",
    left ?? "unknown",
  ]);
  return section(title, tableOrNote(title, columns, rows, "Without limits."));
}

export function capView({ caps }) {
  if (caps.length === 0) return null;
  const title = "Caps on cost and time";
  const columns = [textColumn("Cap"), ...["Limit", "Used", "Left"].map(numberColumn)];
  const rows = caps.map((cap) => [
    `${cap.of} of a ${cap.scope}`,
    amount(cap.of, cap.limit),
    amountOr(cap, cap.used),
    amountOr(cap, cap.left),
  ]);
  return section(title, table(title, columns, rows));
}

const amount = (of, value) =>
  of === "cost" ? `$${Number(value)}` : duration(1_000 * Number(value));

function amountOr({ of, scope }, value) {
  if (value !== null) return amount(of, value);
  return scope === "call" ? "of each call" : "unknown";
}

export function loopView({ loops }) {
  const title = "Loop detection";
  if (!loops.tools) return section(title, note("The session store counts for itself."));
  const attempt = loops.refusedAttempt
    ? `Attempt ${loops.refusedAttempt} with equal arguments is refused.`
    : "Equal arguments are never refused.";
  const empty = loops.maxEmptyResults
    ? `A call after ${loops.maxEmptyResults} empty results is refused.`
    : "Empty results are never refused.";
  const columns = [
    textColumn("Tool"),
    ...["Calls", "Equal attempts", "Empty results"].map(numberColumn),
  ];
  const rows = loops.tools.map(([name, tool]) => [
    name,
    tool.calls,
    tool.mostEqualAttempts,
    tool.emptyResults,
  ]);
  return section(
    title,
    el("p", { class: "dim" }, `${attempt} ${empty}`),
    rows.length ? table(title, columns, rows) : null,
  );
}

/** Returns milliseconds in the unit that fits. */
export function duration(ms) {
  if (ms < 0.001) return `${Math.round(ms * 1e6)} ns`;
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  return ms < 1_000 ? `${ms.toFixed(1)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}
