"""Holds `/metrics` against Prometheus's own linter, and its JSON against its text.

    cargo build --example metrics
    python tests/conformance/metrics.py

Needs `promtool`, of Debian's package `prometheus`. Without it the check prints `skipped`, and fails where
`CI=true`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
EXAMPLE = TARGET / "debug" / "examples" / "metrics"

SAMPLE = re.compile(r'^([a-z_:0-9]+)(?:\{(.*)\})? (\S+)$')


def get(url: str, **headers: str) -> tuple[int, str, str]:
    """Status, type and text."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers["content-type"], answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, "", refused.read().decode()


def samples(text: str) -> dict[tuple[str, str], float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = {}
    for line in lines:
        match = SAMPLE.match(line)
        assert match, f"no sample: {line}"
        key = (match[1], match[2] or "")
        assert key not in found, f"twice: {line}"
        found[key] = float(match[3])
    return found


def lint(text: str) -> None:
    promtool = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    said = (promtool.stdout + promtool.stderr).strip()
    assert promtool.returncode == 0 and not said, f"promtool: {said or promtool.returncode}"


def same(text: str, document: dict) -> int:
    """Whether both forms tell the same; how many figures were compared."""
    told = samples(text)
    expected = {}
    for tool, calls in document["calls"].items():
        label = f'tool="{tool}"'
        expected["tool_calls_total", label] = calls
        expected["tool_slow_calls_total", label] = document["slowCalls"][tool]
        expected["tool_retries_total", label] = document["retries"][tool]
        for kind, count in document["errors"][tool].items():
            expected["tool_errors_total", f'{label},type="{kind}"'] = count
        for kind, count in document["refusals"][tool].items():
            expected["tool_refusals_total", f'{label},type="{kind}"'] = count
        # A refused call is no response.
        responses = calls - sum(document["refusals"][tool].values())
        for name, figures, unit in [
            ("tool_response_size_characters", document["responseSizes"][tool], 1),
            ("tool_call_duration_seconds", document["latency"][tool], 1000),
        ]:
            for percent, quantile in [("p50", "0.5"), ("p95", "0.95"), ("p99", "0.99")]:
                expected[name, f'{label},quantile="{quantile}"'] = figures[percent] / unit
            expected[f"{name}_count", label] = responses
        expected["tool_response_tokens_average", label] = document["responseTokens"][tool]["avg"]
        expected["tool_response_tokens_p95", label] = document["responseTokens"][tool]["p95"]
    context, loops, cost = document["context"], document["loopDetection"], document["cost"]
    expected["tool_context_session_init_tokens", ""] = context["sessionInitTokens"]
    expected["tool_context_system_prompt_tokens", ""] = context["systemPromptTokens"]
    expected["tool_context_tool_decl_tokens", ""] = context["toolDeclTokens"]
    expected["tool_context_peak_tokens", ""] = context["peakTokens"]
    expected["tool_sessions_active", ""] = loops["activeSessions"]
    expected["tool_turns_tracked", ""] = loops["totalTurnsTracked"]
    expected["tool_cost_dollars_total", 'tracked="true"'] = cost["tracked"]["dollars"]
    expected["tool_cost_by_agent_dollars_total", 'agent="helper"'] = cost["agents"]["helper"]["dollars"]
    assert context["sessionInitTokens"] == context["systemPromptTokens"] + context["toolDeclTokens"] > 0
    for key, value in expected.items():
        assert key in told, f"not reported: {key}"
        assert abs(told[key] - value) < 1e-9, f"{key}: {told[key]} and {value}"
    return len(expected)


def check(url: str) -> int:
    status, kind, text = get(url)
    assert status == 200 and kind.startswith("text/plain; version=0.0.4"), (status, kind)
    lint(text)
    status, kind, document = get(url, Accept="application/json")
    assert status == 200 and kind == "application/json", (status, kind)
    compared = same(text, json.loads(document))
    # One series for all names that nobody knows.
    assert set(json.loads(document)["calls"]) == {"search", "sign_in", "unknown"}, document
    for forbidden in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        status, _, told = get(url, **forbidden)
        assert status == 403 and "tool_calls" not in told, (forbidden, status)
    return compared


def main() -> int:
    if shutil.which("promtool") is None:
        print("skipped: promtool is not there; it is in Debian's package `prometheus`", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    example = subprocess.Popen([EXAMPLE, "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = example.stderr.readline().strip()
        assert url.startswith("http://127.0.0.1:"), url
        compared = check(url)
    finally:
        example.kill()
    told, _ = example.communicate()
    assert "hunter2" not in told and "[redacted]" in told, told
    print(f"metrics: promtool has nothing to say; {compared} figures are the same in text and JSON")
    return 0


if __name__ == "__main__":
    sys.exit(main())
