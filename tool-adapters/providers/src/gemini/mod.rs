//! Gemini's generateContent, with `parameters` and with `parametersJsonSchema`, which have the same
//! conversation.
//!
//! Every part is an item, with its thought signature. Tools that the provider ran itself
//! (`executableCode`, `toolCall` and their results) are not calls to answer. Calls without an id
//! are answered without one. A message ends with its stream: `Event::Finished` comes from `finish`.
//!
//! - Skipped are unknown members without parts of an answer, and chunks that have nothing else.
//!   Parts of unknown kinds are items.
//! - All else is a part of the answer: a chunk, a candidate, a content, a part or a call of another
//!   form is an error.
//! - A finish that Google does not list as a complete or withheld answer is an error with the
//!   reason as its code. A prompt that was blocked is a withheld answer, and the feedback comes as
//!   `Event::Unknown`. So do the sources of an answer, such as `groundingMetadata`.
//! - Chunks have no numbers: one that is missing leaves no trace, unless it is the last. A call
//!   that comes again runs once: it has the id, or its chunk repeats the parts before.
//! - Pieces of calls (`partialArgs`) belong to the open call with their id, or else to the one
//!   whose piece came last. A text within arguments needs its end, a piece without `willContinue`.

pub(crate) mod generation;
pub(crate) mod parts;
pub(crate) mod pieces;
pub(crate) mod read;
pub(crate) mod seen_parts;
pub mod tools;
pub(crate) mod wire;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE};
use crate::gemini::generation::generation_of;
use crate::gemini::read::GeminiReader;
use crate::gemini::write::{JSON_SCHEMA_RULES, SCHEMA_RULES, write_declaration};
use crate::hosts::KnownHost;
use crate::part_form::has_form;
use crate::setting_places::{ReasoningEffort, Setting, SettingPlace};
use crate::spec::{
    DeclaredKinds, Endpoint, HttpEndpoint, MessageForm, ModelUrls, ProviderNames, ProviderSpec,
    Server, ToolListForm,
};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::token_counter::TokenCounter;
use crate::tool_names::NameRule;
use serde_json::{Value, json};

/// ai.google.dev, "File input methods": at most 100 MB a request in base64, PDF documents of at
/// most 50 MB, and public or signed URLs. `gs://` is for registered files, and for Vertex AI.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&[
        "image/png",
        "image/jpeg",
        "image/webp",
        "image/heic",
        "image/heif",
    ])
    .or_urls(URLS)
    .at_most(MAX_BYTES),
    sounds: AcceptedMedia::bytes(&[
        "audio/wav",
        "audio/mpeg",
        "audio/aiff",
        "audio/aac",
        "audio/ogg",
        "audio/flac",
    ])
    .or_urls(URLS)
    .at_most(MAX_BYTES),
    videos: AcceptedMedia::bytes(&[
        "video/mp4",
        "video/mpeg",
        "video/quicktime",
        "video/avi",
        "video/x-flv",
        "video/webm",
        "video/wmv",
        "video/3gpp",
    ])
    .or_urls(URLS)
    .at_most(MAX_BYTES),
    documents: AcceptedMedia::bytes(&["application/pdf", "text/plain", "text/html", "text/csv"])
        .or_urls(URLS)
        .at_most(50 * MEGABYTE),
};

const URLS: &[&str] = &["https", "gs"];

const MAX_BYTES: usize = 100 * MEGABYTE / 4 * 3;

/// The facts of generateContent with `parameters`.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    urls: Some(ModelUrls {
        domain: None,
        model: |path| {
            path.model_of_method(&["generateContent", "streamGenerateContent"])
                .map(Some)
        },
    }),
    declaration: |tool| write_declaration(tool, "parameters"),
    tool_names: NameRule {
        punctuation: ".:-",
        any_first: false,
        max_length: 128,
    },
    schema: SCHEMA_RULES,
    accepted: ACCEPTED,
    // Vertex AI has the same API.
    known_hosts: &[KnownHost::at("googleapis.com")],
    answer_form: Some(AnswerForm {
        write: |answer| write_answer("responseSchema", &answer.schema),
        needs_strict: false,
        support: |model, _| structured_output(model),
    }),
    settings: SETTINGS,
    tool_list: ToolListForm::Grouped,
    max_tools: Some(512),
    request_settings,
    ..ProviderSpec::new(
        NAMES,
        Endpoint::Http(HttpEndpoint {
            stream_query: Some(("alt", "sse")),
            token_counter: Some(TokenCounter {
                path: |model| path_of_method(model, "countTokens"),
                body: counted_body,
                result: "/totalTokens",
            }),
            ..HttpEndpoint::new(GOOGLE, path_of_model)
        }),
        MessageForm {
            reader: || Box::<GeminiReader>::default(),
            encode: write::encode,
            request: write::request,
            has_form: has_form::<write::GeminiTurns>,
        },
    )
};

/// A model makes several calls in one step whenever it wants to.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["generationConfig", "temperature"]),
    SettingPlace::at(Setting::TopP, &["generationConfig", "topP"]),
    SettingPlace::at(Setting::Seed, &["generationConfig", "seed"]),
    SettingPlace::at(Setting::Stop, &["generationConfig", "stopSequences"]),
    SettingPlace::effort(
        &["generationConfig", "thinkingConfig", "thinkingLevel"],
        &[
            ReasoningEffort::Minimal,
            ReasoningEffort::Low,
            ReasoningEffort::Medium,
            ReasoningEffort::High,
            ReasoningEffort::XHigh,
        ],
    ),
    SettingPlace::shaped(
        Setting::FirstTool,
        &["toolConfig", "functionCallingConfig"],
        |name| json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    ),
];

pub(crate) const NAMES: ProviderNames = ProviderNames {
    otel: "gcp.gemini",
    manifest: "geminiNative",
    biller: Some("google"),
    ..ProviderNames::of("gemini")
};

/// The facts of generateContent with `parametersJsonSchema`.
pub(crate) const JSON_SCHEMA_SPEC: ProviderSpec = ProviderSpec {
    names: ProviderNames {
        provider: "gemini-json-schema",
        manifest: "geminiJsonSchema",
        ..NAMES
    },
    urls: None,
    declaration: |tool| write_declaration(tool, "parametersJsonSchema"),
    schema: JSON_SCHEMA_RULES,
    answer_form: Some(AnswerForm {
        write: |answer| write_answer("responseJsonSchema", &answer.schema),
        needs_strict: false,
        support: |model, _| structured_output(model),
    }),
    ..SPEC
};

/// Google's server for developers.
pub(crate) const GOOGLE: Server = Server {
    base_url_env: &["GOOGLE_GEMINI_BASE_URL"],
    key_header: ("x-goog-api-key", ""),
    other_apis: &[&["openai"]],
    ..Server::new(
        "https://generativelanguage.googleapis.com",
        &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    )
};

/// A model with a `/` is the full name of a resource, such as `tunedModels/x`.
fn path_of_model(model: &str, stream: bool) -> Vec<String> {
    let method = if stream {
        "streamGenerateContent"
    } else {
        "generateContent"
    };
    path_of_method(model, method)
}

fn path_of_method(model: &str, method: &str) -> Vec<String> {
    format!("v1beta/{}:{method}", resource_of(model))
        .split('/')
        .map(str::to_owned)
        .collect()
}

fn resource_of(model: &str) -> String {
    if model.contains('/') {
        model.to_owned()
    } else {
        format!("models/{model}")
    }
}

/// Counting takes a whole request, with its model.
fn counted_body(model: &str, mut body: Value) -> Value {
    body["model"] = resource_of(model).into();
    json!({"generateContentRequest": body})
}

/// Writes the form of a text, with the schema under a member of the configuration.
fn write_answer(member: &str, schema: &Value) -> Value {
    json!({"generationConfig": {"responseMimeType": "application/json", member: schema}})
}

/// Models before Gemini 3 refuse a form of the text in a request with tools.
fn structured_output(model: &str) -> StructuredOutput {
    if generation_of(model).is_some_and(|generation| generation >= 3) {
        StructuredOutput::BesideTools
    } else {
        StructuredOutput::WithoutTools
    }
}

/// A request with both kinds of tools has to ask for the calls that the provider answers itself.
fn request_settings(kinds: DeclaredKinds) -> Option<Value> {
    let mixes = kinds.functions && kinds.provider_tools;
    mixes.then(|| json!({"toolConfig": {"includeServerSideToolInvocations": true}}))
}
