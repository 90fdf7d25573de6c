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
  /** `decided` is the question that the reply is about, if it is about one. */
  constructor(decided) {
    this.decided = decided;
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
        // A call that waits on after a decision comes again.
        return this.decided?.dataset.token === event.token ? items.append(this.decided) : showApproval(event);
      case "handoff":
        this.open = null;
        add("call", `${event.to} goes on`);
        return;
      case "blocked":
        return this.piece("assistant", event.message);
      case "finished":
        return showEnd(event.reply, this.decided);
    }
  }
}

function outcome(response) {
  if (response.ok) {
    return "done";
  }
  return response.meta.confirmation ? "waits for you" : response.error.message;
}

function showEnd(reply, decided) {
  if (reply.error) {
    add("problem", reply.error.message);
    if (decided && (reply.error.type === "VALIDATION" || reply.error.retryable)) {
      // The call waits on: for arguments that its tool accepts, or for a service that answers again.
      items.append(decided);
      setBusy(Boolean(abort));
    }
  } else if (reply.finish !== "complete" && reply.finish !== "blocked") {
    add("problem", `The answer ended early (${reply.finish}).`);
  }
}

function showApproval(wanted) {
  const item = make("li", "approval");
  item.dataset.token = wanted.token;
  const decide = (words, decision) => {
    item.remove();
    add("call", `${words}: ${wanted.payload}`);
    text.focus();
    ask("decision", { token: wanted.token, ...decision }, item);
  };
  const buttons = make("div", "buttons");
  buttons.append(
    decisionButton("Approve", () => decide("You approved", { approved: true })),
    decisionButton("Deny", () => decide("You denied", { approved: false })),
  );
  item.append(
    make("p", "", `May ${wanted.tool} be called?`),
    list("arguments", wanted.arguments),
    list("reasons", wanted.reasons.map(({ source, text }) => `Asked by ${source}: ${text}`)),
    wholeCall(wanted),
    changeForm(wanted, (given) => decide("You approved with others", { approved: true, arguments: given })),
    buttons,
  );
  items.append(item);
  scrollDown();
}

function make(tag, kind, words = "") {
  const made = document.createElement(tag);
  made.className = kind;
  made.textContent = words;
  return made;
}

function list(kind, lines) {
  const made = make("ul", kind);
  made.append(...lines.map((line) => make("li", "", line)));
  return made;
}

function fold(title, ...children) {
  const made = document.createElement("details");
  made.append(make("summary", "", title), ...children);
  return made;
}

const wholeCall = (wanted) => fold("Whole call", make("code", "", wanted.payload));

/** Lets the person approve the call with other arguments. */
function changeForm(wanted, approve) {
  const input = document.createElement("textarea");
  input.rows = 3;
  input.spellcheck = false;
  input.setAttribute("aria-label", "Arguments as JSON");
  input.value = wanted.payload.slice(wanted.tool.length + 1, -1);
  return fold("Change the arguments", input, decisionButton("Approve with these", () => approve(input.value)));
}

function decisionButton(name, onclick) {
  const button = make("button", name === "Approve" ? "" : "second", name);
  button.type = "button";
  button.disabled = send.disabled;
  button.addEventListener("click", onclick);
  return button;
}

/** Sends a request, and shows the events of its answer. */
async function ask(path, body, decided = null) {
  abort = new AbortController();
  setBusy(true);
  status.textContent = "The host is answering.";
  let isTaken = false;
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
    isTaken = true;
    await read(response.body, new ReplyView(decided));
    status.textContent = "";
  } catch (error) {
    status.textContent = error.name === "AbortError" ? "You stopped the answer." : `Something went wrong: ${error.message}`;
    if (decided && !isTaken) {
      // The decision has not arrived, so the call waits on.
      items.append(decided);
    }
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
  if (response.status === 503) {
    status.textContent = "The conversation opens in a moment.";
    setTimeout(open, 2000);
    return;
  }
  if (!response.ok) {
    throw new Error((await response.json()).error);
  }
  status.textContent = "";
  const { messages, waiting } = await response.json();
  for (const message of messages) {
    add(message.role, message.text);
  }
  waiting.forEach(showApproval);
  document.body.dataset.ready = "true";
}

function open() {
  begin().catch((error) => {
    status.textContent = `Something went wrong: ${error.message}`;
  });
}

open();
