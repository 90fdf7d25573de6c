"""The Model Context Protocol, by the types of its Python SDK."""

import jsonschema
import mcp_types.methods as methods
import pydantic

import rules

NEWEST = "2026-07-28"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEWEST)


def functions(provider, declarations):
    for item in declarations:
        yield item["name"], item["inputSchema"]


def check(provider, declarations, settings, report):
    problems = [problem for version in VERSIONS for problem in listed(version, declarations)]
    problems += rules.names([item["name"] for item in declarations], r"[A-Za-z0-9_.-]{1,128}", 100_000)
    for item in declarations:
        for field in ("inputSchema", "outputSchema"):
            schema = item.get(field)
            if schema is None:
                continue
            if schema.get("type") != "object":
                problems.append(f"{item['name']}: the root of `{field}` is no object")
            validator = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
            problems += [f"{item['name']}: {error.message}"[:300] for error in validator.iter_errors(schema)]
    return problems


def listed(version, declarations):
    result = {"tools": declarations}
    if version == NEWEST:
        result |= {"resultType": "complete", "ttlMs": 1000, "cacheScope": "public"}
    try:
        methods.validate_server_result("tools/list", version, result)
    except (pydantic.ValidationError, ValueError) as error:
        return [f"{version}: {error}"[:1000]]
    return []
