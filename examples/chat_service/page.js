// A conversation: each request is answered by a stream of events.
"use strict";

const log = document.getElementById("log");
const items = document.getElementById("items");
const form = document.getElementById("form");
const text = document.getElementById("text");
const send = document.getElementById("send");
const stop = document.getElementById("stop");
const status = document.getElementById("status");

const SENDERS = { user: "You: ", assistant: "Host: ", reasoning: "Host thinks: " };

/** Aborts the reply that is on its way. */
let abort = null;

function add(kind, words) {
  const item = document.createElement("li");
  item.className = kind;
  if (SENDERS[kind]) {
    const sender = document.createElement("span");
    sender.className = "sender";
    sender.textContent = SENDERS[kind];
    item.append(sender);
  }
  const content = document.createElement("span");
  content.textContent = words;
  item.append(content);
  items.append(item);
  scrollDown();
  return content;
}

function scrollDown() {
  log.scrollTop = log.scrollHeight;
}

function setBusy(isBusy) {
  send.disabled = isBusy;
  stop.hidden = !isBusy;
  // A screen reader reads the reply once it is whole.
  log.setAttribute("aria-busy", String(isBusy));
  for (const button of log.querySelectorAll(".approval button")) {
    button.disabled = isBusy;
  }
}

/** Shows the events of one reply. */
class ReplyView {
  constructor() {
    this.open = null;
    this.calls = new Map();
  }

  /** Adds a piece to the text that is open, or opens one. */
  piece(kind, delta) {
    if (this.open?.kind !== kind) {
      this.open = { kind, content: add(kind, "") };
    }
    this.open.content.append(delta);
    scrollDown();
  }

  show(event) {
    switch (event.type) {
      case "text":
        return this.piece("assistant", event.delta);
      case "reasoning":
        return this.piece("reasoning", event.delta);
      case "call_begun":
        this.open = null;
        this.calls.set(event.callId, add("call", `${event.tool}: running`));
        return;
      case "call_update":
        this.calls.get(event.callId).textContent = `${event.tool}: ${event.message}`;
        return;
      case "call_result":
        this.calls.get(event.callId).textContent = `${event.tool}: ${outcome(event.response)}`;
        return;
      case "approval_wanted":
        return showApproval(event);
      case "handoff":
        this.open = null;
        add("call", `${event.to} goes on`);
        return;
      case "blocked":
        return this.piece("assistant", event.message);
      case "finished":
        return showEnd(event.reply);
    }
  }
}

function outcome(response) {
  if (response.ok) {
    return "done";
  }
  return response.meta.confirmation ? "waits for you" : response.error.message;
}

function showEnd(reply) {
  if (reply.error) {
    add("problem", reply.error.message);
  } else if (reply.finish !== "complete" && reply.finish !== "blocked") {
    add("problem", `The answer ended early (${reply.finish}).`);
  }
}

function showApproval(wanted) {
  const item = document.createElement("li");
  item.className = "approval";
  item.dataset.token = wanted.token;
  const question = document.createElement("p");
  question.textContent = "May this be done?";
  const call = document.createElement("code");
  call.textContent = wanted.payload;
  const buttons = document.createElement("div");
  buttons.className = "buttons";
  for (const [name, approved] of [["Approve", true], ["Deny", false]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.className = approved ? "" : "second";
    button.disabled = send.disabled;
    button.addEventListener("click", () => {
      item.remove();
      add("call", `${approved ? "You approved" : "You denied"}: ${wanted.payload}`);
      text.focus();
      ask("decision", { token: wanted.token, approved });
    });
    buttons.append(button);
  }
  item.append(question, call, buttons);
  items.append(item);
  scrollDown();
}

/** Sends a request, and shows the events of its answer. */
async function ask(path, body) {
  abort = new AbortController();
  setBusy(true);
  status.textContent = "The host is answering.";
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: abort.signal,
    });
    if (!response.ok) {
      throw new Error((await response.json()).error);
    }
    await read(response.body, new ReplyView());
    status.textContent = "";
  } catch (error) {
    status.textContent = error.name === "AbortError" ? "You stopped the answer." : `Something went wrong: ${error.message}`;
  } finally {
    abort = null;
    setBusy(false);
  }
}

/** Reads server-sent events, of which each is one line of data. */
async function read(body, view) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let hasEnded = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      break;
    }
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const told = JSON.parse(event.replace(/^data: /, ""));
      hasEnded ||= told.type === "finished";
      view.show(told);
    }
  }
  if (!hasEnded) {
    throw new Error("the connection was lost");
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const said = text.value.trim();
  if (!said || abort) {
    return;
  }
  text.value = "";
  add("user", said);
  ask("message", { text: said });
});

text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

stop.addEventListener("click", () => {
  abort?.abort();
  text.focus();
});

async function begin() {
  const response = await fetch("conversation");
  const { messages, waiting } = await response.json();
  for (const message of messages) {
    add(message.role, message.text);
  }
  waiting.forEach(showApproval);
  document.body.dataset.ready = "true";
}

begin().catch((error) => {
  status.textContent = `Something went wrong: ${error.message}`;
});
