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
    #: Members of a model's message that go back beside its text and calls. None if all of them do.
    members: frozenset[str] | None = None
    #: Members of a request that OpenAI does not have.
    own: frozenset[str] = frozenset()
    #: The most characters of a tool's name.
    longest_name: int = 64
    #: The most tools of a request. None if no limit is known.
    most_tools: int | None = None


SERVERS = {
    "llama-cpp": Server(grammar="llama-cpp", named_choice=False, own=frozenset({"chat_template_kwargs"})),
    "vllm": Server(grammar="vllm"),
    "lm-studio": Server(grammar="llama-cpp", named_choice=False),
}


#: What a message has in every server.
MESSAGE = {"role", "content", "tool_calls"}
#: Members that the servers send, and one that none of them knows.
SENT = {"reasoning_content": "Hm.", "reasoning": "Hm.", "unknown_member": "Hm."}


def step(provider, calls):
    """A step of the model as the server sent it."""
    server = SERVERS[provider]
    return {"role": "assistant", **SENT, **dict.fromkeys(server.members or (), "Hm."), "tool_calls": calls}


def went_back(body):
    """The members that went back in a request, beside what every message has."""
    steps = [message for message in body["messages"] if message["role"] == "assistant"]
    return {name for message in steps for name in message} - MESSAGE


def wrong_members(provider, seen):
    """What is wrong with the members that went back in all requests."""
    members = SERVERS[provider].members
    expected = set(SENT) if members is None else set(members)
    return [f"`{name}` goes back" for name in sorted(seen - expected)] + [f"`{name}` never goes back" for name in sorted(expected - seen)]


def functions(provider, declarations):
    for item in declarations:
        yield item["function"]["name"], item["function"]["parameters"]


def wrong_warnings(server, count, report):
    """Every tool of a request is declared, so the report warns where they are more than the server takes, and only there."""
    is_too_many = server.most_tools is not None and count > server.most_tools
    if not is_too_many:
        return [f"an unexpected warning: {warning}" for warning in report["warnings"]]
    if any(f"at most {server.most_tools}:" in warning for warning in report["warnings"]):
        return []
    return [f"{count} tools, at most {server.most_tools}, and no warning"]


def check(provider, declarations, settings, report):
    server = SERVERS[provider]
    problems = [problem for item in declarations for problem in types.problems(ChatCompletionFunctionToolParam, item, strict=True)]
    names = [item["function"]["name"] for item in declarations]
    problems += rules.names(names, rf"[A-Za-z0-9_-]{{1,{server.longest_name}}}", 10_000)
    problems += wrong_warnings(server, len(names), report)
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
