"""Holds the price table and its costs to the package that it comes from.

`prices.py --driver BINARY` compares; `prices.py --write` takes over what the installed release of `genai-prices` says.
Exits with 1 where something differs that is not accounted for.
"""

import argparse
import contextlib
import datetime
import json
import pathlib
import random
import sys
import time
import warnings
from decimal import Decimal

import price_table
import usage
from driver import Driver
from genai_prices import calc_price, data_snapshot
from genai_prices import types as t
from genai_prices.data import providers

TABLE = pathlib.Path(__file__).parents[2] / "tool-adapters" / "telemetry" / "src" / "prices" / "prices.json"
PICO = Decimal(10) ** 12
KINDS = (
    *("input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens"),
    *("input_audio_tokens", "input_image_tokens", "cache_audio_read_tokens", "cache_image_read_tokens"),
    *("output_tokens", "output_reasoning_tokens", "output_audio_tokens", "output_image_tokens"),
)
TIERS = ("batch", "flex", "priority", "fast")
SEED = 20261122
BATCH = 2_000


def names(clause) -> list[str]:
    """The texts that a rule is made of."""
    match clause:
        case t.ClauseOr(or_=parts) | t.ClauseAnd(and_=parts):
            return [name for part in parts for name in names(part)]
        case t.ClauseRegex(regex=regex):
            return of_regex(regex)
        case None:
            return []
    return list(vars(clause).values())


def of_regex(regex: str) -> list[str]:
    """Some texts that an expression may hold for: our patterns of it with something in the gaps."""
    rule, found = price_table.patterns(regex), []

    def collect(rule) -> None:
        match rule:
            case str():
                found.append(rule.replace("#", "7").replace("*", ""))
                found.append(rule.replace("#", "x").replace("*", "-1-"))
            case list():
                list(map(collect, rule))
            case {"all": parts}:
                list(map(collect, parts))
            case {"not": part}:
                collect(part)

    collect(rule)
    return found


def spelled(name: str) -> list[str]:
    """A name as others write it."""
    compact = name.replace("-2025-", "-2025").replace("-2026-", "-2026")
    return [name, name.upper(), name + "-latest", name + "-tts", name + "-20251211", name + "-20251341", compact, "eu." + name, "x/" + name, name + ":free", name[:-1]]


def usages(info: t.ModelInfo, chance: random.Random):
    """What is used: nothing of most, everything, around the tiers, at random."""
    starts = {tier.start for prices in all_prices(info) for price in vars(prices).values() if isinstance(price, t.TieredPrices) for tier in price.tiers}
    for start in sorted(starts):
        for input in (start - 1, start, start + 1):
            yield counts(input, 1_000, chance)
    yield (1, *[0] * 11)
    yield (*[0] * 8, 1, 0, 0, 0)
    yield (1_000_000, *[0] * 7, 1_000_000, 0, 0, 0)
    for _ in range(4):
        yield counts(chance.randrange(1, 10 ** chance.randrange(1, 10)), chance.randrange(0, 10 ** chance.randrange(1, 7)), chance)


def counts(input: int, output: int, chance: random.Random) -> tuple[int, ...]:
    """Counts of each kind at random."""

    def parts(total: int, number: int) -> list[int]:
        cuts = sorted(chance.randint(0, total) for _ in range(number))
        return [after - before for before, after in zip([0, *cuts], [*cuts, total])]

    text, audio, image, minutes, hour, fresh_audio, fresh_image, _ = parts(input, 7)
    reasoning, spoken, drawn, _ = parts(output, 3)
    read = (text + audio + image, minutes + hour, hour, audio + fresh_audio, image + fresh_image, audio, image)
    return (input, *read, output, reasoning, spoken, drawn)


def all_prices(info: t.ModelInfo) -> list[t.ModelPrice]:
    return [info.prices] if isinstance(info.prices, t.ModelPrice) else [it.prices for it in info.prices]


def moments(info: t.ModelInfo, day: datetime.date):
    """Now, the days on which a price begins, and the minutes of the day at which one does."""
    noon = datetime.datetime.combine(day, datetime.time(12, 0), datetime.UTC)
    yield noon
    if isinstance(info.prices, t.ModelPrice):
        return
    for conditional in info.prices:
        match conditional.constraint:
            case t.StartDateConstraint(start_date=start) if start > day:
                begins = datetime.datetime.combine(start, datetime.time(), datetime.UTC)
                yield from (begins - datetime.timedelta(seconds=1), begins)
            case t.TimeOfDateConstraint(start_time=start, end_time=end):
                for edge in (start, end):
                    at = datetime.datetime.combine(day, edge).astimezone(datetime.UTC)
                    yield from (at - datetime.timedelta(seconds=1), at)


class Theirs:
    """What the package says, with what it says it of."""

    def __init__(self) -> None:
        self.snapshot = data_snapshot.get_snapshot()

    def cost(self, provider, model, moment, tier, used) -> tuple[Decimal | None, t.ModelPrice | None]:
        try:
            # An empty name is none to us.
            found, info = self.snapshot.find_provider_model(model, None, provider := provider or None, None)
        except LookupError:
            return None, None
        context = None
        if tier:
            # A tier without a price, and that of another provider that runs the model, has no cost.
            variants = [it for it in info.price_variants or () if price_table.service_tier(it) == tier and price_table.begun(it.constraint, moment.date())]
            if not variants or all(info is not it for it in found.models):
                return None, None
            context = variants[0].when
        prices = info.get_prices(moment, context)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # Ours counts video as images. No model has prices for both as output.
            usage = t.Usage(**dict(zip(KINDS, used)), output_video_tokens=used[-1])
            answer = calc_price(usage, model, provider_id=provider, genai_request_timestamp=moment, price_context=context)
        assert answer.model is info and answer.provider is found
        return answer.total_price * PICO, prices

    def biller(self, url: str) -> str | None:
        with contextlib.suppress(LookupError):
            return self.snapshot.find_provider(None, None, url).id
        return None


class Tally:
    def __init__(self) -> None:
        self.compared = self.equal = self.unpriced = self.unknown = 0
        self.priced: set[int] = set()
        self.problems: list[str] = []

    def take(self, use, ours, theirs: Decimal | None, prices: t.ModelPrice | None) -> None:
        self.compared += 1
        if theirs is None or prices is None:
            self.unknown += 1
            self.wrong(use, ours, theirs) if ours is not None else None
        elif not price_table.price(prices):
            # They count nothing where only seconds, pages and the like have a price: that is no price for tokens.
            self.unpriced += 1
            self.wrong(use, ours, theirs) if ours is not None or theirs != 0 else None
        elif ours is None or abs(theirs - ours) > tolerance(use, prices):
            self.wrong(use, ours, theirs)
        else:
            self.equal += 1
            self.priced.add(id(prices))

    def wrong(self, use, ours, theirs) -> None:
        self.problems.append(f"{use}: ours {ours}, theirs {theirs}")


def tolerance(use, prices: t.ModelPrice) -> Decimal:
    """Half a picodollar, as we round; more only for the few prices that have more than twelve decimals."""
    amounts = [amount for price in vars(prices).values() if price is not None for amount in ([price] if isinstance(price, Decimal) else [price.base, *(tier.price for tier in price.tiers)])]
    rounded = sum(1 for amount in amounts if amount != round(amount, 12))
    tokens = sum(use[4:])
    return Decimal("0.5") + rounded * tokens * Decimal("0.5") / 1_000_000


def uses(day: datetime.date):
    """Yields every model under each of its names and for each biller."""
    chance = random.Random(SEED)
    for provider in providers:
        called = [provider.id, *names(provider.provider_match), None]
        for info in provider.models:
            tiers = [*filter(None, map(price_table.service_tier, info.price_variants or ())), "priority"]
            known = list(dict.fromkeys([info.id, *names(info.match)]))
            for moment in moments(info, day):
                for used in usages(info, chance):
                    yield (provider.id, info.id, moment, None, used)
                    yield (provider.id, info.id, moment, chance.choice(tiers), used)
            for name in known:
                for spelling in spelled(name):
                    yield (chance.choice(called), spelling, *at(day, chance))
                yield ("litellm", f"{provider.id}/{name}", *at(day, chance))
                yield (chance.choice([*(it.id for it in providers), "nobody", "", "LiteLLM"]), name, *at(day, chance))


def at(day: datetime.date, chance: random.Random):
    """Some time of that day, some tier and some usage."""
    midnight = datetime.datetime.combine(day, datetime.time(), datetime.UTC)
    used = counts(chance.randint(1, 400_000), chance.randint(1, 50_000), chance)
    return midnight + datetime.timedelta(seconds=chance.randrange(86_400)), chance.choice((None, None, *TIERS)), used


def compare(driver: Driver, day: datetime.date) -> Tally:
    theirs, tally, batch = Theirs(), Tally(), []

    def settle() -> None:
        asked = [(provider, model, int(moment.timestamp()), tier, *used) for provider, model, moment, tier, used in batch]
        for use, flat, ours in zip(batch, asked, driver.ask("price", uses=asked)):
            tally.take(flat, ours, *theirs.cost(*use))
        batch.clear()

    for use in uses(day):
        batch.append(use)
        if len(batch) == BATCH:
            settle()
    settle()
    return tally


def billers(driver: Driver) -> tuple[int, list[str]]:
    """Addresses, by whose provider is paid. Where an original wants something within, and no slash, ours takes anything:
    such addresses are tried with something only."""
    urls = []
    for provider in providers:
        rule = price_table.provider(provider, datetime.date.max)["urls"]
        for pattern in rule if isinstance(rule, list) else [rule]:
            url = pattern.removesuffix("*").replace("*", "me-1")
            urls += [url, url + "/v1/chat/completions", url + ".me", url.replace("https://", "https://xx"), url[:-1]]
            if "*" not in pattern[:-1]:
                urls += [url.replace("https://", "https://me."), "https://example.com/" + url]
    theirs = Theirs()
    billed = [(url, ours, theirs.biller(url)) for url, ours in zip(urls, driver.ask("biller", urls=urls))]
    return len(billed), [f"{url}: ours {ours}, theirs {other}" for url, ours, other in billed if ours != other]


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--driver", help="the example `conformance_driver`")
    arguments.add_argument("--write", action="store_true", help="take over the prices of the installed release")
    given = arguments.parse_args()
    if given.write:
        TABLE.write_text(price_table.table(datetime.datetime.now(datetime.UTC).date()))
        print(f"{TABLE.name}: genai-prices {price_table.__version__}, {TABLE.stat().st_size} bytes")
    if not given.driver:
        return 0
    begun = time.monotonic()
    day = datetime.date.fromisoformat(json.loads(TABLE.read_text())["date"])
    problems = []
    if price_table.table(day) != TABLE.read_text():
        problems.append(f"{TABLE.name} is not what genai-prices {price_table.__version__} says: run `just prices`")
    driver = Driver(given.driver)
    tally = compare(driver, day)
    addresses, of_addresses = billers(driver)
    responses, of_usage = usage.check(driver)
    problems += tally.problems + of_addresses + of_usage
    print(
        f"prices: {sum(len(it.models) for it in providers)} models of {len(providers)} providers, {len(tally.priced)} prices; "
        f"{tally.compared} costs compared: {tally.equal} equal, {tally.unknown} known to neither, "
        f"{tally.unpriced} of models without a price for tokens; {addresses} addresses, {responses} responses; "
        f"{len(problems)} problems; {time.monotonic() - begun:.0f} s"
    )
    print(*problems[:40], sep="\n", end="\n" if problems else "")
    return 1 if problems or tally.equal < 10_000 else 0


if __name__ == "__main__":
    sys.exit(main())
