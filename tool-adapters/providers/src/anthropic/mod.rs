//! Anthropic's Messages.
//!
//! Every content block is an item: thoughts with their signatures, and tools that the provider ran
//! itself (`server_tool_use`, `mcp_tool_use` and every other `*_tool_use` but `tool_use`, and their
//! results), which are not calls to answer. A turn that the provider paused ends with
//! `Finish::Paused`. It goes on when it is sent back.
//!
//! - Skipped are pings, events of unknown types without a `delta` or a `content_block`, pieces of
//!   unknown kinds for blocks that are no calls, and the end of a block before the message. Blocks
//!   of unknown types are items.
//! - All else is a part of the answer: an event that is no object, a member of another form, a
//!   piece without its text, its index or its open block, and a block whose index skips another is
//!   an error.
//! - The beginning of the message may be missing or late, as no part of the answer is in it, and so
//!   may its end be after the `stop_reason`: some hosts leave `message_stop` out, and all blocks
//!   have come by then. A block may lack its end if it shows that it is whole: a text, a call whose
//!   input is one object, or a thought with its signature.
//! - What comes again counts once: an event, a whole block, the message after its stream, and
//!   content with which the message begins. It has to say the same.

pub(crate) mod read;
pub mod tools;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE, PDF, WEB_IMAGES};
use crate::anthropic::read::AnthropicReader;
use crate::anthropic::write::AnthropicTurns;
use crate::declared_tool::{DeclaredTool, ObjectText};
use crate::part_form::has_form;
use crate::prompt_cache::{PromptCache, mark_anthropic};
use crate::schema::rules::PropertyNames;
use crate::setting_places::{ReasoningEffort, Setting, SettingPlace};
use crate::spec::{
    Endpoint, HttpEndpoint, MessageForm, ModelUrls, NamedModel, ProviderNames, ProviderSpec,
    Server, UrlPath, segments,
};
use crate::strict::budget::{StrictBudget, StrictCost, StrictForm, StrictRules};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::token_counter::{TokenCounter, only};
use crate::tool_names::NameRule;
use crate::turns;
use serde_json::json;

/// The facts of Messages.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    urls: Some(ModelUrls {
        domain: None,
        model: model_of_url,
    }),
    declaration: write_declaration,
    tool_names: NameRule {
        punctuation: "-",
        any_first: true,
        max_length: 128,
    },
    property_names: Some(PropertyNames::ANTHROPIC),
    strict: Some(STRICT),
    repeats_refusals: true,
    accepted: ACCEPTED,
    answer_form: Some(AnswerForm {
        write: |answer| json!({"output_config": {"format": {"type": "json_schema", "schema": answer.schema}}}),
        needs_strict: true,
        support: |model, _| structured_output(model),
    }),
    settings: SETTINGS,
    prompt_cache: PromptCache::Breakpoints(mark_anthropic),
    search_tool: Some(
        r#"{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}"#,
    ),
    ..ProviderSpec::new(
        ProviderNames {
            biller: Some("anthropic"),
            ..ProviderNames::of("anthropic")
        },
        Endpoint::Http(HttpEndpoint {
            headers: &[("anthropic-version", "2023-06-01")],
            idempotency_header: Some("idempotency-key"),
            token_counter: Some(TokenCounter {
                path: |_| segments(&["v1", "messages", "count_tokens"]),
                body: |_, body| only(body, COUNTED_MEMBERS),
                result: "/input_tokens",
            }),
            ..HttpEndpoint::new(SERVER, |_, _| segments(&["v1", "messages"]))
        }),
        MessageForm {
            reader: || Box::<AnthropicReader>::default(),
            encode: turns::encode::<AnthropicTurns>,
            request: write::request,
            has_form: has_form::<AnthropicTurns>,
        },
    )
};

/// platform.claude.com, "Vision": these types, at most 5 MB of base64 an image ("image exceeds 5 MB
/// maximum: .. > 5242880 bytes"). "PDF support": at most 32 MB a request. Both: URLs with `https`.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES)
        .or_urls(&["https"])
        .at_most(5 * 1024 * 1024 / 4 * 3),
    documents: AcceptedMedia::bytes(PDF)
        .or_urls(&["https"])
        .at_most(32 * MEGABYTE / 4 * 3),
    ..AcceptedParts::TEXT
};

/// The members that the endpoint for counting takes.
const COUNTED_MEMBERS: &[&str] = &[
    "cache_control",
    "messages",
    "model",
    "output_config",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];

/// Newer models refuse `temperature` and `top_p`, and the interface no longer has them.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Stop, &["stop_sequences"]),
    SettingPlace::effort(
        &["output_config", "effort"],
        &[
            ReasoningEffort::Low,
            ReasoningEffort::Medium,
            ReasoningEffort::High,
            ReasoningEffort::XHigh,
            ReasoningEffort::Max,
        ],
    ),
    SettingPlace::shaped(
        Setting::ParallelToolCalls,
        &["tool_choice"],
        |parallel| json!({"type": "auto", "disable_parallel_tool_use": parallel == false}),
    ),
    SettingPlace::shaped(
        Setting::FirstTool,
        &["tool_choice"],
        |name| json!({"type": "tool", "name": name}),
    ),
];

const SERVER: Server = Server {
    base_url_env: &["ANTHROPIC_BASE_URL"],
    key_header: ("x-api-key", ""),
    ..Server::new("https://api.anthropic.com", &["ANTHROPIC_API_KEY"])
};

/// Google serves the models under their names, as methods.
fn model_of_url(path: &UrlPath<'_>) -> Option<NamedModel> {
    if (path.parent, path.last) == ("v1", "messages") {
        return Some(None);
    }
    let at_google = path.before.contains("/publishers/anthropic/");
    path.model_of_method(&["rawPredict", "streamRawPredict"])
        .filter(|_| at_google)
        .map(Some)
}

/// The strict schemas. References are replaced by their targets: they may not be recursive, and
/// keywords beside one would be lost.
pub(crate) const STRICT_FORM: StrictForm = StrictForm {
    all_required: false,
    references: false,
    bounds: false,
    lengths: false,
    pattern: |_| false,
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    check_size: |_| Ok(()),
};

/// The strict tools.
pub(crate) const STRICT: StrictRules = StrictRules {
    form: &STRICT_FORM,
    budget: StrictBudget::Shared(StrictCost {
        tools: 20,
        optional: 24,
        unions: 16,
    }),
};

/// Models before Claude 4.5 have no form for structured output. Newer ones have it beside tools and
/// thoughts.
pub(crate) fn structured_output(model: &str) -> StructuredOutput {
    let is_old = [
        "claude-2",
        "claude-3",
        "claude-instant",
        "-4-2025",
        "-4@2025",
        "-4-0",
        "-4-1",
    ]
    .iter()
    .any(|part| model.contains(part));
    if is_old {
        StructuredOutput::Never
    } else {
        StructuredOutput::BesideTools
    }
}

fn write_declaration(tool: &DeclaredTool<'_>) -> String {
    ObjectText::new()
        .with("name", tool.name)
        .with_some("description", tool.description())
        .raw("input_schema", tool.schema)
        .with_some("strict", tool.strict_flag())
        .with_some("defer_loading", tool.deferred_flag())
        .finish()
}
