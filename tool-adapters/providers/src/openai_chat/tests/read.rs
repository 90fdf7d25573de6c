//! Chat Completions read: whole, streamed, cut, broken.

use crate::Provider::OpenAiChat;
use crate::event::{Event, Finish, ProtocolError};
use crate::openai_chat::tests::{delta, end, stream};
use crate::tests::fixtures::items as items_of;
use crate::tests::streams::{calls, events, read, sse, summary};
use expect_test::expect;
use serde_json::{Value, json};

#[test]
fn a_stream_of_text_and_parallel_calls_is_read() {
    let stream = stream(
        &[
            r#"{"role":"assistant","content":"","refusal":null}"#,
            r#"{"content":"Let me "}"#,
            r#"{"content":"sehen: ä €"}"#,
            r#"{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"add","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\": 1, "}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"greet","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"b\": 2e400}"}},{"index":1,"function":{"arguments":"{\"name\""}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"arguments":": \"Zoë\""}},{"index":1,"function":{"arguments":"}"}}]}"#,
        ],
        "tool_calls",
    );
    expect![[r#"
        response: Some("c") None
        text: Let me sehen: ä €
        usage: 90 64 0 40 25
        call: call_a add {"a": 1, "b": 2e400}
        call: call_b greet {"name": "Zoë"}
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, &stream));
}

#[test]
fn a_whole_answer_is_read() {
    let answer = r#"{
      "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
      "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "refusal": null, "annotations": [],
        "tool_calls": [
          {"id": "call_a", "type": "function", "function": {"name": "add", "arguments": "{\"a\":18446744073709551616}"}},
          {"id": "call_b", "type": "function", "function": {"name": "now", "arguments": ""}},
          {"id": "call_c", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}]},
        "logprobs": null, "finish_reason": "tool_calls"}],
      "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, "service_tier": "default"
    }"#;
    expect![[r#"
        response: Some("chatcmpl-1") Some("m")
        usage: 10 0 0 5 0
        item: {"role":"assistant","annotations":[],"tool_calls":[{"id":"call_a","type":"function","function":{"name":"add","arguments":""}},{"id":"call_b","type":"function","function":{"name":"now","arguments":""}},{"id":"call_c","type":"custom","custom":{"name":"shell","input":""}}]}
        call: call_a add {"a":18446744073709551616}
        call: call_b now 
        call: call_c shell ls -l
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, answer));
}

#[test]
fn a_streamed_call_of_a_custom_tool_keeps_its_kind() {
    let stream = stream(
        &[
            r#"{"tool_calls":[{"index":0,"id":"call_c","type":"custom","custom":{"name":"shell","input":"ls"}}]}"#,
            r#"{"tool_calls":[{"index":0,"custom":{"input":" -l"}}]}"#,
        ],
        "tool_calls",
    );
    let item = events(OpenAiChat, [stream.as_bytes()])
        .into_iter()
        .find_map(|event| match event {
            Event::Item(item) => Some(item),
            _ => None,
        });
    let call = &item.expect("an item, which goes back")["tool_calls"][0];
    assert_eq!(call["type"], "custom", "{call}");
    assert_eq!(call["custom"]["name"], "shell", "{call}");
}

#[test]
fn a_refusal_and_thoughts_are_told() {
    let stream = stream(
        &[
            r#"{"reasoning_content":"Hm"}"#,
            r#"{"reasoning":"m."}"#,
            r#"{"refusal":"I can't."}"#,
        ],
        "stop",
    );
    expect![[r#"
        response: Some("c") None
        reasoning: Hmm.
        text: I can't.
        usage: 90 64 0 40 25
        item: {"role":"assistant","reasoning_content":"Hm","reasoning":"m."}
        finished: Refused"#]]
    .assert_eq(&read(OpenAiChat, &stream));
}

#[test]
fn why_it_ended_is_told() {
    let of = |reason| {
        let events = events(
            OpenAiChat,
            [stream(&[r#"{"content":"a"}"#], reason).as_bytes()],
        );
        events.into_iter().find_map(|event| {
            if let Event::Finished(finish) = event {
                Some(finish)
            } else {
                None
            }
        })
    };
    assert_eq!(of("stop"), Some(Finish::Stop));
    assert_eq!(of("length"), Some(Finish::Length));
    assert_eq!(of("content_filter"), Some(Finish::Filtered));
    assert_eq!(of("eos"), Some(Finish::Other("eos".into())));
    assert_eq!(of("insufficient_system_resource"), None, "it is an error");
}

// M1
#[test]
fn comments_and_pings_are_passed_over() {
    let stream = ": OPENROUTER PROCESSING\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n".to_owned()
        + &stream(&[r#"{"content":"a"}"#], "stop");
    expect![[r#"
        unknown: {"type":"ping"}
        response: Some("c") None
        text: a
        usage: 90 64 0 40 25
        finished: Stop"#]]
    .assert_eq(&read(OpenAiChat, &stream));
}

// M1
#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let stream = "data: {\"choices\":oops}\n\ndata: 7\n\n".to_owned()
        + &stream(
            &[
                r#"{"content":5}"#,
                r#"{"content":["a"],"tool_calls":"none"}"#,
            ],
            "stop",
        );
    let told = summary(&events(OpenAiChat, [stream.as_bytes()]));
    let lines = told
        .lines()
        .map(|line| line.split(": {").next().unwrap_or_default())
        .collect::<Vec<_>>();
    assert_eq!(
        lines,
        [
            "error: event 1 of the answer: expected JSON in the provider's form",
            "error: event 2 of the answer: expected an object: 7",
            "response: Some(\"c\") None",
            "error: event 3 of the answer: expected a text or parts as `content`",
            "text: a",
            "error: event 4 of the answer: expected objects in `tool_calls`",
            "usage: 90 64 0 40 25",
        ]
    );
}

#[test]
fn errors_of_the_provider_are_told() {
    for (stream, expected) in [
        (
            r#"{"error":{"message":"Rate limit","type":"requests","code":"rate_limit_exceeded","param":null}}"#,
            "rate_limit_exceeded: Rate limit",
        ),
        (r#"{"error":"no such model"}"#, ": no such model"),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            "400: bad",
        ),
        (
            "event: error\ndata: {\"message\":\"overloaded\"}\n\n",
            ": overloaded",
        ),
        (r#"{"detail":[{"msg":"x"}]}"#, r#": [{"msg":"x"}]"#),
    ] {
        let events = events(OpenAiChat, [stream.as_bytes()]);
        let [Event::Error(ProtocolError::Provider { code, message, .. })] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(
            format!("{}: {message}", code.as_deref().unwrap_or_default()),
            expected
        );
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_leaves_no_call() {
    let call = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}"#;
    let error = r#"{"error":{"code":502,"message":"gone"},"choices":[{"delta":{},"finish_reason":"error"}]}"#;
    expect![[r#"
        response: Some("c") None
        error: the provider reports 502: gone"#]]
    .assert_eq(&read(OpenAiChat, &sse([delta(call).as_str(), error])));
}

// M2
#[test]
fn a_character_that_was_cut_in_two_is_joined() {
    let pieces = [r#"{"content":"a\ud83d"}"#, r#"{"content":"\ude00"}"#];
    let call = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":\"\ud83d"}}]}"#;
    let rest = r#"{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}"#;
    let stream = stream(&[pieces[0], pieces[1], call, rest], "tool_calls");
    expect![[r#"
        response: Some("c") None
        text: a😀
        usage: 90 64 0 40 25
        call: x f {"a":"😀"}
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, &stream));
}

// M2
#[test]
fn half_a_character_without_its_other_half_is_a_loss() {
    for deltas in [
        vec![r#"{"content":"\ud83d"}"#, r#"{"content":"a"}"#],
        vec![r#"{"content":"a\ud83d"}"#],
        vec![
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":\"\ud83d\"}"}}]}"#,
        ],
    ] {
        let events = events(OpenAiChat, [stream(&deltas, "stop").as_bytes()]);
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Finished(_))),
            "{}",
            summary(&events)
        );
        assert!(
            !summary(&events).contains('\u{FFFD}'),
            "{}",
            summary(&events)
        );
    }
}

// M2
#[test]
fn the_bytes_of_a_character_may_be_in_two_events() {
    let stream = stream(&[r#"{"content":"<"}"#, r#"{"content":">"}"#], "stop");
    let first = stream.find('<').expect("the first piece");
    let second = stream.find('>').expect("the second piece");
    let smile = "😀".as_bytes();
    let bytes = [
        &stream.as_bytes()[..first],
        &smile[..2],
        &stream.as_bytes()[first + 1..second],
        &smile[2..],
        &stream.as_bytes()[second + 1..],
    ];
    let events = events(OpenAiChat, [bytes.concat().as_slice()]);
    assert!(
        summary(&events).contains("text: 😀") && !summary(&events).contains("error"),
        "{}",
        summary(&events)
    );
}

// M1
#[test]
fn an_event_that_cannot_be_read_leaves_nothing_that_runs() {
    let begins = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"delete_path","arguments":"{\"path\":\"/data/"}}]}"#;
    let ends = r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}"#;
    let piece = delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"scratch/"}}]}"#);
    for broken in [
        piece.replace("null", "NaN"),
        format!("{piece}{piece}"),
        format!("{piece},"),
        piece[..piece.len() - 1].to_owned(),
        "\"text\"".to_owned(),
        "7".to_owned(),
        "[]".to_owned(),
        r#"{"id":"c","object":"chat.completion.chunk"}"#.to_owned(),
        piece.replace("\"delta\"", "\"delt\""),
        piece.replace(
            "[{\"index\":0,\"function\"",
            "[[],{\"index\":0,\"function\"",
        ),
    ] {
        let stream = sse([
            &*delta(begins),
            &*broken,
            &*delta(ends),
            &*end("tool_calls"),
            "[DONE]",
        ]);
        let events = events(OpenAiChat, [stream.as_bytes()]);
        assert!(calls(&events).is_empty(), "{broken}: {}", summary(&events));
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Finished(_))),
            "{broken}: {}",
            summary(&events)
        );
        assert!(
            summary(&events).contains("event 2 of the answer"),
            "{broken}: {}",
            summary(&events)
        );
    }
}

// M4
#[test]
fn annotations_of_a_stream_are_those_of_the_whole() {
    let citation = |url: &str| json!({"type": "url_citation", "url_citation": {"url": url}});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let both = |form: fn(&str) -> Value| [form("https://a.example"), form("https://b.example")];
    for (member, items) in [("annotations", both(citation)), ("images", both(image))] {
        let pieces = items
            .each_ref()
            .map(|item| json!({member: [item]}).to_string());
        let streamed = stream(&pieces.each_ref().map(String::as_str), "stop");
        let message = json!({"role": "assistant", "content": null, member: items});
        let whole = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let items_of = |answer: &str| items_of(&events(OpenAiChat, [answer.as_bytes()]));
        assert_eq!(
            items_of(&streamed),
            items_of(&whole.to_string()),
            "{member}"
        );
    }
}

/// Returns the items of a stream of text and reasoning, which a whole message follows.
fn items_before_whole(delta_of_message: &str, whole: &Value) -> Vec<Value> {
    let whole =
        json!({"id": "c", "choices": [{"index": 0, "message": whole, "finish_reason": "stop"}]});
    let stream = sse([&*delta(delta_of_message), &*whole.to_string(), "[DONE]"]);
    items_of(&events(OpenAiChat, [stream.as_bytes()]))
}

// P4
#[test]
fn a_member_of_the_final_message_alone_is_kept() {
    let annotations =
        json!([{"type": "url_citation", "url_citation": {"url": "https://a.example"}}]);
    let whole = json!({"role": "assistant", "content": "Hi", "annotations": annotations});
    let items = items_before_whole(r#"{"content":"Hi"}"#, &whole);
    assert_eq!(
        items,
        [json!({"role": "assistant", "annotations": annotations})]
    );
}

// P4
#[test]
fn an_empty_piece_does_not_hide_the_final_member() {
    let details = json!([{"type": "reasoning.text", "index": 0, "text": "Hm."}]);
    let whole = json!({"role": "assistant", "content": "Hi", "reasoning_details": details});
    for empty in ["[]", "{}", r#""""#] {
        let delta = format!(r#"{{"content":"Hi","reasoning_details":{empty}}}"#);
        let items = items_before_whole(&delta, &whole);
        assert_eq!(items[0]["reasoning_details"], details, "{empty}");
    }
}

// P4
#[test]
fn reasoning_of_the_final_message_alone_is_kept() {
    let whole = json!({"role": "assistant", "content": "Hi", "reasoning_content": "Hm."});
    let items = items_before_whole(r#"{"content":"Hi"}"#, &whole);
    assert_eq!(
        items,
        [json!({"role": "assistant", "reasoning_content": "Hm."})]
    );
}

// P4
#[test]
fn a_member_of_deltas_is_not_read_again_from_the_message() {
    let details = json!([{"type": "reasoning.text", "index": 0, "text": "Hm."}]);
    let call = json!([{"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}]);
    let message = json!({"role": "assistant", "reasoning_details": details, "tool_calls": call});
    let items = items_before_whole(&message.to_string(), &message);
    assert_eq!(items[0]["reasoning_details"], details);
}

// P1
#[test]
fn a_member_that_cannot_be_read_is_an_error() {
    let streamed = stream(&[r#"{"content":"Hi","confidence":1e999}"#], "stop");
    let told = read(OpenAiChat, &streamed);
    assert!(told.contains("expected JSON in the provider"), "{told}");
}

/// The sources of an answer, as a search finds them.
const SOURCES: &str = r#""citations":["https://a.example"],"search_results":[{"title":"A","url":"https://a.example"}]"#;

fn told_sources(events: &[Event]) -> Vec<Value> {
    let unknown = events.iter().filter_map(|event| match event {
        Event::Unknown(value) => Some(value.clone()),
        _ => None,
    });
    unknown.collect()
}

fn sources() -> [Value; 2] {
    [
        json!({"citations": ["https://a.example"]}),
        json!({"search_results": [{"title": "A", "url": "https://a.example"}]}),
    ]
}

#[test]
fn sources_of_a_stream_are_told_once() {
    let chunk = |text: &str, finish: &str| {
        format!(
            r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}],{SOURCES}}}"#
        )
    };
    let chunks = [
        chunk("A", "null"),
        chunk("b", "null"),
        chunk("c", r#""stop""#),
    ];
    let stream = sse(chunks.iter().map(String::as_str));
    read(OpenAiChat, &stream);
    let events = events(OpenAiChat, [stream.as_bytes()]);
    assert_eq!(told_sources(&events), sources());
    assert_eq!(items_of(&events), [json!(null); 0], "they do not go back");
}

#[test]
fn sources_of_a_whole_answer_are_told() {
    let answer = format!(
        r#"{{"choices":[{{"index":0,"message":{{"content":"A"}},"finish_reason":"stop"}}],{SOURCES}}}"#
    );
    let events = events(OpenAiChat, [answer.as_bytes()]);
    assert_eq!(told_sources(&events), sources());
}

// P1
#[test]
fn the_context_of_azures_own_data_is_no_damage() {
    let sources = r#"{"role":"assistant","context":{"citations":[]}}"#;
    let stream = stream(&[sources, r#"{"content":"A"}"#], "stop");
    let told = read(OpenAiChat, &stream);
    assert!(
        told.contains("text: A") && told.contains("finished: Stop"),
        "{told}"
    );
}
