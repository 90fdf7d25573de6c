"""Uses the chat service as its users do: its page in a real browser, on a desk and on a phone, and its AG-UI events with the
protocol's own client.

    cargo build --example chat_service --features chat_service
    cp tests/conformance/chat_service/* target/conformance/chat_service
    npm install --prefix target/conformance/chat_service
    python tests/conformance/chat_service.py

Needs Chromium, `websocket-client` and the packages above. Without them it prints `skipped`, and fails where `CI=true`. Pictures
of the page are left in target/conformance/chat_service.
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FOLDER = ROOT / "target" / "conformance" / "chat_service"
MODULES = FOLDER / "node_modules"
AXE = MODULES / "axe-core" / "axe.min.js"
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE / "report"))

HOSTILE = "<img src=x onerror=alert(1)> & <b>bold</b>"


class Chat:
    """The page in one tab, with what a person does on it."""

    def __init__(self, tab):
        self.tab = tab

    def say(self, text: str):
        self.tab.type("document.querySelector('#text')", text)
        self.tab.key("Enter")

    def idle(self):
        self.tab.until("document.querySelector('#stop').hidden")

    def items(self, kind: str) -> list[str]:
        return self.tab.look(f"[...document.querySelectorAll('#log .{kind} > span:last-child')].map((e) => e.textContent)")


def check_answer(chat: Chat, found):
    tab = chat.tab
    chat.say("A table for two, please.")
    tab.until("document.querySelector('#log .assistant')?.textContent.includes('tables')")
    early = chat.items("assistant")[0]
    found.hold(not early.endswith("one?"), f"the answer is shown while it comes: {early!r}")
    found.same("the log while an answer comes", tab.look("document.querySelector('#log').getAttribute('aria-busy')"), "true")
    chat.idle()
    found.same("the answer", chat.items("assistant"), ["These tables are free: [1,2,3,4]. Shall I book one?"])
    found.same("the call", chat.items("call"), ["find_tables: done"])
    found.same("the status after the answer", tab.text("#status"), "")


def check_updates(chat: Chat, found):
    chat.say("Plan a menu.")
    chat.tab.until("document.querySelector('#log').textContent.includes('plan_menu: course 2 of 3')")
    chat.idle()
    found.same("the call that has told of its work", chat.items("call")[-1], "plan_menu: done")


def check_approval(chat: Chat, found, name: str, answer: str):
    tab = chat.tab
    chat.say("Book it.")
    tab.until("document.querySelector('#log .approval')")
    found.same("the arguments", tab.text("#log .approval .arguments"), 'guest: "Ada"\ntable: 3')
    found.same("the reasons", tab.text("#log .approval .reasons"), "Asked by tool: it asks before each call")
    # It is folded, so a browser has no visible text of it.
    whole = tab.look("document.querySelector('#log .approval code').textContent")
    found.same("the whole call", whole, 'book_table({"guest":"Ada","table":3})')
    chat.idle()
    tab.button(name, "document.querySelector('#log .approval')")
    chat.idle()
    tab.until(f"document.querySelector('#log').textContent.includes({json.dumps(answer)})")
    found.same("approvals after the decision", tab.look("document.querySelectorAll('#log .approval').length"), 0)
    found.same("the element that has the focus", tab.look("document.activeElement.id"), "text")


def check_stop(chat: Chat, found):
    chat.say("Plan a menu.")
    chat.tab.until("document.querySelector('#log').textContent.includes('plan_menu: course 1 of 3')")
    chat.tab.click("document.querySelector('#stop')")
    chat.tab.until("document.querySelector('#status').innerText.includes('stopped')")
    answers = len(chat.items("assistant"))
    chat.say("Hello")
    chat.tab.until(f"document.querySelectorAll('#log .assistant').length > {answers}")
    chat.idle()
    found.hold("few words" in chat.items("assistant")[-1], "the conversation goes on after a stop")


def check_hostile(chat: Chat, found):
    chat.say(HOSTILE)
    chat.idle()
    found.same("a hostile text", chat.items("user")[-1], HOSTILE)
    found.same("elements that a text has made", chat.tab.look("document.querySelectorAll('#log img, #log b').length"), 0)


def check_reload(chat: Chat, found):
    chat.say("Book it.")
    chat.tab.until("document.querySelector('#log .approval')")
    chat.idle()
    said = (chat.items("user"), chat.items("assistant"))
    chat.tab.open()
    chat.tab.until("document.body.dataset.ready === 'true'")
    found.same("the conversation after a reload", (chat.items("user"), chat.items("assistant")), said)
    chat.tab.button("Deny", "document.querySelector('#log .approval')")
    chat.idle()
    found.same("the answer to a decision after a reload", chat.items("assistant")[-1], "Then I leave it.")


def check_layout(chat: Chat, found, name: str):
    tab = chat.tab
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    found.hold(tab.look(wide), f"the page does not scroll sideways on a {name}")
    found.same(f"what the page scrolls beside the log on a {name}", tab.look("document.documentElement.scrollHeight - innerHeight"), 0)
    found.hold(tab.look("document.querySelector('#send').getBoundingClientRect().bottom <= innerHeight"), f"the form is in sight on a {name}")
    small = "[...document.querySelectorAll('button')].filter((b) => b.checkVisibility() && b.getBoundingClientRect().height < 44).length"
    found.same(f"buttons that are too small for a finger on a {name}", tab.look(small), 0)


def check_axe(chat: Chat, found, axe: str, name: str):
    for scheme in ("light", "dark"):
        chat.tab.tab.scheme(scheme)
        chat.tab.look(f"{axe}\n;void 0")
        seen = chat.tab.look("axe.run(document).then((r) => ({passes: r.passes.length, broken: r.violations.map((v) => "
                             "`${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`)}))")
        found.same(f"axe-core, {name}, {scheme}", seen["broken"], [])
        found.hold(seen["passes"] > 15, f"axe-core has looked: {seen['passes']} rules")
        chat.tab.tab.picture(FOLDER / f"{name}-{scheme}.png", whole=False)
    chat.tab.tab.scheme("light")


def use_page(tab, found, axe: str):
    from inspector import complaints

    chat = Chat(tab)
    tab.tab.size(1280, 900)
    tab.open()
    tab.until("document.body.dataset.ready === 'true'")
    check_answer(chat, found)
    check_updates(chat, found)
    check_approval(chat, found, "Deny", "Then I leave it.")
    check_approval(chat, found, "Approve", "It is done.")
    check_stop(chat, found)
    check_hostile(chat, found)
    check_layout(chat, found, "desk")
    tab.tab.size(375, 720, phone=True)
    chat.say("Book it.")
    tab.until("document.querySelector('#log .approval')")
    chat.idle()
    check_layout(chat, found, "phone")
    check_axe(chat, found, axe, "phone")
    tab.button("Deny", "document.querySelector('#log .approval')")
    chat.idle()
    check_reload(chat, found)
    found.same("complaints of the browser", complaints(tab), [])


def request(address: str, path: str, cookie: str = "", body: dict | None = None):
    """Returns the status, the body and the cookie of an answer."""
    headers = {"cookie": cookie, "content-type": "application/json"}
    asked = urllib.request.Request(address + path, headers=headers, data=None if body is None else json.dumps(body).encode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=20) as answer:
            return answer.status, answer.read().decode(), (answer.headers.get("set-cookie") or "").split(";")[0]
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode(), ""


def check_users(address: str, found):
    status, *_ = request(address, "/conversation")
    found.same("a request without a user", status, 401)
    one, other = (request(address, "/")[2] for _ in range(2))
    found.hold(one != other and one.startswith("chat_user="), f"each browser is a user of its own: {one}, {other}")
    request(address, "/message", one, {"text": "Hello"})
    for cookie, messages in ((one, 2), (other, 0)):
        seen = json.loads(request(address, "/conversation", cookie)[1])
        found.same("the messages that a user sees", len(seen["messages"]), messages)
    asked = request(address, "/message", one, {"text": "Book it."})[1]
    token = next(json.loads(line[6:])["token"] for line in asked.splitlines() if '"approval_wanted"' in line)
    stolen = request(address, "/decision", other, {"token": token, "approved": True})[1]
    found.hold("NOT_FOUND" in stolen and "call_begun" not in stolen, f"a user cannot decide for another: {stolen}")


def check_ag_ui(address: str, found):
    cookie = request(address, "/")[2]
    node = MODULES / ".bin" / "node"
    program = [str(node if node.exists() else "node"), str(FOLDER / "client.mjs"), f"{address}/ag-ui", cookie]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=120)
    if ran.returncode:
        found.hold(False, f"the client of AG-UI: {ran.stderr[-2000:]}")
        return
    seen = json.loads(ran.stdout)
    table, menu, asked, approved, _, denied, unknown = seen["runs"]
    for name, run in (("table", table), ("menu", menu), ("asked", asked), ("approved", approved), ("denied", denied)):
        found.hold("failure" not in run, f"the client takes the events of {name}: {run.get('failure')}")
        found.same(f"the ends of {name}", (run["types"][0], run["types"][-1]), ("RUN_STARTED", "RUN_FINISHED"))
    found.hold(table["deltas"] > 3, f"the text comes in pieces: {table['deltas']}")
    found.same("the usage of a run", table["usage"][0]["totalTokens"], 240)
    found.same("the outcome of a run", table["outcome"], {"type": "success"})
    found.same("the updates of a call", menu["updates"], ["course 1 of 3", "course 2 of 3", "course 3 of 3"])
    found.same("a run that waits", asked["outcome"]["type"], "interrupt")
    found.hold("TOOL_CALL_RESULT" not in asked["types"], "a call that waits has no result")
    for name, run in (("approved", approved), ("denied", denied)):
        found.hold("TOOL_CALL_RESULT" in run["types"] and "TOOL_CALL_START" not in run["types"], f"the result of {name}: {run['types']}")
    found.same("the error of an unknown interrupt", unknown["error"]["code"], "NOT_FOUND")
    tools = [message for message in seen["messages"] if message["role"] == "tool"]
    results = {message["toolCallId"]: message["content"] for message in tools}
    calls = [call for message in seen["messages"] for call in message.get("toolCalls") or []]
    found.same("each call has one result in the client", len(tools), len(calls))
    found.same("the calls of the client", {call["id"] for call in calls}, set(results))
    found.hold("table 3 is booked for Ada" in results.values(), f"the result of the approved call: {results}")
    status, answer, _ = request(address, "/ag-ui", cookie, {"threadId": "t", "runId": "r", "messages": [{"role": "tool"}]})
    found.same("a request that is wrong", (status, "role `user`" in answer), (400, True))


class Service:
    """The chat service as a process."""

    def __init__(self, address: str = "127.0.0.1:0", **settings: str):
        # Without the keys, a model that knows a few words answers.
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        command = [TARGET / "debug" / "examples" / "chat_service", address]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment | settings)
        self.address = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def check_restart(browser, found):
    """The service is killed while a tool works and a call waits. The next process goes on, and the page with it."""
    from inspector import Inspector

    file = FOLDER / "restart.db"
    for left in FOLDER.glob("restart.db*"):
        left.unlink()
    settings = {"CHAT_DB": str(file), "CHAT_SIGNING_KEY": "0" * 32}
    with Service(**settings) as service:
        address = service.address
        chat = Chat(Inspector(browser.page(), address))
        chat.tab.open()
        chat.tab.until("document.body.dataset.ready === 'true'")
        chat.say("Book it.")
        chat.tab.until("document.querySelector('#log .approval')")
        chat.idle()
        chat.say("Plan a menu.")
        chat.tab.until("document.querySelector('#log').textContent.includes('plan_menu: course 1 of 3')")
    chat.tab.until("document.querySelector('#status').innerText.includes('went wrong')")
    with Service(address.removeprefix("http://"), **settings):
        chat.tab.button("Approve", "document.querySelector('#log .approval')")
        chat.tab.until("document.querySelector('#log').textContent.includes('It is done.')")
        chat.idle()
        found.same("the call that was approved after the restart", chat.items("call")[-1], "book_table: done")
        said = chat.items("user")
        chat.tab.open()
        chat.tab.until("document.body.dataset.ready === 'true'")
        found.same("the conversation after the restart", chat.items("user"), said)
    with sqlite3.connect(file) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [str(row) for table in tables for row in database.execute(f"SELECT * FROM {table}")]
    lost = [row for row in rows if "ended before it had a result" in row]
    found.same("the results of the call that was killed", len(lost), 1)


def main() -> int:
    from browser import Browser, chromium
    from inspector import Findings, Inspector

    program = chromium()
    for missing in [what for what, there in (("chromium", program), (f"the packages in {MODULES}", AXE.exists())) if not there]:
        print(f"skipped: {missing} is not there", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    found = Findings()
    with Browser(program) as browser:
        with Service() as service:
            use_page(Inspector(browser.page(), service.address), found, AXE.read_text())
        with Service() as service:
            check_users(service.address, found)
            check_ag_ui(service.address, found)
        check_restart(browser, found)
    print(f"{'FAILED' if found.wrong else 'ok':6} chat service: {found.looked} checks")
    print("\n".join(found.wrong))
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
