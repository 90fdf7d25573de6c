"""Ollama's chat. Its server keeps few keywords and drops the others."""

import ollama

import rules
from . import types

KEPT = {"anyOf", "type", "items", "description", "enum", "properties", "required"}


def functions(provider, declarations):
    for item in declarations:
        yield item["function"]["name"], item["function"]["parameters"]


def check(provider, declarations, settings, report):
    problems = []
    for item in declarations:
        name, schema = item["function"]["name"], item["function"]["parameters"]
        of_one = types.problems(ollama.Tool, item) + rules.object_root(schema, unions=False) + lost(item)
        # Kept or not, a reference leads nowhere there.
        of_one += rules.only_keywords(schema, KEPT)
        problems += [f"{name}: {problem}" for problem in of_one]
    return problems + rules.names([item["function"]["name"] for item in declarations], r"[A-Za-z0-9_-]{1,64}", 10_000)


def lost(item):
    """What the Python client itself would not send, of the keywords that its types name."""
    sent = ollama.Tool.model_validate(item).model_dump(exclude_none=True, by_alias=True)
    ours, theirs = item["function"]["parameters"], sent["function"]["parameters"]
    # Its type for the root knows no description; the server does.
    problems = [f"the client drops `{word}`" for word in ours if word not in theirs and word != "description"]
    for name, inner in ours.get("properties", {}).items():
        kept = theirs["properties"].get(name, {})
        problems += [f"the client drops `{word}` of {name}" for word in inner
                     if word in ("type", "items", "description", "enum") and word not in kept]
    return problems
