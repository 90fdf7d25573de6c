//! One step of a model runs a call once, whatever ids and repetitions the server sends.

use crate::answers::bodies::{PATH, PIECES, call, calls, text};
use crate::answers::{PROVIDERS, play};
use serde_json::json;
use tool_adapters::Provider;
use tool_core::session::ReplyFinish;

/// Returns true for a piece of arguments in a protocol that neither numbers nor repeats them: a model may write it twice.
fn is_piece(provider: Provider, event: &str) -> bool {
    let has_whole_arguments = matches!(
        provider,
        Provider::OpenAiResponses
            | Provider::Gemini
            | Provider::GeminiJsonSchema
            | Provider::Ollama
            | Provider::Bedrock
    );
    let is_part = PIECES.iter().any(|piece| {
        event.contains(
            serde_json::Value::from(*piece)
                .to_string()
                .trim_matches('"'),
        )
    });
    is_part && !has_whole_arguments
}

// M3
#[tokio::test]
async fn an_event_that_comes_twice_runs_no_second_call() {
    for provider in PROVIDERS {
        let whole = call(provider);
        for at in 0..whole.events.len() {
            if is_piece(provider, &whole.events[at]) {
                continue;
            }
            let mut body = whole.clone();
            let event = body.events[at].clone();
            body.events.insert(at + 1, event);
            let outcome = play(
                provider,
                [
                    body.answer(),
                    text(provider).answer(),
                    text(provider).answer(),
                ],
            )
            .await;
            assert!(
                outcome.ran.len() <= 1,
                "{provider}, event {at}: {:?}",
                outcome.ran
            );
            assert!(
                outcome.ran.iter().all(|path| path == PATH),
                "{provider}, event {at}: {:?}",
                outcome.ran
            );
        }
    }
}

// M3
#[tokio::test]
async fn a_stream_that_comes_twice_runs_each_call_once() {
    for provider in PROVIDERS {
        if provider == Provider::Bedrock {
            continue;
        }
        let whole = call(provider);
        let mut body = whole.clone();
        body.events.extend(whole.events.clone());
        let outcome = play(
            provider,
            [
                body.answer(),
                text(provider).answer(),
                text(provider).answer(),
            ],
        )
        .await;
        assert!(outcome.ran.len() <= 1, "{provider}: {:?}", outcome.ran);
    }
}

// M3
#[tokio::test]
async fn two_calls_with_the_same_arguments_are_two() {
    for provider in PROVIDERS {
        let outcome = play(
            provider,
            [
                calls(provider, &["call_1", "call_2"]).answer(),
                text(provider).answer(),
            ],
        )
        .await;
        assert_eq!(
            outcome.reply.responses.len(),
            2,
            "{provider}: {:?}",
            outcome.reply
        );
    }
}

// M3
#[tokio::test]
async fn an_end_that_lists_the_call_under_another_id_runs_it_once() {
    let provider = Provider::OpenAiResponses;
    for (from, to) in [
        ("\"call_1\"", "\"call_zz\""),
        ("\"fc_call_1\"", "\"fc_zz\""),
    ] {
        for last in [1, 2] {
            let mut body = call(provider);
            let count = body.events.len();
            for event in body.events.iter_mut().skip(count - last) {
                *event = event.replace(from, to);
            }
            let outcome = play(provider, [body.answer(), text(provider).answer()]).await;
            assert_eq!(
                outcome.ran,
                [PATH],
                "{from}, the last {last} events: {:?}",
                outcome.reply
            );
        }
    }
}

// M3
#[tokio::test]
async fn an_end_that_spaces_the_arguments_otherwise_runs_them_once() {
    let provider = Provider::OpenAiResponses;
    let mut body = call(provider);
    let last = body.events.len() - 1;
    let spaced = r#"{ \"path\" :  \"/data/scratch/\" }"#;
    let renamed = body.events[last]
        .replace("\"call_1\"", "\"call_zz\"")
        .replace("\"fc_call_1\"", "\"fc_zz\"");
    body.events[last] = renamed.replace(r#"{\"path\":\"/data/scratch/\"}"#, spaced);
    assert!(body.events[last].contains(spaced));
    let outcome = play(provider, [body.answer(), text(provider).answer()]).await;
    assert_eq!(outcome.ran, [PATH], "{:?}", outcome.reply);
}

// M3
#[tokio::test]
async fn an_end_with_another_call_in_the_place_of_one_is_a_loss() {
    let provider = Provider::OpenAiResponses;
    let mut body = call(provider);
    let last = body.events.len() - 1;
    let renamed = body.events[last]
        .replace("\"call_1\"", "\"call_zz\"")
        .replace("\"fc_call_1\"", "\"fc_zz\"");
    body.events[last] = renamed.replace("/data/scratch/", "/data/other/");
    assert!(body.events[last].contains("/data/other/"));
    let outcome = play(provider, (0..9).map(|_| body.answer())).await;
    assert_eq!(
        (outcome.ran, outcome.reply.finish),
        (vec![], ReplyFinish::Failed)
    );
}

// M3
#[tokio::test]
async fn a_last_message_with_another_call_than_the_pieces_is_a_loss() {
    let provider = Provider::OpenAiChat;
    let mut body = call(provider);
    let function = json!({"name": "delete_path", "arguments": r#"{"path":"/data/other/"}"#});
    let message = json!({"role": "assistant", "tool_calls": [{"id": "b", "type": "function", "function": function}]});
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    let last = body.events.len() - 1;
    body.events[last] =
        json!({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).to_string();
    let outcome = play(provider, (0..9).map(|_| body.answer())).await;
    assert_eq!(
        (outcome.ran, outcome.reply.finish),
        (vec![], ReplyFinish::Failed)
    );
}
