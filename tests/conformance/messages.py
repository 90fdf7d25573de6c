"""What each provider's model answers, made by the provider's own types, and what its types say of ours.

`asking(provider, calls)` gives an answer that makes those calls; `result(provider, value)` and `request(provider, body)`
give the problems of messages that answer calls and of request bodies.
"""

import base64
import functools
import json
import typing

import anthropic.types as anthropic_types
import cohere
import mcp_types.methods as mcp_methods
import ollama
import ollama._types as ollama_types
import pydantic
from anthropic.types import message_create_params
from google.genai import types as genai
from mistralai.client import models as mistral
from openai.types import chat, realtime, responses
from openai.types.chat import chat_completion_content_part_param as chat_part
from openai.types.chat import completion_create_params
from openai.types.realtime import realtime_conversation_item_user_message_param as realtime_user
from openai.types.responses import response_create_params, response_input_param

from providers import bedrock, chat_servers, types

FUNCTION = "answer"


def asking(provider: str, calls: list[tuple[str, dict]]) -> list:
    """The events or messages that make the calls, each an id and arguments."""
    return MAKERS[provider](calls)


def chat_completion(calls):
    asked = [{"id": id, "type": "function", "function": {"name": FUNCTION, "arguments": json.dumps(arguments)}} for id, arguments in calls]
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": asked}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
              "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}]}
    return [chat.ChatCompletion.model_validate(answer, strict=True).model_dump(mode="json")]


def response(calls):
    items = [{"type": "function_call", "id": f"fc_{at}", "call_id": id, "name": FUNCTION, "arguments": json.dumps(arguments),
              "status": "completed"} for at, (id, arguments) in enumerate(calls)]
    for item in items:
        responses.ResponseFunctionToolCall.model_validate(item, strict=True)
    answer = {"id": "resp_1", "object": "response", "created_at": 1.0, "model": "m", "output": items, "tools": [],
              "parallel_tool_calls": True, "tool_choice": "auto", "status": "completed"}
    return [responses.Response.model_validate(answer).model_dump(mode="json", exclude_unset=True)]


def realtime_events(calls):
    events = []
    for at, (id, arguments) in enumerate(calls):
        event = {"type": "response.function_call_arguments.done", "event_id": f"e{at}", "response_id": "r", "item_id": f"i{at}",
                 "output_index": at, "call_id": id, "name": FUNCTION, "arguments": json.dumps(arguments)}
        events.append(realtime.ResponseFunctionCallArgumentsDoneEvent.model_validate(event).model_dump(mode="json"))
    done = {"type": "response.done", "event_id": "e", "response": {"id": "r", "object": "realtime.response", "status": "completed", "output": []}}
    return [*events, realtime.ResponseDoneEvent.model_validate(done).model_dump(mode="json", exclude_unset=True)]


def message(calls):
    blocks = [{"type": "tool_use", "id": id, "name": FUNCTION, "input": arguments} for id, arguments in calls]
    for block in blocks:
        anthropic_types.ToolUseBlock.model_validate(block)
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks, "stop_reason": "tool_use",
              "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return [anthropic_types.Message.model_validate(answer).model_dump(mode="json", exclude_unset=True)]


def generated(calls):
    parts = [{"functionCall": {"id": id, "name": FUNCTION, "args": arguments}} for id, arguments in calls]
    answer = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    read = genai.GenerateContentResponse.model_validate(answer)
    return [read.model_dump(mode="json", by_alias=True, exclude_none=True)]


def live(calls):
    asked = {"toolCall": {"functionCalls": [{"id": id, "name": FUNCTION, "args": arguments} for id, arguments in calls]}}
    read = [genai.LiveServerMessage.model_validate(one) for one in (asked, {"serverContent": {"turnComplete": True}})]
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in read]


def converse(calls):
    content = [{"toolUse": {"toolUseId": id, "name": FUNCTION, "input": arguments}} for id, arguments in calls]
    return [{"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use",
             "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}]


def mistral_answer(calls):
    asked = [{"id": id, "function": {"name": FUNCTION, "arguments": arguments}} for id, arguments in calls]
    message = {"role": "assistant", "content": "", "tool_calls": asked}
    answer = {"id": "1", "object": "chat.completion", "model": "m", "created": 1, "usage": {},
              "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    return [mistral.ChatCompletionResponse.model_validate(answer).model_dump(mode="json", by_alias=True, exclude_unset=True)]


def cohere_answer(calls):
    asked = [{"id": id, "type": "function", "function": {"name": FUNCTION, "arguments": json.dumps(arguments)}} for id, arguments in calls]
    answer = {"id": "1", "finish_reason": "TOOL_CALL", "message": {"role": "assistant", "tool_calls": asked}}
    read = pydantic.TypeAdapter(cohere.V2ChatResponse).validate_python(answer)
    return [json.loads(read.json())] if hasattr(read, "json") else [answer]


def ollama_answer(calls):
    asked = [{"function": {"name": FUNCTION, "arguments": arguments}} for _, arguments in calls]
    answer = {"model": "m", "created_at": "2026-11-20T00:00:00Z", "done": True, "message": {"role": "assistant", "content": "", "tool_calls": asked}}
    return [ollama.ChatResponse.model_validate(answer).model_dump(mode="json", exclude_none=True)]


def mcp_requests(calls):
    return [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": FUNCTION, "arguments": arguments}} for id, arguments in calls]


MAKERS = {
    "openai-chat": chat_completion, "openai-responses": response, "openai-realtime": realtime_events, "anthropic": message,
    "gemini": generated, "gemini-json-schema": generated, "gemini-live": live, "bedrock": converse, "mistral": mistral_answer,
    "cohere": cohere_answer, "ollama": ollama_answer, **dict.fromkeys(chat_servers.SERVERS, chat_completion), "mcp": mcp_requests,
}


def result(provider: str, value) -> list[str]:
    """What is wrong with the messages that answer calls."""
    one = RESULTS[provider]
    items = value if isinstance(value, list) else [value]
    # The files of results follow them in a message of the user.
    is_result = [not isinstance(item, dict) or item.get("role") not in ("user", "assistant") or provider in ("anthropic", "gemini", "gemini-json-schema", "bedrock") for item in items]
    following = [item for item, whether in zip(items, is_result) if not whether]
    problems = [problem for item, whether in zip(items, is_result) if whether for problem in one(item)]
    return problems + (request(provider, {"model": "any", "messages": following}) if following else [])


def realtime_event(item):
    kinds = {"conversation.item.create": realtime.ConversationItemCreateEventParam, "response.create": realtime.ResponseCreateEventParam,
             "session.update": realtime.SessionUpdateEventParam}
    if item.get("type") not in kinds:
        return [f"no such event: {item.get('type')}"]
    inner = [problem for part in parts([item.get("item", {})]) for problem in types.problems(realtime_user.Content, part) + keys(realtime_user.Content, part)]
    return types.problems(kinds[item["type"]], item) + inner


def mcp_result(item):
    if set(item) != {"jsonrpc", "id", "result"} or item["jsonrpc"] != "2.0":
        return [f"no JSON-RPC response: {item}"]
    problems = []
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"):
        try:
            mcp_methods.validate_server_result("tools/call", version, item["result"])
        except (pydantic.ValidationError, ValueError) as error:
            problems.append(f"{version}: {error}"[:600])
    return problems


def bedrock_message(item):
    return bedrock.request({"modelId": "any", "messages": [item]})


RESULTS: dict[str, typing.Callable] = {
    **dict.fromkeys(("openai-chat", *chat_servers.SERVERS), lambda item: types.problems(chat.ChatCompletionToolMessageParam, item, strict=True)),
    "openai-responses": lambda item: types.problems(response_input_param.FunctionCallOutput, item, strict=True),
    "openai-realtime": realtime_event,
    "anthropic": lambda item: types.problems(anthropic_types.MessageParam, item),
    "gemini": lambda item: types.problems(genai.Content, item),
    "gemini-json-schema": lambda item: types.problems(genai.Content, item),
    "gemini-live": lambda item: types.problems(genai.LiveClientMessage, item),
    "bedrock": bedrock_message,
    "mistral": lambda item: types.exactly(mistral.ToolMessage, item),
    "cohere": lambda item: types.exactly(cohere.ToolChatMessageV2, item),
    "ollama": lambda item: types.problems(ollama.Message, with_images(item)) + unknown(ollama.Message, item),
    "mcp": mcp_result,
}


def with_images(item):
    """The client takes images as objects, and sends each as its base64 text."""
    return {**item, "images": [{"value": image} for image in item["images"]]} if "images" in item else item


def unknown(kind, item) -> list[str]:
    return [f"{kind.__name__} has no `{name}`" for name in item if name not in kind.model_fields]


def request(provider: str, body: dict) -> list[str]:
    """What is wrong with a request's body."""
    return REQUESTS[provider](body)


def parts(messages, member="content", role="user"):
    """The parts of messages: pydantic does not look into an `Iterable` of a type."""
    return [part for message in messages if message.get("role") == role and isinstance(message.get(member), list) for part in message[member]]


CHAT_PARTS = {"text": chat.ChatCompletionContentPartTextParam, "image_url": chat.ChatCompletionContentPartImageParam,
              "input_audio": chat.ChatCompletionContentPartInputAudioParam, "file": chat_part.File}


def of_kind(kinds, part):
    kind = kinds.get(part.get("type"))
    return types.problems(kind, part) + keys(kind, part) if kind else [f"no part has the type {part.get('type')!r}"]


def chat_request(body):
    streams = body.get("stream") is True
    kind = completion_create_params.CompletionCreateParamsStreaming if streams else completion_create_params.CompletionCreateParamsNonStreaming
    inner = [problem for part in parts(body["messages"]) for problem in of_kind(CHAT_PARTS, part)]
    inner += [problem for part in parts(body["messages"], role="tool") for problem in of_kind({"text": CHAT_PARTS["text"]}, part)]
    return types.problems(kind, body) + keys(kind, body) + inner


def server_request(server, body):
    choice = body.get("tool_choice", "auto")
    may_have = server.named_choice or isinstance(choice, str)
    of_openai = {name: value for name, value in body.items() if name not in server.own}
    return chat_request(of_openai) + ([] if may_have else [f"the server reads no tool choice {choice}"])


def response_request(body):
    streams = body.get("stream") is True
    kind = response_create_params.ResponseCreateParamsStreaming if streams else response_create_params.ResponseCreateParamsNonStreaming
    return types.problems(kind, body) + keys(kind, body)


BLOCKS = {"text": anthropic_types.TextBlockParam, "image": anthropic_types.ImageBlockParam, "document": anthropic_types.DocumentBlockParam,
          "tool_use": anthropic_types.ToolUseBlockParam, "tool_result": anthropic_types.ToolResultBlockParam}


def anthropic_request(body):
    streams = body.get("stream") is True
    kind = message_create_params.MessageCreateParamsStreaming if streams else message_create_params.MessageCreateParamsNonStreaming
    blocks = parts(body["messages"]) + parts(body["messages"], role="assistant")
    blocks += [inner for block in blocks if isinstance(block.get("content"), list) and block["type"] == "tool_result" for inner in block["content"]]
    inner = [problem for block in blocks if block["type"] in BLOCKS for problem in of_kind(BLOCKS, block)]
    return types.problems(kind, body) + keys(kind, body) + alternating(body["messages"]) + inner


def keys(kind, body):
    return [f"{kind.__name__} has no `{name}`" for name in body if name not in typing.get_type_hints(kind)]


def alternating(messages):
    roles = [message["role"] for message in messages]
    return [f"the roles {roles}"] if any(one == other for one, other in zip(roles, roles[1:])) or roles[:1] != ["user"] else []


def gemini_request(body):
    kinds = {"contents": list[genai.Content], "systemInstruction": genai.Content, "tools": list[genai.Tool],
             "toolConfig": genai.ToolConfig, "generationConfig": genai.GenerationConfig}
    problems = [f"no `{name}` in a request" for name in body if name not in {*kinds, "model"}]
    for name, kind in kinds.items():
        if name in body:
            try:
                types.adapter(kind).validate_python(body[name])
            except pydantic.ValidationError as error:
                problems.append(f"{name}: {error}"[:600])
    return problems


def bedrock_request(body):
    return bedrock.request({"modelId": "any", **body})


MISTRAL_PARTS = {"text": mistral.TextChunk, "image_url": mistral.ImageURLChunk, "document_url": mistral.DocumentURLChunk, "input_audio": mistral.AudioChunk}


def mistral_part(part):
    kind = MISTRAL_PARTS.get(part.get("type"))
    return types.exactly(kind, part) if kind else [f"no part has the type {part.get('type')!r}"]


def mistral_request(body):
    kind = mistral.ChatCompletionStreamRequest if body.get("stream") else mistral.ChatCompletionRequest
    inner = [problem for part in parts(body["messages"]) for problem in mistral_part(part)]
    return types.problems(kind, body) + unknown(kind, body) + inner + [
        f"the id {call['id']!r}" for message in body["messages"] for call in message.get("tool_calls") or () if not (call["id"].isalnum() and len(call["id"]) == 9)]


def cohere_request(body):
    known = {"model", "messages", "tools", "tool_choice", "stream", "max_tokens", "strict_tools", "temperature", "p", "seed",
             "stop_sequences"}
    kinds = {"system": cohere.SystemChatMessageV2, "user": cohere.UserChatMessageV2, "assistant": cohere.AssistantChatMessageV2,
             "tool": cohere.ToolChatMessageV2}
    problems = [f"no `{name}` in a request" for name in body if name not in known]
    return problems + [problem for message in body["messages"] for problem in types.problems(kinds[message["role"]], message)]


def not_base64(text):
    try:
        base64.b64decode(text, validate=True)
    except ValueError as error:
        return [f"an image that is no base64: {error}"]
    return []


def ollama_request(body):
    images = [problem for message in body["messages"] for image in message.get("images", ()) for problem in not_base64(image)]
    shown = {**body, "messages": [with_images(message) for message in body["messages"]]}
    return types.problems(ollama_types.ChatRequest, shown) + unknown(ollama_types.ChatRequest, body) + images


REQUESTS: dict[str, typing.Callable] = {
    "openai-chat": chat_request, "openai-responses": response_request, "openai-realtime": realtime_event,
    "anthropic": anthropic_request, "gemini": gemini_request, "gemini-json-schema": gemini_request,
    "gemini-live": lambda body: types.problems(genai.LiveClientMessage, body), "bedrock": bedrock_request,
    "mistral": mistral_request, "cohere": cohere_request, "ollama": ollama_request,
    **{name: functools.partial(server_request, server) for name, server in chat_servers.SERVERS.items()},
}
