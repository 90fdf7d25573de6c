"""The Rust side: a process that takes a line of JSON and answers with one."""

import json
import subprocess


class Driver:
    def __init__(self, binary: str) -> None:
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(self, do: str, **command):
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": do, **command}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the driver ended at: {json.dumps({'do': do, **command})[:2000]}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "failed" in answer:
            raise Refused(answer["failed"])
        return answer


class Refused(Exception):
    """What was asked cannot be done, as the driver words it."""
