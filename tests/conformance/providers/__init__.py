"""What each provider accepts: its own types, and the rules that they do not see.

A module has `check(provider, declarations, settings, report)`, which gives the problems of a request's declarations, and
`schema(item)`, which gives a declaration's schema as JSON Schema.
"""

from . import anthropic, bedrock, chat_servers, cohere, gemini, mcp, mistral, ollama, openai

OF = {
    "openai-chat": openai, "openai-responses": openai, "openai-realtime": openai, "anthropic": anthropic,
    "gemini": gemini, "gemini-json-schema": gemini, "gemini-live": gemini, "bedrock": bedrock, "mistral": mistral,
    "cohere": cohere, "ollama": ollama, **dict.fromkeys(chat_servers.SERVERS, chat_servers), "mcp": mcp,
}


def functions(provider: str, declarations: list) -> dict:
    """The declared functions by name, each with its schema as JSON Schema."""
    return dict(OF[provider].functions(provider, declarations))
