"""Cohere's chat, version 2."""

import cohere

import rules
from schema import walk
from . import types


def functions(provider, declarations):
    for item in declarations:
        yield item["function"]["name"], item["function"]["parameters"]


def check(provider, declarations, settings, report):
    problems = [problem for item in declarations for problem in types.exactly(cohere.ToolV2, item)]
    problems += rules.names([item["function"]["name"] for item in declarations], r"[A-Za-z_][A-Za-z0-9_]{0,63}|[A-Za-z0-9_-]{1,64}", 10_000)
    for item in declarations:
        schema = item["function"].get("parameters", {})
        of_one = rules.object_root(schema, unions=False) + rules.references(schema)
        if settings.get("strict_tools") and not schema.get("required"):
            of_one.append("strict, and no parameter is required")
        problems += [f"{item['function']['name']}: {problem}" for problem in of_one]
    fields = sum(len(inner.get("properties", ())) for _, schema in functions(provider, declarations) for _, inner in walk(schema))
    if settings.get("strict_tools") and fields > 200:
        problems.append(f"{fields} fields in strict tools, at most 200")
    return problems
