"""The command line of the example `tools` says what the driver says."""

import json
import pathlib
import subprocess
import tempfile

from driver import Driver


def check(driver: Driver, binary: str, cases: list, wanted: list[str]) -> list[str]:
    problems = []
    tools = [case.tool() for case in cases]
    declared = [{"name": tool["name"], "description": tool["description"], "inputSchema": tool["parameters"]} for tool in tools]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "tools.json"
        file.write_text(json.dumps({"tools": declared}))
        for provider in wanted:
            for strict in (False, True):
                command = [binary, "--tools", str(file), "schema", "--provider", provider, "--report", "--json"]
                run = subprocess.run(command + ["--strict"] * strict, capture_output=True, text=True)
                if run.returncode not in (0, 1):
                    problems.append(f"command line: {provider}: {run.stderr[:500]}")
                    continue
                ours = driver.ask("declare", provider=provider, strict=strict, tools=tools)
                theirs = json.loads(run.stdout)
                problems += [f"command line: {provider}: other {part}" for part in ("declarations", "settings", "report") if theirs.get(part) != ours[part]]
    return problems
