//! A stream that lost something is not an answer.

use crate::answers::bodies::{Body, PATH, PIECES, TEXT, call, chat_chunk, text};
use crate::answers::{Outcome, PROVIDERS, play};
use crate::server::Answer;
use serde_json::json;
use tool_adapters::Provider;
use tool_core::ErrorKind;
use tool_core::call::ErrorBody;
use tool_core::session::ReplyFinish;

/// The ways in which an event is damaged.
fn damages(provider: Provider, event: &str) -> Vec<String> {
    let cut = event.len() / 2;
    let cut = (0..=cut)
        .rev()
        .find(|at| event.is_char_boundary(*at))
        .unwrap_or_default();
    let mut damages = vec![
        event.replacen('{', r#"{"score":NaN,"#, 1),
        event[..cut].to_owned(),
        event.replacen(':', ";", 1),
        "\"a text\"".to_owned(),
        "42".to_owned(),
        "[[]]".to_owned(),
        "upstream connect error or disconnect/reset before headers".to_owned(),
    ];
    // JSON values one after another are events one after another where nothing else is around an event.
    if !matches!(provider, Provider::Ollama | Provider::Bedrock) {
        damages.extend([format!("{event}{event}"), format!("{event} {{}}")]);
    }
    damages
}

/// The events of a body that bring a part of the answer.
fn parts(body: &Body) -> Vec<usize> {
    let is_part = |event: &String| {
        PIECES.iter().chain(&TEXT).chain(&[PATH]).any(|piece| {
            let quoted = serde_json::Value::from(*piece).to_string();
            event.contains(quoted.trim_matches('"'))
        })
    };
    (0..body.events.len())
        .filter(|at| is_part(&body.events[*at]))
        .collect()
}

fn failed_honestly(outcome: &Outcome) -> bool {
    let error = outcome.reply.error.as_ref();
    // A body of which nothing has the provider's form is that of another server.
    let is_honest = |error: &ErrorBody| {
        error.kind == ErrorKind::Transient
            || error
                .message
                .starts_with("expected an answer in the form of bedrock")
    };
    outcome.reply.finish == ReplyFinish::Failed && error.is_some_and(is_honest)
}

// M1
#[tokio::test]
async fn no_call_runs_with_a_part_that_cannot_be_read() {
    for provider in PROVIDERS {
        let whole = call(provider);
        for at in parts(&whole) {
            for damaged in damages(provider, &whole.events[at]) {
                let body = whole.clone().with_event(at, &damaged);
                let outcome = play(provider, (0..9).map(|_| body.answer())).await;
                assert!(
                    outcome.ran.is_empty(),
                    "{provider}, event {at}: {damaged} ran {:?}",
                    outcome.ran
                );
                assert!(
                    failed_honestly(&outcome),
                    "{provider}, event {at}: {damaged}: {:?}",
                    outcome.reply
                );
            }
        }
    }
}

// M1
#[tokio::test]
async fn no_text_counts_with_a_part_that_cannot_be_read() {
    for provider in PROVIDERS {
        let whole = text(provider);
        for at in parts(&whole) {
            for damaged in damages(provider, &whole.events[at]) {
                let body = whole.clone().with_event(at, &damaged);
                let outcome = play(provider, (0..9).map(|_| body.answer())).await;
                assert!(
                    failed_honestly(&outcome),
                    "{provider}, event {at}: {damaged}: {:?}",
                    outcome.reply
                );
                assert_eq!(
                    outcome.reply.text, None,
                    "{provider}, event {at}: {damaged}"
                );
            }
        }
    }
}

// M1
#[tokio::test]
async fn a_damaged_answer_is_asked_for_again() {
    for provider in PROVIDERS {
        let whole = call(provider);
        let at = parts(&whole)[0];
        let damaged = whole
            .clone()
            .with_event(at, &damages(provider, &whole.events[at])[0]);
        let outcome = play(
            provider,
            [damaged.answer(), whole.answer(), text(provider).answer()],
        )
        .await;
        assert_eq!(outcome.ran, [PATH], "{provider}: {:?}", outcome.reply);
        assert_eq!(
            outcome.reply.text.as_deref(),
            Some(&*TEXT.concat()),
            "{provider}"
        );
        assert_eq!(outcome.requests, 3, "{provider}");
    }
}

// M1
#[tokio::test]
async fn the_error_says_what_was_lost_and_where() {
    for provider in PROVIDERS {
        let whole = call(provider);
        let at = parts(&whole)[0];
        let body = whole
            .clone()
            .with_event(at, &damages(provider, &whole.events[at])[0]);
        let outcome = play(provider, (0..9).map(|_| body.answer())).await;
        let error = outcome.reply.error.expect("fails").to_string();
        let place = format!("event {} of the answer", at + 1);
        assert!(
            error.contains(&place) && error.contains("score"),
            "{provider}: {error}"
        );
    }
}

// M1
#[tokio::test]
async fn an_answer_that_ends_early_is_not_one() {
    for provider in PROVIDERS {
        for whole in [call(provider), text(provider)] {
            // Without its last event, and without any event after the first.
            for kept in [1, whole.events.len() - 1] {
                if kept >= whole.events.len() || kept == 0 {
                    continue;
                }
                let mut body = whole.clone();
                body.events.truncate(kept);
                let bytes = body.bytes();
                let unmarked = String::from_utf8(bytes.clone())
                    .expect("a text")
                    .replace("data: [DONE]\n\n", "");
                // Messages names its reason for the end before its last event.
                let is_over = provider == Provider::Anthropic && kept + 1 == whole.events.len();
                // A gateway may mark the end of a stream that broke off behind it.
                for bytes in [unmarked.into_bytes(), bytes] {
                    let outcome =
                        play(provider, (0..9).map(|_| body.answer().bytes(bytes.clone()))).await;
                    assert!(
                        is_over || failed_honestly(&outcome),
                        "{provider}, {kept} events: {:?}",
                        outcome.reply
                    );
                    assert!(
                        is_over || outcome.ran.is_empty(),
                        "{provider}, {kept} events: {:?}",
                        outcome.ran
                    );
                }
            }
        }
    }
}

// M1
#[tokio::test]
async fn the_last_event_needs_no_blank_line() {
    for provider in PROVIDERS {
        let bytes = call(provider).bytes();
        let end = bytes
            .iter()
            .rposition(|byte| *byte != b'\n')
            .map_or(0, |at| at + 1);
        let first = call(provider).answer().bytes(bytes[..end].to_vec());
        let outcome = play(provider, [first, text(provider).answer()]).await;
        assert_eq!(outcome.ran, [PATH], "{provider}: {:?}", outcome.reply);
    }
}

// M1
#[tokio::test]
async fn what_a_listener_has_seen_is_not_asked_for_again() {
    use crate::server::Server;
    use crate::support::quick;
    use tool_adapters::agent::AgentLoop;
    use tool_adapters::transport::http::HttpModel;

    let whole = call(Provider::OpenAiChat);
    let at = parts(&whole)[1];
    let body = whole.clone().with_event(at, "{\"choices\": oops");
    let server = Server::start([body.answer(), whole.answer()]).await;
    let (session, deleted) = crate::answers::session().await;
    let model = HttpModel::new(Provider::OpenAiChat, "m")
        .base_url(&server.url)
        .api_key("k")
        .retry(quick());
    let reply = AgentLoop::new(session, model.on_event(|_| {}))
        .prompt("Clean up")
        .await;
    assert_eq!(
        reply.error.map(|error| error.kind),
        Some(ErrorKind::Transient)
    );
    assert_eq!(
        (
            deleted.0.lock().expect("not poisoned").len(),
            server.requests().len()
        ),
        (0, 1)
    );
}

// M1
#[tokio::test]
async fn a_connection_that_breaks_after_a_reason_for_the_end_is_a_loss() {
    let gemini = |text: &str| {
        let candidate = json!({"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"});
        format!(
            "data: {}\n\n",
            json!({"candidates": [candidate], "responseId": "r", "modelVersion": "m"})
        )
    };
    let chat = |at: usize, id: &str| {
        let function = json!({"name": "delete_path", "arguments": PIECES.concat()});
        let entry = json!({"index": at, "id": id, "type": "function", "function": function});
        format!(
            "data: {}\n\n",
            chat_chunk(&json!({"tool_calls": [entry]}), Some("tool_calls"))
        )
    };
    let bodies = [
        (Provider::Gemini, gemini("The folder is"), gemini(" empty.")),
        (Provider::OpenAiChat, chat(0, "call_1"), chat(1, "call_2")),
    ];
    for (provider, first, second) in bodies {
        let events = Answer::new(200, &[("content-type", "text/event-stream")], "");
        let broken = events
            .clone()
            .bytes((first.clone() + &second[..20]).into_bytes())
            .breaks();
        let outcome = play(provider, (0..9).map(|_| broken.clone())).await;
        assert!(
            failed_honestly(&outcome) && outcome.ran.is_empty(),
            "{provider}: {:?}",
            outcome.reply
        );
    }
}

// M1
#[tokio::test]
async fn a_damaged_field_of_an_event_is_a_loss() {
    for provider in PROVIDERS {
        let whole = call(provider);
        let bytes = String::from_utf8(whole.bytes()).expect("a text");
        for (at, _) in bytes.match_indices("data: {") {
            let mut damaged = bytes.clone();
            damaged.replace_range(at + 1..at + 2, "b");
            let outcome = play(
                provider,
                (0..9).map(|_| whole.answer().bytes(damaged.clone().into_bytes())),
            )
            .await;
            assert!(
                failed_honestly(&outcome) && outcome.ran.is_empty(),
                "{provider} at {at}: {:?}",
                outcome.reply
            );
        }
    }
}

// M1
#[tokio::test]
async fn a_piece_of_another_form_is_a_loss() {
    let provider = Provider::OpenAiChat;
    let whole = call(provider);
    let at = parts(&whole)[1];
    let function = json!({"arguments": "scratch/"});
    for choice in [
        json!({"index": 0, "delta": "scratch/"}),
        json!({"index": 0, "delta": [{"content": "scratch/"}]}),
        json!({"index": 0, "delta": {"tool_calls": [{"index": 0, "function": "scratch/"}]}}),
        json!({"index": 0, "delta": {"tool_calls": [{"index": {}, "function": function}]}}),
        json!({"index": 0, "delta": {"tool_calls": ["scratch/"]}}),
    ] {
        let event =
            json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).to_string();
        let body = whole.clone().with_event(at, &event);
        let outcome = play(provider, (0..9).map(|_| body.answer())).await;
        assert!(
            failed_honestly(&outcome) && outcome.ran.is_empty(),
            "{event}: {:?}",
            outcome.reply
        );
    }
}

// M2
#[tokio::test]
async fn a_piece_of_a_call_that_never_began_is_a_loss() {
    let provider = Provider::OpenAiChat;
    let piece = |id: &str, arguments: &str| {
        chat_chunk(
            &json!({"tool_calls": [{"id": id, "function": {"arguments": arguments}}]}),
            None,
        )
    };
    let begin = json!({"id": "a", "type": "function", "function": {"name": "delete_path", "arguments": ""}});
    let events = [
        chat_chunk(&json!({"tool_calls": [begin]}), None),
        piece("a", r#"{"path":"/data/"#),
        piece("b", r#"scratch/"}"#),
        chat_chunk(&json!({}), Some("tool_calls")),
    ];
    let body = events.map(|event| format!("data: {event}\n\n")).concat() + "data: [DONE]\n\n";
    let answer = || {
        Answer::new(200, &[("content-type", "text/event-stream")], "")
            .bytes(body.clone().into_bytes())
    };
    let outcome = play(provider, (0..9).map(|_| answer())).await;
    assert!(
        failed_honestly(&outcome) && outcome.ran.is_empty(),
        "{:?}",
        outcome.reply
    );
}
