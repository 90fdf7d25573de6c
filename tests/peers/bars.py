"""The bars of speed: what each figure has to reach. A figure without a unit is a multiple of the floor's."""
FLOOR = "floor/match"
NULL, GIVEN, OBJECTS = "W1", "W6", "W3"


def ratio(value, base):
    return None if value is None or not base else value / base


def figures(results):
    """Yields rows: figure, values, bar, aim. A bar above the aim is the most that is allowed, else the least."""
    def count(variant, work):
        return results.instructions.get((variant, work))

    def instructions(variant, *works):
        return [ratio(count(variant, work), count(FLOOR, work)) for work in works]

    def time(variant, base=None):
        return [ratio(results.ns(variant, work), results.ns(FLOOR, base or work)) for work in (NULL, GIVEN)]

    def compiled(peer):
        return ratio(results.a_tool(peer, "clean_cpu"), results.a_tool("floor_schemars", "clean_cpu"))

    for tools, variant, bars in [("sync", "data_sync", [(1.00, 0.92), (1.20, 1.05)]), ("async", "data", [(1.05, 1.00), (1.35, 1.15)])]:
        yield f"data, {tools}: null / given", instructions(f"ours/{variant}", NULL, GIVEN), *bars[0]
        yield f"data by time, {tools}: null / given", time(f"ours/{variant}"), *bars[1]
    yield "envelope, sync: null / given", instructions("ours/bare_sync", NULL, GIVEN), 1.15, 1.05
    yield "envelope, async: null / given", instructions("ours/bare_async", NULL, GIVEN), 1.22, 1.12
    # 700 ns and 550 ns where the floor takes 361 with the optional given.
    yield "governed by time, async: null / given", time("ours/governed", GIVEN), 1.94, 1.52
    yield "governed, first of a turn, sync: null / given", instructions("ours/governed_first_sync", NULL, GIVEN), 1.60, 1.35
    yield "governed, first of a turn, async: null / given", instructions("ours/governed_first", NULL, GIVEN), 1.60, 1.40
    yield "governed, mean of 100 in a turn, sync: null / given", instructions("ours/governed_100_sync", NULL, GIVEN), 2.00, 1.45
    yield "governed, mean of 100 in a turn, async: null / given", instructions("ours/governed_100", NULL, GIVEN), 2.00, 1.45
    yield "governed, 64 objects", instructions("ours/governed", OBJECTS), 1.00, 0.85
    yield "compile time a tool, clean, x two derives", [compiled("ours")], 0.65, 0.38
    yield "bytes a tool", [results.a_tool("ours", "stripped_bytes")], 6700, 6000
    for connections in (16, 64):
        served = [results.served(server, "calls_a_second", connections) for server in ("ours", "rmcp")]
        figure = f"MCP over HTTP at {connections} connections, calls a second, x rmcp's: sessions / without"
        yield figure, [ratio(*pair) for pair in zip(*served)], 1.5, 1.7


def table(results):
    """Returns rows of text: figure, what was reached, bar, aim."""
    rows = []
    for figure, values, bar, aim in figures(results):
        form = ",.0f" if bar > 100 else ".2f"
        measured = [value for value in values if value is not None]
        if not measured:
            verdict = ""
        elif bar >= aim:
            verdict = "missed" if max(measured) > bar else "aim" if max(measured) <= aim else "met"
        else:
            verdict = "missed" if min(measured) < bar else "aim" if min(measured) >= aim else "met"
        cells = " / ".join("-" if value is None else format(value, form) for value in values)
        rows.append([figure, f"{cells}, {verdict}" if measured else "", format(bar, form), format(aim, form)])
    return rows
