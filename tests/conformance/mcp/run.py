"""Holds the MCP server against what others check servers with: the protocol's conformance suite, its inspector, and the
types of the Python SDK.

    cargo build --example mcp_conformance --example mcp_server --features mcp
    python tests/conformance/mcp/run.py [WORD..]

Needs npm and, for the last part, `pip install mcp`. Node 22 and the suites are installed under target/conformance/mcp.
Every scenario of the suites is run or named below with the reason why it is not; a scenario that is neither, fails, or
warns of a tool's name fails the run.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HOME = ROOT / "target" / "conformance" / "mcp"
EXAMPLES = TARGET / "debug" / "examples"

# The suite knows no revision of its scenarios of extensions.
EXTENSION = "extension"

# By suite and revision: the newer suite has scenarios of older revisions too.
RUN = {
    ("conformance-2025", "2025-11-25"): """
        server-initialize ping tools-list tools-call-simple-text tools-call-image tools-call-audio
        tools-call-embedded-resource tools-call-mixed-content tools-call-error tools-call-with-progress
        json-schema-2020-12 server-sse-multiple-streams dns-rebinding-protection logging-set-level
        tools-call-with-logging tools-call-sampling tools-call-elicitation elicitation-sep1034-defaults
        elicitation-sep1330-enums server-sse-polling
        prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
        resources-list resources-read-text resources-read-binary resources-templates-read resources-subscribe
        resources-unsubscribe completion-complete
    """,
    ("conformance-2026", "2025-11-25"): """
        server-session-lifecycle logging-set-level tools-call-with-logging tools-call-sampling
        tools-call-elicitation elicitation-sep1034-defaults elicitation-sep1330-enums server-sse-polling
    """,
    ("conformance-2026", "2026-07-28"): """
        tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
        tools-call-mixed-content tools-call-error tools-call-with-progress json-schema-2020-12
        server-sse-multiple-streams dns-rebinding-protection http-header-validation http-custom-header-server-validation
        prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
        resources-list resources-read-text resources-read-binary resources-templates-read
        sep-2164-resource-not-found completion-complete
        input-required-result-basic-elicitation input-required-result-basic-sampling
        input-required-result-basic-list-roots input-required-result-request-state
        input-required-result-multiple-input-requests input-required-result-multi-round
        input-required-result-missing-input-response input-required-result-result-type
        input-required-result-unsupported-methods input-required-result-tampered-state
        input-required-result-capability-check input-required-result-ignore-extra-params
        input-required-result-validate-input input-required-result-non-tool-request server-stateless caching
    """,
    ("conformance-2026", EXTENSION): """
        tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input
        tasks-request-headers tasks-dispatch-and-envelope tasks-required-task-error tasks-mrtr-composition
        sep-2640-skills-enumeration sep-2640-skills-manifest
    """,
}

# What is not served, and so not run. A name stands for itself and for all that begin with it.
NOT_SERVED = {
    "sep-2640-skills-directory": "`resources/directory/read` is optional, and a skill of ours has one file",
    "tasks-status-notifications": "optional, and the suite only skips it; rmcp 3.9 reads no `taskIds` of `subscriptions/listen`, "
    "and cannot acknowledge them",
}


def main():
    install()
    failed = []
    if wanted := sys.argv[1:]:
        return only(wanted)
    with Server() as url:
        for (suite, version), names in RUN.items():
            failed += [f"{suite}: `{name}` is neither run nor named" for name in unnamed(suite)]
            for name in names.split():
                failed += scenario(suite, name, version, url)
        failed += inspector(["--transport", "http", "--server-url", url], "test_simple_text")
    failed += inspector([str(EXAMPLES / "mcp_server")], "list_notes")
    failed += python_types()
    for line in failed:
        print("FAILED", line)
    print("MCP:", "not conformant" if failed else "conformant")
    sys.exit(1 if failed else 0)


def only(wanted):
    """The scenarios that have one of these words in their names, and nothing else."""
    failed = []
    with Server() as url:
        for (suite, version), names in RUN.items():
            for name in names.split():
                if any(word in name for word in wanted):
                    failed += scenario(suite, name, version, url)
    print("\n".join(f"FAILED {line}" for line in failed))
    sys.exit(1 if failed else 0)


def install():
    """The suites, and a Node that runs them, unless they are there."""
    HOME.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_text()
    there = HOME / "package.json"
    if not there.exists() or there.read_text() != wanted or not (HOME / "node_modules").exists():
        shutil.copyfile(HERE / "package.json", there)
        # Node's own package fetches its binary in a script, which newer versions of npm do not run by themselves.
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=HOME, check=True)
    if not node().exists():
        subprocess.run(["npm", "rebuild", "node", "--silent"], cwd=HOME, check=True)


def node():
    return HOME / "node_modules" / "node" / "bin" / "node"


def suite_script(suite):
    return HOME / "node_modules" / suite / "dist" / "index.js"


def tool(arguments, **options):
    environment = dict(os.environ, PATH=f"{node().parent}:{os.environ['PATH']}", NO_COLOR="1")
    return subprocess.run(
        [str(node()), *map(str, arguments)], capture_output=True, text=True, timeout=120, env=environment, cwd=HOME, **options
    )


def unnamed(suite):
    """The scenarios that this file knows nothing of."""
    listed = tool([suite_script(suite), "list"]).stdout
    servers = listed.split("Client scenarios")[0]
    names = re.findall(r"^  - (\S+)", servers, re.MULTILINE)
    if not names:
        return ["(the suite lists nothing)"]
    everywhere = {name for names in RUN.values() for name in names.split()}
    return [name for name in names if name not in everywhere and not any(name.startswith(known) for known in NOT_SERVED)]


def scenario(suite, name, version, url):
    arguments = [suite_script(suite), "server", "--url", url, "--scenario", name, "--verbose"]
    if suite == "conformance-2026" and version != EXTENSION:
        arguments += ["--spec-version", version]
    done = tool(arguments)
    text = done.stdout + done.stderr
    checks = read_checks(done.stdout)
    bad = [check for check in checks if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
    # The suite only warns of a name that is against the rules.
    warned = [line.strip() for line in text.splitlines() if re.search(r"warn", line, re.IGNORECASE) and "name" in line]
    found = [f"{version} {name}: {check['id']}: {check.get('errorMessage', check['status'])}" for check in bad]
    found += [f"{version} {name}: {line}" for line in warned if not bad]
    if not checks:
        found.append(f"{version} {name}: no checks were run:\n{text[-2000:]}")
    print(f"{'FAILED' if found else 'ok':6} {version} {name}: {len(checks)} checks")
    return found


def read_checks(output):
    """The checks, which the suite prints as one JSON array among other lines."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"^\s*\[", output, re.MULTILINE):
        try:
            value, _ = decoder.raw_decode(output, match.end() - 1)
        except ValueError:
            continue
        if isinstance(value, list) and all(isinstance(check, dict) and "status" in check for check in value):
            return value
    return []


def inspector(server, name):
    """The inspector's command line lists the tools and calls one."""
    failed = []
    cli = HOME / "node_modules" / "@modelcontextprotocol" / "inspector"
    package = json.loads((cli / "package.json").read_text())
    script = cli / package["bin"][next(iter(package["bin"]))]
    for method, more in (("tools/list", []), ("tools/call", ["--tool-name", name])):
        done = tool([script, "--cli", *server, "--method", method, *more])
        wanted = "tools" if method == "tools/list" else "content"
        try:
            sound = wanted in json.loads(done.stdout)
        except ValueError:
            sound = False
        print(f"{'ok' if sound else 'FAILED':6} inspector {method} over {server[0]}")
        if not sound:
            failed.append(f"inspector {method} {server}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return failed


def python_types():
    """The list by the types of the Python SDK, as each revision has them."""
    try:
        from mcp_types import methods
    except ImportError:
        print("skipped: the types of the Python SDK; `pip install mcp` is missing")
        return ["the types of the Python SDK"] if os.environ.get("CI") == "true" else []
    failed = []
    for version in ("2025-11-25", "2026-07-28"):
        for method, params in (("tools/list", {}), ("tools/call", {"name": "list_notes", "arguments": {}})):
            result = over_stdio(version, method, params)
            try:
                methods.validate_server_result(method, version, result)
                print(f"ok     {version} {method} by the types of the Python SDK")
            except Exception as error:  # Whatever it raises is what it finds.
                failed.append(f"{version} {method} by the types of the Python SDK: {error}")
    return failed


def over_stdio(version, method, params):
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "types", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    messages = []
    if version >= "2026":
        params = dict(params, _meta=meta)
    else:
        begin = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "types", "version": "1"}}
        messages.append({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin})
        messages.append({"jsonrpc": "2.0", "method": "notifications/initialized"})
    messages.append({"jsonrpc": "2.0", "id": 2, "method": method, "params": params})
    process = subprocess.Popen([EXAMPLES / "mcp_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        for message in messages:
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                process.stdin.close()
                return answer["result"]
    raise SystemExit("the server did not answer")


class Server:
    """Starts the conformance server on a free port."""

    def __enter__(self):
        self.process = subprocess.Popen([EXAMPLES / "mcp_conformance", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        return self.process.stdout.readline().strip()

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    main()
