// The page of the inspector: its start, its views and its keys.

import { $, eachFrame } from "./elements.js";
import { readEvents } from "./events.js";
import { listenToMetrics } from "./metrics.js";
import { ask, guarded, storeToken, takeToken } from "./requests.js";
import { createSession, openSession } from "./sessions.js";
import { filterTools, listenToTools, loadTools } from "./tools.js";
import { listenToTraces } from "./traces.js";
import { app, onShow, show } from "./views.js";

async function start() {
  app.overview = await ask("GET", "overview");
  show("tools");
  await loadTools();
  readEvents();
}

const unlock = guarded(async () => {
  storeToken($("token").value.trim());
  await start();
});

/** Moves the focus to the search of the view, unless a text is being written. */
function searchOnKey(event) {
  const isTyping = event.target.closest("input, select, textarea");
  const search = document.querySelector(`#view-${app.view} input[type=search]`);
  if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping || !search) return;
  event.preventDefault();
  search.focus();
}

function listen() {
  listenToTools();
  listenToTraces();
  listenToMetrics();
  for (const id of ["tool-search", "tool-category", "tool-mode"]) {
    $(id).addEventListener("input", eachFrame(filterTools));
  }
  for (const one of document.querySelectorAll("nav button")) {
    one.addEventListener("click", () => show(one.dataset.view));
  }
  onShow("sessions", () => app.session && guarded(() => openSession(app.session))());
  $("open-session").addEventListener("submit", createSession);
  $("unlock").addEventListener("submit", unlock);
  document.addEventListener("keydown", searchOnKey);
}

takeToken();
listen();
guarded(start)();
