"""Builds the agent loops, counts their instructions, runs their checks, writes both to loops.json, and puts the tables into
BENCHMARKS.md. Usage: run.py [contestant ...]   names of folders in contestants/, all by default; the others stay
       run.py --tables                   writes the tables anew, from loops.json"""
import json, os, pathlib, re, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from yardstick import ENVIRONMENT

FILE = HERE / "loops.json"
BENCHMARKS = HERE.parents[2] / "BENCHMARKS.md"
BEGIN, END = "<!-- agent loops: `just peers-loops` writes what follows -->\n", "<!-- agent loops end -->\n"
WORKS = ["add", "create_event"]
# The steps of a long conversation, and the conversations that are counted of it and of one with one step.
STEPS, LONG, SHORT = 11, 100, 400
# name of the contestant: its title, and the crate that has its version
TITLES = {
    "ours": ("ours, `AgentLoop`", None),
    "rig": ("rig, `Agent`", "rig-agent"),
    "autoagents": ("AutoAgents, `ReActAgent`", "autoagents"),
    "goose-agent": ("goose-agent, `StateMachine`", "goose-agent"),
    "adk-rust, FunctionTool": ("adk-rust, `FunctionTool`", "adk-runner"),
    "adk-rust, #[tool]": ("adk-rust, `#[tool]`", "adk-runner"),
}
FIELDS = ["guest", "nights", "rooms", "email"]


def build(name):
    subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", f"loop-{name}"], cwd=HERE, env=ENVIRONMENT, check=True)
    return HERE / "target/release" / f"loop-{name}"


def output(*command):
    return subprocess.run([str(part) for part in command], env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout


# ---------------------------------------------------------------- counts
def conversation(program, name, work, steps, times):
    """The instructions of one conversation, in the region that the program marks."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_region*"]
    command = [*valgrind, program, "count", name, work, steps, times]
    done = subprocess.run([str(part) for part in command], env=ENVIRONMENT, check=True, capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]) / times


def counts(program, name):
    figures = {}
    for work in WORKS:
        short = conversation(program, name, work, 1, SHORT)
        long = conversation(program, name, work, STEPS, LONG)
        figures[work] = {"conversation": round(short), "step": round((long - short) / (STEPS - 1))}
    return figures


# ---------------------------------------------------------------- checks
def validator():
    """Returns the Python that has jsonschema, installed on first use."""
    program = HERE / "target/python/bin/python"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", HERE / "target/python"], check=True)
        subprocess.run([HERE / "target/python/bin/pip", "install", "--quiet", "jsonschema==4.26.0"], check=True)
    return program


ADMITS = """
import json, sys
from jsonschema import Draft202012Validator
for line in sys.stdin:
    row = json.loads(line)
    print(json.dumps(row["schema"] is not None and Draft202012Validator(row["schema"]).is_valid(row["arguments"])))
"""


def checks(program):
    rows = [json.loads(line) for line in output(program, "check").splitlines()]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    verdicts = subprocess.run([validator(), "-c", ADMITS], input=lines, check=True, capture_output=True, text=True).stdout
    for row, verdict in zip(rows, verdicts.splitlines(), strict=True):
        row["admitted"] = json.loads(verdict)
        row["told"] = row["told"][:600]
    return rows


# ---------------------------------------------------------------- tables
class Checks:
    """The checks of one contestant, and its cells."""

    def __init__(self, rows):
        self.rows = rows

    def of(self, check, case=None):
        return [row for row in self.rows if row["check"] == check and case in (None, row["case"])]

    def one(self, check, case=None):
        [row] = self.of(check, case)
        return row

    @staticmethod
    def goes_on(row):
        """Whether the loop went on to the model's answer."""
        return "answer" in row["end"] and row["requests"] == 2

    def end(self, row):
        if "panic" in row["end"]:
            return "the caller's task panics"
        return "the loop ends with an error" if "error" in row["end"] else "the loop hangs" if "hangs" in row["end"] else ""

    def untagged(self):
        rows = self.of("untagged")
        return f"{sum(row['admitted'] for row in rows)} of 3 in the schema, {sum(row['runs'] == 1 for row in rows)} of 3 run"

    def nested(self):
        sound, broken = self.one("nested", "sound"), self.one("nested", "no town")
        schema = "in the schema" if sound["admitted"] else "not in the schema"
        runs = "runs" if sound["runs"] else "does not run"
        told = broken["told"]
        place = "names `parcel.to.town`" if re.search(r"parcel[./]to\W+town|parcel\.to", told) else "names `town`" if "town" in told else "names nothing"
        return f"{schema}, {runs}; an error {place}"

    def range(self):
        row = self.one("range")
        schema = "" if "maximum" in json.dumps(row["schema"]) else ", which it cannot declare"
        return f"runs with 200{schema}" if row["runs"] else f"refused{'' if '100' in row['told'] else ', without the limit'}"

    def unknown(self):
        row = self.one("unknown")
        told = "colour" in row["told"]
        return ("runs, and says so" if told else "ignored") if row["runs"] else ("refused, and named" if told else "refused")

    def several(self):
        row = self.one("several")
        if row["runs"]:
            return "runs"
        # An example that follows the problems has all names.
        problems = row["told"].partition("example of valid")[0]
        named = sum(field in problems for field in FIELDS)
        return f"{named} of 4 named" + ("" if self.goes_on(row) else f"; {self.end(row)}")

    def spelling(self):
        row = self.one("spelling")
        return "runs" if row["runs"] else "refused"

    def hang(self):
        row = self.one("hang")
        return f"told after {row['seconds']} s" if self.goes_on(row) and row["seconds"] < 24 * 3600 else "waits for ever"

    def panic(self):
        row = self.one("panic")
        if not self.goes_on(row):
            return self.end(row)
        return "told, with the text of the panic" if "hunter2" in row["told"] else "told, without its text"

    def large(self):
        row = self.one("large")
        size = row["told_bytes"]
        return f"{size:,} bytes" + (", whole" if size >= 10_000_000 else "")


COLUMNS = {
    "untagged enum": Checks.untagged, "nested struct": Checks.nested, "200 where 100 is the most": Checks.range,
    "unknown key": Checks.unknown, "four problems": Checks.several, '"5" for a number': Checks.spelling,
    "a tool hangs": Checks.hang, "a tool panics": Checks.panic, "a result of 10 MB": Checks.large,
}


def table(head, body, numbers):
    lines = [head, ["---"] + ["--:" if numbers else "---"] * (len(head) - 1), *body]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables(file):
    versions, base = file["versions"], file["counts"].get("ours")
    names = [name for name in TITLES if name in file["counts"]]

    def title(name):
        text, crate = TITLES[name]
        return f"{text} {versions[crate]}" if crate else text

    def cells(name):
        for key in ("conversation", "step"):
            for work in WORKS:
                count = file["counts"][name][work][key]
                yield f"{count:,}" + (f" ({count / base[work][key]:.1f}x)" if base and name != "ours" else "")

    head = ["agent", *(f"a conversation with one call: `{work}`" for work in WORKS), *(f"one more step: `{work}`" for work in WORKS)]
    counted = table(head, [[title(name), *cells(name)] for name in names], numbers=True)
    # One line for each check, since the cells are sentences.
    checked = {name: Checks([row for row in file["checks"] if row["peer"] == name]) for name in names}
    body = [[column, *(cell(checked[name]) for name in names)] for column, cell in COLUMNS.items()]
    return counted + "\n" + table(["", *(title(name) for name in names)], body, numbers=False)


def write_tables(file):
    text = BENCHMARKS.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    BENCHMARKS.write_text(text[:begin] + "\n" + tables(file) + "\n" + text[end:])
    print(tables(file))


def main():
    file = json.loads(FILE.read_text()) if FILE.exists() else {"counts": {}, "checks": []}
    if sys.argv[1:] != ["--tables"]:
        for folder in sys.argv[1:] or sorted(os.listdir(HERE / "contestants")):
            program = build(folder)
            names = output(program, "names").splitlines()
            rows = checks(program)
            file["checks"] = [row for row in file["checks"] if row["peer"] not in names] + rows
            for name in names:
                file["counts"][name] = counts(program, name)
        lock = (HERE / "Cargo.lock").read_text()
        found = dict(re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', lock))
        file["versions"] = {crate: found[crate] for _, crate in TITLES.values() if crate}
        file["checks"].sort(key=lambda row: list(TITLES).index(row["peer"]))
        FILE.write_text(json.dumps(file, indent=1) + "\n")
    write_tables(file)


if __name__ == "__main__":
    main()
