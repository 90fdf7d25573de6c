//! Only an end that the provider's documents list as a complete one is an answer.

use crate::answers::bodies::{Body, call, text};
use crate::answers::{PROVIDERS, play};
use serde_json::json;
use tool_adapters::Provider;
use tool_core::ErrorKind;
use tool_core::session::ReplyFinish;

/// The word for the end of an answer with calls, and of one with text.
fn words(provider: Provider) -> [&'static str; 2] {
    match provider {
        Provider::OpenAiChat | Provider::Mistral => [
            "\"finish_reason\":\"tool_calls\"",
            "\"finish_reason\":\"stop\"",
        ],
        Provider::OpenAiResponses => [
            "\"status\":\"completed\",\"output\"",
            "\"status\":\"completed\",\"output\"",
        ],
        Provider::Anthropic => [
            "\"stop_reason\":\"tool_use\"",
            "\"stop_reason\":\"end_turn\"",
        ],
        Provider::Gemini | Provider::GeminiJsonSchema => {
            ["\"finishReason\":\"STOP\"", "\"finishReason\":\"STOP\""]
        }
        Provider::Cohere => [
            "\"finish_reason\":\"TOOL_CALL\"",
            "\"finish_reason\":\"COMPLETE\"",
        ],
        Provider::Ollama => ["\"done_reason\":\"stop\"", "\"done_reason\":\"stop\""],
        Provider::Bedrock => ["\"stopReason\":\"tool_use\"", "\"stopReason\":\"end_turn\""],
        other => panic!("{other} is not spoken over HTTP"),
    }
}

/// Replaces the word for the end.
fn ending(mut body: Body, word: &str, other: &str) -> Body {
    let before = body.events.concat();
    let (member, _) = word.split_once(':').expect("a member");
    for event in &mut body.events {
        *event = event.replace(word, &format!("{member}:\"{other}\""));
    }
    assert_ne!(before, body.events.concat(), "{word}");
    body
}

/// The words of each provider for an answer that went wrong.
fn failures(provider: Provider) -> &'static [&'static str] {
    match provider {
        Provider::OpenAiChat => &[
            "error",
            "abort",
            "insufficient_system_resource",
            "network_error",
            "cancelled",
            "repetition",
            "engine_error",
        ],
        Provider::Anthropic => &["error", "model_error"],
        Provider::Gemini | Provider::GeminiJsonSchema => &[
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "MALFORMED_RESPONSE",
            "OTHER",
            "FINISH_REASON_UNSPECIFIED",
            "LANGUAGE",
        ],
        Provider::Cohere => &["ERROR", "TIMEOUT"],
        Provider::Mistral | Provider::Ollama => &["error"],
        Provider::Bedrock => &["malformed_model_output", "malformed_tool_use"],
        _ => &[],
    }
}

// M1
#[tokio::test]
async fn no_call_runs_after_an_end_that_is_a_failure() {
    for provider in PROVIDERS {
        let [word, _] = words(provider);
        for failure in failures(provider) {
            let body = ending(call(provider), word, failure);
            let outcome = play(provider, (0..9).map(|_| body.answer())).await;
            assert!(
                outcome.ran.is_empty(),
                "{provider} {failure}: {:?}",
                outcome.ran
            );
            let error = outcome.reply.error.expect("fails");
            assert_eq!(
                error.kind,
                ErrorKind::Transient,
                "{provider} {failure}: {error}"
            );
            assert!(
                error.to_string().contains(failure),
                "{provider} {failure}: {error}"
            );
            assert!(
                outcome.requests > 1,
                "{provider} {failure}: another attempt may help"
            );
        }
    }
}

// M1
#[tokio::test]
async fn an_end_with_calls_needs_a_call() {
    for provider in PROVIDERS {
        let [calls, stop] = words(provider);
        if calls == stop {
            continue;
        }
        let (_, calls) = calls.split_once(':').expect("a member");
        let body = ending(text(provider), stop, calls.trim_matches('"'));
        let outcome = play(
            provider,
            [
                body.answer(),
                call(provider).answer(),
                text(provider).answer(),
            ],
        )
        .await;
        assert_eq!(
            (outcome.ran.len(), outcome.requests),
            (1, 3),
            "{provider}: {:?}",
            outcome.reply
        );
    }
}

// M1
#[tokio::test]
async fn a_response_that_failed_runs_no_call() {
    let provider = Provider::OpenAiResponses;
    for status in ["failed", "cancelled", "in_progress", "queued"] {
        let mut body = call(provider);
        let last = body.events.len() - 1;
        body.events[last] = body.events[last]
            .replace("response.completed", &format!("response.{status}"))
            .replace(
                "\"status\":\"completed\",\"output\"",
                &format!("\"status\":\"{status}\",\"output\""),
            );
        let outcome = play(provider, (0..9).map(|_| body.answer())).await;
        assert!(
            outcome.ran.is_empty() && outcome.reply.error.is_some(),
            "{status}: {:?}",
            outcome.reply
        );
    }
}

// M1
#[tokio::test]
async fn a_whole_response_that_has_not_ended_is_no_answer() {
    let provider = Provider::OpenAiResponses;
    for status in ["in_progress", "queued"] {
        let response = json!({"id": "r", "object": "response", "status": status, "output": []});
        let body = Body::whole(provider, &response);
        let outcome = play(provider, (0..9).map(|_| body.answer())).await;
        let error = outcome.reply.error.expect("fails");
        let expected = format!("the provider reports {status}");
        assert!(error.message.contains(&expected), "{status}: {error}");
    }
}

// M1
#[tokio::test]
async fn a_word_of_another_server_ends_an_answer() {
    for provider in PROVIDERS {
        if provider == Provider::OpenAiResponses {
            continue;
        }
        let [word, _] = words(provider);
        for other in ["eos", "end_of_sequence"] {
            let body = ending(call(provider), word, other);
            let outcome = play(provider, [body.answer(), text(provider).answer()]).await;
            assert_eq!(
                outcome.ran.len(),
                1,
                "{provider} {other}: {:?}",
                outcome.reply
            );
        }
    }
}

// M1
#[tokio::test]
async fn no_call_runs_after_an_end_that_withholds_the_answer() {
    for word in ["sensitive", "content_filter"] {
        let provider = Provider::OpenAiChat;
        let [calls, stop] = words(provider);
        let outcome = play(provider, [ending(call(provider), calls, word).answer()]).await;
        assert_eq!(
            (outcome.ran, outcome.reply.finish),
            (vec![], ReplyFinish::Withheld),
            "{word}"
        );
        let outcome = play(provider, [ending(text(provider), stop, word).answer()]).await;
        assert_eq!(outcome.reply.finish, ReplyFinish::Withheld, "{word}");
    }
}
