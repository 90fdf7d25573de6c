//! Streams of providers, pushed whole.

use crate::Shape;
use crate::texts::repeat;
use std::hint::black_box;
use tool_adapters::{Provider, protocol};

/// The stream of server-sent events with a beginning and many parts.
fn stream(begin: &str, parts: usize, part: &str) -> Vec<u8> {
    let events = [begin.to_owned(), repeat(parts, part, "\n")];
    let lines = events
        .iter()
        .flat_map(|events| events.lines())
        .filter(|line| !line.is_empty());
    lines
        .flat_map(|line| ["data: ", line, "\n\n"])
        .collect::<String>()
        .into_bytes()
}

#[allow(clippy::too_many_lines)] // It is a table.
pub(crate) fn shapes() -> Vec<Shape> {
    let chat =
        |call: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#);
    let chat_begin =
        chat(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":\""}}"#);
    let cases = [
        (
            Provider::Anthropic,
            "open blocks",
            String::new(),
            r#"{"type":"content_block_start","index":~,"content_block":{"type":"tool_use","id":"c~","name":"f","input":{}}}
{"type":"content_block_delta","index":~,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#
                .to_owned(),
        ),
        (
            Provider::Anthropic,
            "blocks of one index",
            String::new(),
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c~","name":"f","input":{}}}
{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#
                .to_owned(),
        ),
        (
            Provider::Anthropic,
            "closed blocks",
            String::new(),
            r#"{"type":"content_block_start","index":~,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}
{"type":"content_block_stop","index":~}"#
                .to_owned(),
        ),
        (
            Provider::Anthropic,
            "counts of tokens",
            String::new(),
            r#"{"type":"message_delta","usage":{"tokens_~":1}}"#.to_owned(),
        ),
        (
            Provider::Anthropic,
            "citations",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"a":~}}}"#.to_owned(),
        ),
        (
            Provider::Anthropic,
            "summaries",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"compaction"}}"#.to_owned(),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","m~":"x"}}"#.to_owned(),
        ),
        (
            Provider::Bedrock,
            "open blocks",
            String::new(),
            r#"{"contentBlockStart":{"contentBlockIndex":~,"start":{"toolUse":{"toolUseId":"c~","name":"f"}}}}
{"contentBlockDelta":{"contentBlockIndex":~,"delta":{"toolUse":{"input":"{}"}}}}"#
                .to_owned(),
        ),
        (
            Provider::Bedrock,
            "citations",
            String::new(),
            r#"{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"x","citation":{"a":~}}}}"#.to_owned(),
        ),
        (
            Provider::OpenAiChat,
            "objects in a text",
            chat_begin.clone(),
            chat(r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#),
        ),
        (
            Provider::OpenAiChat,
            "repeated chunks",
            String::new(),
            r#"{"choices":[{"index":0,"delta":{"content":"x~"}}]}"#.to_owned(),
        ),
        (
            Provider::OpenAiChat,
            "calls of one index",
            String::new(),
            chat(r#"{"index":0,"id":"c~","function":{"name":"f","arguments":"{}"}}"#),
        ),
        (
            Provider::OpenAiChat,
            "open calls",
            String::new(),
            chat(r#"{"index":~,"id":"c~","function":{"name":"f","arguments":"{\"a\":"}}"#),
        ),
        (
            Provider::OpenAiChat,
            "calls in pieces",
            String::new(),
            [
                chat(r#"{"index":~,"id":"c~","function":{"name":"f","arguments":"{\"a\":"}}"#),
                chat(r#"{"index":~,"function":{"arguments":"1}"}}"#),
            ]
            .join("\n"),
        ),
        (
            Provider::OpenAiChat,
            "names in pieces",
            String::new(),
            chat(r#"{"index":0,"function":{"name":"x~"}}"#),
        ),
        (
            Provider::OpenAiChat,
            "ends",
            chat(r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#),
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned(),
        ),
        (Provider::OpenAiChat, "one id", String::new(), chat(r#"{"index":~,"id":"c","function":{"name":"f","arguments":"{}"}}"#)),
        (
            Provider::OpenAiResponses,
            "open items",
            String::new(),
            r#"{"type":"response.output_item.added","output_index":~,"item":{"type":"function_call","id":"i~","call_id":"c~","name":"f"}}
{"type":"response.function_call_arguments.delta","item_id":"i~","delta":"{}"}"#
                .to_owned(),
        ),
        (
            Provider::OpenAiResponses,
            "items of one index",
            String::new(),
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i~","call_id":"c~","name":"f"}}
{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i~","call_id":"c~","name":"f","arguments":"{}"}}"#
                .to_owned(),
        ),
        (
            Provider::OpenAiRealtime,
            "lost items",
            String::new(),
            r#"{"type":"response.function_call_arguments.delta","call_id":"c~","delta":"{}"}"#.to_owned(),
        ),
        (
            Provider::Cohere,
            "open calls",
            String::new(),
            r#"{"type":"tool-call-start","index":~,"delta":{"message":{"tool_calls":{"id":"c~","function":{"name":"f","arguments":"{"}}}}}
{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"think"}}}"#
                .to_owned(),
        ),
        (
            Provider::Ollama,
            "calls",
            String::new(),
            r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}"#.to_owned(),
        ),
        (
            Provider::Gemini,
            "calls",
            String::new(),
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#.to_owned(),
        ),
        (
            Provider::GeminiLive,
            "cancelled calls",
            String::new(),
            r#"{"toolCall":{"functionCalls":[{"id":"c","name":"f","args":{}}]}}
{"toolCallCancellation":{"ids":["c","d~"]}}"#
                .to_owned(),
        ),
        (
            Provider::Mcp,
            "cancelled requests",
            String::new(),
            r#"{"jsonrpc":"2.0","id":~,"method":"tools/call","params":{"name":"f","arguments":{}}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x~"}}"#
                .to_owned(),
        ),
        (Provider::Mistral, "unknown events", String::new(), r#"{"a~":1}"#.to_owned()),
    ];
    let shapes = cases.map(|(provider, what, begin, part)| {
        Shape::new(format!("streams: {provider}, {what}"), move |parts| {
            let bytes = stream(&begin, parts * 6, &part);
            Box::new(move || {
                let mut protocol = protocol(provider);
                black_box(protocol.push(&bytes));
                black_box(protocol.finish());
            })
        })
    });
    let mut all = Vec::from(shapes);
    for (what, begin, part, end) in [
        ("JSON values", "", "{\"a\":1}", ""),
        ("JSON values and a brace", "", "{\"a\":1}\n", "{}"),
        ("open JSON values", "", "{\"a\":[1 ", "}"),
        ("open texts", "", "{\"a\":\"x\n", "}"),
        ("brackets", "[", "[", ""),
        ("white space", "{}", " \n", ""),
        ("lines without a blank line", "", "data: {\"a\":1}\n", ""),
        ("data in pieces", "", "data: [\n", "\n"),
        ("names", "", "event: x\n", "\n"),
        ("broken fields", "", "date {\n", "\n"),
        ("carriage returns", "", "\r", "\n"),
    ] {
        for bytes in [usize::MAX, 1] {
            let how = if bytes == 1 {
                "byte by byte"
            } else {
                "at once"
            };
            all.push(Shape::new(
                format!("framing: {what}, {how}"),
                move |parts| {
                    let text = format!("{begin}{}{end}", repeat(parts * 8, part, ""));
                    Box::new(move || {
                        let mut protocol = protocol(Provider::OpenAiChat);
                        for piece in text.as_bytes().chunks(bytes) {
                            black_box(protocol.push(piece));
                        }
                        black_box(protocol.finish());
                    })
                },
            ));
        }
    }
    all
}
