"""Servers with OpenAI's Chat Completions that differ in schemas. A new one is a row of `SERVERS`."""

import typing

from openai.types.chat import ChatCompletionFunctionToolParam

import rules
from . import types


class Server(typing.NamedTuple):
    #: Whose grammars the server makes of schemas: `llama-cpp`, `vllm`, or none.
    grammar: str | None = None
    #: Whether `tool_choice` may name a function.
    named_choice: bool = True
    #: Keywords that the server refuses.
    refused: frozenset[str] = frozenset()


SERVERS = {
    "llama-cpp": Server(grammar="llama-cpp", named_choice=False),
    "vllm": Server(grammar="vllm"),
    "lm-studio": Server(grammar="llama-cpp", named_choice=False),
}


def functions(provider, declarations):
    for item in declarations:
        yield item["function"]["name"], item["function"]["parameters"]


def check(provider, declarations, settings, report):
    server = SERVERS[provider]
    problems = [problem for item in declarations for problem in types.problems(ChatCompletionFunctionToolParam, item, strict=True)]
    problems += rules.names([item["function"]["name"] for item in declarations], r"[A-Za-z0-9_-]{1,64}", 10_000)
    for item in declarations:
        name, schema = item["function"]["name"], item["function"]["parameters"]
        of_one = rules.object_root(schema, unions=False) + rules.no_keywords(schema, server.refused)
        of_one += rules.grammar(server.grammar, schema) if server.grammar else []
        if not isinstance(schema.get("properties"), dict):
            of_one.append("no `properties` at the root")
        if "strict" in item["function"]:
            of_one.append("the server has no `strict`")
        problems += [f"{name}: {problem}" for problem in of_one]
    return problems
