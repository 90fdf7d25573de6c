use crate::Provider::OpenAiChat;
use crate::protocol::event::{Event, Finish, ProtocolError};
use crate::protocol::protocol;
use crate::protocol::testing::{asked, calls, encoded, events, history, nothing, read, responses, sse, summary};
use expect_test::expect;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Instant;
use tool_core::runtime::ToolChoice;

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
        text: Let me sehen: ä €
        call: call_a add {"a": 1, "b": 2e400}
        call: call_b greet {"name": "Zoë"}
        usage: 90 64 40 25
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
        call: call_a add {"a":18446744073709551616}
        call: call_b now 
        call: call_c shell ls -l
        usage: 10 0 5 0
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, answer));
}

#[test]
fn a_refusal_and_thoughts_are_told() {
    let stream =
        stream(&[r#"{"reasoning_content":"Hm"}"#, r#"{"reasoning":"m."}"#, r#"{"refusal":"I can't."}"#], "stop");
    expect![[r#"
        reasoning: Hmm.
        text: I can't.
        usage: 90 64 40 25
        finished: Filtered"#]]
    .assert_eq(&read(OpenAiChat, &stream));
}

#[test]
fn why_it_ended_is_told() {
    let of = |reason| {
        let events = events(OpenAiChat, [stream(&[r#"{"content":"a"}"#], reason).as_bytes()]);
        events.into_iter().find_map(|event| if let Event::Finished(finish) = event { Some(finish) } else { None })
    };
    assert_eq!(of("stop"), Some(Finish::Stop));
    assert_eq!(of("length"), Some(Finish::Length));
    assert_eq!(of("content_filter"), Some(Finish::Filtered));
    assert_eq!(of("insufficient_system_resource"), Some(Finish::Other("insufficient_system_resource".into())));
}

#[test]
fn calls_that_share_the_index_0_are_told_apart() {
    let of = |entries: &[&str]| {
        let deltas = entries.iter().map(|entry| format!("{{\"tool_calls\":[{entry}]}}")).collect::<Vec<_>>();
        let events =
            events(OpenAiChat, [stream(&deltas.iter().map(String::as_str).collect::<Vec<_>>(), "stop").as_bytes()]);
        calls(&events)
            .iter()
            .map(|call| format!("{} {} {}", call.id(), call.name(), call.arguments()))
            .collect::<Vec<_>>()
    };
    // A new id.
    assert_eq!(
        of(&[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":""}}"#,
            r#"{"index":0,"function":{"arguments":"{\"a\":1}"}}"#,
            r#"{"index":0,"id":"y","function":{"name":"f","arguments":"{\"a\""}}"#,
            r#"{"index":0,"function":{"arguments":":2}"}}"#,
        ]),
        [r#"x f {"a":1}"#, r#"y f {"a":2}"#]
    );
    // A whole object, without ids; without an index; in one chunk.
    for index in [r#""index":0,"#, ""] {
        let call = |name: &str| format!(r#"{{{index}"function":{{"name":"{name}","arguments":"{{}}"}}}}"#);
        assert_eq!(of(&[&call("f"), &call("f"), &call("g")]), ["call_0 f {}", "call_1 f {}", "call_2 g {}"]);
        assert_eq!(of(&[&[call("f"), call("g")].join(",")]), ["call_0 f {}", "call_1 g {}"]);
    }
    // An id that a server makes up for each piece begins nothing.
    assert_eq!(
        of(&[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\""}}"#,
            r#"{"index":0,"id":"y","function":{"name":null,"arguments":":1}"}}"#,
        ]),
        [r#"x f {"a":1}"#]
    );
    // A name that comes with each piece, or in pieces, is one name.
    assert_eq!(
        of(&[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":""}}"#,
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}"#,
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"}"}}"#,
            r#"{"index":1,"id":"y","function":{"name":"get_"}}"#,
            r#"{"index":1,"function":{"name":"time","arguments":"{}"}}"#,
        ]),
        ["x f {}", "y get_time {}"]
    );
}

#[test]
fn arguments_that_are_no_json_or_no_text_pass_through() {
    let answer = |arguments: &str| {
        json!({"choices": [{"message": {"tool_calls": [{"id": "a", "function": {"name": "f"}}]}}]})
            .to_string()
            .replace(r#""name":"f""#, &format!(r#""name":"f","arguments":{arguments}"#))
    };
    for (sent, told) in [
        (r#""{\"a\": oops""#, r#"{"a": oops"#),
        (r#"{"b": 1e400, "a": 123456789012345678901}"#, r#"{"b": 1e400, "a": 123456789012345678901}"#),
        ("null", ""),
        ("[1]", "[1]"),
    ] {
        let events = events(OpenAiChat, [answer(sent).as_bytes()]);
        assert_eq!(calls(&events)[0].arguments(), told, "{}", summary(&events));
    }
}

#[test]
fn an_id_that_comes_twice_is_told_and_answered_under_the_providers() {
    let call = r#"{"id":"same","function":{"name":"f","arguments":"{}"}}"#;
    let answer =
        format!(r#"{{"choices":[{{"message":{{"tool_calls":[{call},{call}]}},"finish_reason":"tool_calls"}}]}}"#);
    expect![[r#"
        error: two calls have the id `same`
        call: same f {}
        call: same_2 f {}
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, &answer));
    let mut protocol = protocol(OpenAiChat);
    protocol.push(answer.as_bytes());
    let sent = protocol.encode(&responses(["same_2", "other", "", "", ""])[..2]);
    assert_eq!((&sent[0]["tool_call_id"], &sent[1]["tool_call_id"]), (&json!("same"), &json!("other")));
}

#[test]
fn a_later_message_may_use_an_id_again() {
    let answer = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let mut protocol = protocol(OpenAiChat);
    let first = [protocol.push(answer.as_bytes()), protocol.finish()].concat();
    let second = [protocol.push(answer.as_bytes()), protocol.finish()].concat();
    assert_eq!((calls(&first)[0].id(), calls(&second)[0].id()), ("a", "a_2"));
}

#[test]
fn an_event_that_comes_twice_or_late_makes_no_second_call() {
    let whole = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#;
    let twice = stream(&[whole, whole], "tool_calls");
    let late =
        stream(&[whole], "tool_calls").replace("data: [DONE]", &format!("data: {}\n\ndata: [DONE]", delta(whole)));
    for stream in [twice, late] {
        let events = events(OpenAiChat, [stream.as_bytes()]);
        assert_eq!(calls(&events).len(), 1, "{}", summary(&events));
    }
}

#[test]
fn pieces_that_come_before_their_beginning_are_kept_for_it() {
    let stream = stream(
        &[
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":3,"function":{"arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    expect![[r#"
        call: x f {"a":1}
        error: a part of a call came that was not begun: 3
        usage: 90 64 40 25
        finished: ToolCalls"#]]
    .assert_eq(&summary(&events(OpenAiChat, [stream.as_bytes()])));
}

#[test]
fn what_is_unknown_is_kept_and_what_is_broken_is_told() {
    let stream =
        ": OPENROUTER PROCESSING\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata: {\"choices\":oops}\n\ndata: 7\n\n"
            .to_owned()
            + &stream(&[r#"{"content":5}"#, r#"{"content":["a"],"tool_calls":"none"}"#], "stop");
    expect![[r#"
        unknown: {"type":"ping"}
        error: expected value at line 1 column 12: {\"choices\":oops}
        unknown: 7
        usage: 90 64 40 25
        finished: Stop"#]].assert_eq(&read(OpenAiChat, &stream));
}

#[test]
fn errors_of_the_provider_are_told() {
    for (stream, expected) in [
        (
            r#"{"error":{"message":"Rate limit","type":"requests","code":"rate_limit_exceeded","param":null}}"#,
            "rate_limit_exceeded: Rate limit",
        ),
        (r#"{"error":"no such model"}"#, ": no such model"),
        (r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#, "400: bad"),
        ("event: error\ndata: {\"message\":\"overloaded\"}\n\n", ": overloaded"),
        (r#"{"detail":[{"msg":"x"}]}"#, r#": [{"msg":"x"}]"#),
    ] {
        let events = events(OpenAiChat, [stream.as_bytes()]);
        let [Event::Error(ProtocolError::Provider { code, message })] = &events[..] else { panic!("{events:?}") };
        assert_eq!(format!("{}: {message}", code.as_deref().unwrap_or_default()), expected);
    }
}

#[test]
fn an_error_in_the_middle_of_a_stream_loses_no_call() {
    let call = r#"{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}"#;
    let error = r#"{"error":{"code":502,"message":"gone"},"choices":[{"delta":{},"finish_reason":"error"}]}"#;
    expect![[r#"
        error: the provider reports 502: gone
        call: x f {}
        finished: Other("error")"#]]
    .assert_eq(&read(OpenAiChat, &sse([delta(call).as_str(), error])));
}

#[test]
fn a_call_that_was_cut_off_is_told_after_the_error() {
    for (reason, arguments) in [(Some("length"), r#"{\"a\":1"#), (None, r#"{\"a\":1"#), (None, "")] {
        let call =
            format!(r#"{{"tool_calls":[{{"index":0,"id":"x","function":{{"name":"f","arguments":"{arguments}"}}}}]}}"#);
        let stream = sse([delta(&call)].iter().chain(&reason.map(end)).map(String::as_str));
        let events = events(OpenAiChat, [stream.as_bytes()]);
        let error = Event::Error(ProtocolError::Truncated { call_id: Some("x".into()) });
        let at = events.iter().position(|event| *event == error).expect("an error");
        let Event::Call(call) = &events[at + 1] else { panic!("{events:?}") };
        // It does not run: its text is no JSON, and never empty, which would be `{}`.
        assert!(serde_json::from_str::<serde_json::Value>(call.arguments()).is_err() && !call.arguments().is_empty());
    }
}

#[test]
fn a_half_of_a_character_is_replaced_and_loses_nothing_else() {
    let stream = sse([&*delta(r#"{"content":"\ud83d"}"#), &*delta(r#"{"content":"a"}"#), "[DONE]"]);
    expect![[r#"
        text: �a
        finished: Stop"#]]
    .assert_eq(&summary(&events(OpenAiChat, [stream.as_bytes()])));
}

#[test]
fn ten_thousand_calls_are_read_in_linear_time() {
    let of = |count: usize| {
        let mut entries = String::new();
        for at in 0..count {
            let _ = write!(
                entries,
                r#"{{"tool_calls":[{{"index":{at},"id":"c{at}","function":{{"name":"f","arguments":"{{\"a\":"}}}}]}};"#
            );
            let _ = write!(entries, r#"{{"tool_calls":[{{"index":{at},"function":{{"arguments":"1}}"}}}}]}};"#);
        }
        let deltas = entries.split_terminator(';').collect::<Vec<_>>();
        let stream = stream(&deltas, "tool_calls");
        let began = Instant::now();
        let events = events(OpenAiChat, stream.as_bytes().chunks(4096));
        let took = began.elapsed();
        assert_eq!(events.iter().filter(|event| matches!(event, Event::Call(_))).count(), count);
        took
    };
    of(100);
    let (few, many) = (of(1_000), of(10_000));
    assert!(many < few * 60, "{few:?} for 1,000 and {many:?} for 10,000");
}

// L18, R-C1
#[test]
fn results_are_encoded() {
    expect![[r##"
        [
          {"role":"tool","tool_call_id":"a","content":"{\"sum\":3}"},
          {"role":"tool","tool_call_id":"b","content":"the slot is taken"},
          {"role":"tool","tool_call_id":"c","content":""},
          {"role":"tool","tool_call_id":"d","content":[{"type":"text","text":"a cat"},{"type":"text","text":"[image (image/png) left out: it cannot be shown here]"},{"type":"text","text":"[audio (audio/wav) left out: it cannot be shown here]"},{"type":"text","text":"# A"},{"type":"text","text":"[resource file:///b.pdf (application/pdf)]"}]},
          {"role":"tool","tool_call_id":"e","content":""}
        ]"##]].assert_eq(&encoded(OpenAiChat, "", ["a", "b", "c", "d", "e"]));
}

#[test]
fn a_request_says_what_was_said() {
    expect![[r##"
        model: "some-model"
        messages: [
          {"role":"system","content":"Be brief."},
          {"role":"user","content":"What is 1 + 2?"},
          {"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}},{"id":"call 2 ä","type":"function","function":{"name":"add","arguments":"oops"}}]},
          {"role":"tool","tool_call_id":"call_1","content":"{\"sum\":3}"},
          {"role":"tool","tool_call_id":"call 2 ä","content":"the slot is taken"},
          {"role":"assistant","content":null,"tool_calls":[{"id":"abcDEF123","type":"function","function":{"name":"add","arguments":"{}"}}]},
          {"role":"tool","tool_call_id":"abcDEF123","content":[{"type":"text","text":"a cat"},{"type":"text","text":"[image (image/png) left out: it cannot be shown here]"},{"type":"text","text":"[audio (audio/wav) left out: it cannot be shown here]"},{"type":"text","text":"# A"},{"type":"text","text":"[resource file:///b.pdf (application/pdf)]"}]},
          {"role":"assistant","content":"It is 3."},
          {"role":"user","content":"Thanks"}
        ]
        tools: 1
        stream: true
        stream_options: {"include_usage":true}
        max_completion_tokens: 500"##]].assert_eq(&asked(OpenAiChat, &history(None), ToolChoice::Auto, nothing()));
}

#[test]
fn a_request_says_whether_to_call_and_what_the_caller_adds() {
    expect![[r#"
        model: "some-model"
        messages: [{"role":"system","content":"Be brief."}]
        tools: 1
        tool_choice: "required"
        stream: true
        stream_options: null
        max_completion_tokens: 500
        temperature: 0"#]]
    .assert_eq(&asked(OpenAiChat, &[], ToolChoice::Required, json!({"temperature": 0, "stream_options": null})));
    assert!(asked(OpenAiChat, &[], ToolChoice::None, nothing()).contains(r#"tool_choice: "none""#));
}
