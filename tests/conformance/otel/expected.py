"""What the example `otel` is to send: names, parents, kinds and attributes of its spans, and its metrics."""

INTERNAL, CLIENT = 1, 3

WHOSE = {"tool_core.run_id": "run-1", "tool_core.customer_id": "acme"}


def tool(name: str, call: str) -> dict:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call,
        "gen_ai.agent.name": "planner",
    }


def chat(model: str, answer: str, response: str, **usage: int) -> dict:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": model,
        "gen_ai.response.model": answer,
        "gen_ai.response.id": response,
        "gen_ai.agent.name": "planner",
    } | {f"gen_ai.usage.{key.replace('__', '.')}": tokens for key, tokens in usage.items()}


# By name: parent, kind, error (its type and the status's message), attributes.
SPANS = {
    "invoke_agent planner": (None, INTERNAL, None, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}),
    "chat gpt-5-mini": (
        "invoke_agent planner",
        CLIENT,
        None,
        chat(
            "gpt-5-mini",
            "gpt-5-mini-2025-08-07",
            "resp_1",
            input_tokens=900,
            cache_read__input_tokens=600,
            cache_write__input_tokens=100,
            output_tokens=80,
            reasoning__output_tokens=50,
        )
        | {"tool_core.tool_calls": ["search"]},
    ),
    "execute_tool search": ("invoke_agent planner", INTERNAL, None, tool("search", "call_1")),
    "chat gpt-5-nano": (
        "execute_tool search",
        CLIENT,
        None,
        chat("gpt-5-nano", "gpt-5-nano", "resp_2", input_tokens=60, output_tokens=12),
    ),
    "execute_tool stock": ("invoke_agent planner", INTERNAL, None, tool("stock", "call_2")),
    "GET stock": ("execute_tool stock", CLIENT, None, {"http.request.method": "GET"}),
    "invoke_agent stock": (
        "GET stock",
        INTERNAL,
        None,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "stock", "tool_core.cost.usd": 0.00015},
    ),
    "execute_tool refund": (
        "invoke_agent planner",
        INTERNAL,
        ("PERMANENT", "there is no order 7"),
        tool("refund", "call_3"),
    ),
    "late": ("invoke_agent planner", INTERNAL, ("cancelled", "cancelled"), {}),
}

# What the price table that is linked in says of these two is not a matter of this.
PRICED = {"chat gpt-5-mini", "chat gpt-5-nano"}

# Of the tools' spans, when the environment wants content: JSON, as the call had it.
CONTENT = {
    "execute_tool search": ({"query": "kettle", "token": "[redacted]"}, ["kettle 3000"]),
    "execute_tool stock": ({"product": "kettle"}, "twelve"),
    "execute_tool refund": ({"order": 7}, None),
}
CANARY = b"canary-5f2c"

SECONDS = [0.01 * 2**power for power in range(14)]
TOKENS = [float(4**power) for power in range(14)]

# By name: unit, buckets, and the series: attributes, how many, and the sum where it is known.
METRICS = {
    "gen_ai.execute_tool.duration": ("s", SECONDS, 3),
    "gen_ai.client.operation.duration": ("s", SECONDS, 2),
    "gen_ai.client.token.usage": ("{token}", TOKENS, 4),
}
USED = {
    ("gpt-5-mini", "input"): 900,
    ("gpt-5-mini", "output"): 80,
    ("gpt-5-nano", "input"): 60,
    ("gpt-5-nano", "output"): 12,
}
