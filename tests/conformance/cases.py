"""The tools to be declared, each with calls that it accepts: those of the examples, the corpus, a suite and `data`."""

import io
import json
import pathlib
import re
import tarfile

import generate
from schema import validator, walk

HERE = pathlib.Path(__file__).parent


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


def servers() -> list[Case]:
    """Tools as MCP servers declare them."""
    servers = json.loads((HERE / "data" / "servers.json").read_text())
    return [Case(f"{server}.{tool['name']}", tool["inputSchema"], description=tool["description"])
            for server, tools in servers.items() for tool in tools]


def functions() -> list[Case]:
    """Functions with the calls that are expected of a model."""
    found = []
    for function in json.loads((HERE / "data" / "functions.json").read_text()):
        found.append(Case(function["name"], function["parameters"], function["calls"], function["description"]))
        assert all(call in found[-1].instances for call in function["calls"]), function["name"]
    return found
