// The stream of events that keeps the page up to date.

import { setApprovals } from "./approvals.js";
import { report } from "./elements.js";
import { drawHome } from "./home.js";
import { takeMetrics } from "./metrics.js";
import { errorIn, open } from "./requests.js";
import { setSessions } from "./sessions.js";
import { addSpans, takeRunning } from "./traces.js";

/** The time before the next attempt to read events, in milliseconds. */
const RETRY = 2_000;
let lastEvent = 0;

/** Reads events for as long as the page is open. `EventSource` cannot send the token in a header. */
export async function readEvents() {
  for (;;) {
    try {
      const response = await open(`events/${lastEvent}`);
      if (response.status === 401) return;
      if (!response.ok) throw new Error(errorIn(await response.text()));
      report("Connected");
      await readLines(response.body);
      report("The server has closed the connection");
      takeRunning({ nowMs: Date.now(), spans: [] });
    } catch (error) {
      report(`No connection: ${error.message}`);
    }
    await new Promise((done) => {
      setTimeout(done, RETRY);
    });
  }
}

async function readLines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    events.forEach(takeEvent);
  }
}

const takers = {
  spans: addSpans,
  running: takeRunning,
  metrics: takeMetrics,
  sessions: takeSessions,
};

function takeEvent(text) {
  const members = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    members[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  if (members.id) lastEvent = Number(members.id);
  if (Object.hasOwn(takers, members.event)) takers[members.event](JSON.parse(members.data));
}

function takeSessions({ sessions, approvals }) {
  setSessions(sessions);
  setApprovals(approvals);
  drawHome();
}
