"""The check of speed: measures this project alone, and compares with counts.json. Fails where an instruction count is 3 % above
its entry, or compile time, crates or bytes are 10 % above. Compile time is a ratio to derives by hand, in CPU time of this run.
Usage: speed.py                   measures and compares
       speed.py --counts          the same for the instruction counts alone, as the gate does: the rest takes many minutes
       speed.py --write REASON    writes what was measured; REASON is kept with each figure that changed"""
import datetime, json, pathlib, platform, subprocess, sys

import yardstick
from yardstick import ROOT

sys.path.insert(0, str(ROOT / "compile"))
import compile_bench, fixed_bench

FILE = ROOT / "counts.json"
# figure: (variant, work)
COUNTS = {
    "data, async, null": ("ours/data", "W1"),
    "data, async, given": ("ours/data", "W6"),
    "data, sync, null": ("ours/data_sync", "W1"),
    "data, sync, given": ("ours/data_sync", "W6"),
    "envelope, null": ("ours/bare_async", "W1"),
    "envelope, given": ("ours/bare_async", "W6"),
    "governed, async, null": ("ours/governed", "W1"),
    "governed, async, given": ("ours/governed", "W6"),
    "governed, sync, null": ("ours/governed_sync", "W1"),
    "governed, 64 objects": ("ours/governed", "W3"),
    "listing of 100 tools": ("ours/bare_async", "W5"),
}
# The other figures, which may grow by 10 %.
COMPILE = "compile time a tool, x derives"
HELLO = {"ours": "hello world", "ours_lean": "hello world without default features"}


def conditions():
    """What a count depends on, beside the code. Valgrind presents one fixed processor on every x86-64 machine with AVX2."""
    def version(*command):
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    avx2 = cpuinfo.exists() and " avx2 " in cpuinfo.read_text()
    return {"rustc": version("rustc", "--version").split()[1], "valgrind": version("valgrind", "--version"),
            "libc": " ".join(platform.libc_ver()), "processor": platform.machine() + (" with AVX2" if avx2 else "")}


def instructions():
    program = yardstick.build("peer-ours")
    subprocess.run([program, "check"], check=True, stdout=subprocess.DEVNULL)
    return {name: yardstick.instructions(program, *work) for name, work in COUNTS.items()}


def compile_time(accepted):
    """Builds both sides in turn without linking, and takes the least time of each, which other processes disturb the
    least. Goes on while the ratio is above the accepted one: a build that became slower is slow in every round."""
    small, large = 10, 100
    crates = [(peer, n) for peer in ("ours", "floor_schemars") for n in (small, large)]
    compile_bench.workspace(["ours", "floor_schemars"], [small, large])
    for peer, n in crates[::2]:
        compile_bench.prepare(peer)
    least = dict.fromkeys(crates, float("inf"))
    for done in range(1, 11):
        least = {crate: min(seconds, compile_bench.clean(*crate, link=False)[1]) for crate, seconds in least.items()}
        ours, derives = (least[peer, large] - least[peer, small] for peer in ("ours", "floor_schemars"))
        if done >= 3 and ours <= accepted * derives:
            break
    return {COMPILE: round(ours / derives, 3)}


def sizes():
    measured = {}
    for peer, name in HELLO.items():
        hello = fixed_bench.hello(peer)
        measured |= {f"{name}, crates": fixed_bench.crates(hello), f"{name}, bytes": fixed_bench.release(hello, ROOT / "target")[1]}
    return measured


def measure(accepted):
    return instructions() | compile_time(accepted) | sizes()


def changed_without_reason():
    """Returns the figures that the last change of the file changed without a new reason. A shallow clone may lack it."""
    def git(*arguments):
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""
    commits = git("log", "-n", "2", "--format=%H", "--", FILE.name).split()
    texts = [FILE.read_text(), *(git("show", f"{commit}:./{FILE.name}") for commit in commits)]
    versions = [json.loads(text)["figures"] for text in texts if text]
    return sorted({name for new, old in zip(versions, versions[1:]) for name, entry in new.items()
                   if name in old and entry["value"] != old[name]["value"] and entry["reason"] == old[name]["reason"]})


def limit(name):
    return 0.03 if name in COUNTS else 0.1


def write(measured, reason):
    """Writes the figures that moved by a third of their limit, with the reason."""
    figures = json.loads(FILE.read_text())["figures"] if FILE.exists() else {}
    for name, value in measured.items():
        old = figures.get(name)
        if old is None or abs(value / old["value"] - 1) > limit(name) / 3:
            figures[name] = {"value": value, "reason": f"{datetime.date.today()}: {reason}"}
    text = json.dumps({"measured with": conditions(), "figures": {name: figures[name] for name in measured}}, indent=2)
    FILE.write_text(text + "\n")


def compare(measured):
    """Prints the figures beside their entries, and returns how many are over their limit."""
    file = json.loads(FILE.read_text())
    over, better = [], []
    print(f"{'figure':45} {'recorded':>10} {'measured':>10} {'change':>8}")
    for name, value in measured.items():
        if name not in file["figures"]:
            sys.exit(f"{name} is not in {FILE.name}: `just speed --write REASON`")
        recorded = file["figures"][name]["value"]
        change = value / recorded - 1
        over += [name] * (change > limit(name))
        better += [name] * (change < -limit(name))
        print(f"{name:45} {recorded:>10,} {value:>10,} {change:>+8.1%}{'  OVER' if change > limit(name) else ''}")
    for name, here in conditions().items():
        there = file["measured with"][name]
        if here != there:
            print(f"counted with {name} {here}, and the file with {there}: counts may differ because of it")
    if better:
        print(f"better than recorded: {'; '.join(better)}. Record it: `just speed --write REASON`")
    if over:
        print(f"over the limit: {'; '.join(over)}. Find the cause, or record why: `just speed --write REASON`")
    silent = changed_without_reason()
    if silent:
        print(f"changed without a new reason in {FILE.name}: {'; '.join(silent)}")
    return len(over) + len(silent)


def main():
    arguments = sys.argv[1:]
    if arguments == ["--counts"]:
        sys.exit(1 if compare(instructions()) else 0)
    if arguments and (arguments[0] != "--write" or not " ".join(arguments[1:]).strip()):
        sys.exit(__doc__)
    recorded = json.loads(FILE.read_text())["figures"][COMPILE]["value"] if FILE.exists() else 0
    measured = measure(0 if arguments else recorded * (1 + limit(COMPILE)))
    if arguments:
        write(measured, " ".join(arguments[1:]).strip())
    sys.exit(1 if compare(measured) else 0)


if __name__ == "__main__":
    main()
