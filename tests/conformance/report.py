"""Looks at the page of a report in a real browser: what it shows is what the report's JSON says.

    cargo build --example conformance_report
    npm install --prefix target/conformance/axe axe-core@4.14.1
    python tests/conformance/report.py

Needs Chromium, and `websocket-client`. Without a browser it prints `skipped`, and fails where `CI=true`. Where axe-core is in
target/conformance/axe, it looks at the pages too. Pictures of
the pages are left in target/conformance/report.
"""

import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
FOLDER = ROOT / "target" / "conformance" / "report"
sys.path.insert(0, str(HERE / "report"))

LOOK = (HERE / "report" / "look.js").read_text()
CONTRAST = (HERE / "report" / "contrast.js").read_text()
AXE = ROOT / "target" / "conformance" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SEEN = "[...document.querySelectorAll('.span > summary')].filter((row) => row.checkVisibility()).length"
# The narrowest bar, in pixels.
NARROWEST = 3
# How deep the tree is nested.
DEEPEST = 16
# The elements of the page.
OWN = {"h1", "h2", "p", "time", "main", "header", "section", "dl", "div", "dt", "dd", "data", "ul", "li", "details", "summary", "span", "bdi", "label", "input", "output", "table", "caption", "thead", "tbody", "tr", "th", "td"}
HIDDEN = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}


class Findings:
    """What is wrong with a page, and how much was looked at."""

    def __init__(self, page: str):
        self.page, self.wrong, self.looked = page, [], 0

    def same(self, what: str, seen, wanted):
        self.hold(seen == wanted, f"{what}: the page has {seen!r}, the report {wanted!r}")

    def hold(self, holds: bool, what: str):
        self.looked += 1
        if not holds:
            self.wrong.append(f"{self.page}: {what}")


def shown(name: str, most: int = 100) -> str:
    """Returns a name as the page shows it: invisible and control characters are escaped."""
    short = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
    spell = lambda c: short.get(c, f"\\u{{{ord(c):x}}}")
    is_hidden = lambda c: unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") or ord(c) in HIDDEN
    text = "".join(spell(c) if is_hidden(c) else c for c in name[:most])
    return text + "…" if len(name) > most else text


def check_money(found: Findings, what: str, seen: dict | None, wanted: dict):
    """An amount: exactly for programs, and for people as near as its decimals come."""
    if seen is None:
        return found.same(f"{what}, uses", 0, wanted["uses"])
    picodollars = wanted["cost"]["picodollars"]
    found.same(f"{what}, picodollars", int(seen["value"]), picodollars)
    if wanted["uses"] and wanted["unpriced"] == wanted["uses"]:
        return found.same(f"{what}, in words", seen["text"], "no price")
    matched = re.fullmatch(r"\$(\d+)\.(\d+)(\+?)", seen["text"])
    found.hold(matched is not None, f"{what}: {seen['text']!r} is no amount")
    if matched:
        whole, decimals, more = matched.groups()
        unit = 10 ** (12 - len(decimals))
        off = abs(int(whole + decimals) * unit - picodollars)
        found.hold(off * 2 <= unit, f"{what}: {seen['text']} for {picodollars} picodollars")
        found.same(f"{what}, the mark of what has no price", more == "+", wanted["unpriced"] > 0)


UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3}


def check_time(found: Findings, what: str, seen: dict | None, milliseconds: float):
    if seen is None:
        return found.hold(False, f"{what}: no duration")
    exact = float(re.fullmatch(r"PT([\d.]+)S", seen["datetime"]).group(1)) * 1000
    found.hold(abs(exact - milliseconds) < 1e-5, f"{what}: {exact} ms for {milliseconds} ms")
    read = sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+) (\S+)", seen["text"]))
    found.hold(abs(read - milliseconds) <= milliseconds * 0.00501 + 1e-9, f"{what}: {seen['text']} for {milliseconds} ms")


def check_figures(found: Findings, page: dict, report: dict):
    figures, totals = page["figures"], report["totals"]
    for name in ("total", "tracked", "untracked"):
        check_money(found, name, figures[name], totals[name])
    number = lambda name: int(figures[name]["text"].replace(",", "")) if name in figures else 0
    usage = totals["total"]["usage"]
    wanted = {"input": usage["input"], "output": usage["output"], "dropped": report["dropped"], "unpriced": totals["total"]["unpriced"]}
    for name, of in wanted.items():
        found.same(name, number(name), of)
    total, tracked, untracked = (int(figures[name]["value"]) for name in ("total", "tracked", "untracked"))
    found.same("tracked and untracked", tracked + untracked, total)


def check_tables(found: Findings, page: dict, report: dict):
    totals, tables = report["totals"], dict(page["tables"])
    lists = {"by-all": {name: totals[name] for name in ("total", "tracked", "untracked")}}
    lists |= {f"by-{name}": totals[name] for name in ("agents", "tools", "models", "runs", "customers") if totals[name]}
    found.same("tables", sorted(tables), sorted(lists))
    for name, sums in lists.items():
        table = tables.get(name, {"rows": [], "scopes": [], "caption": ""})
        rows = {row["cells"][0]: row for row in table["rows"]}
        found.hold(bool(table["caption"]) and all(table["scopes"]), f"{name}: no caption, or cells that head nothing")
        wanted = {shown(of): sums[of] for of in sums}
        if len(sums) > 100:
            found.same(f"{name}, rows", len(rows), 101)
            wanted = {of: wanted[of] for of in wanted if of in rows}
        found.hold(wanted.keys() <= rows.keys(), f"{name}: {sorted(wanted)} are not all among {sorted(rows)}")
        for of in wanted.keys() & rows.keys():
            check_money(found, f"{name} {of}", rows[of]["cost"], wanted[of])
            usage = wanted[of]["usage"]
            numbers = [wanted[of]["uses"], usage["input"], usage["cached"], usage["output"], usage["reasoning"]]
            found.same(f"{name} {of}", rows[of]["cells"][2:], [f"{number:,}" for number in numbers])


def check_tree(found: Findings, page: dict, spans: list[dict]):
    """Every row, in order, with its parent, name, cost and duration."""
    found.same("rows", [row["span"] for row in page["tree"]], [span["span_id"] for span in spans])
    for row, span in zip(page["tree"], spans):
        what = f"{span.get('kind')} {span['span_id']}"
        if span["depth"] <= DEEPEST:
            found.same(f"{what}, parent", row["parent"], span["parent_id"])
        if "name" in span:
            found.same(f"{what}, name", row["name"], shown(span["name"]))
            found.same(f"{what}, kind", row["kind"], span["kind"])
            check_time(found, what, row["time"], span["duration_ms"])
            check_facts(found, what, row["facts"], span)
        check_money(found, what, row["cost"], span["total"])
        status, marks = span.get("status"), " ".join(row["marks"])
        wanted = "" if status == "ok" or "name" not in span else status or "running"
        found.hold(marks.startswith(wanted) and bool(marks) == bool(wanted), f"{what}: {marks!r} for {status}")
        if "error" in span:
            found.hold(span["error"]["kind"] in marks, f"{what}: {marks!r} does not tell {span['error']['kind']}")


def check_facts(found: Findings, what: str, facts: dict, span: dict):
    """What a span opens to: its status and ids, and every text that the report has of it."""
    found.same(f"{what}, status", facts["Status"], span["status"] or "running")
    for name, of in (("Span", "span_id"), ("Trace", "trace_id"), ("Call", "call_id"), ("Run", "run_id"), ("Customer", "customer_id")):
        found.same(f"{what}, {name}", facts.get(name), shown(span[of]) if of in span else None)
    text = lambda value: "\n".join(shown(line, 2_000) for line in (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))).split("\n"))
    titles = {"gen_ai.tool.call.arguments": "Input", "gen_ai.tool.call.result": "Output"}
    for key, value in span.get("attributes", {}).items():
        found.same(f"{what}, {key}", facts.get(titles.get(key, key)), text(value))
    if "error" in span:
        found.same(f"{what}, error", facts.get("Error"), text(span["error"].get("message") or span["error"]["kind"]))
    for use in span.get("spent", [])[-1:]:
        found.hold(shown(use["model"]) in facts["Cost"], f"{what}: {facts['Cost']!r} does not name {use['model']!r}")


def check_bars(found: Findings, page: dict, spans: list[dict], whole: float):
    """Every bar: seen, inside of its track, where its times put it, and inside of its parent's."""
    timed = [span for span in spans if "start_ms" in span]
    timed = timed[:: max(1, math.ceil(len(timed) / 1000))]
    found.same("bars", [bar["span"] for bar in page["bars"]], [span["span_id"] for span in timed])
    bars = {bar["span"]: bar for bar in page["bars"]}
    times = {span["span_id"]: span for span in timed}
    for bar, span in zip(page["bars"], timed):
        what, box, track = f"bar of {bar['name']}", bar["bar"], bar["track"]
        found.hold(bar["visible"] and bar["hit"] and bar["opacity"] == "1", f"{what} is not seen")
        found.hold(bar["paint"] != "rgba(0, 0, 0, 0)none", f"{what} has no colour")
        found.hold(box["width"] >= NARROWEST - 0.1 and box["height"] >= 8, f"{what} is {box['width']}x{box['height']}")
        found.hold(box["left"] >= track["left"] - 0.1 and box["right"] <= track["right"] + 0.1, f"{what} leaves its track")
        found.hold(box["top"] >= track["top"] and box["bottom"] <= track["bottom"], f"{what} leaves its track")
        left = min(span["start_ms"] / whole * track["width"], track["width"] - NARROWEST)
        width = min(max(span["duration_ms"] / whole * track["width"], NARROWEST), track["width"] - left)
        found.hold(abs(box["left"] - track["left"] - left) <= 1, f"{what} begins at {box['left'] - track['left']}, not at {left}")
        found.hold(abs(box["width"] - width) <= 1, f"{what} is {box['width']} wide, not {width}")
        parent = times.get(span["parent_id"])
        ends = lambda of: of["start_ms"] + of["duration_ms"]
        if parent and span["parent_id"] in bars and ends(parent) >= ends(span):
            around = bars[span["parent_id"]]["bar"]
            inside = box["left"] >= around["left"] - 1 and box["right"] <= around["right"] + NARROWEST
            found.hold(inside, f"{what} leaves the bar of what is around it")


def check_form(found: Findings, page: dict):
    found.same("title", page["title"], "Trace report")
    found.same("language", page["language"], "en")
    levels = [level for level, _ in page["headings"]]
    found.hold(levels[:1] == [1] and set(levels[1:]) == {2}, f"headings {levels}")
    found.same("elements that are not the page's own", sorted(set(page["elements"]) - OWN), [])
    found.same("handlers", page["handlers"], 0)
    found.same("what a name did", page["owned"], None)


def check_first_sight(found: Findings, spans: list[dict], seen: int):
    """As many levels are open at first as make 400 rows, and the roots always."""
    levels = collections.Counter(min(span["depth"], DEEPEST) for span in spans)
    wanted = levels[0]
    for level in range(1, DEEPEST + 1):
        if wanted + levels[level] > 400:
            break
        wanted += levels[level]
    found.same("rows at first", seen, wanted)


def check_folding(found: Findings, tab):
    """A click folds the tree up, and another opens it."""
    seen = lambda: tab.look(SEEN)
    spot = tab.look("(() => { const s = document.querySelector('.fold > summary'); s.scrollIntoView({block: 'center'}); const b = s.getBoundingClientRect(); return [b.left + 10, b.top + 10]; })()")
    before = seen()
    tab.click(*spot)
    folded = seen()
    tab.click(*spot)
    found.hold(folded < before == seen(), f"{before} rows, {folded} folded up, {seen()} opened again")


def check_details(found: Findings, tab):
    """A click on a span opens its input, its output and its error."""
    opened = lambda: tab.look("document.querySelector('.span[open]')?.innerText ?? ''")
    for name, words in (("geocode", ("Input", '{"place":"Rome"}', "Output", '"Rome"')), ("sign_in", ("[redacted]", "AUTH", "wrong"))):
        spot = tab.look(f"(() => {{ const s = [...document.querySelectorAll('.span > summary')].find((s) => s.innerText.includes('{name}')); "
                        "s.scrollIntoView({block: 'center'}); const b = s.getBoundingClientRect(); return [b.left + 200, b.top + 10]; })()")
        tab.click(*spot)
        found.hold(all(word in opened() for word in words), f"{name} opens to {opened()!r}")
        tab.click(*spot)
    found.hold("hunter2" not in tab.look("document.documentElement.outerHTML"), "a password is on the page")
    found.same("what is open", opened(), "")


# Lays out what is out of sight too, so that its place can be read.
LAID_OUT = "document.querySelectorAll('.span').forEach((s) => { s.style.contentVisibility = 'visible'; })"
SEARCH = "(() => { const e = document.querySelector('#search'); e.value = %s; e.dispatchEvent(new Event('input')); return new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))); })()"
NAMES = "[...document.querySelectorAll('.span > summary')].filter((row) => row.checkVisibility()).map((row) => row.querySelector('.name').innerText)"


def check_search(found: Findings, tab):
    """A search shows the spans that have all its words, and those around them."""
    before = tab.look(NAMES)
    for text, names, count in (("rome", ["planner", "places", "geocode"], "1 of"), ("ATLANTIS tool", ["planner", "places", "geocode"], "1 of"),
                               ("there is no", ["planner", "places", "geocode"], "1 of"), ("no such span", [], "0 of"), ("hunter2", [], "0 of")):
        tab.look(SEARCH % json.dumps(text))
        found.same(f"spans with {text!r}", tab.look(NAMES), names)
        found.hold(tab.look("document.querySelector('output').innerText").startswith(count), f"{text!r}: {count}")
    tab.look(SEARCH % '""')
    found.same("spans after the search", tab.look(NAMES), before)


def check_keys(found: Findings, tab):
    """The arrow keys move between spans, and fold them."""
    keys = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "End": 35, "Home": 36, "Enter": 13}

    def press(name: str):
        for kind in ("keyDown", "keyUp"):
            more = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            tab.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=keys[name], **more)
        return tab.look("document.activeElement.closest('li')?.querySelector('.name').innerText ?? ''")

    tab.look("document.querySelector('.span > summary').focus()")
    rows = tab.look(NAMES)
    found.same("the next span", press("ArrowDown"), rows[1])
    found.same("the first span", press("Home"), rows[0])
    found.same("the last span", press("End"), rows[-1])
    press("Home")
    press("ArrowLeft")
    found.hold(len(tab.look(NAMES)) < len(rows), "ArrowLeft folds a span up")
    press("ArrowRight")
    found.same("spans after ArrowRight", tab.look(NAMES), rows)
    found.same("the span inside", press("ArrowRight"), rows[1])
    found.same("the span around", press("ArrowLeft"), rows[0])
    press("Enter")
    found.hold(tab.look("document.querySelector('.span').open"), "Enter opens a span")
    found.hold(tab.look("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is seen")
    press("Enter")


def check_axe(found: Findings, tab, name: str):
    """axe-core finds nothing, with everything unfolded."""
    tab.look(f"{AXE.read_text()}\n;void 0")
    seen = tab.look("axe.run(document).then((r) => ({passes: r.passes.length, broken: r.violations.map((v) => "
                    "`${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`)}))")
    found.same(f"axe-core, {name}", seen["broken"], [])
    found.hold(seen["passes"] > 15, f"axe-core has looked at {seen['passes']} rules")


def check_speed(found: Findings, tab, name: str, yardstick: float):
    """Interactions with 10,000 spans: the slowest of several."""
    work = tab.work
    typed = "(() => { const e = document.querySelector('#search'); e.value = '%s'; e.dispatchEvent(new Event('input')); })()"
    fold = "document.querySelectorAll('.fold')[%d].open = %s"
    keyed = "(document.activeElement.closest('.tree') ? document.activeElement : document.querySelector('.span > summary')).dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
    figures = {
        "search": [work(typed % text) for text in ("s", "se", "agent 7", "search", "", "a", "no such", "")],
        "fold": [work(fold % (at, is_open)) for at in ((0,) if name == 'wide' else (3, 30, 70)) for is_open in ("true", "false", "true")],
        "open a span": [work(f"document.querySelectorAll('.span')[{at}].open = true") for at in (0, 1, 2, 3)],
        "scroll": [work(f"scrollTo(0, {at})") for at in (0, 5_000, 20_000, 1_000, 0)],
        "keys": [work(keyed % key) for key in ("ArrowDown", "End", "Home", "ArrowRight", "ArrowDown", "ArrowUp")],
    }
    tab.check_work(found, yardstick, figures)


def check_without_script(found: Findings, tab, spans: list[dict]):
    """Without scripts, the page has the same spans, and no search that does nothing."""
    tab.ask("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(FOLDER / "real.html")
    found.same("spans without a script", tab.look("document.querySelectorAll('.tree li').length"), len(spans))
    found.same("the search without a script", tab.look("document.querySelector('#search').checkVisibility()"), False)
    tab.ask("Emulation.setScriptExecutionDisabled", value=False)


def check_looks(found: Findings, tab, name: str):
    """On a phone nothing is wider than the screen; light and dark, every text can be read."""
    for scheme in ("dark", "light"):
        tab.scheme(scheme)
        contrast = tab.look(CONTRAST)
        dark = sum(contrast["back"][:3]) < 200
        found.same("dark", dark, scheme == "dark")
        found.hold(contrast["count"] > 0 and contrast["least"] >= 4.5, f"{scheme}: {contrast['least']} of {contrast['worst']!r}")
        tab.look("scrollTo(0, 0)")
        tab.picture(FOLDER / f"{name}-{scheme}.png", whole=name not in ("many", "deep", "wide"))
    for width in (320, 375, 768):
        tab.size(width, 800, phone=True)
        over = tab.look("document.documentElement.scrollWidth") - width
        found.hold(over <= 0, f"at {width} pixels the page is {over} too wide")
        cut = tab.look("[...document.querySelectorAll('h1, h2, p, .span > summary, .figures > div, .track, .time')].filter((e) => e.checkVisibility() && !e.closest('.wide')).filter((e) => { const b = e.getBoundingClientRect(); return b.right > innerWidth + 1 || b.left < -1; }).length")
        found.same(f"what leaves a screen {width} pixels wide", cut, 0)
        if width == 375:
            tab.look("scrollTo(0, 0)")
            tab.picture(FOLDER / f"{name}-phone.png", whole=name not in ("many", "deep", "wide"))
    tab.size(1280, 900)


def on_page(spans: list[dict], most: int = 10_000) -> list[dict]:
    """The spans that are on the page: the first of each list, and of these those nearest to their root."""
    lists, listed = collections.Counter(), {None}
    for span in spans:
        lists[span["parent_id"]] += 1
        if lists[span["parent_id"]] <= 1_000 and span["parent_id"] in listed:
            listed.add(span["span_id"])
    spans = [span for span in spans if span["span_id"] in listed]
    if len(spans) <= most:
        return spans
    nearest = sorted(range(len(spans)), key=lambda at: (spans[at]["depth"], at))[:most]
    return [spans[at] for at in sorted(nearest)]


def check(tab, name: str, yardstick: float) -> Findings:
    found, report = Findings(name), json.loads((FOLDER / f"{name}.json").read_text())
    tab.size(1280, 900)
    tab.scheme("light")
    tab.open(FOLDER / f"{name}.html")
    tab.look("new Promise((r) => setTimeout(r, 500))")
    seen = tab.look(SEEN)
    if name in ("many", "wide"):
        check_speed(found, tab, name, yardstick)
        tab.open(FOLDER / f"{name}.html")
    tab.look(LAID_OUT)
    # What is folded up at first is read as well.
    tab.look("document.querySelectorAll('.fold').forEach((d) => { d.open = true; })")
    page = tab.look(LOOK)
    spans = on_page(report["spans"])
    check_form(found, page)
    check_figures(found, page, report)
    check_tables(found, page, report)
    check_tree(found, page, spans)
    check_bars(found, page, spans, report["duration_ms"] or 1)
    found.same("what is wider than the page", max(page["overflow"], 0), 0)
    told = any(f"{len(spans):,} of {len(report['spans']):,} spans are shown" in note for note in page["notes"])
    found.same("a note of what is left out", told, len(spans) < len(report["spans"]))
    check_first_sight(found, spans, seen)
    if name == "real":
        check_folding(found, tab)
        check_details(found, tab)
        check_search(found, tab)
        check_keys(found, tab)
        tab.picture(FOLDER / "real-search.png")
    if name in ("real", "hostile"):
        tab.look("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    check_looks(found, tab, name)
    found.same("complaints of the browser", tab.complaints(), [])
    if name in ("real", "hostile", "empty") and AXE.exists():
        # The policy of the page allows no other script, so axe-core comes through the debugger.
        check_axe(found, tab, name)
    if name == "real":
        check_without_script(found, tab, spans)
    return found


def main() -> int:
    from browser import Browser, chromium

    program = chromium()
    if program is None:
        print("skipped: chromium is not there; it is in Debian's package `chromium`", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    subprocess.run([TARGET / "debug" / "examples" / "conformance_report", FOLDER], check=True)
    wrong = []
    with Browser(program) as browser:
        yardstick = browser.yardstick()
        for name in ("real", "hostile", "deep", "many", "wide", "empty"):
            found = check(browser.page(), name, yardstick)
            print(f"{'FAILED' if found.wrong else 'ok':6} {name}: {found.looked} checks")
            print("\n".join(found.wrong[:20]))
            wrong += found.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
