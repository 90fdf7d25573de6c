"""Builds and measures the contestants, and prints the table. The details are in results/report.md.
Usage: run.py [contestant ...]   names of folders in contestants/, all by default; the results of the others stay
  ROUNDS=3                                                              interleaved rounds of timing
  SKIP="alloc time callgrind python http compile fixed"      parts to leave out"""
import json, os, pathlib, shutil, subprocess, sys

import report
from yardstick import ENVIRONMENT, ROOT, WORKS, build, instructions, python

RESULTS = ROOT / "results"
SKIP = os.environ.get("SKIP", "").split()
# What the parts call a contestant.
COMPILED = {"floor": ["floor_serde", "floor_schemars"], "ours": ["ours"], **{name: [name] for name in ["rig", "rmcp", "rust_mcp_sdk", "swiftide", "tools_rs", "turbomcp"]}}


def output(*command, **more):
    return subprocess.run([str(part) for part in command], env={**ENVIRONMENT, **more}, check=True, capture_output=True, text=True).stdout


def keep(name, new, key):
    """Writes rows, in place of the rows before them with the same key."""
    path = RESULTS / name
    old = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    fresh = {key(row) for row in new}
    rows = [row for row in old if key(row) not in fresh] + new
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def rows(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def part(name, script, key, *arguments, program=sys.executable):
    """Runs a script that prints rows. A contestant that does not build is missing in them, and its error is in the log."""
    if name not in SKIP:
        done = subprocess.run([program, ROOT / script, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE,
                              stderr=(RESULTS / f"{name}.log").open("w"), text=True)
        keep(f"{name}.jsonl", rows(done.stdout), key)


def main():
    RESULTS.mkdir(exist_ok=True)
    names = sys.argv[1:] or sorted((folder.name for folder in (ROOT / "contestants").iterdir()), key=lambda name: (name != "floor", name))
    variant = lambda row: (row["variant"], row.get("work"))
    programs = {}
    for name in names:
        try:
            program = build("peer-" + name.replace("_", "-"), "harness/time")
            keep("check.jsonl", rows(output(program, "check")), variant)
            programs[name] = program
        except subprocess.CalledProcessError as error:
            print(f"{name} is left out: {error}\n{error.stderr or ''}", file=sys.stderr)
    for program in programs.values():
        if "alloc" not in SKIP:
            keep("alloc.jsonl", rows(output(program, "alloc")), variant)
    if "time" not in SKIP:
        for round in range(int(os.environ.get("ROUNDS", "3"))):
            for program in programs.values():
                output(program, "time", CRITERION_HOME=str(RESULTS / f"criterion/r{round}"))
    if "callgrind" not in SKIP and shutil.which("valgrind"):
        for program in programs.values():
            counts = [{"variant": v, "work": w, "instr": instructions(program, v, w)} for v in output(program, "variants").split() for w in WORKS]
            keep("callgrind.jsonl", [row for row in counts if row["instr"]], variant)
    compiled = [peer for name in programs for peer in COMPILED.get(name, [])]
    part("http", "http/bench.py", lambda row: (row["server"], row["connections"]))
    if "python" not in SKIP:
        part("python", "python/bench.py", variant, program=python())
    part("compile", "compile/compile_bench.py", lambda row: (row["peer"], row["n"]), *compiled)
    part("fixed", "compile/fixed_bench.py", lambda row: row["peer"], *compiled)
    report.main()


if __name__ == "__main__":
    main()
