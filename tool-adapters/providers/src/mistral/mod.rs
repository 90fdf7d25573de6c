//! Mistral's chat, which is read like Chat Completions and written a little differently.

pub(crate) mod accepted;
pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::hosts::HostRules;
use crate::mistral::accepted::ACCEPTED;
use crate::openai_chat;
use crate::part_form::has_form;
use crate::setting_places;
use crate::spec::{MessageForm, ModelUrls, ProviderNames, ProviderSpec, Server};
use crate::structured::{AnswerForm, StructuredOutput};

/// The facts of Mistral's chat.
pub(crate) const SPEC: ProviderSpec = ProviderSpec {
    // The path is that of Chat Completions too.
    urls: Some(ModelUrls {
        domain: Some("mistral.ai"),
        model: |path| ((path.parent, path.last) == ("chat", "completions")).then_some(None),
    }),
    messages: MessageForm {
        encode: write::encode,
        request: write::request,
        has_form: has_form::<write::MistralMessages>,
        ..openai_chat::MESSAGES
    },
    host_rules: HostRules::MISTRAL,
    accepted: ACCEPTED,
    answer_form: Some(AnswerForm {
        support: |_, _| StructuredOutput::WithoutCalls,
        ..openai_chat::ANSWER_FORM
    }),
    settings: setting_places::MISTRAL,
    max_tools: Some(128),
    // Functions have a `strict`, but the accepted schemas are not documented.
    ..openai_chat::compatible(
        ProviderNames {
            otel: "mistral_ai",
            biller: Some("mistral"),
            ..ProviderNames::of("mistral")
        },
        Server {
            base_url_env: &["MISTRAL_BASE_URL"],
            ..Server::new("https://api.mistral.ai", &["MISTRAL_API_KEY"])
        },
    )
};
