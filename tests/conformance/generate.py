"""Instances of a schema: guesses, of which those count that a validator accepts."""

import random

from schema import resolve, validator

TEXTS = {
    "date-time": "2026-11-20T09:30:00Z", "date": "2026-11-20", "time": "09:30:00Z", "email": "a@example.com",
    "uri": "https://example.com/", "uuid": "123e4567-e89b-42d3-a456-426614174000", "ipv4": "127.0.0.1",
    "duration": "PT1H", "hostname": "example.com", "ipv6": "::1",
}


def instances(schema, wanted: int = 6, seed: int = 0) -> list:
    """Up to `wanted` different valid instances: with as little as possible, with everything, and between."""
    dice, accepted, found = random.Random(seed), validator(schema), []
    for attempt in range(wanted * 6):
        share = (0.0, 1.0)[attempt] if attempt < 2 else dice.random()
        value = guess(schema, schema, dice, share, 0)
        if accepted.is_valid(value) and value not in found:
            found.append(value)
        if len(found) == wanted:
            break
    return found


def guess(root, schema, dice, share, depth):
    if schema is True or schema is None or schema == {}:
        return dice.choice([1, "x", None, True, [], {}])
    if schema is False or depth > 12:
        return None
    if isinstance(schema.get("$ref"), str):
        reference = schema["$ref"]
        return guess(root, root if reference == "#" else resolve(root, reference[1:]), dice, share, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return dice.choice(schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if schema.get(keyword):
            return both(root, schema, dice.choice(schema[keyword]), keyword, dice, share, depth)
    if schema.get("allOf"):
        merged = {name: value for name, value in schema.items() if name != "allOf"}
        for part in schema["allOf"]:
            if isinstance(part, dict):
                merged = join(merged, part)
        return guess(root, merged, dice, share, depth + 1)
    kinds = schema.get("type") or ("object" if "properties" in schema else "array" if "items" in schema else "string")
    return of_kind(root, schema, dice.choice(kinds) if isinstance(kinds, list) else kinds, dice, share, depth)


def both(root, schema, branch, keyword, dice, share, depth):
    rest = {name: value for name, value in schema.items() if name != keyword}
    return guess(root, join(rest, branch) if isinstance(branch, dict) else rest, dice, share, depth + 1)


def join(one: dict, other: dict) -> dict:
    joined = {**one, **other}
    if "properties" in one and "properties" in other:
        joined["properties"] = {**one["properties"], **other["properties"]}
    joined["required"] = [*one.get("required", ()), *other.get("required", ())]
    return joined


def of_kind(root, schema, kind, dice, share, depth):
    if kind == "object":
        return an_object(root, schema, dice, share, depth)
    if kind == "array":
        fixed = schema.get("prefixItems", [])
        most = int(schema.get("maxItems", 99))
        least = max(int(schema.get("minItems", 0)), min(len(fixed), most))
        count = min(least + dice.randint(0, 2 if share else 0), most)
        inner = [fixed[at] if at < len(fixed) else schema.get("items", True) for at in range(count)]
        return [guess(root, item, dice, share, depth + 1) for item in inner]
    if kind in ("integer", "number"):
        return a_number(schema, kind, dice)
    if kind == "boolean":
        return dice.random() < 0.5
    return None if kind == "null" else a_text(schema, dice)


def an_object(root, schema, dice, share, depth):
    value, required = {}, set(schema.get("required", ()))
    for name, child in schema.get("properties", {}).items():
        if name in required or (dice.random() < share and depth < 6 and child is not False):
            value[name] = guess(root, child, dice, share, depth + 1)
    for name in required - set(value):
        value[name] = guess(root, schema.get("additionalProperties", True), dice, share, depth + 1)
    if isinstance(schema.get("additionalProperties"), dict) and dice.random() < share:
        value["further"] = guess(root, schema["additionalProperties"], dice, share, depth + 1)
    return value


def a_number(schema, kind, dice):
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + 100))
    step = schema.get("multipleOf")
    if step:
        return step * max(1, int(low // step) + dice.randint(1, 3))
    if kind == "integer":
        return dice.randint(int(low), max(int(low), int(high)))
    return dice.choice([low, high, (low + high) / 2])


def a_text(schema, dice):
    if schema.get("format") in TEXTS:
        return TEXTS[schema["format"]]
    texts = ["a", "abc", "A1", "2026-11-20", "x" * 10, "GET", "123", "a@b.c"]
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 99))
    return dice.choice(texts).ljust(least, "x")[:max(most, 0)]
