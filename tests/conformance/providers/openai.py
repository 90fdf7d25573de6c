"""OpenAI: Chat Completions, Responses, Realtime."""

from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.realtime import RealtimeFunctionToolParam
from openai.types.responses import FunctionToolParam

import rules
from . import types

KINDS = {
    "openai-chat": ChatCompletionFunctionToolParam,
    "openai-responses": FunctionToolParam,
    "openai-realtime": RealtimeFunctionToolParam,
}


def function(provider, item):
    return item["function"] if provider == "openai-chat" else item


def functions(provider, declarations):
    for item in declarations:
        one = function(provider, item)
        yield one["name"], one.get("parameters", {"type": "object"})


def check(provider, declarations, settings, report):
    problems = [problem for item in declarations for problem in types.problems(KINDS[provider], item, strict=True)]
    found = [function(provider, item) for item in declarations]
    problems += rules.names([one["name"] for one in found], r"[A-Za-z0-9_-]{1,64}", 128)
    for one in found:
        schema = one.get("parameters")
        if schema is None:
            continue
        of_one = rules.object_root(schema, unions=False) + rules.references(schema) + rules.typed_items(schema)
        if one.get("strict"):
            of_one += rules.openai_strict(schema)
        problems += [f"{one['name']}: {problem}" for problem in of_one]
        if provider == "openai-realtime" and "strict" in one:
            problems.append(f"{one['name']}: Realtime has no `strict`")
        if provider == "openai-responses" and not isinstance(one.get("strict"), bool):
            problems.append(f"{one['name']}: Responses is strict by default")
    return problems
