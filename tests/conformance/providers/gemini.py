"""Gemini's generateContent in both forms of schemas, and Live."""

import warnings

from google.genai import types as genai

import rules
from schema import from_openapi, walk
from . import types

OPENAPI = {"type", "nullable", "enum", "items", "anyOf", "properties", "required", "propertyOrdering", "format", "pattern",
           "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minimum", "maximum",
           "title", "default", "example", "description"}
JSON_SCHEMA = {"$defs", "$ref", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems",
               "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required",
               "propertyOrdering", "$id", "$anchor"}
KINDS = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
FORMATS = {"NUMBER": {"float", "double"}, "INTEGER": {"int32", "int64"}, "STRING": {"enum", "date-time"}}


def declared(declarations):
    return [function for item in declarations for function in item.get("functionDeclarations", ())]


def functions(provider, declarations):
    for one in declared(declarations):
        if provider == "gemini-json-schema":
            yield one["name"], one.get("parametersJsonSchema", {"type": "object"})
        else:
            yield one["name"], from_openapi(one.get("parameters", {"type": "OBJECT"}))


def check(provider, declarations, settings, report):
    with warnings.catch_warnings():
        # A type that it does not know passes there with a warning.
        warnings.simplefilter("error")
        try:
            problems = [problem for item in declarations for problem in types.problems(genai.Tool, item)]
            if provider == "gemini-live":
                problems += types.problems(genai.LiveClientSetup, {"model": "models/any", "tools": declarations})
        except Warning as warning:
            problems = [f"a warning: {warning}"]
    found = declared(declarations)
    problems += rules.names([one["name"] for one in found], r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", 512)
    form = json_schema if provider == "gemini-json-schema" else openapi
    return problems + [f"{one['name']}: {problem}" for one in found for problem in form(one)]


def openapi(function):
    if "parametersJsonSchema" in function:
        return ["not the typed form"]
    schema = function.get("parameters")
    if schema is None:
        return []
    problems = [] if schema.get("type") == "OBJECT" and schema.get("properties") else ["an object with properties at the root"]
    problems += rules.only_keywords(schema, OPENAPI) + rules.typed_items(schema)
    for way, inner in walk(schema):
        kind, enum = inner.get("type"), inner.get("enum")
        if kind is not None and kind not in KINDS:
            problems.append(f"the type {kind!r} at {way}")
        if enum is not None and (kind != "STRING" or not enum or not all(isinstance(one, str) and one for one in enum)):
            problems.append(f"the enum {enum!r} of {kind} at {way}")
        if set(inner.get("required", ())) - set(inner.get("properties", {})):
            problems.append(f"required, but not there, at {way}")
        if "propertyOrdering" in inner and set(inner["propertyOrdering"]) != set(inner.get("properties", {})):
            problems.append(f"the order of other properties at {way}")
        if "format" in inner and inner["format"] not in FORMATS.get(kind, ()):
            problems.append(f"the format {inner['format']!r} of {kind} at {way}")
        if kind == "OBJECT" and "properties" in inner and not inner["properties"]:
            problems.append(f"an object with no properties at {way}")
    return problems


def json_schema(function):
    if "parameters" in function:
        return ["not the JSON Schema form"]
    schema = function.get("parametersJsonSchema")
    if schema is None:
        return []
    problems = rules.object_root(schema, unions=False) + rules.only_keywords(schema, JSON_SCHEMA)
    problems += rules.references(schema) + rules.typed_items(schema) + types.problems(genai.JSONSchema, schema)
    for way, inner in walk(schema):
        if not all(isinstance(one, (str, int, float)) and not isinstance(one, bool) for one in inner.get("enum", ())):
            problems.append(f"the enum {inner['enum']!r} at {way}")
    return problems
