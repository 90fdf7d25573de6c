//! Ollama's chat: lines of JSON with whole calls, whose arguments are objects and which have no id
//! at older servers.
//!
//! - The item of a message is the message in the server's form, put together from its lines:
//!   `{"role": "assistant", "content": .., "thinking": .., "tool_calls": [..]}`. The members that
//!   the protocol does not know, of the message and of its calls, are kept. A message without
//!   content has no item.
//! - A line without a `message` is skipped, such as the state of a download, if it does not say
//!   whether the message is `done`. All else is a part of the answer: a line that is no object,
//!   that has a `message`, texts or calls of another form, or that comes after the end, is an
//!   error.
//! - The message ends with `done`. A server that has only loaded or unloaded a model has not
//!   answered.

pub(crate) mod messages;
pub(crate) mod read;
pub(crate) mod seen_calls;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts};
use crate::ollama::read::OllamaReader;
use crate::part_form::has_form;
use crate::schema::rules::{SchemaForm, SchemaSubset, TypeSet};
use crate::setting_places::{ReasoningEffort, Setting, SettingPlace};
use crate::spec::{
    Endpoint, HttpEndpoint, MessageForm, ModelUrls, ProviderNames, ProviderSpec, Server, segments,
};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::tool_names::NameRule;
use serde_json::json;

/// ollama, docs/api.md: `images` in base64.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/png", "image/jpeg", "image/webp"]),
    ..AcceptedParts::TEXT
};

/// The facts of Ollama's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    urls: Some(ModelUrls {
        domain: None,
        model: |path| ((path.parent, path.last) == ("api", "chat")).then_some(None),
    }),
    // The server accepts any name, but the templates of its models do not expect all characters.
    tool_names: NameRule {
        punctuation: "-",
        any_first: true,
        max_length: 128,
    },
    schema: SchemaForm::Subset(&SUBSET),
    accepted: ACCEPTED,
    answer_form: Some(AnswerForm {
        write: |answer| json!({"format": answer.schema}),
        needs_strict: false,
        support: |_, _| StructuredOutput::WithoutCalls,
    }),
    settings: SETTINGS,
    ..ProviderSpec::new(
        ProviderNames {
            biller: Some("ollama"),
            ..ProviderNames::of("ollama")
        },
        Endpoint::Http(HttpEndpoint::new(SERVER, |_, _| segments(&["api", "chat"]))),
        MessageForm {
            reader: || Box::<OllamaReader>::default(),
            encode: messages::encode,
            request: messages::request,
            has_form: has_form::<messages::OllamaMessages>,
        },
    )
};

/// There is no choice of a tool.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["options", "temperature"]),
    SettingPlace::at(Setting::TopP, &["options", "top_p"]),
    SettingPlace::at(Setting::Seed, &["options", "seed"]),
    SettingPlace::at(Setting::Stop, &["options", "stop"]),
    SettingPlace {
        shape: |effort| {
            if effort == "none" {
                false.into()
            } else {
                effort
            }
        },
        ..SettingPlace::effort(
            &["think"],
            &[
                ReasoningEffort::None,
                ReasoningEffort::Low,
                ReasoningEffort::Medium,
                ReasoningEffort::High,
            ],
        )
    },
];

const SERVER: Server = Server {
    base_url_env: &["OLLAMA_HOST"],
    key_required: false,
    other_apis: &[&["v1"]],
    ..Server::new("http://127.0.0.1:11434", &["OLLAMA_API_KEY"])
};

/// The keywords that the server's type of a tool has. It drops all others.
const SUBSET: SchemaSubset = SchemaSubset {
    keeps: &[],
    typed: false,
    references: false,
    maps: false,
    enums: TypeSet::ALL,
    formats: |_, _| false,
    grammar: None,
};
