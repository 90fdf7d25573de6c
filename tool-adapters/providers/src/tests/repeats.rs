//! Events that repeat the last one but for their piece are read as by themselves.

use crate::Provider;
use crate::event::{Event, ProtocolError, malformed};
use crate::tests::streams::events;
use proptest::prelude::*;

/// Events of a message. `~` is a piece, `#` a number and `@` an index.
const CHAT: [&str; 9] = [
    r#"{"id":"c","choices":[{"index":0,"delta":{"content":~},"finish_reason":null}],"obfuscation":~}"#,
    r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":@,"function":{"arguments":~}}]}}]}"#,
    r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"function":{"arguments":~}}]}}]}"#,
    r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":@,"id":"i#","function":{"name":"f","arguments":~}}]}}]}"#,
    r#"{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":~,"content":~}}]}"#,
    r#"{"id":"c","choices":[{"index":0,"delta":{"content":~}}],"usage":{"prompt_tokens":#}}"#,
    r#"{"id":"c","choices":[{"index":@,"delta":{"content":~}}]}"#,
    r#"{"id":"c","choices":[{"index":0,"delta":{"content":~},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"x","content":~}}]}"#,
];
const RESPONSES: [&str; 8] = [
    r#"{"type":"response.output_text.delta","item_id":"m@","output_index":@,"delta":~,"sequence_number":#,"obfuscation":~}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":#,"item_id":"i@","output_index":@,"delta":~}"#,
    r#"{"type":"response.function_call_arguments.delta","delta":~}"#,
    r#"{"type":"response.reasoning_text.delta","item_id":"r","output_index":@,"delta":~}"#,
    r#"{"type":"response.refusal.delta","item_id":"m@","delta":~}"#,
    r#"{"type":"response.output_item.added","output_index":@,"item":{"type":"function_call","id":"i@","call_id":"c#","name":"f","arguments":~}}"#,
    r#"{"type":"response.output_item.done","output_index":@,"item":{"type":"message","id":"m@","content":[{"type":"output_text","text":~}]}}"#,
    r#"{"type":"response.completed","response":{"id":"r","output":[{"type":"function_call","id":"i@","call_id":"c#","name":"f","arguments":~}]}}"#,
];
const MESSAGES: [&str; 9] = [
    r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
    r#"{"type":"content_block_start","index":@,"content_block":{"type":"tool_use","id":"c#","name":"f","input":{}}}"#,
    r#"{"type":"content_block_start","index":@,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":@,"delta":{"type":"input_json_delta","partial_json":~}}"#,
    r#"{"type":"content_block_delta","index":@,"delta":{"type":"text_delta","text":~}}"#,
    r#"{"type":"content_block_delta","index":@,"delta":{"type":"thinking_delta","thinking":~}}"#,
    r#"{"type":"content_block_delta","index":@,"delta":{"type":"signature_delta","signature":~}}"#,
    r#"{"type":"content_block_stop","index":@}"#,
    r#"{"type":"message_stop"}"#,
];
const GEMINI: [&str; 6] = [
    r#"{"candidates":[{"content":{"parts":[{"text":~}],"role":"model"}}],"usageMetadata":{"promptTokenCount":#}}"#,
    r#"{"candidates": [{"content": {"parts": [{"text": ~}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":~,"thought":true}]}}],"usageMetadata":~}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":~},{"text":~}]},"index":@}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":~}}}]}}],"responseId":"r"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":~}]},"finishReason":"STOP"}]}"#,
];

/// The JSON of a piece: mostly a text, with every kind of escape and half characters.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\"[a-z{} ä]{0,12}\"",
        4 => any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
        3 => r#""([a-z]{0,9}\\(["\\/bfnrt]|u00e4|ud83d\\ude00)){0,4}""#,
        1 => r#""[a-z]{0,3}\\ud83d""#,
        1 => Just("\"\\x\"".to_owned()),
        1 => r#"null|true|-?[0-9]{1,3}(\.5)?|\[\]|\{"a":1\}|\{"promptTokenCount":[0-9]\}"#,
    ]
}

/// Runs of events, each with pieces, a number and an index that is mostly the same.
fn stream(templates: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let event = (
        prop::collection::vec(piece(), 2),
        0..4_u32,
        prop_oneof![9 => Just(0), 1 => 0..3_u32],
    );
    let run = (0..templates.len(), prop::collection::vec(event, 1..5));
    prop::collection::vec(run, 1..8).prop_map(move |runs| {
        let fill = |at: usize, (pieces, number, index): (Vec<String>, u32, u32)| {
            let numbered = templates[at]
                .replace('#', &number.to_string())
                .replace('@', &index.to_string());
            let mut pieces = pieces.into_iter();
            let parts = numbered.split('~').map(str::to_owned);
            parts
                .reduce(|text, part| text + &pieces.next().unwrap_or_default() + &part)
                .unwrap_or_default()
        };
        runs.into_iter()
            .flat_map(|(at, events)| events.into_iter().map(move |event| fill(at, event)))
            .collect()
    })
}

/// Returns the events of a message. Where an error says how the text was written, only the error itself.
fn read(provider: Provider, lines: impl Iterator<Item = String>) -> Vec<Event> {
    let stream = lines.fold(String::new(), |stream, line| {
        stream + "data: " + &line + "\n\n"
    });
    let mut events = events(provider, [stream.as_bytes()]);
    for event in &mut events {
        if let Event::Error(ProtocolError::Malformed { .. }) = event {
            *event = Event::Error(malformed("", ""));
        }
    }
    events
}

fn check(provider: Provider, lines: &[String]) {
    // Every second event is written otherwise, so that none repeats the one before.
    let apart = lines
        .iter()
        .enumerate()
        .map(|(at, line)| match line.strip_prefix('{') {
            Some(rest) if at % 2 == 1 => format!("{{ {rest}"),
            _ => line.clone(),
        });
    assert_eq!(read(provider, lines.iter().cloned()), read(provider, apart));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn repeated_chunks_of_chat_are_read_as_others(lines in stream(&CHAT)) {
        check(Provider::OpenAiChat, &lines);
    }

    #[test]
    fn repeated_events_of_responses_are_read_as_others(lines in stream(&RESPONSES)) {
        check(Provider::OpenAiResponses, &lines);
    }

    #[test]
    fn repeated_events_of_messages_are_read_as_others(lines in stream(&MESSAGES)) {
        check(Provider::Anthropic, &lines);
    }

    #[test]
    fn repeated_chunks_of_gemini_are_read_as_others(lines in stream(&GEMINI)) {
        check(Provider::Gemini, &lines);
    }
}
