"""Walking JSON Schemas, and reading the providers' forms of them."""

import collections
import copy
import functools
import json

import jsonschema_rs

# Where a schema holds schemas.
ONE = ("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contains", "items",
       "contentSchema", "not", "if", "then", "else", "additionalItems")
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def children(schema: dict):
    """The schemas directly inside, with the way to each."""
    for keyword in ONE:
        if isinstance(schema.get(keyword), (dict, bool)):
            yield (keyword,), schema[keyword]
    if isinstance(schema.get("items"), list):
        for at, child in enumerate(schema["items"]):
            yield ("items", at), child
    for keyword in MANY:
        if isinstance(schema.get(keyword), list):
            for at, child in enumerate(schema[keyword]):
                yield (keyword, at), child
    for keyword in NAMED:
        if isinstance(schema.get(keyword), dict):
            for name, child in schema[keyword].items():
                yield (keyword, name), child
    if isinstance(schema.get("dependencies"), dict):
        for name, child in schema["dependencies"].items():
            if isinstance(child, dict):
                yield ("dependencies", name), child


def walk(schema, way=()):
    """All schemas, the outer ones first, with the way to each."""
    if isinstance(schema, dict):
        yield way, schema
        for step, child in children(schema):
            yield from walk(child, way + step)


def pointer(way) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in way)


def resolve(document, text: str):
    """What a JSON pointer points to, or None."""
    here = document
    for step in text.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        elif isinstance(here, dict) and step in here:
            here = here[step]
        else:
            return None
    return here


def reachable(document) -> collections.Counter:
    """Counts each keyword in the schemas that the root reaches. Definitions count where they are referenced."""
    counted, seen, todo = collections.Counter(), set(), [document]
    while todo:
        schema = todo.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        counted.update(keyword for keyword, value in schema.items() if not says_nothing(keyword, value))
        for step, child in children(schema):
            if step[0] not in ("$defs", "definitions"):
                todo.append(child)
            if step[0] == "anyOf" and isinstance(child, dict) and set(child) == {"anyOf"}:
                # A union of a union is one union.
                counted["anyOf"] -= 1
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            todo.append(resolve(document, reference[1:]) if reference != "#" else document)
    return counted


def says_nothing(keyword, value) -> bool:
    """What may go without a word, as every value satisfies it."""
    return (
        keyword in ("$defs", "definitions")
        or (keyword in ("properties", "patternProperties", "dependentRequired", "dependentSchemas") and not value)
        or (keyword in ("items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames")
            and (value is True or value == {}))
        or (keyword in ("required", "prefixItems", "examples") and value == [])
        or (keyword in ("minItems", "minLength", "minProperties") and value == 0)
        or (keyword == "uniqueItems" and value is False)
        or (keyword in ("anyOf", "oneOf", "allOf") and isinstance(value, list) and len(value) == 1)
        or (keyword == "anyOf" and any(branch is True or branch == {} for branch in value))
        or (keyword == "type" and isinstance(value, list) and {"null", "boolean", "object", "array", "number", "string"} <= {*value})
    )


@functools.lru_cache(maxsize=20000)
def _validator(text: str):
    return jsonschema_rs.Draft202012Validator(json.loads(text))


def validator(schema):
    """Draft 2020-12, whatever the schema says of itself; formats are notes."""
    if isinstance(schema, dict):
        schema = {name: value for name, value in schema.items() if name != "$schema"}
    return _validator(json.dumps(schema))


def from_openapi(schema):
    """Gemini's `parameters` as the JSON Schema that says the same."""
    if not isinstance(schema, dict):
        return schema
    read = {}
    for keyword, value in schema.items():
        if keyword in ("propertyOrdering", "nullable"):
            continue
        if keyword in ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"):
            value = int(value)
        read[keyword] = value
    if "type" in read:
        read["type"] = read["type"].lower()
    if "items" in read:
        read["items"] = from_openapi(read["items"])
    if "anyOf" in read:
        read["anyOf"] = [from_openapi(branch) for branch in read["anyOf"]]
    if "properties" in read:
        read["properties"] = {name: from_openapi(child) for name, child in read["properties"].items()}
    if schema.get("nullable"):
        # Nullable adds null to whatever else there is.
        return {"anyOf": [read, {"type": "null"}]}
    return read


def with_nulls(root, schema, value):
    """A call as a model writes it in strict: what is absent is null."""
    if not isinstance(schema, dict):
        return value
    if isinstance(schema.get("$ref"), str):
        reference = schema["$ref"]
        target = root if reference == "#" else resolve(root, reference[1:])
        return with_nulls(root, target, value)
    for keyword in ("anyOf", "oneOf"):
        for branch in schema.get(keyword, ()):
            written = with_nulls(root, branch, value)
            if validator(rooted(root, branch)).is_valid(written):
                return with_nulls(root, {k: v for k, v in schema.items() if k != keyword}, written)
    if isinstance(value, dict) and "properties" in schema:
        # Where strict leaves a parameter optional, it stays away.
        written = {name: with_nulls(root, child, value[name]) if name in value else None
                   for name, child in schema["properties"].items() if name in value or name in schema.get("required", ())}
        return {**value, **written}
    if isinstance(value, list):
        fixed, rest = schema.get("prefixItems", []), schema.get("items")
        return [with_nulls(root, fixed[at] if at < len(fixed) else rest, item) for at, item in enumerate(value)]
    return value


def rooted(root, schema):
    """A schema on its own, with the definitions that it may refer to."""
    if not isinstance(schema, dict) or schema is root:
        return schema
    held = {name: root[name] for name in ("$defs", "definitions") if name in root}
    if any(child.get("$ref") == "#" for _, child in walk(schema)):
        return copy.deepcopy(root) if schema == root else {**held, **schema}
    return {**held, **schema}


def same_but_nulls(left, right) -> bool:
    """Whether two values are the same, apart from nulls that only one of them spells out."""
    if isinstance(left, dict) and isinstance(right, dict):
        return all(same_but_nulls(left.get(name), right.get(name)) for name in {*left, *right})
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_but_nulls, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right
