//! Chat Completions read: whole, streamed, cut, broken.

use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::openai_chat::tests::{delta, stream};
use crate::providers::provider::Provider::OpenAiChat;
use crate::providers::tests::streams::{events, read, sse, summary};
use expect_test::expect;

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
        call: call_a add {"a": 1, "b": 2e400}
        call: call_b greet {"name": "Zoë"}
        usage: 90 64 0 40 25
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
        call: call_a add {"a":18446744073709551616}
        call: call_b now 
        call: call_c shell ls -l
        usage: 10 0 0 5 0
        finished: ToolCalls"#]]
    .assert_eq(&read(OpenAiChat, answer));
}

#[test]
fn a_refusal_and_thoughts_are_told() {
    let stream =
        stream(&[r#"{"reasoning_content":"Hm"}"#, r#"{"reasoning":"m."}"#, r#"{"refusal":"I can't."}"#], "stop");
    expect![[r#"
        response: Some("c") None
        reasoning: Hmm.
        text: I can't.
        usage: 90 64 0 40 25
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
fn what_is_unknown_is_kept_and_what_is_broken_is_told() {
    let stream =
        ": OPENROUTER PROCESSING\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata: {\"choices\":oops}\n\ndata: 7\n\n"
            .to_owned()
            + &stream(&[r#"{"content":5}"#, r#"{"content":["a"],"tool_calls":"none"}"#], "stop");
    expect![[r#"
        unknown: {"type":"ping"}
        error: expected JSON in the provider's form: {\"choices\":oops}
        unknown: 7
        response: Some("c") None
        usage: 90 64 0 40 25
        finished: Stop"#]]
    .assert_eq(&read(OpenAiChat, &stream));
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
        response: Some("c") None
        error: the provider reports 502: gone
        call: x f {}
        finished: Other("error")"#]]
    .assert_eq(&read(OpenAiChat, &sse([delta(call).as_str(), error])));
}

#[test]
fn a_half_of_a_character_is_replaced_and_loses_nothing_else() {
    let stream = sse([&*delta(r#"{"content":"\ud83d"}"#), &*delta(r#"{"content":"a"}"#), "[DONE]"]);
    expect![[r#"
        response: Some("c") None
        text: �a
        finished: Stop"#]]
    .assert_eq(&summary(&events(OpenAiChat, [stream.as_bytes()])));
}
