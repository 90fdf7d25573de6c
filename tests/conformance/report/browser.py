"""A page in Chromium, over the DevTools protocol."""

import base64
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request

import websocket

# How long to wait for the browser. A busy machine may take minutes for a large page.
SECONDS = 300

# What an interaction is compared with: the work of laying out these plain rows.
YARDSTICK_ROWS = 4_000
YARDSTICK = f"""(() => {{
  const list = document.createElement('ul');
  for (let row = 0; row < {YARDSTICK_ROWS}; row++) list.appendChild(document.createElement('li')).textContent = `row ${{row}}`;
  document.body.replaceChildren(list);
}})()"""

# Runs an interaction, and ends after the frame that shows it.
SHOWN = """(async () => {
  const frame = () => new Promise((r) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }));
  %s;
  await frame();
  %s
})()"""


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """Chromium without a window, with a fresh profile."""

    def __init__(self, program: str):
        self.profile = tempfile.mkdtemp(prefix="report-")
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-renderer-backgrounding", "--disable-component-update", "--disable-sync", "--remote-allow-origins=*",
            "--force-color-profile=srgb", "--remote-debugging-port=0", f"--user-data-dir={self.profile}",
        ]
        self.process = subprocess.Popen([program, *flags, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = self.wait_for_port()

    def wait_for_port(self) -> str:
        told = pathlib.Path(self.profile) / "DevToolsActivePort"
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            if told.exists() and (lines := told.read_text().splitlines()):
                return lines[0]
            time.sleep(0.05)
        raise SystemExit(f"chromium did not start; its status is {self.process.poll()}")

    def page(self) -> "Page":
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return Page(json.load(answer)["webSocketDebuggerUrl"])

    def yardstick(self) -> float:
        """The milliseconds of work that laying out plain rows takes here."""
        page = self.page()
        return statistics.median(page.work(YARDSTICK) for _ in range(5))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One tab: its requests, and every event that it reported."""

    def __init__(self, address: str):
        self.socket = websocket.create_connection(address, timeout=SECONDS, suppress_origin=True)
        self.ids, self.events = itertools.count(1), []
        for domain in ("Page", "Runtime", "Log", "Network", "Audits", "DOM"):
            self.ask(f"{domain}.enable")

    def receive(self) -> dict:
        message = json.loads(self.socket.recv())
        if "method" in message:
            self.events.append(message)
        return message

    def ask(self, method: str, **parameters) -> dict:
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (message := self.receive()).get("id") != number:
            pass
        if "error" in message:
            raise SystemExit(f"{method}: {message['error']}")
        return message["result"]

    def open(self, path: pathlib.Path):
        self.address, self.events = path.resolve().as_uri(), []
        self.ask("Page.navigate", url=self.address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def look(self, expression: str):
        """The value of an expression. The page runs nothing by itself; this is the debugger that looks."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression[:80]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def busy(self) -> float:
        """The seconds of processor time that the page's thread has used. Other programs do not count."""
        metrics = {metric["name"]: metric["value"] for metric in self.ask("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def work(self, action: str, done: str = "") -> float:
        """Returns the milliseconds of work until the page shows what an interaction did, and until `done` holds."""
        self.ask("Performance.enable", timeDomain="threadTicks")
        waits = f"while (!({done})) await frame();" if done else ""
        self.look(SHOWN % ("0", ""))

        before = self.busy()
        self.look(SHOWN % (action, waits))

        return (self.busy() - before) * 1000

    def check_work(self, found, yardstick: float, figures: dict[str, list[float]]):
        """Prints what each interaction took, and holds the slowest of each to the yardstick."""
        for what, works in figures.items():
            print(f"       {what}: {statistics.median(works):.0f} ms of work, at most {max(works):.0f} ms; the yardstick takes {yardstick:.0f} ms")
            found.hold(max(works) <= yardstick, f"{what} takes {max(works):.0f} ms of work, more than laying out {YARDSTICK_ROWS:,} rows: {yardstick:.0f} ms")

    def size(self, width: int, height: int, phone: bool = False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def scheme(self, name: str):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def click(self, x: float, y: float):
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: pathlib.Path, whole: bool = True):
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, breaches of the policy, exceptions, dialogs, and requests for anything but
        the page."""
        found = []
        for event in self.events:
            method, told = event["method"], event["params"]
            if method in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded", "Page.javascriptDialogOpening"):
                found.append(f"{method}: {json.dumps(told)[:300]}")
            if method == "Network.requestWillBeSent" and told["request"]["url"] != self.address:
                found.append(f"asked for {told['request']['url'][:200]}")
        return found
