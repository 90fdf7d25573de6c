//! Mistral's chat, which is read like Chat Completions and written a little differently.

pub(crate) mod write;

#[cfg(test)]
mod tests;

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE, PDF, WEB, WEB_IMAGES};
use crate::hosts::HostRules;
use crate::openai_chat;
use crate::spec::{MessageForm, ModelUrls, ProviderNames, ProviderSpec, Server};
use crate::structured::{AnswerForm, StructuredOutput};

/// docs.mistral.ai, "Vision": at most 10 MB an image; "Documents" and "Audio".
pub(crate) const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES)
        .or_urls(WEB)
        .at_most(10 * MEGABYTE),
    sounds: AcceptedMedia::bytes(&[
        "audio/wav",
        "audio/mpeg",
        "audio/mp4",
        "audio/flac",
        "audio/ogg",
    ])
    .or_urls(WEB),
    videos: AcceptedMedia::NONE,
    documents: AcceptedMedia::bytes(PDF).or_urls(WEB),
};

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
        ..openai_chat::MESSAGES
    },
    host_rules: HostRules::MISTRAL,
    accepted: ACCEPTED,
    answer_form: Some(AnswerForm {
        support: |_, _| StructuredOutput::WithoutCalls,
        ..openai_chat::ANSWER_FORM
    }),
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
