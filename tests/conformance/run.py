"""Holds what we declare and encode to the providers' own types.

`run.py --driver BINARY [--command-line BINARY] [--suite ARCHIVE] [--recordings ARCHIVE]`, from the virtual environment of `requirements.txt`. Prints a table, and every
problem; exits with 1 where there is one.
"""

import argparse
import collections
import pathlib
import sys
import time

import cases
import command_line
import declarations
import histories
import live
import protocols
import providers
import user_parts
from driver import Driver

MOST_PROBLEMS = 40
# The others declare the same whether strict is asked for or not.
STRICT = {"openai-chat", "openai-responses", "anthropic", "bedrock", "cohere"}


def groups(driver: Driver, suite: pathlib.Path | None):
    """The requests: a name, and the tools of each."""
    yield "examples", [cases.examples(driver)]
    corpus = cases.corpus()
    yield "corpus", [corpus[at:at + 100] for at in range(0, len(corpus), 100)]
    if suite:
        of_suite = cases.suite(suite)
        yield "suite", [of_suite[at:at + 100] for at in range(0, len(of_suite), 100)]
    yield "servers", [cases.servers()]
    yield "functions", [cases.functions()]


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--driver", required=True)
    arguments.add_argument("--suite", type=pathlib.Path, help="the source distribution of jsonschema")
    arguments.add_argument("--recordings", type=pathlib.Path, help="the source distribution of anthropic")
    arguments.add_argument("--command-line", help="the example `tools`")
    arguments.add_argument("--provider", action="append", help="only these")
    arguments.add_argument("--only", choices=["declarations", "protocols", "histories"], help="only this part")
    given = arguments.parse_args()
    driver, begun, failed = Driver(given.driver), time.monotonic(), 0
    wanted = given.provider or list(providers.OF)

    print(f"{'provider':20}{'source':11}{'form':8}{'tools':>7}{'accepted':>10}{'refused':>9}{'strict':>8}{'instances':>11}{'lost':>6}{'problems':>10}")
    problems = {f"{provider} has no checks here": None for provider in driver.ask("providers") if provider not in providers.OF}
    for source, requests in groups(driver, given.suite) if given.only in (None, "declarations") else ():
        for provider in wanted:
            for strict in (False, True) if provider in STRICT or source == "examples" else (False,):
                tally = declarations.Tally()
                for request in requests:
                    # Alone, none is held back by the budget of a request.
                    alone = strict and source not in ("examples", "servers")
                    for tools in [[case] for case in request] if alone else [request]:
                        declarations.declare(driver, provider, tools, strict, tally)
                    if source == "servers" and not strict and provider in declarations.SEARCHES:
                        declarations.deferred(driver, provider, request, tally)
                print(f"{provider:20}{source:11}{'strict' if strict else 'plain':8}{tally.tools:7}{tally.accepted:10}{tally.refused:9}{tally.strict:8}{tally.instances:11}{tally.lost:6}{len(tally.problems):10}")
                if source in ("servers", "functions", "examples") and tally.refused * 100 > tally.tools:
                    tally.wrong(f"{provider}: more than 1% of {source} is refused")
                failed += len(tally.problems)
                problems.update(dict.fromkeys(tally.problems))
    of_protocols = protocols.check(driver, wanted) if given.only in (None, "protocols") else []
    if given.only in (None, "histories"):
        of_protocols += histories.check(driver, wanted) + user_parts.check(wanted)
    if given.only in (None, "protocols"):
        of_protocols += live.check()
    if given.command_line and given.only in (None, "declarations"):
        of_protocols += command_line.check(driver, given.command_line, cases.corpus()[:100], wanted)
    if given.recordings and given.only in (None, "protocols"):
        of_protocols += protocols.anthropic_fixtures(driver, given.recordings)
    problems.update(dict.fromkeys(of_protocols))
    shown = collections.Counter()
    for problem in problems:
        shown[problem.split(":")[0]] += 1
        if shown[problem.split(":")[0]] <= MOST_PROBLEMS:
            print(problem)
    print(f"{len(problems)} problems in {time.monotonic() - begun:.0f} seconds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
