"""Sends the example's spans to Arize Phoenix, and asks it what it has: ids, parents, kinds and tokens.

    pip install arize-phoenix
    cargo build --example otel --features otel
    python tests/conformance/otel/phoenix.py

Phoenix is some 800 MB, so this is not part of the gate: `just otel-phoenix` does all three. It keeps what it gets in a
folder of its own under target, for this one run.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from expected import SPANS  # noqa: E402

ROOT = HERE.parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
EXAMPLE = TARGET / "debug" / "examples" / "otel"
HOME = ROOT / "target" / "conformance" / "phoenix"
# What Phoenix takes each operation for.
KINDS = {"invoke_agent": "AGENT", "execute_tool": "TOOL", "chat": "LLM"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def asked(url: str):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


@contextlib.contextmanager
def phoenix():
    """A server of our own; where it is."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    port = free_port()
    told = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(HOME),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [Path(sys.executable).parent / "phoenix", "serve"]
    with open(HOME / "log", "w") as log, subprocess.Popen(command, env=os.environ | told, stdout=log, stderr=log) as server:
        try:
            yield ready(server, f"http://127.0.0.1:{port}")
        finally:
            server.terminate()


def ready(server, url: str) -> str:
    for _ in range(240):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            asked(f"{url}/v1/projects")
            return url
        if server.poll() is not None:
            break
        time.sleep(0.5)
    sys.exit(f"Phoenix does not begin to serve; its log is {HOME / 'log'}")


def spans_at(url: str) -> dict:
    """The spans by name, once all are there: Phoenix writes them some time after it has taken them."""
    found = {}
    for _ in range(60):
        found = {span["name"]: span for span in asked(f"{url}/v1/projects/default/spans?limit=100")["data"]}
        if len(found) == len(SPANS):
            break
        time.sleep(0.5)
    return found


def differences(found: dict, printed: dict):
    def same(what, one, other):
        if one != other:
            yield f"{what}: {one!r} instead of {other!r}"

    yield from same("spans", sorted(found), sorted(SPANS))
    for name in SPANS.keys() & found.keys():
        span, (parent, _, error, attributes) = found[name], SPANS[name]
        ids = {key: printed[name][key] for key in ("trace_id", "span_id")}
        yield from same(f"{name}: ids", span["context"], ids)
        yield from same(f"{name}: parent", span["parent_id"], parent and printed[parent]["span_id"])
        yield from same(f"{name}: kind", span["span_kind"], KINDS.get(name.split()[0], "UNKNOWN"))
        yield from same(f"{name}: status", span["status_code"], "ERROR" if error else "UNSET")
        for ours, theirs in [("input", "prompt"), ("output", "completion")]:
            tokens = attributes.get(f"gen_ai.usage.{ours}_tokens")
            yield from same(f"{name}: {ours} tokens", span["attributes"].get(f"llm.token_count.{theirs}"), tokens)


def main() -> int:
    with phoenix() as url:
        # It takes spans only.
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_METRICS_EXPORTER": "none"}
        done = subprocess.run([EXAMPLE], env=os.environ | told, stdout=subprocess.PIPE, check=True, timeout=120)
        printed = {line["span"]: line["context"] for line in map(json.loads, done.stdout.splitlines())}
        found = spans_at(url)
    wrong = list(differences(found, printed))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"phoenix: {len(found)} spans, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
