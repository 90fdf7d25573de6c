// Talks to the chat service as a front end that speaks AG-UI does. `chat_service.py` runs it. Its output is what the client has
// understood, as JSON. The client refuses a stream that breaks the rules of the protocol.
import { HttpAgent } from "@ag-ui/client";

const [url, cookie] = process.argv.slice(2);
const agent = new HttpAgent({ url, headers: { cookie }, threadId: "thread-1" });
const runs = [];

async function run(content, resume) {
  const types = [];
  if (content) {
    agent.addMessage({ id: `user-${runs.length}`, role: "user", content });
  }
  const report = { types, updates: [] };
  let deltas = 0;
  await agent.runAgent({ runId: `run-${runs.length}`, ...(resume ? { resume } : {}) }, {
    onEvent: ({ event }) => {
      types.push(event.type);
      deltas += event.type === "TEXT_MESSAGE_CONTENT" ? 1 : 0;
    },
    onActivitySnapshotEvent: ({ event }) => report.updates.push(event.content.message),
    onRunFinishedEvent: ({ event }) => {
      report.outcome = event.outcome;
      report.usage = event.usage;
    },
    onRunErrorEvent: ({ event }) => {
      report.error = { message: event.message, code: event.code };
    },
  }).catch((error) => {
    report.failure = String(error);
  });
  runs.push({ ...report, deltas });
  return report;
}

await run("A table for two, please.");
await run("Plan a menu.");
const asked = await run("Book it.");
const approve = (outcome) => outcome.interrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { approved: true } }));
await run(null, approve(asked.outcome));
const again = await run("Book it.");
await run(null, again.outcome.interrupts.map(({ id }) => ({ interruptId: id, status: "cancelled" })));
await run(null, [{ interruptId: "unknown", status: "resolved", payload: { approved: true } }]);

const messages = agent.messages.map(({ role, content, toolCalls, toolCallId }) => ({ role, content, toolCalls, toolCallId }));
console.log(JSON.stringify({ runs, messages }));
