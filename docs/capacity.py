#!/usr/bin/env python3
"""The capacity table of docs/book/ten_machines.md, computed from the figures in BENCHMARKS.md.

    python3 docs/capacity.py            # writes the table into the page
    python3 docs/capacity.py --check    # exits 1 if the page has another table

Change the assumptions below to those of your own conversations, and read the table that it prints.
"""

import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "book" / "ten_machines.md"
BEGIN = "<!-- capacity: `python3 docs/capacity.py` writes what follows -->"
END = "<!-- capacity end -->"

# What is assumed of conversations. None of it is measured.
CONVERSATIONS_A_DAY = (1_000, 100_000, 10_000_000)
TURNS = 10  # messages of the user in a conversation
CALLS_A_TURN = 2  # calls of tools
MINUTES = 10  # the length of a conversation
IDLE_MINUTES = 30  # after which its session ends: `limits.idle_timeout`
PEAK = 3  # the busiest minutes, as a multiple of the mean
LOAD = 0.5  # the share of a measured figure that is used
GATEWAY_MIB = 2_048  # the memory of a gateway, of which LOAD is for sessions

# Figures of BENCHMARKS.md: a name, and the place of the number.
FIGURES = {
    "gateway_calls": r"\| HTTP, 64 in flight, a tool without work \| [\d,]+/s \| [\d,]+/s \| ([\d,]+)/s",
    "gateway_mib": r"\| memory, 20 servers \| \| \| ([\d.]+) MiB",
    "session_kib": r"A session takes (\d+) KiB with the connection",
    "redis_calls": r"64 tasks\s+admit ([\d,]+) calls a second",
    "loop_first": r"\| ours, `AgentLoop` \| [\d,]+ \| ([\d,]+) \|",
    "loop_step": r"\| ours, `AgentLoop` \| [\d,]+ \| [\d,]+ \| [\d,]+ \| ([\d,]+) \|",
    "instruction_ns": r"an instruction takes about ([\d.]+) ns",
}


def figures() -> dict[str, float]:
    text = (ROOT / "BENCHMARKS.md").read_text()
    found, missing = {}, []
    for name, pattern in FIGURES.items():
        match = re.search(pattern, text)
        if match:
            found[name] = float(match[1].replace(",", ""))
        else:
            missing.append(f"{name}: {pattern}")
    if missing:
        sys.exit("BENCHMARKS.md no longer has these figures; correct their patterns:\n" + "\n".join(missing))
    return found


def shown(number: float) -> str:
    """Two digits that count, and all digits of what is counted in hundreds."""
    if number < 0.01:
        return "under 0.01"
    if number >= 100:
        return f"{round(number):,}"
    digits = max(0, 1 - math.floor(math.log10(number)))
    return f"{number:.{digits}f}"


def row(name: str, cells: list[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def table() -> str:
    measured = figures()
    calls_each = TURNS * CALLS_A_TURN
    messages_each = TURNS * (2 + 2 * CALLS_A_TURN)
    loop_ms = (measured["loop_first"] + (calls_each - 1) * measured["loop_step"]) * measured["instruction_ns"] / 1e6
    a_gateway_calls = measured["gateway_calls"] * LOAD
    a_gateway_sessions = (GATEWAY_MIB * LOAD - measured["gateway_mib"]) * 1024 / measured["session_kib"]

    columns = []
    for a_day in CONVERSATIONS_A_DAY:
        peak = a_day / 86_400 * PEAK
        calls = peak * calls_each
        sessions = peak * 60 * (MINUTES + IDLE_MINUTES)
        by_calls = math.ceil(calls / a_gateway_calls)
        by_sessions = math.ceil(sessions / a_gateway_sessions)
        gateways = max(by_calls, by_sessions)
        columns.append({
            "conversations a second, at the peak": shown(peak),
            "conversations that go on at once": shown(peak * 60 * MINUTES),
            "sessions that are open, with those that are idle": shown(sessions),
            "calls a second": shown(calls),
            "gateways for the calls": str(by_calls),
            "gateways for the memory of the sessions": str(by_sessions),
            "**gateways to run**, one of which may fail": f"**{gateways + 1}**",
            "sessions of a gateway, while one has failed": shown(sessions / gateways),
            "Redis: share of the calls a second that it admits": f"{shown(100 * calls / measured['redis_calls'])} %",
            "cores for the agent loops, without HTTP and TLS": shown(peak * loop_ms / 1_000),
            "records of the audit log a second, not measured": shown(calls),
            "messages to store a second, not measured": shown(peak * messages_each),
        })

    limit = measured["redis_calls"] * LOAD / calls_each / PEAK * 86_400
    lines = [
        row("", [f"{a_day:,} a day" for a_day in CONVERSATIONS_A_DAY]),
        row("---", ["--:"] * len(columns)),
        *(row(name, [column[name] for column in columns]) for name in columns[0]),
        "",
        f"Assumed: {TURNS} messages of the user and {calls_each} calls in a conversation of {MINUTES} minutes, whose session stays open for "
        f"{IDLE_MINUTES} minutes more; a peak of {PEAK} times the mean; {LOAD:.0%} of each measured figure is used.",
        "",
        f"Measured (`BENCHMARKS.md`): a gateway passes on {measured['gateway_calls']:,.0f} calls a second over HTTP on two "
        f"cores that its client and its server use too; it has {measured['gateway_mib']} MiB, and {measured['session_kib']:.0f} KiB more for each "
        f"session, so one of {GATEWAY_MIB:,} MiB has room for {a_gateway_sessions:,.0f}; Redis admits {measured['redis_calls']:,.0f} calls a second; "
        f"an agent loop takes {loop_ms:.2f} ms of a core for such a conversation. One Redis is enough for {limit / 1e6:.0f} million conversations "
        f"a day.",
    ]
    return "\n".join(lines)


def main() -> None:
    computed = table()
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE} has no place for the table: {BEGIN} .. {END}")
    new = f"{before}{BEGIN}\n\n{computed}\n\n{END}{after}"
    if "--check" in sys.argv[1:]:
        if new != page:
            sys.exit("the capacity table is not that of the figures in BENCHMARKS.md; run: python3 docs/capacity.py")
        return
    PAGE.write_text(new)
    print(computed)


if __name__ == "__main__":
    main()
