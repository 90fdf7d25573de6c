//! The memory of large events, beside their size.

use crate::counting;
use std::hint::black_box;
use tool_adapters::Provider::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
use tool_adapters::protocol;

/// Most bytes that an event may take besides twice its own.
const MOST: i64 = 64 << 20;

/// Prints the memory of each event, and returns the number of those that take too much.
pub(crate) fn check() -> usize {
    let size = 14 << 20;
    let many = |begin: &str, part: &str, end: &str| {
        format!(
            "data: {begin}{}{end}\n\n",
            part.repeat(size / part.len()).trim_end_matches(',')
        )
    };
    let cases = [
        (
            Anthropic,
            "unknown arrays",
            many(r#"{"type":"unknown","a":["#, "[],", "]}"),
        ),
        (
            OpenAiResponses,
            "unknown objects",
            many(r#"{"type":"unknown","a":["#, "{\"\":0},", "]}"),
        ),
        (
            OpenAiResponses,
            "unknown numbers",
            many(r#"{"type":"unknown","a":["#, "0,", "]}"),
        ),
        (
            Anthropic,
            "an unknown text",
            many(r#"{"type":"unknown","a":""#, "[{,", "\"}"),
        ),
        (OpenAiChat, "choices", many(r#"{"choices":["#, "{},", "]}")),
        (
            OpenAiChat,
            "calls",
            many(r#"{"choices":[{"delta":{"tool_calls":["#, "{},", "]}}]}"),
        ),
        (
            OpenAiResponses,
            "items",
            many(
                r#"{"type":"response.output_item.done","item":{"id":"a","content":["#,
                "[],",
                "]}}",
            ),
        ),
        (
            Anthropic,
            "content",
            many(r#"{"type":"message","content":["#, "{},", "]}"),
        ),
        (
            Gemini,
            "parts",
            many(r#"{"candidates":[{"content":{"parts":["#, "{},", "]}}]}"),
        ),
    ];
    let mut missed = 0;
    for (provider, what, event) in cases {
        let ((), taken) = counting::peak(|| {
            let mut protocol = protocol(provider);
            black_box(protocol.push(event.as_bytes()));
            black_box(protocol.finish());
        });
        let bound = MOST + 2 * i64::try_from(event.len()).unwrap_or(i64::MAX);
        let verdict = if taken > bound { "MISSED" } else { "ok" };
        missed += usize::from(taken > bound);
        println!(
            "{:60} {:8} MiB       {verdict}",
            format!("memory: {provider}, {what}"),
            taken >> 20
        );
    }
    missed
}
