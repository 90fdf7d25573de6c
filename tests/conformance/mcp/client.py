"""Holds the MCP client against the protocol's conformance suite, which stands in for servers and for their authorization
servers, sound ones and hostile ones.

    cargo build -p examples --example mcp_conformance_client --features mcp_auth
    python tests/conformance/mcp/client.py

Needs npm. Every client scenario of the suite is run in every revision that has it, or named below with the reason why it is
not; one that is neither, or fails, fails the run.
"""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

from run import EXAMPLES, install, read_checks, suite_script, tool

SUITE = "conformance-2026"
CLIENT = EXAMPLES / "mcp_conformance_client"

NOT_SERVED = {
    "auth/2025-03-26-oauth-endpoint-fallback": "endpoints are not guessed: a guessed one could be any page of the server",
    "auth/client-credentials-jwt": "machines log in with a secret; no client authentication by signed assertions",
    "auth/wif-jwt-bearer": "no grants by assertions of another issuer",
    "auth/enterprise-managed-authorization": "no grants by assertions of another issuer",
    "auth/dpop": "tokens are bearer tokens; no proof of possession",
}

# Run as well: that nothing is read ahead of need is true of a client that reads no skills. The suite skips what it could not see.
SKIPPED = {"sep-2640-client-": "the client offers tools, prompts and resources of a server, and no skills"}


def main():
    install()
    scenarios = client_scenarios()
    if len(scenarios) < 45:
        sys.exit(f"expected at least 45 scenarios of clients, the suite lists {len(scenarios)}")
    wanted = [(name, revision) for name, revisions in scenarios if not is_named(name) for revision in revisions.split(",")]
    with ThreadPoolExecutor(4) as pool:
        found = [line for lines in pool.map(lambda pair: scenario(*pair), wanted) for line in lines]
    for line in found:
        print("FAILED", line)
    print(f"MCP client: {len(wanted)} runs,", "not conformant" if found else "conformant")
    sys.exit(1 if found else 0)


def client_scenarios():
    """The scenarios of clients, each with its revisions."""
    listed = tool([suite_script(SUITE), "list"]).stdout
    clients = listed.split("Client scenarios")[1].split("Authorization server scenarios")[0]
    return re.findall(r"^  - (\S+) \[([^\]]*)\]", clients, re.MULTILINE)


def is_named(name):
    return any(name.startswith(known) for known in NOT_SERVED)


def scenario(name, revision):
    arguments = [suite_script(SUITE), "client", "--command", CLIENT, "--scenario", name, "--verbose"]
    if revision != "extension":
        arguments += ["--spec-version", revision]
    done = tool(arguments)
    checks = read_checks(done.stdout)
    bad = [check for check in checks if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
    found = [f"{revision} {name}: {check['id']}: {check.get('errorMessage', check['status'])}" for check in bad]
    if not found and (not checks or done.returncode != 0):
        found.append(f"{revision} {name}: {len(checks)} checks, status {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    skipped = [check["id"] for check in checks if check["status"] == "SKIPPED"]
    said = f", {len(skipped)} skipped" if skipped else ""
    if len(skipped) == len(checks) and not found and not any(name.startswith(known) for known in SKIPPED):
        found.append(f"{revision} {name}: every check was skipped")
    print(f"{'FAILED' if found else 'ok':6} {revision} {name}: {len(checks)} checks{said}")
    return found


if __name__ == "__main__":
    main()
