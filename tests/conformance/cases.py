"""The tools to be declared, each with calls that it accepts: the examples', the corpus, a suite's, and data beside."""

import io
import json
import pathlib
import re
import tarfile

import generate
from schema import validator, walk

HERE = pathlib.Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"


class Case:
    """A tool and instances of its parameters."""

    def __init__(self, name: str, parameters: dict, valid=(), description: str = "A tool.") -> None:
        self.name, self.parameters, self.description = name, parameters, description
        accepted = validator(parameters)
        self.instances = [instance for instance in valid if accepted.is_valid(instance)]
        self.instances += [one for one in generate.instances(parameters) if one not in self.instances]

    def tool(self) -> dict:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


def examples(driver) -> list[Case]:
    return [Case(tool["name"], tool["parameters"], description=tool["description"]) for tool in driver.ask("tools")]


def corpus() -> list[Case]:
    """Our own: each keyword, alone and beside others."""
    found = []
    for file in sorted((HERE / "corpus").glob("*.json")):
        for number, case in enumerate(json.loads(file.read_text())):
            words = re.sub(r"[^a-z0-9]+", "_", case["name"].lower()).strip("_")
            found.append(Case(f"{file.stem}_{number}_{words}"[:64], case["schema"], case["valid"], case["name"]))
    return found


def suite(archive: pathlib.Path) -> list[Case]:
    """The JSON Schema test suite, as the source distribution of `jsonschema` carries it: each schema as a parameter."""
    found = []
    with tarfile.open(archive) as tar:
        files = [one for one in tar.getmembers() if re.search(r"/json/tests/draft2020-12/[^/]+\.json$", one.name)]
        for file in sorted(files, key=lambda one: one.name):
            text = tar.extractfile(file)
            stem = pathlib.Path(file.name).stem
            for number, group in enumerate(json.load(io.TextIOWrapper(text, "utf-8"))):
                if simple(group["schema"]):
                    valid = [{"value": test["data"]} for test in group["tests"] if test["valid"]]
                    found.append(Case(f"suite_{stem}_{number}".replace("-", "_"), as_parameter(group["schema"]), valid))
    return found


def as_parameter(schema) -> dict:
    if isinstance(schema, dict):
        schema = {name: value for name, value in schema.items() if name != "$schema"}
    return {"type": "object", "properties": {"value": schema}, "required": ["value"]}


def simple(schema) -> bool:
    """Schemas that mean the same one level down: without references and names of their own."""
    words = {"$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor", "$defs"}
    return all(not words & set(inner) for _, inner in walk(schema)) and satisfiable(schema)


def satisfiable(schema) -> bool:
    return schema is not False


def mcp_servers() -> list[Case] | None:
    """Real servers' tools; None where they are not at hand."""
    file = DATA / "mcp_tools.json"
    if not file.exists():
        return None
    found = []
    for server, tools in json.loads(file.read_text()).items():
        for tool in tools:
            name = f"{server}.{tool['name']}"[:128]
            found.append(Case(name, tool["inputSchema"], description=tool.get("description", "")))
    return found


KINDS = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def from_bfcl(schema):
    """Its types in the words of JSON Schema."""
    if not isinstance(schema, dict):
        return schema
    read = {}
    for word, value in schema.items():
        if word == "properties":
            read[word] = {name: from_bfcl(child) for name, child in value.items()}
        elif word == "items":
            read[word] = from_bfcl(value)
        elif word == "type":
            kind = KINDS.get(value, value)
            if kind:
                read[word] = kind
        elif word != "optional":
            read[word] = value
    return read


def bfcl() -> list[list[Case]] | None:
    """Documents of the function-calling leaderboard in groups without a name twice, with the calls that they expect."""
    file = DATA / "bfcl.jsonl"
    if not file.exists():
        return None
    groups: list[dict[str, Case]] = []
    for line in file.read_text().splitlines():
        entry = json.loads(line)
        for function in entry["functions"]:
            case = Case(function["name"], from_bfcl(function["parameters"]), expected(function["name"], entry),
                        function["description"])
            group = next((group for group in groups if case.name not in group and len(group) < 100), None)
            if group is None:
                groups.append(group := {})
            group[case.name] = case
    return [list(group.values()) for group in groups]


def expected(name: str, entry: dict) -> list[dict]:
    """The first accepted value of each parameter; "" means that it may be absent."""
    calls = [call[name] for call in entry["ground_truth"] if name in call]
    return [{key: value(accepted[0]) for key, accepted in call.items() if accepted[0] != ""} for call in calls]


def value(accepted):
    """Inside of objects the values are lists of what is accepted, too."""
    if isinstance(accepted, dict):
        return {key: value(inner[0] if isinstance(inner, list) and inner else inner) for key, inner in accepted.items()
                if not (isinstance(inner, list) and inner and inner[0] == "")}
    return accepted
