"""Messages: calls are read off what the providers' types make, and what we write is what they accept."""

import io
import json
import pathlib
import tarfile

import messages
from driver import Driver

# Ids in the forms that the providers give them.
CALLS = [
    ("a00000001", {"kind": "data", "data": {"n": 1, "text": "ü \" \\ 🎉", "list": [1, None, 2.5]}}),
    ("a00000002", {"kind": "text", "data": "a text"}),
    ("a00000003", {"kind": "error"}),
    ("a00000004", {"kind": "unit"}),
    ("a00000005", {"kind": "stop"}),
    ("a00000006", {"kind": "parts"}),
    ("a00000007", {"kind": "data", "data": {"$ref": "x", "properties": {"$ref": 1}}}),
    ("a00000008", {"kind": "data", "data": [1, 2]}),
    ("a00000009", {"kind": "data"}),
]


def check(driver: Driver, wanted: list[str]) -> list[str]:
    return [problem for provider in wanted for problem in of(driver, provider)]


def of(driver: Driver, provider: str) -> list[str]:
    asked = messages.asking(provider, CALLS)
    problems = read(driver, provider, asked)
    ids = [call["id"] for call in calls_of(driver.ask("parse", provider=provider, values=asked))]
    calls = [{"id": id, "arguments": arguments} for id, (_, arguments) in zip(ids, CALLS)]
    # One by one and all at once, as an answer to what was asked, and to calls that it has not read.
    for some in [*([call] for call in calls), calls]:
        for known in (asked, []):
            value = driver.ask("encode", provider=provider, asked=known, calls=some)
            kinds = ", ".join(json.loads(json.dumps(call["arguments"]))["kind"] for call in some)
            problems += [f"{provider} results of {kinds}: {problem}" for problem in messages.result(provider, value)]
    if provider in messages.REQUESTS:
        problems += requests(driver, provider, asked, calls)
    if provider in messages.REQUESTS and provider not in ("openai-realtime", "gemini-live"):
        problems += settings(driver, provider, asked, calls)
    return problems


def requests(driver, provider, asked, calls) -> list[str]:
    problems = []
    for strict in (False, True):
        for stream in (False, True):
            for choice in ("auto", "none", "required"):
                for some, known in (([], []), (calls[:1], asked and []), (calls, asked), (calls, [])):
                    body = driver.ask("request", provider=provider, strict=strict, stream=stream, choice=choice, asked=known, calls=some)
                    for one in body if isinstance(body, list) else [body]:
                        problems += [f"{provider} request: {problem}" for problem in messages.request(provider, one)]
    return list(dict.fromkeys(problems))


SETTINGS = [{"temperature": 0.5}, {"top_p": 0.9}, {"seed": 7}, {"stop": ["END"]}, {"parallel_tool_calls": False},
            {"first_tool": messages.FUNCTION}, {"first_tool": messages.FUNCTION, "parallel_tool_calls": False},
            *({"reasoning_effort": effort} for effort in ("none", "low", "high", "max")), {}]


def settings(driver, provider, asked, calls) -> list[str]:
    """Typed settings and prompt caching, where the provider has them."""
    problems, written = [], 0
    for values in SETTINGS:
        for choice in ("auto", "none", "required"):
            for some, known in (([], []), (calls, asked)):
                answer = driver.ask("request", provider=provider, model="anthropic.claude", choice=choice, asked=known, calls=some, settings=values, cache=True)
                if "missing" in answer:
                    continue
                written += 1
                problems += [f"{provider} request with {values}: {problem}" for problem in messages.request(provider, answer["body"])]
    return list(dict.fromkeys(problems)) if written else [f"{provider} has no settings"]


def calls_of(events) -> list[dict]:
    return [event for event in events if event["event"] == "call"]


def read(driver, provider, asked) -> list[str]:
    """The calls of an answer, parsed and as text, whole and in single characters."""
    text = json.dumps(asked[0]) if len(asked) == 1 else "\n".join(json.dumps(event) for event in asked) + "\n"
    ways = {"parsed": {"values": asked}, "text": {"texts": [text]}, "characters": {"texts": list(text)}}
    if provider in ("openai-realtime", "gemini-live"):
        # Messages of a WebSocket come whole.
        ways = {"parsed": {"values": asked}}
    problems = []
    for way, how in ways.items():
        events = driver.ask("parse", provider=provider, **how)
        found = [(call["name"], json.loads(call["arguments"])) for call in calls_of(events)]
        ids = [call["id"] for call in calls_of(events)]
        if found != [(messages.FUNCTION, arguments) for _, arguments in CALLS]:
            problems.append(f"{provider} {way}: the calls {found} in {events}"[:1500])
        if len(set(ids)) != len(ids) or (provider != "ollama" and ids != [id for id, _ in CALLS]):
            problems.append(f"{provider} {way}: the ids {ids}")
        problems += [f"{provider} {way}: {event}" for event in events if event["event"] in ("error", "unknown")]
    return problems


def anthropic_fixtures(driver: Driver, archive: pathlib.Path) -> list[str]:
    """The stream recordings of the anthropic SDK: its accumulator and ours agree."""
    import anthropic
    import httpx2 as httpx

    problems, seen = [], 0
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            if "/tests/lib/streaming/fixtures/" not in member.name or not member.name.endswith("_response.txt"):
                continue
            text = io.TextIOWrapper(tar.extractfile(member), "utf-8").read()
            name = pathlib.Path(member.name).stem
            seen += 1
            problems += [f"anthropic stream {name}: {problem}" for problem in agree(driver, anthropic, httpx, text)]
    return problems if seen else ["no stream recordings in the archive"]


def agree(driver, anthropic, httpx, text) -> list[str]:
    def answer(_request):
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    client = anthropic.Anthropic(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
    try:
        with client.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}]) as stream:
            theirs = stream.get_final_message()
    except ValueError as error:
        # Arguments that are no JSON end it there; here they stay as they are, and the tool's answer says so.
        calls = calls_of(driver.ask("parse", provider="anthropic", texts=[text]))
        return [] if any(isinstance(arguments(call), str) for call in calls) else [f"theirs fails ({error!r})"[:300]]
    problems = []
    for pieces in ([text], list(text)):
        events = driver.ask("parse", provider="anthropic", texts=pieces)
        said = "".join(event["text"] for event in events if event["event"] == "text")
        if said != "".join(block.text for block in theirs.content if block.type == "text"):
            problems.append(f"the text {said!r}")
        ours = [(call["id"], call["name"], arguments(call)) for call in calls_of(events)]
        blocks = [(block.id, block.name, block.input) for block in theirs.content if block.type == "tool_use"]
        if ours != blocks and not any(event["event"] == "error" for event in events):
            problems.append(f"the calls {ours}, theirs {blocks}")
        usage = [event["usage"] for event in events if event["event"] == "usage"]
        if usage and usage[-1]["output"] != theirs.usage.output_tokens:
            problems.append(f"the usage {usage[-1]}, theirs {theirs.usage.output_tokens}")
    return problems


def arguments(call):
    try:
        return json.loads(call["arguments"])
    except ValueError:
        return call["arguments"]
