"""Holds the gateway against MCP Apps: a server by `@modelcontextprotocol/ext-apps`, and a host by the SDK of the protocol.

    cargo build -p tool-adapters-gateway --bin tool-gateway
    python tests/conformance/mcp/apps.py

Needs npm. The host reads the tools, the page of a tool (`ui://`) and results: from the server itself, and through the gateway over
standard streams and over HTTP. All three have to be equal.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import run

APPS = run.HERE / "apps"
GATEWAY = run.TARGET / "debug" / "tool-gateway"

POLICY = """
[servers.weather]
prefix = ""
"""


def main():
    run.install()
    for script in APPS.glob("*.mjs"):
        shutil.copyfile(script, run.HOME / script.name)
    server = [str(run.node()), str(run.HOME / "server.mjs")]
    direct = shown(server)
    problems = [] if direct["page"] == "ui://weather/dashboard.html" else ["the server itself shows no page"]
    with tempfile.TemporaryDirectory() as folder:
        config, policy = Path(folder, "mcp.json"), Path(folder, "policy.toml")
        config.write_text(json.dumps({"mcpServers": {"weather": {"command": server[0], "args": server[1:]}}}))
        policy.write_text(POLICY)
        gateway = [str(GATEWAY), "--config", str(config), "--policy", str(policy)]
        problems += compare("standard streams", direct, shown(gateway))
        with Http(gateway) as url:
            problems += compare("HTTP", direct, shown([url]))
    for problem in problems:
        print("FAILED", problem)
    print("MCP Apps:", "not passed on" if problems else "passed on")
    sys.exit(1 if problems else 0)


def shown(server):
    """What a host reads of a server."""
    done = run.tool([run.HOME / "client.mjs", *server])
    if done.returncode != 0:
        sys.exit(f"the host failed at {server[0]}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout)


def compare(way, direct, passed):
    problems = []
    for name, value in direct.items():
        if json.dumps(value, sort_keys=True) != json.dumps(passed.get(name), sort_keys=True):
            problems.append(f"{way}: {name}:\n  sent    {json.dumps(value)}\n  arrived {json.dumps(passed.get(name))}")
    print(f"{'FAILED' if problems else 'ok':6} {way}: {len(direct)} things are compared")
    return problems


class Http:
    """A gateway that serves over HTTP."""

    def __init__(self, gateway):
        self.arguments = [*gateway, "--http", "127.0.0.1:0", "--log", "error"]

    def __enter__(self):
        self.process = subprocess.Popen(self.arguments, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            if line.startswith("listening on "):
                return line.removeprefix("listening on ").strip()
            lines.append(line)
        sys.exit(f"the gateway does not serve: {''.join(lines)}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)


if __name__ == "__main__":
    main()
