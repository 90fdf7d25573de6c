"""Holds every golden canonical schema to the 2020-12 meta-schema, by a validator that is not ours.

The library checks its own schemas with the Rust crate that also enforces them; a second implementation keeps that
from being a circle. Exits with 1 and names each schema that is refused.
"""

import json
import pathlib
import sys

import jsonschema

GOLDEN = pathlib.Path(__file__).parents[2] / "tool-core" / "src" / "schema" / "golden"


def problems(path: pathlib.Path) -> list[str]:
    document = json.loads(path.read_text())
    validator = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
    return [f"{path.name}: {'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(document)]


def main() -> int:
    files = sorted(GOLDEN.glob("*.json"))
    found = [problem for path in files for problem in problems(path)]
    print("\n".join(found))
    print(f"{len(files)} schemas, {len(found)} problems")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
