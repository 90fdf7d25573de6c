//! Cohere's chat, version 2.
//!
//! - The item of a message is the message in the provider's form, put together from its events:
//!   `{"role": "assistant", "tool_plan": .., "content": [..], "tool_calls": [..], "citations": [..]}`.
//!   The members that the protocol does not know, of the message, of its parts and of its calls,
//!   are kept. A message without content has no item.
//! - Events of unknown types are skipped if they have no `message`, such as `debug`. All else is a
//!   part of the answer: an event that is no object, a piece without its text, its index or its
//!   beginning, or one that comes after the end, is an error. The end of a text or of a call with
//!   whole arguments may be missing.

pub(crate) mod messages;
pub(crate) mod read;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE, WEB, WEB_IMAGES};
use crate::anthropic;
use crate::cohere::read::CohereReader;
use crate::part_form::has_form;
use crate::setting_places::{Setting, SettingPlace};
use crate::spec::{
    Endpoint, HttpEndpoint, MessageForm, ModelUrls, ProviderNames, ProviderSpec, Server, segments,
};
use crate::strict::budget::{StrictBudget, StrictForm, StrictRules};
use crate::structured::{AnswerForm, StructuredOutput};
use crate::tool_names::NameRule;
use serde_json::json;

/// docs.cohere.com, "Using Cohere's models to work with image inputs": at most 20 MB.
const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES)
        .or_urls(WEB)
        .at_most(20 * MEGABYTE),
    ..AcceptedParts::TEXT
};

/// The facts of Cohere's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    urls: Some(ModelUrls {
        domain: None,
        model: |path| ((path.parent, path.last) == ("v2", "chat")).then_some(None),
    }),
    accepted: ACCEPTED,
    // The models call tools as Python does.
    tool_names: NameRule {
        punctuation: "",
        any_first: false,
        max_length: 64,
    },
    strict: Some(StrictRules {
        form: &StrictForm {
            formats: &["date-time", "time", "date", "uuid"],
            ..anthropic::STRICT_FORM
        },
        budget: StrictBudget::AllOrNone { max_fields: 200 },
    }),
    answer_form: Some(AnswerForm {
        write: |answer| json!({"response_format": {"type": "json_object", "json_schema": answer.schema}}),
        needs_strict: false,
        support: |_, _| StructuredOutput::WithoutTools,
    }),
    settings: SETTINGS,
    request_settings: |kinds| kinds.strict.then(|| json!({"strict_tools": true})),
    ..ProviderSpec::new(
        ProviderNames {
            biller: Some("cohere"),
            ..ProviderNames::of("cohere")
        },
        Endpoint::Http(HttpEndpoint::new(SERVER, |_, _| segments(&["v2", "chat"]))),
        MessageForm {
            reader: || Box::<CohereReader>::default(),
            encode: messages::encode,
            request: messages::request,
            has_form: has_form::<messages::CohereMessages>,
        },
    )
};

/// `tool_choice` names no tool, and thoughts have a budget of tokens only.
const SETTINGS: &[SettingPlace] = &[
    SettingPlace::at(Setting::Temperature, &["temperature"]),
    SettingPlace::at(Setting::TopP, &["p"]),
    SettingPlace::at(Setting::Seed, &["seed"]),
    SettingPlace::at(Setting::Stop, &["stop_sequences"]),
];

const SERVER: Server = Server {
    base_url_env: &["CO_API_URL"],
    other_apis: &[&["compatibility", "v1"], &["v1"]],
    ..Server::new("https://api.cohere.com", &["CO_API_KEY", "COHERE_API_KEY"])
};
