#!/usr/bin/env python3
"""Collects answers of real servers from recordings in source packages, for `just faults-streams`.

`streams.py --packages DIR --out DIR` reads the archives in the first folder and writes one file for each answer into the
second: `PROVIDER--NAME.body`. The packages' tests recorded them with VCR, so each has the address of its request."""

import argparse
import base64
import gzip
import hashlib
import io
import pathlib
import re
import tarfile
import zlib

import yaml

# The provider by the address of the request.
ADDRESSES = [
    (re.compile(r"api\.anthropic\.com/v1/messages(\?|$)|/anthropic/v1/messages(\?|$)"), "anthropic"),
    (re.compile(r":(streamG|g)enerateContent"), "gemini"),
    (re.compile(r"api\.mistral\.ai/v1/chat/completions"), "mistral"),
    (re.compile(r"/v2/chat(\?|$)"), "cohere"),
    (re.compile(r"/api/chat(\?|$)"), "ollama"),
    (re.compile(r"/converse(-stream)?(\?|$)"), "bedrock"),
    (re.compile(r"/responses(\?|$)"), "openai-responses"),
    (re.compile(r"/chat/completions(\?|$)"), "openai-chat"),
]


def provider(uri):
    return next((name for pattern, name in ADDRESSES if pattern.search(uri)), None)


def body(response):
    """The bytes of a body, in any of the forms in which VCR writes them."""
    held = response.get("body") or {}
    held = held.get("string", held.get("base64_string", held)) if isinstance(held, dict) else held
    if isinstance(held, dict):
        return None
    if isinstance(held, str):
        encoded = isinstance(response.get("body"), dict) and "base64_string" in response["body"]
        held = base64.b64decode(held) if encoded else held.encode()
    for unpack in (gzip.decompress, zlib.decompress):
        try:
            return unpack(held)
        except Exception:
            continue
    return held


def interactions(text):
    loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    if not isinstance(loaded, dict):
        return
    if "requests" in loaded:
        pairs = zip(loaded["requests"], loaded["responses"])
    else:
        pairs = ((one["request"], one["response"]) for one in loaded.get("interactions") or [] if isinstance(one, dict))
    yield from ((request, response) for request, response in pairs if isinstance(request, dict) and isinstance(response, dict))


def status(response):
    given = response.get("status") or response.get("status_code") or 200
    return given.get("code", 200) if isinstance(given, dict) else int(given)


def members(archive):
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if not re.search(r"cassettes?/.*\.ya?ml(\.gz)?$", member.name) or not member.isfile():
                continue
            data = tar.extractfile(member).read()
            yield member.name, gzip.decompress(data) if member.name.endswith(".gz") else data


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--packages", type=pathlib.Path, required=True)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    counts = {}
    for archive in sorted(given.packages.glob("*.tar.gz")):
        for name, text in members(archive):
            try:
                recorded = list(interactions(io.BytesIO(text)))
            except yaml.YAMLError:
                continue
            for request, response in recorded:
                uri = request.get("uri") or request.get("url") or ""
                found = provider(uri)
                held = body(response)
                if not found or not held or status(response) != 200:
                    continue
                digest = hashlib.sha256(held).hexdigest()[:12]
                stem = re.sub(r"[^A-Za-z0-9]+", "-", pathlib.Path(name).name)[:60]
                (given.out / f"{found}--{stem}-{digest}.body").write_bytes(held)
                counts[found] = counts.get(found, 0) + 1
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "no recordings")


if __name__ == "__main__":
    main()
