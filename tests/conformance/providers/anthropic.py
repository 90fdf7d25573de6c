"""Anthropic's Messages."""

from anthropic.types import ToolParam

import rules
from schema import walk
from . import types

KEYS = r"[a-zA-Z0-9_.-]{1,64}"
NOT_STRICT = {"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
              "maxItems", "uniqueItems", "patternProperties", "minProperties", "maxProperties", "not", "if", "oneOf"}


def functions(provider, declarations):
    for item in declarations:
        yield item["name"], item["input_schema"]


def check(provider, declarations, settings, report):
    problems = [problem for item in declarations for problem in types.problems(ToolParam, item, strict=True)]
    problems += rules.names([item["name"] for item in declarations], r"[a-zA-Z0-9_-]{1,128}", 10_000)
    strict = [item for item in declarations if item.get("strict")]
    for item in declarations:
        schema = item["input_schema"]
        of_one = rules.object_root(schema, unions=False) + rules.property_keys(schema, KEYS) + rules.references(schema)
        if item.get("strict"):
            of_one += rules.closed_objects(schema) + rules.cycles(schema)
            of_one += [f"strict with `{word}`" for _, inner in walk(schema) for word in inner if word in NOT_STRICT]
        problems += [f"{item['name']}: {problem}" for problem in of_one]
    return problems + budget(strict)


def budget(strict):
    """What the strict tools of a request may have between them."""
    optional = unions = 0
    for item in strict:
        for _, inner in walk(item["input_schema"]):
            named = inner.get("properties", {})
            optional += len(set(named) - set(inner.get("required", ())))
            unions += sum(1 for child in named.values() if "anyOf" in child or isinstance(child.get("type"), list))
    counted = {"strict tools": (len(strict), 20), "optional parameters": (optional, 24), "union parameters": (unions, 16)}
    return [f"{found} {what}, at most {most}" for what, (found, most) in counted.items() if found > most]
