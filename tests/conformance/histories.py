"""Histories, whole, cut and invented: the body of each request is what the provider's own types accept."""

import functools
import random

from anthropic import types as anthropic_types
from google.genai import types as genai
from mistralai.client import models as mistral
from openai.types import responses

import cohere
import messages
import ollama
from driver import Driver
from providers import chat_servers

HISTORIES = 150
# A live session has no request with a history.
PROVIDERS = [provider for provider in messages.REQUESTS if provider not in ("openai-realtime", "gemini-live")]

TEXTS = ["Look around.", "", " \n", "And up?"]
NAMES = ["look", "$READFILE", "", "füße gehen", "files.read", "files/read:now", "x" * 80]
IDS = ["call_1", "", "a b/ü", "functions.look:0", "D681PevKs", "y" * 70]
ARGUMENTS = ["{}", '{"place": "left"}', "oops", "", "null", "[1]", '{"place":', '{"place": "\\ud800"}']


DATA = "aW1hZ2UgZGF0YQ=="


def file(mime_type: str, name: str | None = None) -> dict:
    named = {"name": name} if name else {}
    return {"type": "resource", "uri": f"data:{mime_type};base64,{DATA}", "mimeType": mime_type, **named}


def link(name: str, mime_type: str) -> dict:
    return {"type": "resource", "uri": f"https://example.com/{name}", "mimeType": mime_type}


# Some of them, and some data, are refused by every provider: they become notes.
PARTS = [
    {"type": "text", "text": "Compare them."}, {"type": "text", "text": " "},
    *({"type": "image", "data": DATA, "mimeType": kind} for kind in ("image/png", "image/jpg", "image/gif", "image/webp", "image/tiff", "image/heic")),
    {"type": "image", "data": "not base64", "mimeType": "image/png"},
    *({"type": "audio", "data": DATA, "mimeType": kind} for kind in ("audio/wav", "audio/mp3", "audio/ogg", "audio/m4a", "audio/pcm;rate=24000")),
    file("video/mp4"), file("video/quicktime"), file("application/pdf"), file("application/pdf", "Floor_plan: 1.pdf"), file("text/csv", "a.csv"),
    file("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "a.docx"), file("application/zip"),
    link("a.png", "image/png"), link("a.mp3", "audio/mpeg"), link("a.pdf", "application/pdf"), link("a.mp4", "video/mp4"),
    {"type": "resource", "uri": "attachment:a.csv", "mimeType": "text/csv", "text": "name,seats\nAda,4", "name": "a.csv"},
    {"type": "resource", "uri": "db://rows/1"},
]


def check(driver: Driver, wanted: list[str]) -> list[str]:
    return [problem for provider in PROVIDERS if provider in wanted for problem in of(driver, provider)]


def of(driver: Driver, provider: str) -> list[str]:
    found = random.Random(provider)
    problems, went_back = [], set()
    for number in range(HISTORIES):
        history = make(found, provider)
        body = driver.ask("history", provider=provider, messages=history)
        if provider in chat_servers.SERVERS:
            went_back |= chat_servers.went_back(body)
        problems += [f"{provider} history {number}: {problem} of {history}"[:1500] for problem in messages.request(provider, body)]
    if provider in chat_servers.SERVERS:
        problems += [f"{provider} histories: {problem}" for problem in chat_servers.wrong_members(provider, went_back)]
    return problems


def make(found: random.Random, provider: str) -> list[dict]:
    history = []
    for _ in range(found.randrange(7)):
        kind = found.randrange(10)
        if kind < 2:
            history.append({"user": found.choice(TEXTS)})
        elif kind < 3:
            history.append({"parts": found.choices(PARTS, k=found.randrange(5))})
        elif kind < 4:
            history.append({"result": found.choice(TEXTS), "id": found.choice(IDS), "tool": "look"})
        else:
            history += step(found, provider)
    return history


def step(found: random.Random, provider: str) -> list[dict]:
    """A step of the model and its results, most of the time all of them."""
    text = found.choice([None, *TEXTS])
    calls = [{"id": found.choice(IDS), "name": found.choice(NAMES), "arguments": found.choice(ARGUMENTS)} for _ in range(found.randrange(4))]
    made = {"text": text, "calls": calls}
    if provider in NATIVE and found.random() < 0.6:
        made["native"] = NATIVE[provider](text or "", calls)
    results = [{"result": "a door", "id": call["id"], "tool": call["name"], **shown(found)} for call in calls]
    if found.random() < 0.3:
        found.shuffle(results)
        results = results[:found.randrange(len(results) + 1)] + results[:found.randrange(2)]
    if found.random() < 0.2:
        results.insert(0, {"user": found.choice(TEXTS)})
    return [made, *results]


def shown(found: random.Random) -> dict:
    """The parts of a third of the results."""
    return {"shown": found.choices(PARTS, k=found.randrange(4))} if found.random() < 0.3 else {}


def dumped(value) -> dict:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def of_responses(text, calls):
    items = [dumped(responses.ResponseReasoningItem(id="rs_1", type="reasoning", summary=[], encrypted_content="ZW5j"))]
    if text:
        content = [responses.ResponseOutputText(type="output_text", text=text, annotations=[])]
        items.append(dumped(responses.ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=content)))
    return items + [dumped(responses.ResponseFunctionToolCall(
        id=f"fc_{at}", type="function_call", call_id=call["id"], name=call["name"], arguments=call["arguments"])) for at, call in enumerate(calls)]


def of_anthropic(text, calls):
    items = [dumped(anthropic_types.ThinkingBlock(type="thinking", thinking="Hm.", signature="c2ln"))]
    items += [dumped(anthropic_types.TextBlock(type="text", text=text))] if text else []
    return items + [dumped(anthropic_types.ToolUseBlock(type="tool_use", id=call["id"], name=call["name"], input={})) for call in calls]


def of_gemini(text, calls):
    items = [dumped(genai.Part(text="Hm.", thought=True))]
    items += [dumped(genai.Part(text=text, thought_signature=b"sig"))] if text else []
    return items + [dumped(genai.Part(function_call=genai.FunctionCall(name=call["name"], args={}), thought_signature=None if at else b"sig"))
                    for at, call in enumerate(calls)]


def of_bedrock(text, calls):
    items = [{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}, *([{"text": text}] if text else [])]
    return items + [{"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": {}}} for call in calls]


def sent(calls, arguments=""):
    return [{"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}} for call in calls]


def of_chat(text, calls):
    return [{"role": "assistant", "reasoning_content": "Hm.", "annotations": [], "tool_calls": sent(calls)}]


def of_server(provider, text, calls):
    return [chat_servers.step(provider, sent(calls))]


def of_mistral(text, calls):
    thought = mistral.ThinkChunk(thinking=[mistral.TextChunk(text="Hm.")])
    return [{"role": "assistant", "content": [dumped(thought), {"type": "text", "text": text}], "tool_calls": sent(calls)}]


def of_cohere(text, calls):
    thought = cohere.ChatThinkingContent if hasattr(cohere, "ChatThinkingContent") else None
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
    if thought:
        thought.model_validate(content[0])
    return [{"role": "assistant", "tool_plan": "Hm.", "content": content, "tool_calls": sent(calls)}]


def of_ollama(text, calls):
    message = ollama.Message(role="assistant", content=text, thinking="Hm.")
    return [{**dumped(message), "tool_calls": [{"function": {"name": call["name"], "arguments": {}}} for call in calls]}]


NATIVE = {
    "openai-chat": of_chat, "openai-responses": of_responses, "anthropic": of_anthropic, "gemini": of_gemini,
    "gemini-json-schema": of_gemini, "bedrock": of_bedrock, "mistral": of_mistral, "cohere": of_cohere, "ollama": of_ollama,
    **{name: functools.partial(of_server, name) for name in chat_servers.SERVERS},
}
