"""Servers of models on one's own machine: llama.cpp, vLLM, LM Studio. They make grammars of schemas."""

from openai.types.chat import ChatCompletionFunctionToolParam

import rules
from . import types


def functions(provider, declarations):
    for item in declarations:
        yield item["function"]["name"], item["function"]["parameters"]


def check(provider, declarations, settings, report):
    problems = [problem for item in declarations for problem in types.problems(ChatCompletionFunctionToolParam, item, strict=True)]
    problems += rules.names([item["function"]["name"] for item in declarations], r"[A-Za-z0-9_-]{1,64}", 10_000)
    for item in declarations:
        name, schema = item["function"]["name"], item["function"]["parameters"]
        of_one = rules.object_root(schema, unions=False) + rules.grammar(provider, schema)
        if not isinstance(schema.get("properties"), dict):
            of_one.append("no `properties` at the root")
        if "strict" in item["function"]:
            of_one.append("the server has no `strict`")
        problems += [f"{name}: {problem}" for problem in of_one]
    return problems
