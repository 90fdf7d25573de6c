// The first screen: how to try a tool, how much there is, and the purpose of each view.

import { $, button, el, figures, fill, note, section } from "./elements.js";
import { selectTool } from "./tools.js";
import { app, show } from "./views.js";

const VIEWS = [
  [
    "sessions",
    "Sessions",
    "Call tools under budgets and caps, talk to a model, and read the audit log.",
  ],
  ["approvals", "Approvals", "Approve or deny the calls that wait for a person."],
  [
    "traces",
    "Traces",
    "See what ran inside of what, for how long, with its input, output and cost.",
  ],
  ["metrics", "Metrics", "Compare calls, latency, errors and cost of the tools."],
];

/** Draws the first screen, unless a tool is open. */
export function drawHome() {
  if (app.tool !== null) return;
  const { tools } = app;
  fill($("tool-detail"), ...(tools.length ? introduction(tools) : [withoutTools()]), viewsView());
}

function introduction(tools) {
  const first = tools[0].name;
  return [
    el("h2", {}, "Try a tool"),
    el("p", { class: "lead" }, purpose()),
    el(
      "ol",
      { class: "steps" },
      el(
        "li",
        {},
        "Choose a tool in the list: ",
        key("/"),
        " searches it, ",
        key("↑"),
        " ",
        key("↓"),
        " move in it.",
      ),
      el("li", {}, "Fill in its arguments. A problem appears at its field."),
      el("li", {}, "Press Call, or ", key("Ctrl"), " + ", key("Enter"), "."),
    ),
    button(`Open ${first}`, () => selectTool(first), { class: "main", "data-key": "open-first" }),
    section("Overview", overview(tools), unconfiguredNote()),
  ];
}

function purpose() {
  const about =
    "This page calls the tools of the program, and shows what they answer and what a model reads.";
  // A gateway has no calls beside its policy.
  return app.overview.sessionsOnly
    ? `${about} Each call is made in a session, under its rules and limits, and with a record.`
    : about;
}

const key = (name) => el("kbd", {}, name);

function withoutTools() {
  return el(
    "div",
    {},
    el("h2", {}, "There is no tool yet"),
    el(
      "p",
      { class: "lead" },
      "The program has registered no tools. Add one, start the program again, and reload this page.",
    ),
    unconfiguredNote(),
  );
}

function overview(tools) {
  const needApproval = ({ options }) => options.some((option) => option.startsWith("confirm"));
  const ofCategory = (category) => tools.filter((tool) => tool.category === category).length;
  const pairs = [["Tools", tools.length]];
  for (const category of ["retrieval", "action", "utility"]) {
    pairs.push([`${category} tools`, ofCategory(category)]);
  }
  pairs.push(["need approval", tools.filter(needApproval).length]);
  if (app.providerTools?.length) pairs.push(["Tools of providers", app.providerTools.length]);
  return figures(pairs);
}

function unconfiguredNote() {
  if (!app.unconfigured?.length) return null;
  return note(`Left out, because a setting is missing: ${app.unconfigured.join(", ")}.`);
}

function viewsView() {
  const card = ([view, title, text]) =>
    el(
      "button",
      { type: "button", class: "card", onclick: () => show(view), "data-key": `view-${view}` },
      el("strong", {}, title),
      el("span", {}, text),
      el("span", { class: "dim" }, state(view)),
    );
  return section("The other views", el("div", { class: "views" }, ...VIEWS.map(card)));
}

/** Describes in a few words how much a view has. */
function state(view) {
  if (view === "sessions")
    return app.sessions.length ? `${app.sessions.length} open` : "none is open";
  if (view === "approvals")
    return app.approvals.length ? `${app.approvals.length} waiting` : "no call waits";
  return "";
}
