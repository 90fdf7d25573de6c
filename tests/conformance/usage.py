"""Holds what the protocols read of a response's usage to how `genai-prices` reads it, for responses as the providers'
documents show them, with counts at random."""

import json
import random

from driver import Driver
from genai_prices import data_snapshot

KINDS = {
    "input": "input_tokens",
    "cached": "cache_read_tokens",
    "cache_written": "cache_write_tokens",
    "cache_written_1h": "cache_write_1h_tokens",
    "input_audio": "input_audio_tokens",
    "input_image": "input_image_tokens",
    "cached_audio": "cache_audio_read_tokens",
    "cached_image": "cache_image_read_tokens",
    "output": "output_tokens",
    "reasoning": "output_reasoning_tokens",
    "output_audio": "output_audio_tokens",
    "output_image": "output_image_tokens",
}
# Counted as images by ours.
VIDEO = {"input_image": "input_video_tokens", "cached_image": "cache_video_read_tokens", "output_image": "output_video_tokens"}
# What the package does not read: of Cohere's billed tokens, which were cached; of Moonshot's, which were audio.
UNREAD = {"cohere": {"cached"}, "moonshotai": {"input_audio", "output_audio"}}


def chat(usage: dict, model: str) -> dict:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    return {"id": "r", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


class Counts:
    """Counts at random, of which parts are no larger than the whole."""

    def __init__(self, chance: random.Random) -> None:
        self.input, self.output = chance.randrange(1, 100_000), chance.randrange(1, 10_000)
        self.cached = chance.randint(0, self.input)
        self.written = chance.randint(0, self.input - self.cached)
        self.reasoning = chance.randint(0, self.output)
        self.tools = chance.randrange(0, 1_000)
        self.hour = chance.randint(0, self.written)
        self.cached_media, self.fresh_media = Media(self.cached, chance), Media(self.fresh, chance)
        self.said_media = Media(self.said, chance)
        self.total = self.input + self.output

    @property
    def fresh(self) -> int:
        return self.input - self.cached - self.written

    @property
    def said(self) -> int:
        return self.output - self.reasoning


class Media:
    """How many of some tokens are audio, images and the like."""

    def __init__(self, total: int, chance: random.Random) -> None:
        self.audio, self.image, self.page, self.video = (chance.randint(0, total // 4) for _ in range(4))

    def __add__(self, other: "Media") -> "Media":
        both = Media(0, random.Random(0))
        for kind, count in vars(self).items():
            setattr(both, kind, count + getattr(other, kind))
        return both

    def openai(self) -> dict:
        return {"audio_tokens": self.audio, "image_tokens": self.image}

    def gemini(self) -> list[dict]:
        kinds = {"AUDIO": self.audio, "IMAGE": self.image, "DOCUMENT": self.page, "VIDEO": self.video}
        return [{"modality": kind, "tokenCount": count} for kind, count in kinds.items() if count]


def openai(c: Counts) -> dict:
    read = {"cached_tokens": c.cached, "cache_write_tokens": c.written, "audio_tokens": c.fresh_media.audio}
    written = {"reasoning_tokens": c.reasoning, "audio_tokens": c.said_media.audio}
    return chat({"prompt_tokens": c.input, "completion_tokens": c.output, "total_tokens": c.total, "prompt_tokens_details": read, "completion_tokens_details": written}, "gpt-5")


def xai(c: Counts) -> dict:
    """Reasoning tokens are beside the output tokens, and the total has both."""
    return chat({"prompt_tokens": c.input, "completion_tokens": c.said, "total_tokens": c.total, "prompt_tokens_details": {"cached_tokens": c.cached}, "completion_tokens_details": {"reasoning_tokens": c.reasoning, "audio_tokens": 0}}, "grok-4")


def deepseek(c: Counts) -> dict:
    return chat({"prompt_tokens": c.input, "completion_tokens": c.output, "total_tokens": c.total, "prompt_tokens_details": {"cached_tokens": c.cached}, "prompt_cache_hit_tokens": c.cached, "prompt_cache_miss_tokens": c.input - c.cached, "completion_tokens_details": {"reasoning_tokens": c.reasoning}}, "deepseek-chat")


def compatible_anthropic(c: Counts) -> dict:
    return chat({"prompt_tokens": c.input, "completion_tokens": c.output, "total_tokens": c.total, "cached_tokens": c.cached, "completion_tokens_details": {"reasoning_tokens": c.reasoning}}, "claude-opus-4-5")


def databricks(c: Counts) -> dict:
    return chat({"prompt_tokens": c.input, "completion_tokens": c.output, "total_tokens": c.total, "cache_read_input_tokens": c.cached, "reasoning_tokens": c.reasoning}, "databricks-gpt-5")


def mistral(c: Counts) -> dict:
    return chat({"prompt_tokens": c.input, "completion_tokens": c.output, "total_tokens": c.total, "prompt_tokens_details": {"cached_tokens": c.cached}}, "mistral-large-latest")


def responses(c: Counts) -> dict:
    usage = {"input_tokens": c.input, "input_tokens_details": {"cached_tokens": c.cached, "cache_write_tokens": c.written}, "output_tokens": c.output, "output_tokens_details": {"reasoning_tokens": c.reasoning}, "total_tokens": c.total}
    return {"id": "r", "object": "response", "model": "gpt-5", "status": "completed", "output": [], "usage": usage}


def realtime(c: Counts) -> dict:
    cached = {"cached_tokens": c.cached, "cached_tokens_details": c.cached_media.openai()}
    read = (c.cached_media + c.fresh_media).openai() | cached
    usage = {"input_tokens": c.input, "input_token_details": read, "output_tokens": c.output, "output_token_details": {"audio_tokens": c.said_media.audio}, "total_tokens": c.total}
    return {"type": "response.done", "response": {"id": "r", "object": "realtime.response", "status": "completed", "output": [], "usage": usage}}


def anthropic(c: Counts) -> dict:
    kept = {"ephemeral_5m_input_tokens": c.written - c.hour, "ephemeral_1h_input_tokens": c.hour}
    usage = {"cache_creation": kept, "input_tokens": c.fresh, "cache_read_input_tokens": c.cached, "cache_creation_input_tokens": c.written, "output_tokens": c.output, "output_tokens_details": {"thinking_tokens": c.reasoning}}
    return {"id": "r", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": [], "stop_reason": "end_turn", "usage": usage}


def gemini(c: Counts) -> dict:
    usage = {"promptTokenCount": c.input, "cachedContentTokenCount": c.cached, "toolUsePromptTokenCount": c.tools, "candidatesTokenCount": c.said, "thoughtsTokenCount": c.reasoning, "totalTokenCount": c.total + c.tools}
    usage |= {"promptTokensDetails": (c.cached_media + c.fresh_media).gemini(), "cacheTokensDetails": c.cached_media.gemini(), "candidatesTokensDetails": c.said_media.gemini()}
    return {"responseId": "r", "modelVersion": "gemini-2.5-flash", "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}], "usageMetadata": usage}


def bedrock(c: Counts) -> dict:
    usage = {"inputTokens": c.fresh, "cacheReadInputTokens": c.cached, "cacheWriteInputTokens": c.written, "outputTokens": c.output, "totalTokens": c.total}
    usage["cacheDetails"] = [{"ttl": "5m", "inputTokens": c.written - c.hour}, {"ttl": "1h", "inputTokens": c.hour}]
    return {"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}, "stopReason": "end_turn", "usage": usage}


def cohere(c: Counts) -> dict:
    billed, tokens = {"input_tokens": float(c.input), "output_tokens": float(c.output)}, {"input_tokens": c.input + 200.0, "output_tokens": c.output + 4.0}
    return {"id": "r", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}, "usage": {"billed_units": billed, "tokens": tokens, "cached_tokens": float(c.cached)}}


# Our protocol, the package's provider and flavour, and the response.
CASES = [
    ("openai-chat", "openai", "chat", openai),
    ("openai-chat", "azure", "chat", openai),
    ("openai-chat", "openrouter", "chat", openai),
    ("openai-chat", "x-ai", "chat", xai),
    ("openai-chat", "deepseek", "chat", deepseek),
    ("openai-chat", "anthropic", "chat", compatible_anthropic),
    ("openai-chat", "moonshotai", "chat", openai),
    ("openai-chat", "databricks", "chat", databricks),
    ("openai-responses", "openai", "responses", responses),
    ("openai-realtime", "openai", "realtime", realtime),
    ("anthropic", "anthropic", "default", anthropic),
    ("gemini", "google", "default", gemini),
    ("bedrock", "aws", "default", bedrock),
    ("mistral", "mistral", "default", mistral),
    ("cohere", "cohere", "default", cohere),
]


def check(driver: Driver, times: int = 200) -> tuple[int, list[str]]:
    chance, problems, snapshot = random.Random(5), [], data_snapshot.get_snapshot()
    for ours, provider, flavour, response in CASES:
        for _ in range(times):
            answer = response(Counts(chance))
            told = [event["usage"] for event in driver.ask("parse", provider=ours, texts=[json.dumps(answer)]) if event["event"] == "usage"]
            _, theirs = snapshot.find_provider(None, provider, None).extract_usage(answer, api_flavor=flavour)
            wanted = {kind: int(theirs.reported_value(key)) for kind, key in KINDS.items() if kind not in UNREAD.get(provider, ())}
            wanted = {kind: count + int(theirs.reported_value(VIDEO[kind])) if kind in VIDEO else count for kind, count in wanted.items()}
            last = {kind: told[-1].get(kind, 0) for kind in wanted} if told else None
            if last != wanted:
                problems.append(f"{ours} as {provider} {flavour}: ours {last}, theirs {wanted}: {json.dumps(answer)}")
    return len(CASES) * times, problems
