//! Streams and answers, and what is written.

pub(crate) mod calls;
pub(crate) mod read;
pub(crate) mod write;

use crate::tests::streams::sse;

fn delta(delta: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    )
}

fn end(reason: &str) -> String {
    format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

const USAGE: &str = r#"{"id":"c","choices":[],"usage":{"prompt_tokens":90,"completion_tokens":40,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":64,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":25}}}"#;

/// A stream of deltas that ends as OpenAI's do.
fn stream(deltas: &[&str], reason: &str) -> String {
    let mut events = deltas.iter().map(|text| delta(text)).collect::<Vec<_>>();
    events.extend([end(reason), USAGE.to_owned(), "[DONE]".to_owned()]);
    sse(events.iter().map(String::as_str))
}
