//! The names of OpenTelemetry's conventions for generative AI, and our own where they have none.
//!
//! They are in development, in `open-telemetry/semantic-conventions-genai`. Spans are as of its commit `b9449702`, which
//! named `cache_write`; metrics as of `004902b8`. Later commits split `gen_ai.client.token.usage` by direction: not
//! followed here until what reads it does.

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE: &str = "gen_ai.usage.cache_write.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const REASONING: &str = "gen_ai.usage.reasoning.output_tokens";
pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(super) const ERROR: &str = "error.type";

pub(super) const COST: &str = "tool_core.cost.usd";
pub(super) const TOOL_CALLS: &str = "tool_core.tool_calls";
pub(super) const RUN: &str = "tool_core.run_id";
pub(super) const CUSTOMER: &str = "tool_core.customer_id";

pub(super) const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
pub(super) const MODEL_DURATION: &str = "gen_ai.client.operation.duration";
pub(super) const TOKENS: &str = "gen_ai.client.token.usage";

/// What people say and tools answer.
pub(super) const CONTENT: [&str; 5] = [
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
];

/// What is required and not known.
pub(super) const OTHER: &str = "_OTHER";

/// A provider's name, from the one that price tables and our declarations know it by.
pub(super) fn provider(name: &str) -> &str {
    match name {
        "aws" | "bedrock" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "google" => "gcp.gen_ai",
        "gemini" | "gemini-json-schema" | "gemini-live" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "moonshotai" => "moonshot_ai",
        "openai-chat" | "openai-responses" | "openai-realtime" => "openai",
        "x-ai" => "x_ai",
        name => name,
    }
}
