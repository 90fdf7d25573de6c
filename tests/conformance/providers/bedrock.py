"""Bedrock's Converse, by the service model that its SDK is generated from."""

import functools
import re

import botocore.session
from botocore.validate import ParamValidator


@functools.cache
def shape():
    session = botocore.session.get_session()
    return session.get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def functions(provider, declarations):
    for item in declarations:
        yield item["toolSpec"]["name"], item["toolSpec"]["inputSchema"]["json"]


def check(provider, declarations, settings, report):
    if not declarations:
        return []
    import rules
    names = [item["toolSpec"]["name"] for item in declarations]
    problems = request({"modelId": "any", "toolConfig": {"tools": declarations}}) + rules.names(names, r"[a-zA-Z0-9_-]{1,64}", 10_000)
    for item in declarations:
        schema = item["toolSpec"]["inputSchema"]["json"]
        of_one = rules.object_root(schema, unions=False) + rules.references(schema)
        if item["toolSpec"].get("strict"):
            of_one += rules.closed_objects(schema)
        problems += [f"{item['toolSpec']['name']}: {problem}" for problem in of_one]
    return problems


def request(body):
    """Why a request is refused: the SDK looks at types, the rest of the model is looked at here."""
    report = ParamValidator().validate(body, shape())
    problems = [report.generate_report()] if report.has_errors() else []
    return problems + list(bounds(body, shape(), ""))


def bounds(value, kind, at):
    """`pattern`, `min`, `max` and `enum`, which the SDK leaves to the server."""
    meta = kind.metadata
    if kind.type_name == "structure":
        if getattr(kind, "is_document_type", False):
            return
        for name, inner in value.items():
            if name not in kind.members:
                yield f"{at}.{name} is not known"
            else:
                yield from bounds(inner, kind.members[name], f"{at}.{name}")
    elif kind.type_name == "list":
        yield from length(len(value), meta, at)
        for number, inner in enumerate(value):
            yield from bounds(inner, kind.member, f"{at}[{number}]")
    elif kind.type_name == "string" and isinstance(value, str):
        yield from length(len(value), meta, at)
        if "pattern" in meta and not re.fullmatch(meta["pattern"], value):
            yield f"{at}: {value!r} does not match {meta['pattern']}"
        if "enum" in meta and value not in meta["enum"]:
            yield f"{at}: {value!r} is none of {meta['enum']}"


def length(found, meta, at):
    if not meta.get("min", 0) <= found <= meta.get("max", found):
        yield f"{at}: a length of {found} is outside {meta.get('min', 0)}..{meta.get('max', '')}"
