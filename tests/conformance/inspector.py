"""Uses the page of the inspector in a real browser: every control, by mouse and by keyboard, in light and dark, on a phone.

    cargo build --example conformance_inspector --example inspector
    npm install --prefix target/conformance/axe axe-core@4.14.1
    python tests/conformance/inspector.py

Needs Chromium, `websocket-client`, and axe-core in target/conformance/axe. Without them it prints `skipped`, and fails where
`CI=true`. Pictures of the page are left in target/conformance/inspector.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FOLDER = ROOT / "target" / "conformance" / "inspector"
AXE = ROOT / "target" / "conformance" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SCREENS = (HERE / "inspector" / "screens.js").read_text()
sys.path.insert(0, str(HERE / "report"))

SECONDS = 60


class Findings:
    """What is wrong with the page, and how much was looked at."""

    def __init__(self):
        self.wrong, self.looked = [], 0

    def same(self, what: str, seen, wanted):
        self.hold(seen == wanted, f"{what}: the page has {seen!r}, expected {wanted!r}")

    def hold(self, holds: bool, what: str):
        self.looked += 1
        if not holds:
            self.wrong.append(what)
            print(f"FAILED {what}")


class Inspector:
    """The page in one tab, with what a person does on it."""

    def __init__(self, tab, address: str):
        self.tab, self.address = tab, address

    def open(self, address: str | None = None):
        self.tab.events = []
        self.tab.ask("Page.navigate", url=address or self.address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.tab.events):
            self.tab.receive()

    def look(self, expression: str):
        return self.tab.look(expression)

    def until(self, expression: str):
        """Waits until an expression is true."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if self.look(f"!!({expression})"):
                return
            time.sleep(0.02)
        raise SystemExit(f"not true in {SECONDS} s: {expression}\n{self.look('document.body.innerText.slice(0, 3000)')}")

    def screen(self, expression: str):
        """Asks one of the functions in `screens.js`."""
        if not self.look("!!window.screens"):
            self.look(f"{SCREENS};void 0")
        return self.look(f"screens.{expression}")

    def text(self, selector: str) -> str:
        return self.look(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def place(self, find: str) -> tuple[float, float]:
        """Scrolls an element into sight, and returns its middle once nothing moves or covers it."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            spot = self.look("(async () => { const frame = () => new Promise(requestAnimationFrame); "
                             f"const middle = (scroll) => {{ const e = {find}; if (!e) return null; if (scroll) e.scrollIntoView({{block: 'center'}}); "
                             "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2, e]; }; "
                             "const first = middle(true); if (!first) return null; await frame(); await frame(); const then = middle(false); "
                             "if (!then || then[0] !== first[0] || then[1] !== first[1]) return null; "
                             "const hit = document.elementFromPoint(then[0], then[1]); "
                             "return then[2] === hit || then[2].contains(hit) ? then.slice(0, 2) : null; })()")
            if spot:
                return spot
        raise SystemExit(f"nothing is found by {find}\n{self.look('document.body.innerText.slice(0, 3000)')}")

    def click(self, find: str):
        self.tab.click(*self.place(find))

    def button(self, name: str, within: str = "document"):
        self.click(f"[...{within}.querySelectorAll('button, summary')].find((b) => b.checkVisibility() && "
                   f"(b.ariaLabel ?? b.innerText).trim().startsWith({json.dumps(name)}))")

    def view(self, name: str):
        self.click(f"document.querySelector('nav [data-view={name}]')")
        self.until(f"!document.querySelector('#view-{name}').hidden")

    def key(self, name: str, code: str | None = None, modifiers: int = 0):
        text = {"Enter": "\r", " ": " "}.get(name)
        keys = {"Enter": 13, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36, "PageDown": 34, " ": 32}
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.tab.ask("Input.dispatchKeyEvent", type=kind, key=name, code=code or name, windowsVirtualKeyCode=keys.get(name, 0), modifiers=modifiers, **more)

    def type(self, find: str, text: str):
        """Replaces the text of a control as a person does."""
        self.click(find)
        self.look(f"{find}.select?.()")
        if text:
            self.tab.ask("Input.insertText", text=text)
        else:
            self.tab.ask("Input.dispatchKeyEvent", type="keyDown", key="Backspace", windowsVirtualKeyCode=8)
            self.tab.ask("Input.dispatchKeyEvent", type="keyUp", key="Backspace", windowsVirtualKeyCode=8)

    def choose(self, find: str, value: str):
        self.look(f"(() => {{ const e = {find}; e.focus(); e.value = {json.dumps(value)}; e.dispatchEvent(new Event('input', {{bubbles: true}})); "
                  "e.dispatchEvent(new Event('change', {bubbles: true})); })()")

    def control(self, label: str) -> str:
        """The control of a label in the form of the arguments."""
        return (f"(() => {{ const l = [...document.querySelectorAll('#tool-detail label')].find((l) => l.checkVisibility() && "
                f"l.innerText.trim().startsWith({json.dumps(label)})); return l && (l.control ?? l.querySelector('input')); }})()")

    def problem(self, label: str) -> str:
        return self.look(f"(() => {{ const c = {self.control(label)}; return c && c.getAttribute('aria-invalid') === 'true' "
                         "&& document.getElementById(c.getAttribute('aria-describedby').split(' ')[1]).innerText || ''; })()")

    def open_tool(self, name: str):
        self.view("tools")
        self.type("document.querySelector('#tool-search')", name)
        self.until(f"document.querySelectorAll('#tool-list [role=option]')[0]?.innerText.startsWith({json.dumps(name)})")
        self.click("document.querySelector('#tool-list [role=option]')")
        self.until(f"document.querySelector('#tool-detail h2')?.innerText.includes({json.dumps(name)})")

    def call(self):
        before = self.look("document.querySelector('#tool-detail .result')?.dataset.seen")
        self.look("document.querySelector('#tool-detail .result')?.setAttribute('data-seen', 'yes')")
        self.click("document.querySelector('#tool-detail button[data-key=call]')")
        self.until("(() => { const r = document.querySelector('#tool-detail .result'); return r && !r.dataset.seen; })()")
        return before

    def session(self, name: str, within: str):
        """Presses a button that asks for a session again, and waits until the page shows the answer."""
        self.look("document.querySelector('#session-detail h2').setAttribute('data-seen', 'yes')")
        self.button(name, f"document.querySelector('{within}')")
        self.until("document.querySelector('#session-detail h2:not([data-seen])')")


def check_opening(page: Inspector, found: Findings):
    page.open(page.address.split("#")[0])
    page.until("!document.querySelector('#view-locked').hidden")
    found.hold(page.look("document.querySelectorAll('#tool-list [role=option]').length") == 0, "no tool is shown without the token")
    page.look("document.querySelector('#status').textContent = ''")
    page.type("document.querySelector('#token')", "wrong-wrong-wrong-wrong")
    page.key("Enter")
    page.until("document.querySelector('#status').innerText.includes('refused')")
    page.type("document.querySelector('#token')", page.address.split("token=")[1])
    page.key("Enter")
    page.until("document.querySelectorAll('#tool-list [role=option]').length > 5")
    page.look("sessionStorage.clear()")
    page.open("about:blank")
    page.open()
    page.until("document.querySelectorAll('#tool-list [role=option]').length > 5")
    found.hold("token" not in page.look("location.href"), "the token is no longer in the address")
    page.until("document.querySelector('#status').innerText === 'Connected'")


def check_tools(page: Inspector, found: Findings):
    page.view("tools")
    found.hold("1007 of 1007" in page.text("#tool-found"), f"all tools are found: {page.text('#tool-found')}")
    found.hold(page.look("document.querySelectorAll('#tool-list [role=option]').length") < 60, "only visible tools are drawn")
    page.choose("document.querySelector('#tool-category')", "retrieval")
    page.until("document.querySelector('#tool-found').innerText.startsWith('3 of')")
    page.choose("document.querySelector('#tool-category')", "")
    page.choose("document.querySelector('#tool-mode')", "voice")
    page.until("document.querySelector('#tool-found').innerText.startsWith('1007 of')")
    page.choose("document.querySelector('#tool-mode')", "")
    page.look("document.querySelector('#tool-list').focus()")
    for key, at in (("End", "1007"), ("Home", "1"), ("ArrowDown", "2"), ("ArrowUp", "1")):
        page.key(key)
        chosen = "document.getElementById(document.querySelector('#tool-list').getAttribute('aria-activedescendant'))"
        page.until(f"{chosen}?.getAttribute('aria-posinset') === '{at}' && {chosen}.ariaSelected === 'true'")
    found.hold(True, "the list is used by keyboard")


def check_first_screen(page: Inspector, found: Findings):
    """The first screen says what to do, how much there is, and what each view is for."""
    said = page.text("#tool-detail")
    for part in ("Choose a tool", "arguments", "Press Call", "Ctrl", "1007", "Sessions", "Approvals", "Traces", "Metrics"):
        found.hold(part in said, f"the first screen has {part!r}: {said!r}")
    purposes = page.look("[...document.querySelectorAll('#tool-detail .card')].map((c) => c.innerText.length)") or [0]
    found.hold(min(purposes) > 40, f"each view has its purpose: {purposes}")
    page.key("/")
    found.same("the search after its key", page.look("document.activeElement.id"), "tool-search")
    page.look("document.activeElement.blur()")
    page.button("Open create_event", "document.querySelector('#tool-detail')")
    page.until("document.querySelector('#tool-detail h2')?.innerText === 'create_event'")
    found.same("the selected tool", page.look("document.querySelector('#tool-list [aria-selected=true]').innerText.split('\\n')[0]"), "create_event")


def check_list(page: Inspector, found: Findings):
    """Each tool is listed with its description, and the list ends with its last tool."""
    page.view("tools")
    for name, summary in (("create_event", "Create an event, and invite its guests."), ("measure_moisture", "Measure the soil moisture"), ("", "Create an event")):
        page.type("document.querySelector('#tool-search')", name)
        first = '#tool-list [aria-posinset="1"]'
        page.until(f"document.querySelector('{first}')?.innerText.startsWith({json.dumps(name or 'create_event')})")
        row = page.text(first)
        found.hold(summary in row, f"the row has the description: {row!r}")
        found.same(f"the empty foot of the list for {name!r}, in pixels", page.screen("emptyFoot('tool-list')"), 0)
    bottom = page.look("scrollTo(0, 0), document.querySelector('#tool-list').getBoundingClientRect().bottom")
    found.hold(bottom <= page.look("innerHeight"), f"the list ends on the screen: {bottom}")


def check_texts(page: Inspector, found: Findings):
    """Lines have 60 to 80 characters, bounds of floats are numbers, and the mode is text."""
    page.open_tool("measure_moisture")
    page.view("approvals")
    page.view("tools")
    for width in (1280, 1440, 1920):
        page.tab.size(width, 900)
        for view, text in (("tools", "#tool-detail > p.text"), ("approvals", "#view-approvals > p")):
            page.view(view)
            counts = page.screen(f"lines({json.dumps(text)})")[0]
            found.hold(60 <= max(counts) <= 80, f"lines of {text} at {width} pixels have 60 to 80 characters: {counts}")
    page.tab.size(1280, 900)
    page.view("tools")
    hints = [page.look(f"document.getElementById({page.control(label)}.getAttribute('aria-describedby').split(' ')[0]).innerText") for label in ("threshold", "depth")]
    found.hold("at least 0.0, at most 1.0" in hints[0] and "at least 2.0, at most 100.0" in hints[1], f"bounds of floats are numbers: {hints}")
    found.same("the field's default", page.look(f"{page.control('depth')}.placeholder"), "10.0")
    found.hold("[object" not in page.text("body"), "no object is shown as its type")
    found.hold("text" in page.look("document.querySelector('select.target').selectedOptions[0].text"), "the mode of a call is text")
    found.same("the mode of a session", page.look("document.querySelector('#session-mode').value"), "text")


def check_screens(page: Inspector, found: Findings, name: str):
    """Holds for each screen: whole words, lines of at most 80 characters, numbers below their headings, and a label on each field."""
    found.same(f"broken words, {name}", page.screen("brokenWords()"), [])
    found.same(f"long lines, {name}", page.screen("longLines()"), [])
    found.same(f"columns beside their headings, {name}", page.screen("misaligned()"), [])
    found.same(f"fields without a label, {name}", page.screen("unlabelled()"), [])


def check_form(page: Inspector, found: Findings):
    page.open_tool("create_event")
    page.type(page.control("duration_minutes"), "3")
    page.call()
    for label, part in (("title", "missing"), ("start_time", "missing"), ("duration_minutes", "got 3")):
        found.hold(part in page.problem(label), f"the problem of {label} is at its field: {page.problem(label)!r}")
    found.same("the answer", page.text("#tool-detail .result h3"), "VALIDATION")
    said = page.text("#tool-detail")
    found.same("places of a problem", said.count("expected a number of at least 5, got 3"), 1)
    check_screens(page, found, "problems of the form")
    page.button("Go to the first", "document.querySelector('#tool-detail .result')")
    found.same("the first problem", page.look(f"document.activeElement === {page.control('title')}"), True)
    page.type(page.control("title"), "Tea")
    page.type(page.control("start_time"), "2026-01-31T09:00:00Z")
    page.type(page.control("duration_minutes"), "45")
    page.button("Add item to guests")
    page.type(page.control("email"), "ann@example.com")
    page.choose(page.control("required"), "true")
    page.button("Add item to guests")
    page.button("Remove guests 2")
    page.click(page.control("Include details"))
    page.choose(page.control("colour"), '"Green"')
    page.type(page.control("notes"), "Bring <b>cake</b>")
    page.button("Add member to labels")
    page.type("document.querySelector('#tool-detail [aria-label=\"Name of labels 1\"]')", "size")
    page.type(page.control("labels 1"), "9007199254740993")
    page.choose(page.control("is_private"), "true")
    page.choose("[...document.querySelectorAll('#tool-detail select')].find((s) => s.ariaLabel === 'Form of place')", "2")
    page.type(page.control("latitude"), "52.5")
    page.call()
    problem = page.problem("longitude")
    found.hold("missing" in problem, f"the problem of a nested field is at the field: {problem!r}")
    found.same("problems that are solved", page.problem("title"), "")
    page.type(page.control("longitude"), "x")
    page.call()
    found.hold("got \"x\"" in page.problem("longitude"), f"a text for a number: {page.problem('longitude')!r}")
    page.type(page.control("longitude"), "13.4")
    page.call()
    data = page.look("JSON.parse(document.querySelector('#tool-detail .result pre[aria-label=Data]').innerText)")
    wanted = {"title": "Tea", "minutes": 45, "place": "52.5, 13.4", "colour": "green", "notes": "Bring <b>cake</b>", "private": True,
              "guests": [{"email": "ann@example.com", "required": True}]}
    found.same("the data", {key: data[key] for key in wanted}, wanted)
    found.hold("9007199254740993" in page.text("#tool-detail .result pre[aria-label=Data]"), "large numbers stay exact")
    check_screens(page, found, "a filled form")
    check_json_view(page, found)


def check_json_view(page: Inspector, found: Findings):
    page.button("JSON", "document.querySelector('#tool-detail')")
    raw = "[...document.querySelectorAll('#tool-detail textarea')].find((t) => t.labels[0]?.innerText === 'Arguments as JSON')"
    sent = page.look(f"JSON.parse({raw}.value)")
    found.same("the JSON view", (sent["title"], sent["place"], sent["guests"]), ("Tea", {"At": {"latitude": 52.5, "longitude": 13.4}}, [{"email": "ann@example.com", "required": True}]))
    found.hold("9007199254740993" in page.look(f"{raw}.value"), "the JSON view keeps large numbers")
    page.type(raw, '{"title": ')
    page.call()
    found.same("text that is not JSON", page.text("#tool-detail .result h3"), "VALIDATION")
    page.button("Form", "document.querySelector('#tool-detail')")
    found.hold("not JSON" in page.text("#tool-detail form"), "text that is not JSON stays in its view")
    page.type(raw, '{"title": "From JSON", "start_time": "2026-02-01T09:00:00Z", "place": {"Room": "Blue"}, "guests": [{"email": "bo@example.com"}]}')
    page.button("Form", "document.querySelector('#tool-detail')")
    found.same("the title in the form", page.look(f"{page.control('title')}.value"), "From JSON")
    found.same("the guest in the form", page.look(f"{page.control('email')}.value"), "bo@example.com")
    page.look(f"{page.control('title')}.focus()")
    page.look("document.querySelector('#tool-detail .result').setAttribute('data-seen', 'yes')")
    page.key("Enter", modifiers=2)
    page.until("!document.querySelector('#tool-detail .result').dataset.seen")
    found.hold("From JSON" in page.text("#tool-detail .result"), "Ctrl+Enter calls the tool")


def check_answers(page: Inspector, found: Findings):
    page.open_tool("search_notes")
    page.type(page.control("query"), "<script>alert(1)</script>")
    page.call()
    found.hold("<img src=x onerror=alert(1)><script>" in page.text("#tool-detail .result pre"), "markup in results is text")
    found.same("images and scripts in the page", page.look("document.querySelectorAll('img, main script').length"), 0)
    for title in ("Envelope", "Text for the model"):
        page.button(title, "document.querySelector('#tool-detail .result')")
    found.hold('"schemaVersion"' in page.text("#tool-detail .result pre[aria-label=Envelope]"), "the envelope is shown")
    page.open_tool("stay_silent")
    page.call()
    found.hold("nothing is spoken" in page.text("#tool-detail .result"), "warnings are shown")
    found.hold("SUPPRESS_AUDIO" in page.text("#tool-detail .result pre[aria-label=Intents]"), "intents are shown")


def check_pictures(page: Inspector, found: Findings):
    """A picture is shown as one. What is no picture that the page shows is said, as text."""
    page.open_tool("draw_chart")
    page.call()
    page.until("document.querySelector('#tool-detail .result img')?.naturalWidth === 96")
    seen = page.look("[...document.images].map((i) => [i.src.split(',')[0], i.alt, i.checkVisibility()])")
    found.same("the pictures", seen, [["data:image/png;base64", "Picture 1 of the result", True]])
    said = page.text("#tool-detail .result")
    found.hold("image/png, 155 bytes, 96 × 64 pixels" in said, f"the picture has its type and size: {said!r}")
    found.hold("image/svg+xml" in said and "does not show" in said, f"another type is named: {said!r}")
    found.hold("<b>January</b>" in said and "iVBOR" not in said, f"the parts are shown once, texts as text: {said!r}")


def check_waiting(page: Inspector, found: Findings):
    """A call that waits for a person has not failed."""
    found.same("a call that needs approval", page.text("#tool-detail .result h3"), "Waiting for approval")
    said = page.text("#tool-detail .result") + page.text("#status")
    for text in ("CONFIRMATION_REQUIRED", "tried again", "do not call", "ended"):
        found.hold(text not in said, f"a call that waits is no error, {text!r}: {said!r}")
    red = page.look("(() => { const e = document.createElement('p'); e.className = 'wrong'; document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c; })()")
    found.hold(red not in page.look("[...document.querySelectorAll('#tool-detail .result *')].map((e) => getComputedStyle(e).color)"), "and nothing of it is red")


def check_prompt(page: Inspector, found: Findings):
    """The spans of a prompt, of its model and its tools, are together on one scale. A call that waits is none that failed."""
    page.view("sessions")
    page.type("document.querySelector('#session-id')", "prompt-1")
    page.button("Open or join")
    page.until("document.querySelector('#session-detail h2')?.innerText === 'Session prompt-1'")
    event = {"title": "Tea", "start_time": "2026-01-31T09:00:00Z", "place": "Video"}
    calls = [{"name": "import_rows", "arguments": {"steps": 1}}, {"name": "create_event", "arguments": event}, {"name": "draw_chart", "arguments": {}}]
    page.type("document.querySelector('[data-key=say]')", "Plan the tea")
    page.type("document.querySelector('[data-key=script]')", json.dumps([{"calls": calls[:1]}, {"calls": calls[1:]}, {"says": "Planned."}]))
    page.button("Send")
    page.until("document.querySelector('[role=log]').innerText.includes('Planned.')")
    asked = page.look("[...document.querySelectorAll('[role=log] > *')].find((m) => m.innerText.startsWith('create_event')).innerText")
    found.hold("asked for approval" in asked and "error" not in asked and "failed" not in asked, f"a call of the model waits: {asked!r}")
    found.same("failed messages", page.look("document.querySelectorAll('[role=log] .wrong').length"), 0)
    page.until("document.querySelector('[role=log] img')?.naturalWidth === 96")
    check_screens(page, found, "a conversation")

    page.view("traces")
    page.look("document.querySelector('#span-list').scrollTop = 0")
    # The page draws a trace while it grows: the third step of the model is the last of its spans.
    page.until("document.querySelector('#span-list [aria-posinset=\"1\"]')?.innerText.includes('conversation')")
    page.until("[...document.querySelectorAll('#span-list [role=option]')].filter((o) => o.ariaPosInSet <= 7 && o.innerText.includes('script')).length === 3")
    rows = page.screen("waterfall(7)")
    names = [f"{row['kind']} {row['name']}" for row in rows]
    found.same("the spans of the prompt", sorted(names), sorted(["agent conversation", "llm script", "tool import_rows", "llm script", "tool create_event", "tool draw_chart", "llm script"]))
    found.hold(all(row["indent"] > rows[0]["indent"] for row in rows[1:]), f"they are inside of the prompt: {rows}")
    starts = [row["start"] for row in rows[1:]]
    found.hold(starts == sorted(starts) and starts[1] < starts[2], f"they follow each other on one scale: {rows}")
    found.same("failed spans of the prompt", page.look("[...document.querySelectorAll('#span-list .bar:is(.wrong, .cancelled)')].filter((b) => b.closest('[role=option]').ariaPosInSet <= 7).length"), 0)
    page.choose("document.querySelector('#span-scale')", "all")
    page.until("document.querySelector('#span-ticks').innerText.includes(' s')")
    page.choose("document.querySelector('#span-scale')", "trace")



HOSTILE = [
    "<script>owned=1</script>", "<img src=x onerror=owned=1>", "<svg onload=owned=1>", "\"><img src=x onerror=owned=1>", "' onmouseover='owned=1",
    "javascript:owned=1", "data:text/html,<script>owned=1</script>", "image/png;base64,AAAA\" onerror=\"owned=1", "image/png", "text/html",
    "{{owned=1}}", "${owned=1}", "</textarea><script>owned=1</script>", "</pre><iframe srcdoc='<script>parent.owned=1</script>'>",
    "__proto__", "constructor", "toString", "a/b~c", "\u202egnp.exe", "\u0000", "\n\n- <b>x</b>", "=" * 100_000, "(" * 1_000, "\n" * 10_000, "_" * 10_000,
]


def check_hostile(page: Inspector, found: Findings):
    """Texts of tools, models and schemas stay texts, wherever the page shows them."""
    seen = page.screen(f"hostile({json.dumps(HOSTILE)})")
    found.same("texts that became more than texts", seen["wrong"][:3], [])
    found.same("what a text has run", seen["owned"], None)


def check_declarations(page: Inspector, found: Findings):
    page.open_tool("create_event")
    for title in ("Schema of the arguments", "Schema of the result"):
        if page.look(f"[...document.querySelectorAll('#tool-detail summary')].some((s) => s.innerText === '{title}')"):
            page.button(title, "document.querySelector('#tool-detail')")
    page.button("Declaration to a provider", "document.querySelector('#tool-detail')")
    select = "document.querySelector('.declarations select')"
    page.until("document.querySelector('.declarations .columns')")
    providers = page.look(f"[...{select}.options].map((o) => o.value)")
    for provider in providers:
        page.look("document.querySelector('.declarations .columns').setAttribute('data-seen', 'yes')")
        page.choose(select, provider)
        page.until("document.querySelector('.declarations .columns:not([data-seen])')")
        declaration = page.text(".declarations pre[aria-label=Declaration]")
        found.hold("create_event" in declaration and "Declared as" in page.text(".declarations"), f"{provider} has a declaration and a report")
    page.look("document.querySelector('.declarations .columns').setAttribute('data-seen', 'yes')")
    page.choose(select, "openai-chat")
    page.click("document.querySelector('.declarations input[type=checkbox]')")
    page.until("document.querySelector('.declarations dl')?.innerText.includes('Strict')")
    found.hold(len(providers) >= 10, f"{len(providers)} providers")


def check_sessions(page: Inspector, found: Findings):
    page.view("sessions")
    page.type("document.querySelector('#session-id')", "tea-1")
    page.type("document.querySelector('#session-principal')", "user:7")
    page.choose("document.querySelector('#session-mode')", "text")
    page.button("Open or join")
    page.until("document.querySelector('#session-detail h2')?.innerText === 'Session tea-1'")
    page.open_tool("stay_silent")
    page.choose("document.querySelector('#tool-detail select.target')", "s:tea-1")
    page.call()
    found.hold("all calls\t8\t1\t7" in page.text("#tool-detail .result"), "the budget that is left is shown")
    page.open_tool("create_event")
    page.choose("document.querySelector('#tool-detail select.target')", "s:tea-1")
    page.call()
    check_waiting(page, found)
    page.button("Show approvals", "document.querySelector('#tool-detail .result')")
    check_approvals(page, found)
    check_approvals_of_the_program(page, found)
    page.view("sessions")
    page.session("tea-1", "#session-list")
    caps = page.text("#session-detail [aria-label='Caps on cost and time']")
    found.hold("cost of a turn\t$0.01\t$0.00025\t$0.00975" in caps, f"what is left of the caps is shown: {caps!r}")
    found.hold("time of a session\t60.00 s\t" in caps, f"the cap on time is shown: {caps!r}")
    page.until("document.querySelector('[aria-label=\"Audit log\"]')?.innerText.includes('SUPPRESS_AUDIO')")
    found.hold("stay_silent" in page.text("[aria-label='Loop detection']"), "the loop state is shown")
    page.button("Next turn")
    page.until("document.querySelector('#session-detail dl').innerText.includes('Turn\\n1')")
    page.button("Switch to voice")
    page.until("document.querySelector('#session-detail dl').innerText.includes('Mode\\nvoice')")
    page.session("Refresh", "#session-detail")
    check_conversation(page, found)
    page.button("End", "document.querySelector('#session-detail')")
    page.until("document.querySelector('#session-detail').innerText.includes('has ended')")
    found.same("open sessions", page.look("document.querySelectorAll('#session-list li').length"), 0)


def check_approvals_of_the_program(page: Inspector, found: Findings):
    """The calls that the program made in its own session are approved and denied too."""
    page.view("approvals")
    page.until("document.querySelectorAll('#approval-list [data-key]').length === 4")
    text = page.text("#approval-list")
    found.hold("program" in text and "user:8" in text and "call_2" in text and "Expires" in text, f"whose calls wait is shown: {text!r}")
    page.button("Approve create_event")
    page.until("document.querySelector('#approval-result h3')?.innerText === 'Success'")
    found.hold("Cake" in page.text("#approval-result"), "the result of the program's call is shown")
    page.until("document.querySelectorAll('#approval-list [data-key]').length === 2")
    page.button("Deny create_event")
    page.until("document.querySelector('#approval-result h3')?.innerText === 'Denied'")
    found.hold("No call waits" in page.text("#no-approvals"), "the denied call is gone")
    found.hold("program" not in page.text("#session-list"), "a session of the program is not one of the page")


def check_approvals(page: Inspector, found: Findings):
    mine = "[...document.querySelectorAll('#approval-list > li')].find((l) => l.innerText.includes('tea-1'))"
    page.until("document.querySelectorAll('#approval-list [data-key]').length === 6")
    page.button("Whole call", mine)
    found.hold('"title":"From JSON"' in page.text("#approval-list"), "the whole call is shown")
    page.button("Approve create_event", mine)
    page.until("document.querySelector('#approval-result h3')?.innerText === 'Success'")
    page.until(f"!{mine}")
    page.open_tool("create_event")
    page.choose("document.querySelector('#tool-detail select.target')", "s:tea-1")
    page.call()
    page.view("approvals")
    page.until("document.querySelectorAll('#approval-list [data-key]').length === 6")
    page.button("Deny create_event", mine)
    page.until("document.querySelector('#approval-result h3')?.innerText === 'Denied'")


def check_conversation(page: Inspector, found: Findings):
    message, script = "document.querySelector('[data-key=say]')", "document.querySelector('[data-key=script]')"
    page.type(message, "Is there tea?")
    page.type(script, '[{"calls": [{"name": "search_notes", "arguments": {"query": "tea"}}]}, {"says": "There is tea."}]')
    page.button("Send")
    page.until("document.querySelector('[role=log]').innerText.includes('There is tea.')")
    log = page.text("[role=log]")
    found.hold("search_notes" in log and "Is there tea?" in log, f"the conversation is shown: {log!r}")
    page.type(message, "Again")
    page.type(script, "")
    page.button("Send")
    page.until("document.querySelector('[role=log]').innerText.includes('messages')")


def check_traces(page: Inspector, found: Findings):
    page.open_tool("sign_in")
    page.type(page.control("user"), "ann")
    page.type(page.control("password"), "hunter2")
    page.call()
    page.view("traces")
    page.until("document.querySelector('#span-found').innerText.includes('of 10000 spans')")
    page.type("document.querySelector('#span-search')", "sign_in")
    page.until("document.querySelector('#span-found').innerText.startsWith('1 of')")
    page.click("document.querySelector('#span-list [role=option]')")
    page.until("document.querySelector('#span-detail pre[aria-label=Input]')")
    detail = page.text("#span-detail")
    found.hold("[redacted]" in detail and "hunter2" not in detail, f"the input is redacted: {detail!r}")
    found.hold("AUTH" in detail and "longer password" in detail, "the error is shown")
    page.type("document.querySelector('#span-search')", "create_event")
    page.until("document.querySelector('#span-list [role=option]')?.innerText.includes('create_event')")
    for at in range(page.look("document.querySelectorAll('#span-list [role=option]').length")):
        page.click(f"document.querySelectorAll('#span-list [role=option]')[{at}]")
        if "invitations" in page.text("#span-detail"):
            break
    detail = page.text("#span-detail")
    found.hold("0.00025" in detail and "Output" in detail, f"cost and output are shown: {detail!r}")
    page.type("document.querySelector('#span-search')", "")
    page.click("document.querySelector('#span-errors')")
    page.until("!document.querySelector('#span-found').innerText.startsWith('10000')")
    found.hold("sign_in" in page.text("#span-list"), "failed spans are found")
    page.click("document.querySelector('#span-errors')")
    page.choose("document.querySelector('#span-kind')", "agent")
    page.until("parseInt(document.querySelector('#span-found').innerText) < 1000")
    rows = "[...document.querySelectorAll('#span-list [role=option]')].map((row) => row.innerText)"
    page.until(f"{rows}.some((row) => row) && {rows}.every((row) => row.startsWith('agent'))")
    page.choose("document.querySelector('#span-kind')", "")
    page.choose("document.querySelector('#span-scale')", "all")
    page.choose("document.querySelector('#span-scale')", "trace")
    found.hold(page.look("document.querySelectorAll('#span-list [role=option]').length") < 80, "only visible spans are drawn")
    page.until("new Set([...document.querySelectorAll('#span-list .one')].map((e) => e.style.paddingLeft)).size >= 2")
    found.hold(True, "spans are inside of others")


def check_running(page: Inspector, found: Findings):
    """A call that runs is shown with its progress, at the tool and among the spans, until it ends."""
    page.open_tool("import_rows")
    page.click("document.querySelector('#tool-detail button[data-key=call]')")
    page.until("document.querySelector('#tool-detail .progress')?.innerText.includes('step 1 <b>of</b> 5')")
    found.hold(page.look("document.querySelector('#tool-detail .progress progress').value") > 0, "the completed part is shown")
    page.view("traces")
    page.type("document.querySelector('#span-search')", "import_rows")
    page.until("document.querySelector('#span-list .bar.running')")
    page.click("document.querySelector('#span-list [role=option]')")
    row, detail = page.text("#span-list [role=option]"), page.text("#span-detail")
    found.hold("running" in row and "step" in row, f"the running call is in the waterfall: {row!r}")
    found.hold("so far" in detail and "Progress" in detail, f"its progress is in the detail: {detail!r}")
    page.until("document.querySelector('#span-detail').innerText.includes('Status\\nok')")
    page.until("!document.querySelector('#span-list .bar.running')")
    found.hold("so far" not in page.text("#span-detail"), "the ended call is no longer running")
    page.type("document.querySelector('#span-search')", "")
    page.view("tools")
    page.until("document.querySelector('#tool-detail .result h3')?.innerText === 'Success'")


def check_pause(page: Inspector, found: Findings):
    page.view("traces")
    page.click("document.querySelector('#span-pause')")
    page.open_tool("search_notes")
    page.call()
    page.view("traces")
    page.type("document.querySelector('#span-search')", "search_notes")
    page.until("!document.querySelector('#span-found').innerText.startsWith('10000')")
    before = page.look("parseInt(document.querySelector('#span-found').innerText)")
    page.click("document.querySelector('#span-pause')")
    page.until(f"parseInt(document.querySelector('#span-found').innerText) > {before}")
    page.click("document.querySelector('#span-clear')")
    page.until("document.querySelector('#span-found').innerText.startsWith('0 of 0')")
    page.type("document.querySelector('#span-search')", "")
    found.hold(True, "the waterfall pauses and clears")


def check_metrics(page: Inspector, found: Findings):
    page.view("metrics")
    page.until("document.querySelectorAll('#charts .chart').length >= 4")
    found.hold("create_event" in page.text("#metric-table") and "stay_silent" in page.text("#metric-table"), "each tool has its figures")
    page.until("document.querySelector('#charts svg polyline')")
    label = page.look("document.querySelector('#charts svg').getAttribute('aria-label')")
    found.hold(label.startswith("Calls a second: now "), f"the picture has a label: {label}")
    read = page.screen("charts()")
    found.hold(read["text"] >= 16 and read["bar"] >= 16, f"charts are read at arm's length, texts and bars of 16 pixels: {read}")
    row = page.look("[...document.querySelectorAll('#metric-table tbody tr')].find((r) => r.innerText.startsWith('create_event')).innerText").split("\t")
    head = page.text("#metric-table thead").split("\t")
    found.same("errors of a tool whose calls waited for approval", row[head.index("Errors")], "0")
    rows = page.look("[...document.querySelectorAll('#circuit-table tbody tr')].map((row) => row.innerText.split('\\t'))")
    found.same("circuit breakers", rows, [["work_0998", "tool", "open", "1", "1"]])
    found.hold(int(row[head.index("Approval asked")]) >= 3, f"the calls that asked are counted: {row}")


def check_axe(page: Inspector, found: Findings, source: str, name: str):
    for scheme in ("light", "dark"):
        page.tab.scheme(scheme)
        for view in ("tools", "sessions", "approvals", "traces", "metrics"):
            page.view(view)
            page.look("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            time.sleep(0.15)
            page.look(f"{source}\n;void 0")
            page.until("!!window.axe")
            seen = page.look("axe.run(document).then((r) => ({passes: r.passes.length, broken: r.violations.map((v) => "
                             "`${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`)}))")
            found.same(f"axe-core, {name}, {scheme}, {view}", seen["broken"], [])
            found.hold(seen["passes"] > 15, f"axe-core has looked at {view}: {seen['passes']} rules")
            if name == "wide":
                page.tab.picture(FOLDER / f"{view}-{scheme}.png", whole=False)
    page.tab.scheme("light")


def check_widths(page: Inspector, found: Findings):
    """From a small phone to a wide screen, with everything unfolded: nothing is broken, and nothing is wider than the screen."""
    for width in (320, 390, 768, 1024, 1440, 1920):
        page.tab.size(width, 900, phone=width < 700)
        for view in ("tools", "sessions", "approvals", "traces", "metrics"):
            page.view(view)
            page.look("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            check_screens(page, found, f"{view}, {width} pixels")
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            found.same(f"pixels of {view} beside a screen of {width}", page.look(wide), 0)
    page.tab.size(1280, 900)


def check_list_or_detail(page: Inspector, found: Findings):
    """A narrow screen shows a list, or what was opened in it. The arrow keys move in the list."""
    page.view("tools")
    shown = "[document.querySelector('#tool-list').checkVisibility(), document.querySelector('#tool-detail .back')?.checkVisibility() ?? false]"
    page.button("← All tools")
    page.until(f"{shown}[0]")
    found.same("the focus after the way back", page.look("document.activeElement.id"), "tool-list")
    page.type("document.querySelector('#tool-search')", "")
    page.until("document.querySelector('#tool-found').innerText.startsWith('1007')")
    page.look("document.querySelector('#tool-list').focus()")
    found.hold("Choose a tool, fill in its arguments" in page.text("#view-tools .side"), "the first screen of a phone says what to do")
    for _ in range(2):
        page.key("ArrowDown")
    page.until("document.querySelector('#tool-detail h2')?.innerText === document.querySelector('#tool-list [aria-posinset=\"2\"] .name')?.innerText")
    found.same("the list during a move", page.look(shown), [True, False])
    page.key("Enter")
    page.until(f"!{shown}[0]")
    found.same("the detail that was opened", page.look(shown), [False, True])
    found.hold(page.look("document.activeElement.classList.contains('back')"), "the focus is in the detail")


def check_phone(page: Inspector, found: Findings, source: str):
    page.tab.size(375, 720, phone=True)
    for view in ("tools", "sessions", "approvals", "traces", "metrics"):
        page.view(view)
        time.sleep(0.1)
        over = page.look("[...document.querySelectorAll('main *')].filter((e) => e.checkVisibility() && !e.parentElement.closest('.wide, pre, .list, .unseen') && "
                         "e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => `${e.tagName}.${e.className} ${e.id}`).slice(0, 5)")
        found.same(f"what is wider than a phone on {view}", over, [])
        found.hold(page.look("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), f"{view} does not scroll sideways")
        check_screens(page, found, f"{view} on a phone")
        page.tab.picture(FOLDER / f"{view}-phone.png", whole=False)
    check_list_or_detail(page, found)
    check_axe(page, found, source, "phone")
    page.tab.size(1280, 900)


def check_speed(page: Inspector, found: Findings, yardstick: float):
    """Interactions with 1,000 tools and 10,000 spans: the slowest of several."""
    typed = "(() => { const e = document.querySelector('%s'); e.value = '%s'; e.dispatchEvent(new Event('input')); })()"
    scrolled = "document.querySelector('%s').scrollTop = %d"
    clicked = "document.querySelectorAll('%s [role=option]')[%d].click()"
    figures, work = {}, page.tab.work
    page.view("tools")
    page.type("document.querySelector('#tool-search')", "")
    page.until("document.querySelector('#tool-found').innerText.startsWith('1007')")
    figures["search tools"] = [work(typed % ("#tool-search", text)) for text in ("w", "wo", "work_09", "", "event", "")]
    figures["scroll tools"] = [work(scrolled % ("#tool-list", at)) for at in range(0, 50_000, 9_000)]
    # From the click to the detail of the tool, with its request.
    opened = "document.querySelector('#tool-detail h2')?.innerText.includes(document.querySelector('#tool-list [aria-selected=true] .one').innerText)"
    figures["open a tool"] = [work(clicked % ("#tool-list", at), opened) for at in (1, 3, 5, 7, 9)]
    page.view("traces")
    page.until("document.querySelector('#span-found').innerText.includes('10000 of 10000')")
    figures["open the traces"] = [work("for (const view of ['tools', 'traces']) document.querySelector(`nav [data-view=${view}]`).click()") for _ in range(5)]
    figures["search spans"] = [work(typed % ("#span-search", text)) for text in ("p", "part 5", "agent", "", "part 99", "")]
    figures["scroll spans"] = [work(scrolled % ("#span-list", at)) for at in range(0, 280_000, 40_000)]
    figures["select a span"] = [work(clicked % ("#span-list", at)) for at in (1, 3, 5, 7, 9)]
    page.tab.check_work(found, yardstick, figures)


def complaints(page: Inspector) -> list[str]:
    """Errors of the console, breaches of the policy, exceptions, and requests for anything but the server."""
    origin, wrong = page.address.split("/#")[0], []
    for event in page.tab.events:
        method, told = event["method"], event["params"]
        if method in ("Runtime.exceptionThrown", "Audits.issueAdded", "Page.javascriptDialogOpening"):
            wrong.append(f"{method}: {json.dumps(told)[:400]}")
        # The test sends one wrong token itself.
        if method == "Log.entryAdded" and "401" not in told["entry"]["text"]:
            wrong.append(f"{method}: {json.dumps(told)[:300]}")
        if method == "Network.requestWillBeSent" and not told["request"]["url"].startswith((origin, "data:", "about:")):
            wrong.append(f"asked for {told['request']['url'][:200]}")
    return wrong


def use(page: Inspector, found: Findings, axe: str, yardstick: float):
    page.tab.size(1280, 900)
    page.tab.scheme("light")
    check_opening(page, found)
    check_first_screen(page, found)
    check_speed(page, found, yardstick)
    check_tools(page, found)
    check_list(page, found)
    check_texts(page, found)
    check_form(page, found)
    check_answers(page, found)
    check_pictures(page, found)
    check_hostile(page, found)
    check_declarations(page, found)
    check_sessions(page, found)
    check_prompt(page, found)
    check_traces(page, found)
    check_running(page, found)
    check_metrics(page, found)
    found.same("complaints of the browser", complaints(page), [])
    page.open_tool("create_event")
    for view in ("tools", "sessions", "approvals", "traces", "metrics"):
        page.view(view)
        check_screens(page, found, view)
    check_widths(page, found)
    check_axe(page, found, axe, "wide")
    check_phone(page, found, axe)
    check_pause(page, found)


def check_example(page: Inspector, found: Findings):
    """The example, as docs/book/inspector.png shows it."""
    page.tab.size(1280, 860)
    page.tab.scheme("light")
    page.open()
    page.until("document.querySelectorAll('#tool-list [role=option]').length === 3")
    page.view("sessions")
    page.type("document.querySelector('#session-id')", "demo")
    page.button("Open or join")
    page.until("document.querySelector('#session-detail h2')?.innerText === 'Session demo'")
    page.open_tool("create_event")
    page.type("document.querySelector('#tool-search')", "")
    page.choose("document.querySelector('#tool-detail select.target')", "s:demo")
    for label, text in (("title", "Tea with Ann"), ("start_time", "tomorrow at nine"), ("duration_minutes", "3")):
        page.type(page.control(label), text)
    page.call()
    found.hold("RFC 3339" in page.problem("start_time") and "at least 5" in page.problem("duration_minutes"), "the example shows problems")
    page.look("scrollTo(0, 0); document.activeElement.blur()")
    page.tab.picture(FOLDER / "example.png", whole=False)
    found.same("complaints of the browser about the example", complaints(page), [])


def check_governed(page: Inspector, found: Findings):
    """The page of a gateway: there is no call without a session, and a call has a record in the session that it opens."""
    page.tab.size(1280, 900)
    page.open()
    page.until("document.querySelectorAll('#tool-list [role=option]').length > 5")
    found.hold("under its rules and limits" in page.text("#tool-detail"), "the first screen says that calls are governed")
    page.open_tool("search_notes")
    page.type(page.control("query"), "tea")
    targets = page.look("[...document.querySelector('select.target').options].map((o) => o.text)")
    found.same("where a call can be made", targets, ["in a new session, text", "in a new session, voice"])
    found.hold("without a session" not in page.text("body") and "bare" not in page.text("body"), "there is no other call")
    page.call()
    page.until("document.querySelector('#count-sessions').innerText === '1'")
    page.view("sessions")
    page.click("document.querySelector('#session-list button')")
    page.until("document.querySelector('[aria-label=\"Audit log\"]')?.innerText.includes('search_notes')")
    found.same("complaints of the browser about the governed page", complaints(page), [])


def served(program: str, browser, use_page, found: Findings, option: str = "127.0.0.1:0"):
    """Starts a program that serves an inspector on a free port, and uses its page."""
    server = subprocess.Popen([TARGET / "debug" / "examples" / program, option], stdout=subprocess.PIPE, text=True)
    try:
        use_page(Inspector(browser.page(), server.stdout.readline().strip()), found)
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    from browser import Browser, chromium

    program = chromium()
    for missing in [what for what, there in (("chromium", program), (f"axe-core in {AXE.parent}", AXE.exists())) if not there]:
        print(f"skipped: {missing} is not there", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    FOLDER.mkdir(parents=True, exist_ok=True)
    found, axe = Findings(), AXE.read_text()
    with Browser(program) as browser:
        yardstick = browser.yardstick()
        served("conformance_inspector", browser, lambda page, found: use(page, found, axe, yardstick), found)
        served("conformance_inspector", browser, check_governed, found, "sessions-only")
        served("inspector", browser, check_example, found)
    print(f"{'FAILED' if found.wrong else 'ok':6} inspector: {found.looked} checks")
    print("\n".join(found.wrong))
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
