"""The golden messages with all parts, of the providers' own types. They need no driver."""

import json
import pathlib

import histories
import messages

GOLDEN = pathlib.Path(__file__).parents[2] / "tool-adapters" / "providers" / "src" / "tests" / "golden" / "requests"


def check(wanted: list[str]) -> list[str]:
    problems = []
    for path in sorted(GOLDEN.glob("*.json")):
        provider = path.stem
        if provider in wanted:
            written = json.loads(path.read_text())["message of the user"]
            problems += [f"{provider} parts: {problem}" for body in bodies(provider, written) for problem in messages.request(provider, body)]
    missing = [provider for provider in wanted if provider != "mcp" and not (GOLDEN / f"{provider}.json").exists()]
    return problems + [f"{provider} parts: no golden file" for provider in missing]


def bodies(provider: str, written) -> list[dict]:
    """The request with the messages, or the messages of a live session."""
    if provider not in histories.PROVIDERS:
        return [message for part in written.values() for message in part]
    member = {"openai-responses": "input", "gemini": "contents", "gemini-json-schema": "contents"}.get(provider, "messages")
    named = {} if provider in ("gemini", "gemini-json-schema", "bedrock") else {"model": "any"}
    limit = {"max_tokens": 100} if provider == "anthropic" else {}
    return [{member: written, **named, **limit}]


if __name__ == "__main__":
    found = check(list(messages.REQUESTS))
    print("\n".join(found) or "no problems")
