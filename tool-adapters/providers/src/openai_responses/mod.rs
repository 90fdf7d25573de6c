//! OpenAI's Responses.

pub(crate) mod items;
pub(crate) mod output;
pub(crate) mod read;
pub mod tools;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{
    AcceptedMedia, AcceptedParts, DOCX, MEGABYTE, PPTX, WEB, WEB_IMAGES, XLSX,
};
use crate::hosts::{HostRules, KnownHost};
use crate::openai_chat::strict::STRICT;
use crate::openai_chat::{self, OPENAI};
use crate::openai_responses::read::ResponsesReader;
use crate::part_form::has_form;
use crate::prompt_cache::PromptCache;
use crate::setting_places::{ReasoningEffort, Setting, SettingPlace};
use crate::spec::{
    Endpoint, HttpEndpoint, MessageForm, ModelUrls, ProviderNames, ProviderSpec, segments,
};
use crate::structured::{AnswerForm, AnswerSchema};
use crate::token_counter::{TokenCounter, only};
use serde_json::{Value, json};

/// The facts of Responses.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    urls: Some(ModelUrls {
        domain: None,
        model: |path| (path.last == "responses").then_some(None),
    }),
    // A declaration that does not say is strict.
    declaration: |tool| tool.flat_function(Some(tool.strict)),
    strict: Some(STRICT),
    answer_form: Some(AnswerForm {
        write: write_answer,
        ..openai_chat::ANSWER_FORM
    }),
    accepted: ACCEPTED,
    settings: SETTINGS,
    prompt_cache: PromptCache::Key,
    host_rules: RULES,
    known_hosts: AZURE,
    has_reasoning: |item| item["type"] == "reasoning",
    max_tools: Some(128),
    search_tool: Some(r#"{"type":"tool_search"}"#),
    ..ProviderSpec::new(
        ProviderNames {
            otel: "openai",
            manifest: "openaiResponses",
            ..ProviderNames::of("openai-responses")
        },
        Endpoint::Http(HttpEndpoint {
            idempotency_header: Some("idempotency-key"),
            token_counter: Some(TokenCounter {
                path: |_| segments(&["responses", "input_tokens"]),
                body: |_, body| only(body, COUNTED_MEMBERS),
                result: "/input_tokens",
            }),
            ..HttpEndpoint::new(OPENAI, |_, _| segments(&["responses"]))
        }),
        MessageForm {
            reader: || Box::<ResponsesReader>::default(),
            encode: write::encode,
            request: write::request,
            has_form: has_form::<write::ResponsesInput>,
        },
    )
};

/// The servers that have Responses know the key or pass over it.
const RULES: HostRules = HostRules {
    takes_cache_key: true,
    ..HostRules::DEFAULT
};

/// learn.microsoft.com, "Use the Azure OpenAI Responses API": the same API. Images have URLs, and
/// documents bytes.
const AZURE: &[KnownHost] = &[
    azure("openai.azure.com"),
    azure("cognitiveservices.azure.com"),
    azure("services.ai.azure.com"),
];

const fn azure(domain: &'static str) -> KnownHost {
    KnownHost {
        rules: AZURE_RULES,
        ..KnownHost::at(domain)
    }
}

const AZURE_RULES: HostRules = HostRules {
    accepted: Some(&AZURE_ACCEPTED),
    ..RULES
};

const AZURE_ACCEPTED: AcceptedParts = AcceptedParts {
    images: ACCEPTED.images,
    ..ACCEPTED.without_urls()
};

/// developers.openai.com, "Images and vision" and "File inputs": each file has at most 50 MB. A
/// message has no sounds.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES).or_urls(WEB),
    documents: AcceptedMedia::bytes(DOCUMENTS)
        .or_urls(WEB)
        .at_most(50 * MEGABYTE),
    ..AcceptedParts::TEXT
};

const DOCUMENTS: &[&str] = &[
    "application/pdf",
    "application/msword",
    DOCX,
    "application/vnd.ms-excel",
    XLSX,
    "application/vnd.ms-powerpoint",
    PPTX,
    "application/vnd.oasis.opendocument.text",
    "application/rtf",
    "application/json",
    "application/xml",
    "text/*",
];

/// The members that the endpoint for counting takes.
const COUNTED_MEMBERS: &[&str] = &[
    "conversation",
    "input",
    "instructions",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "text",
    "tool_choice",
    "tools",
    "truncation",
];

/// There is no `seed` and no `stop`.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["temperature"]),
    SettingPlace::at(Setting::TopP, &["top_p"]),
    SettingPlace::effort(&["reasoning", "effort"], ReasoningEffort::ALL),
    SettingPlace::at(Setting::ParallelToolCalls, &["parallel_tool_calls"]),
    SettingPlace::shaped(
        Setting::FirstTool,
        &["tool_choice"],
        |name| json!({"type": "function", "name": name}),
    ),
];

/// Writes the form of the text.
fn write_answer(answer: &AnswerSchema<'_>) -> Value {
    let AnswerSchema {
        name,
        schema,
        strict,
        ..
    } = answer;
    json!({"text": {"format": {"type": "json_schema", "name": name, "schema": schema, "strict": strict}}})
}
