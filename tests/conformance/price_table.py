"""The price table as the package `genai-prices` has it, in the form that the library embeds.

What a rule means stays the same: names are compared in lower case; `*` stands for any characters, or none, and `#` for a
digit. Regular expressions become such patterns, which `prices.py` holds to the originals; only those of addresses are a
little laxer. Left out is what there are no counts for (pages, characters, seconds, searches), and what no longer holds on
the table's day. Images and video have one count: the price is that of images where there are both.
"""

import datetime
import itertools
import json
import re._constants as rc
import re._parser as rp
from decimal import Decimal

from genai_prices import __version__
from genai_prices import types as t
from genai_prices.data import providers

OURS = {
    "input_mtok": "input",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_written",
    "cache_write_1h_mtok": "cache_written_1h",
    "input_audio_mtok": "input_audio",
    "input_image_mtok": "input_image",
    "cache_audio_read_mtok": "cached_audio",
    "cache_image_read_mtok": "cached_image",
    "output_mtok": "output",
    "output_reasoning_mtok": "reasoning",
    "output_audio_mtok": "output_audio",
    "output_image_mtok": "output_image",
}
# Has the place of the image's price where a model has none.
VIDEO = {"input_image_mtok": "input_video_mtok", "output_image_mtok": "output_video_mtok"}
PER_REQUEST = "requests_kcount"
# The conditions that are tiers of service here; others, such as a route, are left out.
SERVICE_TIERS = ("processing", "service_tier", "speed")


class Untranslatable(Exception):
    """A rule that has no form here: the form has to grow."""


def literal(text: str) -> str:
    if set(text) & set("*#"):
        raise Untranslatable(f"a name with a wildcard of ours: {text}")
    return text.lower()


# Regular expressions


def expanded(parsed) -> list[str]:
    """The patterns of a sequence: each way through its branches. `^` and `$` stay, to be looked at by `patterns`."""
    ways = [""]
    for op, argument in parsed:
        ways = list(dict.fromkeys(before + after for before, after in itertools.product(ways, alternatives(op, argument))))
    return ways


def alternatives(op, argument) -> list[str]:
    if op is rc.LITERAL:
        return [literal(chr(argument))]
    if op is rc.AT:
        return ["^" if argument is rc.AT_BEGINNING else "$"]
    if op is rc.ANY or op is rc.NOT_LITERAL:
        return ["?"]
    if op is rc.IN:
        return members(argument)
    if op is rc.SUBPATTERN:
        return expanded(argument[3])
    if op is rc.BRANCH:
        return [way for branch in argument[1] for way in expanded(branch)]
    if op in (rc.MAX_REPEAT, rc.MIN_REPEAT):
        least, most, part = argument
        ways = expanded(part)
        if most is rc.MAXREPEAT and ways == ["?"]:
            return ["*"]
        if least == most:
            return ["".join(chosen) for chosen in itertools.product(ways, repeat=least)]
        if (least, most) == (0, 1):
            return ["", *ways]
    raise Untranslatable(f"{op} {argument}")


def members(items) -> list[str]:
    """A class of characters: digits, a few, or any but a few."""
    if items == [(rc.CATEGORY, rc.CATEGORY_DIGIT)]:
        return ["#"]
    if items[0][0] is rc.NEGATE or any(op is rc.RANGE for op, _ in items):
        return ["?"]
    return list(dict.fromkeys(literal(chr(code)) for _, code in items))


def anchored(way: str, whole: bool) -> str:
    """A pattern of the whole text: what is not anchored may have anything around it."""
    begins, ends = way.startswith("^") or whole, way.endswith("$")
    inner = way.strip("^$")
    if set(inner) & set("^$?"):
        raise Untranslatable(way)
    return ("" if begins else "*") + inner + ("" if ends else "*")


def patterns(regex: str, whole: bool = False):
    """The rule of a regular expression; `whole` where it is only looked for at the beginning."""
    parsed, refused = list(rp.parse(regex)), []
    while parsed and (parsed[0][0] is rc.ASSERT_NOT or parsed[0] == (rc.AT, rc.AT_BEGINNING)):
        op, argument = parsed.pop(0)
        if op is rc.AT:
            whole = True
        elif not whole:
            raise Untranslatable(f"what may not follow nowhere in particular: {regex}")
        else:
            refused += [anchored(way, True) for way in expanded(argument[1])]
    found = [anchored(way, whole) for way in expanded(parsed)]
    # A pattern for anything is no rule.
    wanted = [] if found == ["*"] else [one(found)]
    refused = [{"not": one(list(dict.fromkeys(refused)))}] if refused else []
    both = wanted + refused
    return both[0] if len(both) == 1 else {"all": both}


def one(rules: list):
    return rules[0] if len(rules) == 1 else rules


# Rules


def rule(clause):
    match clause:
        case t.ClauseEquals(equals=text):
            return literal(text)
        case t.ClauseStartsWith(starts_with=text):
            return literal(text) + "*"
        case t.ClauseEndsWith(ends_with=text):
            return "*" + literal(text)
        case t.ClauseContains(contains=text):
            return "*" + literal(text) + "*"
        case t.ClauseRegex(regex=text):
            return patterns(text)
        case t.ClauseOr(or_=parts):
            flat = []
            for part in map(rule, parts):
                flat += part if isinstance(part, list) else [part]
            return one(list(dict.fromkeys(flat)) if all(isinstance(it, str) for it in flat) else flat)
        case t.ClauseAnd(and_=parts):
            return {"all": [rule(part) for part in parts]}
    raise Untranslatable(clause)


# Prices


def dollars(amount: Decimal):
    """An amount to be written digit by digit. Beyond the twelfth decimal there is only what floats left."""
    text = format(round(amount, 12).normalize(), "f")
    return Digits(text)


class Digits:
    def __init__(self, text: str) -> None:
        self.text = text


def rates(prices: t.ModelPrice) -> dict:
    """The prices that have a name here."""
    known = {ours: prices.__dict__.get(theirs, prices.__dict__.get(VIDEO.get(theirs))) for theirs, ours in OURS.items()}
    return {ours: value for ours, value in known.items() if value is not None}


def price(prices: t.ModelPrice) -> dict:
    """A price, and its tiers: each has what changes above so many tokens read."""
    known = rates(prices)
    if not known and prices.__dict__.get(PER_REQUEST) is None:
        return {}
    # What has no price is free, unless its price is one that is left out.
    besides = {key.split("_")[0] for key, value in prices.__dict__.items() if value is not None and key not in OURS}
    for direction in ("input", "output"):
        if direction not in known and direction not in besides:
            known[direction] = Decimal(0)
    written = amounts(known)
    if (per_thousand := prices.__dict__.get(PER_REQUEST)) is not None:
        assert not isinstance(per_thousand, t.TieredPrices)
        written["request"] = dollars(per_thousand / 1000)
    return written


def amounts(known: dict) -> dict:
    written = {}
    for ours in OURS.values():
        if ours in known:
            value = known[ours]
            written[ours] = dollars(value.base if isinstance(value, t.TieredPrices) else value)
    tiered = {ours: value for ours, value in known.items() if isinstance(value, t.TieredPrices)}
    starts = sorted({tier.start for value in tiered.values() for tier in value.tiers})
    tiers = [
        {"above": start} | {ours: dollars(tier.price) for ours, value in tiered.items() for tier in value.tiers if tier.start == start}
        for start in starts
    ]
    return written | ({"tiers": tiers} if tiers else {})


def minute(time: datetime.time) -> str:
    utc = t._utc_timetz(time)
    if utc.second or utc.microsecond:
        raise Untranslatable(f"seconds: {time}")
    return utc.strftime("%H:%M")


def service_tier(variant: t.PriceVariant) -> str | None:
    """The name of a variant's tier; none for the standard one, for what is no tier, and for prices of seconds and pages."""
    (condition, name), *more = variant.when.items()
    if condition not in SERVICE_TIERS or more or (condition, name) == ("service_tier", "default"):
        return None
    others = any(value is not None for value in variant.prices.__dict__.values())
    return name if rates(variant.prices) or not others else None


def service_tiers(info: t.ModelInfo, day: datetime.date) -> dict:
    """What differs in each tier on that day. The first variant that has a price counts."""
    known: dict[str, dict] = {}
    for variant in info.price_variants or ():
        if (name := service_tier(variant)) and begun(variant.constraint, day):
            tier = known.setdefault(name, {})
            tier |= {ours: value for ours, value in rates(variant.prices).items() if ours not in tier}
    return {"service_tiers": {name: amounts(tier) for name, tier in known.items()}} if known else {}


def begun(constraint, day: datetime.date) -> bool:
    match constraint:
        case None:
            return True
        case t.StartDateConstraint(start_date=start):
            return start <= day
    raise Untranslatable(constraint)


def dated(info: t.ModelInfo, day: datetime.date) -> list[dict]:
    """The prices of a model, the one that counts last of those that hold; without those that never do again."""
    conditional = [t.ConditionalPrice(prices=info.prices)] if isinstance(info.prices, t.ModelPrice) else info.prices
    timed = [it for it in conditional if isinstance(it.constraint, t.TimeOfDateConstraint)]
    untimed = conditional[: len(conditional) - len(timed)]
    variants = [it for it in info.price_variants or () if service_tier(it)]
    if any(it in timed for it in untimed) or not begun(untimed[0].constraint, day) or (timed and variants):
        raise Untranslatable(f"an order of prices: {info.id}")
    starts = {it.constraint.start_date for it in [*untimed, *variants] if isinstance(it.constraint, t.StartDateConstraint)}
    kept = []
    for start in [day, *sorted(start for start in starts if start > day)]:
        holding = [it for it in untimed if begun(it.constraint, start)][-1]
        written = price(holding.prices)
        written |= service_tiers(info, start) if written else {}
        if not kept or compact(written) != compact(kept[-1][1]):
            kept.append(({"from": start.isoformat()} if start > day else {}, written))
    kept += [({"between": [minute(it.constraint.start_time), minute(it.constraint.end_time)]}, price(it.prices)) for it in timed]
    return [condition | written for condition, written in kept]


def model(info: t.ModelInfo, day: datetime.date) -> dict:
    matches, known = rule(info.match), dated(info, day) if info.prices else []
    written = {"id": info.id.lower()}
    if matches != written["id"]:
        written["match"] = matches
    if info.context_window:
        written["context"] = info.context_window
    if any(known):
        written["price"] = one(known)
    return written


def provider(info: t.Provider, day: datetime.date) -> dict:
    urls = patterns(info.api_pattern, whole=True)
    # Some patterns take an address without its scheme too; ours always have one.
    secure = [url for url in urls if url.startswith("https://")] if isinstance(urls, list) else [urls]
    if not all(url.startswith("https://") for url in secure):
        raise Untranslatable(info.api_pattern)
    written = {"id": info.id, "urls": one(secure)}
    for name, clause in (("names", info.provider_match), ("models", info.model_match)):
        if clause is not None:
            written[name] = rule(clause)
    if info.fallback_model_providers:
        written["fallback"] = info.fallback_model_providers
    return written | {"prices": [model(it, day) for it in info.models]}


# Text


def compact(value) -> str:
    """JSON in one line, amounts digit by digit."""
    match value:
        case Digits(text=text):
            return text
        case dict():
            return "{" + ",".join(f"{json.dumps(key)}:{compact(member)}" for key, member in value.items()) + "}"
        case list():
            return "[" + ",".join(map(compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def table(day: datetime.date) -> str:
    """The file: a line for the table, one for each provider and one for each model, in the package's order, which says
    what is looked at first."""
    head = {
        "date": day.isoformat(),
        "source": f"genai-prices {__version__}",
        "licence": "MIT, Copyright (c) Pydantic Services Inc. 2025 to present",
    }
    lines = [compact(head)[:-1] + ',"providers":[']
    of_providers = []
    for info in providers:
        written = provider(info, day)
        models = ",\n".join(" " + compact(it) for it in written.pop("prices"))
        of_providers.append(compact(written)[:-1] + ',"prices":[' + (f"\n{models}\n" if models else "") + "]}")
    return lines[0] + "\n" + ",\n".join(of_providers) + "\n]}\n"
