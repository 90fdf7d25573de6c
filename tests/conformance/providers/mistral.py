"""Mistral's chat."""

from mistralai.client import models

import rules
from . import types


def functions(provider, declarations):
    for item in declarations:
        yield item["function"]["name"], item["function"]["parameters"]


def check(provider, declarations, settings, report):
    problems = [problem for item in declarations for problem in types.exactly(models.Tool, item)]
    problems += rules.names([item["function"]["name"] for item in declarations], r"[A-Za-z0-9_-]{1,64}", 128)
    for item in declarations:
        schema = item["function"].get("parameters")
        if schema is None:
            problems.append(f"{item['function']['name']}: parameters are required")
            continue
        of_one = rules.object_root(schema, unions=False) + rules.references(schema)
        problems += [f"{item['function']['name']}: {problem}" for problem in of_one]
    return problems
