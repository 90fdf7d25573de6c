"""Declarations: all that we emit is accepted, and nothing valid is lost on the way."""

import collections
import json

import llguidance
from anthropic.types import ToolParam, ToolSearchToolBm25_20251119Param
from openai.types.responses import FunctionToolParam, ToolSearchToolParam

import providers
import schema as schemas
from driver import Driver, Refused
from providers import types

# The types of a deferred tool and of the search that finds it.
SEARCHES = {
    "anthropic": (ToolParam, ToolSearchToolBm25_20251119Param),
    "openai-responses": (FunctionToolParam, ToolSearchToolParam),
}


class Tally:
    """What came of the tools of one provider."""

    def __init__(self) -> None:
        self.tools = self.accepted = self.refused = self.strict = self.instances = self.lost = 0
        self.problems: list[str] = []

    def wrong(self, text: str) -> None:
        self.problems.append(text)


def declare(driver: Driver, provider: str, cases: list, strict: bool, tally: Tally) -> None:
    """Declares the tools of one request, and holds the answer to everything."""
    mode = "strict" if strict else "plain"
    try:
        answer = driver.ask("declare", provider=provider, strict=strict, tools=[case.tool() for case in cases])
    except Refused as refused:
        if len(cases) == 1:
            # No tool at all, before any provider: such as a schema that is none.
            return
        for case in cases:
            declare(driver, provider, [case], strict, tally)
        return
    report = {tool["tool"]: tool for tool in answer["report"]["tools"]}
    declared = providers.functions(provider, answer["declarations"])
    problems = providers.OF[provider].check(provider, answer["declarations"], answer["settings"], answer["report"])
    canonical = {tool["name"]: tool["parameters"] for tool in answer["definitions"]}
    if len(declared) + sum(1 for tool in report.values() if tool.get("refused")) != len(cases):
        problems.append(f"{len(cases)} tools, {len(declared)} declared, {sum(1 for tool in report.values() if tool.get('refused'))} refused")
    for problem in problems:
        tally.wrong(f"{provider} {mode}: {problem}")
    written: list = []
    for case in cases:
        told = report.get(case.name)
        tally.tools += 1
        if told is None:
            tally.wrong(f"{provider} {mode}: {case.name} is not in the report")
            continue
        if told.get("refused"):
            tally.refused += 1
            if not told["refused"].get("reason"):
                tally.wrong(f"{provider} {mode}: {case.name} is refused without a reason")
            continue
        tally.accepted += 1
        tally.strict += told["strict"]
        projected = declared.get(told["declaredAs"])
        if projected is None:
            tally.wrong(f"{provider} {mode}: {case.name} is declared as {told['declaredAs']}, which is not there")
            continue
        whole(provider, mode, case, canonical[case.name], projected, told, tally)
        written += instances(provider, mode, case, canonical[case.name], projected, told, tally)
        if told["strict"]:
            compiles(provider, case, projected, tally)
    restored(driver, provider, cases, strict, canonical, written, tally)


def deferred(driver: Driver, provider: str, cases: list, tally: Tally) -> None:
    """Tools that the provider's own search finds, and the search, are of the provider's types."""
    tool, search = SEARCHES[provider]
    declared = driver.ask("declare", provider=provider, defer=True, tools=[case.tool() for case in cases])["declarations"]
    *tools, last = declared
    for kind, item in [*((tool, item) for item in tools), (search, last)]:
        for problem in types.exactly(kind, item):
            tally.wrong(f"{provider} deferred: {problem}")
    if not tools or not all(item.get("defer_loading") is True for item in tools):
        tally.wrong(f"{provider} deferred: a tool is not deferred")


def whole(provider, mode, case, canonical, projected, told, tally) -> None:
    """Every keyword that is gone is in the report, and the report tells of keywords that are there."""
    before, after = schemas.reachable(canonical), schemas.reachable(projected)
    if not canonical.get("properties") and canonical.get("additionalProperties") is False:
        # Parameters that are left out take none.
        before["additionalProperties"] -= 1
    reported = collections.Counter(change["keyword"] for change in told["changes"])
    for word in before:
        if after[word] < before[word] and not reported[word] and not explained(word, reported):
            tally.wrong(f"{provider} {mode}: {case.name} lost `{word}`, and the report says nothing: {json.dumps(canonical)[:300]}")
    for change in told["changes"]:
        holder = schemas.resolve(canonical, change["pointer"])
        if not isinstance(holder, dict) and holder is not True and holder is not False:
            tally.wrong(f"{provider} {mode}: {case.name} has nothing at {change['pointer']!r}, as the report says")


# What stands inside of a keyword that is reported goes with it.
HOLDERS = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "dependentSchemas", "contains",
           "patternProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema", "prefixItems",
           "items", "additionalProperties", "properties", "enum", "const"}


def explained(word: str, reported) -> bool:
    return any(reported[holder] for holder in HOLDERS - {word})


def instances(provider, mode, case, canonical, projected, told, tally) -> list:
    """Every call that the tool accepts is one that the declaration accepts; gives both, as it was and as it is sent."""
    root, written = schemas.validator(projected), []
    for instance in case.instances:
        tally.instances += 1
        sent = schemas.with_nulls(projected, projected, instance) if told["strict"] else instance
        if root.is_valid(sent):
            written.append((case, told["declaredAs"], instance, sent))
        else:
            tally.lost += 1
            tally.wrong(f"{provider} {mode}: {case.name} loses {json.dumps(sent)[:200]} of {json.dumps(canonical)[:400]}: "
                        f"{json.dumps(projected)[:400]}")
    return written


def restored(driver, provider, cases, strict, canonical, written, tally) -> None:
    """The calls come back as they were, under the tool's own name."""
    calls = [{"name": name, "arguments": json.dumps(sent)} for _, name, _, sent in written]
    answer = driver.ask("declare", provider=provider, strict=strict, tools=[case.tool() for case in cases], calls=calls)
    for (case, _, instance, _), call in zip(written, answer["restored"], strict=True):
        back = json.loads(call["arguments"])
        fits = schemas.validator(canonical[case.name]).is_valid(back)
        if call["name"] != case.name or not fits or not schemas.same_but_nulls(instance, back):
            tally.wrong(f"{provider} {'strict' if strict else 'plain'}: {case.name} gives back {call} for {json.dumps(instance)[:200]}")


def compiles(provider, case, projected, tally) -> None:
    """A strict schema becomes a grammar."""
    try:
        failed, messages = llguidance.LLMatcher.validate_grammar_with_warnings(
            llguidance.LLMatcher.grammar_from_json_schema(projected, overrides={"lenient": True}))
    except ValueError as error:
        failed, messages = True, [str(error)]
    if failed:
        tally.wrong(f"{provider} strict: {case.name} is no grammar: {messages}: {json.dumps(projected)[:300]}")
