"""Rules that the providers' own types do not see, from their documentation."""

import re

from schema import children, pointer, resolve, walk


def names(found: list[str], pattern: str, most: int) -> list[str]:
    """The names of a request: of the provider's characters, all different, not too many."""
    problems = [f"the name {name!r} does not match {pattern}" for name in found if not re.fullmatch(pattern, name)]
    problems += [f"the name {name!r} is used twice" for name in {name for name in found if found.count(name) > 1}]
    if len(found) > most:
        problems.append(f"{len(found)} tools, at most {most}")
    return problems


def object_root(schema, unions: bool) -> list[str]:
    """The root is an object, and says so; with `unions` it may be one of several."""
    problems = [] if isinstance(schema, dict) and schema.get("type") == "object" else ["the root is no object"]
    if not unions and isinstance(schema, dict):
        problems += [f"`{word}` at the root" for word in ("anyOf", "oneOf", "allOf", "enum", "not") if word in schema]
    return problems


def property_keys(schema, pattern: str) -> list[str]:
    keys = [(way, key) for way, inner in walk(schema) for key in inner.get("properties", {})]
    return [f"the property {key!r} at {pointer(way)!r}" for way, key in keys if not re.fullmatch(pattern, key)]


def only_keywords(schema, allowed: set[str]) -> list[str]:
    found = [(way, word) for way, inner in walk(schema) for word in inner if word not in allowed]
    return [f"`{word}` at {pointer(way)!r}" for way, word in found]


def no_keywords(schema, refused: frozenset[str]) -> list[str]:
    found = [(way, word) for way, inner in walk(schema) for word in inner if word in refused]
    return [f"`{word}` at {pointer(way)!r}" for way, word in found]


def has_type(inner, kind: str) -> bool:
    kinds = inner.get("type")
    return kind in ([kinds] if isinstance(kinds, str) else kinds or [])


def typed_items(schema) -> list[str]:
    """Every array says what is in it."""
    arrays = [(way, inner) for way, inner in walk(schema) if has_type(inner, "array") or has_type(inner, "ARRAY")]
    return [f"an array without items at {pointer(way)!r}" for way, inner in arrays
            if not isinstance(inner.get("items"), dict) and "prefixItems" not in inner]


def references(schema, root=None) -> list[str]:
    """Every reference leads somewhere within."""
    found = [(way, inner["$ref"]) for way, inner in walk(schema) if isinstance(inner.get("$ref"), str)]
    return [f"`$ref` to {to!r} at {pointer(way)!r}" for way, to in found
            if not to.startswith("#") or (to != "#" and resolve(schema, to[1:]) is None)]


def cycles(schema) -> list[str]:
    """References that come back to where they are."""
    def visit(inner, above):
        if not isinstance(inner, dict):
            return []
        to = inner.get("$ref")
        if isinstance(to, str):
            if to in above:
                return [f"`{to}` refers to itself"]
            return visit(schema if to == "#" else resolve(schema, to[1:]), above | {to})
        return [one for step, child in children(inner) if step[0] != "$defs" for one in visit(child, above)]
    return visit(schema, frozenset({"#"}))


def closed_objects(schema) -> list[str]:
    return [f"an open object at {pointer(way)!r}" for way, inner in walk(schema)
            if (has_type(inner, "object") or "properties" in inner) and inner.get("additionalProperties") is not False]


FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
NOT_STRICT = {
    "minLength", "maxLength", "patternProperties", "propertyNames", "minProperties", "maxProperties", "contains",
    "minContains", "maxContains", "uniqueItems", "unevaluatedItems", "unevaluatedProperties", "oneOf", "default", "allOf",
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "prefixItems",
}


def openai_strict(schema) -> list[str]:
    """What strict function calling takes."""
    problems = object_root(schema, unions=False) + closed_objects(schema) + typed_items(schema) + references(schema)
    count = {"properties": 0, "values": 0, "characters": 0}
    for way, inner in walk(schema):
        at, named = pointer(way), inner.get("properties", {})
        problems += [f"`{word}` at {at!r}" for word in inner if word in NOT_STRICT]
        if set(named) != set(inner.get("required", ())):
            problems.append(f"not all are required at {at!r}")
        if "$ref" in inner and len(inner) > 1:
            problems.append(f"`$ref` with siblings at {at!r}")
        if "$ref" in inner and not re.fullmatch(r"#|#/\$defs/[^/]+", inner["$ref"]):
            problems.append(f"`$ref` to {inner['$ref']!r}")
        if "format" in inner and inner["format"] not in FORMATS:
            problems.append(f"the format {inner['format']!r} at {at!r}")
        if re.search(r"\(\?[=!<]", inner.get("pattern", "")):
            problems.append(f"lookaround at {at!r}")
        if not {"type", "enum", "const", "anyOf", "$ref"} & set(inner):
            problems.append(f"no type at {at!r}")
        count["properties"] += len(named)
        count["values"] += len(inner.get("enum", ()))
        texts = [*named, *inner.get("$defs", {}), *(v for v in inner.get("enum", ()) if isinstance(v, str))]
        count["characters"] += sum(map(len, texts))
    limits = {"properties": 5000, "values": 1000, "characters": 120_000}
    problems += [f"{count[what]} {what}, at most {most}" for what, most in limits.items() if count[what] > most]
    if depth(schema, schema, frozenset()) > 10:
        problems.append("deeper than 10 levels")
    return problems


def depth(root, schema, above) -> int:
    """Levels of objects."""
    if not isinstance(schema, dict):
        return 0
    if isinstance(schema.get("$ref"), str):
        to = schema["$ref"]
        return 0 if to in above or to == "#" else depth(root, resolve(root, to[1:]), above | {to})
    inner = max((depth(root, child, above) for step, child in children(schema) if step[0] != "$defs"), default=0)
    return inner + (1 if "properties" in schema else 0)


# What a grammar can be made of.
GRAMMAR = {
    "type", "title", "description", "default", "examples", "enum", "anyOf", "items", "minItems", "maxItems", "properties",
    "required", "additionalProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "format",
}
NOTES = {"title", "description", "default", "examples"}
GRAMMAR_FORMATS = {
    "llama-cpp": {"date", "time", "date-time", "uuid"},
    "vllm": {"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"},
}


def grammar(server: str, schema) -> list[str]:
    """What servers take that make a grammar of a schema, and what they do not misread."""
    problems = only_keywords(schema, GRAMMAR)
    # xgrammar takes an array without items for an empty one, and llama.cpp for one of any values.
    problems += typed_items(schema) if server == "vllm" else []
    for way, inner in walk(schema):
        at = pointer(way)
        problems += [f"`{word}` is no object at {at!r}" for word in ("items",) if isinstance(inner.get(word), bool)]
        problems += [f"`{name}` is no object at {at!r}" for name, one in inner.get("properties", {}).items() if isinstance(one, bool)]
        if "anyOf" in inner and not set(inner) <= {"anyOf", *NOTES}:
            problems.append(f"`anyOf` with others at {at!r}: {sorted(inner)}")
        asserts = set(inner) - NOTES
        if not asserts & {"type", "enum", "anyOf"} and (asserts or server == "llama-cpp"):
            problems.append(f"no type at {at!r}")
        if has_type(inner, "object") and "enum" not in inner and way and not {"properties", "additionalProperties"} & asserts:
            problems.append(f"an object that is closed by saying nothing at {at!r}")
        if "format" in inner and inner["format"] not in GRAMMAR_FORMATS[server]:
            problems.append(f"the format {inner['format']!r} at {at!r}")
        if ("pattern" in inner or "format" in inner) and {"minLength", "maxLength"} & asserts:
            problems.append(f"a length beside a pattern or a format at {at!r}")
        if not is_plain(inner.get("pattern", "^a$")):
            problems.append(f"the pattern {inner['pattern']!r} at {at!r}")
        if server == "llama-cpp":
            limits = {"minLength": 1999, "maxLength": 1999, "minItems": 500, "maxItems": 500}
            problems += [f"`{word}` {inner[word]} at {at!r}" for word, most in limits.items() if inner.get(word, 0) > most]
            if {"minimum", "maximum"} & asserts and not has_type(inner, "integer"):
                problems.append(f"the bound of a number at {at!r}")
    return problems


def is_plain(pattern: str) -> bool:
    """An anchored pattern of characters, positive classes, groups and repetitions."""
    a_class = r"\[(?:\\.|[^\]\\])*\]"
    classes, rest = re.findall(a_class, pattern), re.sub(a_class, "", pattern)
    positive = not any(one.startswith("[^") or re.search(r"\\[^\[\]]", one) for one in classes)
    return positive and rest.startswith("^") and rest.endswith("$") and not re.search(r"[.\\]|\(\?", rest)
