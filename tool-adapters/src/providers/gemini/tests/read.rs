//! Gemini: reading.

use crate::providers::event::{Event, Finish, ProtocolError};
use crate::providers::gemini::tests::{call, chunk, step};
use crate::providers::protocol::protocol;
use crate::providers::provider::Provider::{Gemini, GeminiJsonSchema};
use crate::providers::tests::fixtures::{brief, calls, errors, items, read, read_cut_off, sse};
use crate::providers::tests::streams;
use crate::providers::tests::streams::events;
use expect_test::expect;
use serde_json::{Value, json};
use tool_core::trace::TokenUsage;

#[test]
fn a_stream_is_read_the_same_wherever_it_is_cut() {
    expect![[r#"
        response: None Some("m")
        reasoning: Where ü?
        item: {"text":"Where ü?","thought":true}
        usage: 10 0 0 0 0
        text: Le
        item: {"text":"Le"}
        usage: 10 0 0 0 0
        text: ft.
        item: {"text":"ft."}
        item: {"executableCode":{"code":"1","language":"PYTHON"}}
        usage: 10 0 0 0 0
        item: {"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}
        usage: 10 0 0 0 0
        started call_0: look
        arguments call_0: {"place":"left"}
        call call_0 look: {"place":"left"}
        item: {"functionCall":{"args":{"place":"left"},"name":"look"},"thoughtSignature":"c2ln"}
        started abc: look
        arguments abc: {"n":1}
        call abc look: {"n":1}
        item: {"functionCall":{"args":{"n":1},"id":"abc","name":"look"}}
        started call_1: look
        arguments call_1: {}
        call call_1 look: {}
        item: {"functionCall":{"name":"look"}}
        usage: 10 0 0 0 0
        item: {"text":"","thoughtSignature":"bGFzdA=="}
        usage: 107 80 0 25 5
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Gemini, &sse(&step()))));
}

#[test]
fn every_way_of_sending_it_says_the_same() {
    let stream = sse(&step());
    let events = events(Gemini, [stream.as_bytes()]);
    let array = json!(step()).to_string();
    assert_eq!(read(Gemini, &array), events, "an array of chunks");
    assert_eq!(streams::events(GeminiJsonSchema, [stream.as_bytes()]), events, "the other form of declarations");
    let mut parsed = protocol(Gemini);
    let mut told = parsed.push_event(&json!(step()));
    told.extend(parsed.finish());
    assert_eq!(told, events, "parsed already");
}

#[test]
fn a_stream_that_ends_anywhere_is_an_error_and_loses_no_call() {
    let stream = sse(&step());
    read_cut_off(Gemini, &stream, stream.len() - 2);
    let array = json!(step()).to_string();
    read_cut_off(Gemini, &array, array.len());
}

#[test]
fn arguments_keep_every_digit_and_their_order() {
    let answer = r#"{"candidates": [{"finish_reason": "STOP", "content": {"parts": [
        {"thought_signature": "c2ln", "function_call": {"name": "look", "args": {"z": 1.50, "a": 123456789012345678901}}}]}}]}"#;
    let events = read(Gemini, answer);
    assert_eq!(calls(&events)[0].arguments(), r#"{"z": 1.50, "a": 123456789012345678901}"#);
    assert_eq!(items(&events)[0]["thought_signature"], "c2ln");
    assert_eq!(events.last(), Some(&Event::Finished(Finish::ToolCalls)));
}

#[test]
fn reasons_to_end_are_told() {
    for (reason, finish) in [
        ("STOP", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("SAFETY", Finish::Filtered),
        ("PROHIBITED_CONTENT", Finish::Filtered),
        ("OTHER", Finish::Other("OTHER".into())),
    ] {
        let events = events(Gemini, [sse(&[chunk(&json!([]), reason)]).as_bytes()]);
        assert_eq!((events.last(), errors(&events)), (Some(&Event::Finished(finish)), vec![]), "{reason}");
    }
}

#[test]
fn a_call_that_could_not_be_used_is_an_error_and_no_lost_turn() {
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"] {
        let mut last = json!({"candidates": [{"finishReason": reason, "finishMessage": "print(look("}]});
        let told = |message: &str| ProtocolError::of_provider(Some(reason.into()), message);
        let said = chunk(&json!([{"text": "Well."}]), "");
        let events = read(Gemini, &sse(&[said, last.clone()]));
        assert_eq!(errors(&events), [told("print(look(")]);
        assert_eq!(events.last(), Some(&Event::Finished(Finish::Other(reason.into()))));
        last["candidates"][0]["finishMessage"] = Value::Null;
        assert_eq!(errors(&read(Gemini, &last.to_string())), [told("the model's answer could not be used")]);
    }
}

#[test]
fn a_prompt_that_is_blocked_is_an_error() {
    let answer = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}});
    let events = read(Gemini, &answer.to_string());
    let error = ProtocolError::of_provider(Some("SAFETY".into()), "the prompt was blocked");
    assert_eq!((errors(&events), events.last()), (vec![error], Some(&Event::Finished(Finish::Filtered))));
}

#[test]
fn an_error_of_the_provider_is_told() {
    let answer = json!({"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}});
    let told = errors(&read(Gemini, &json!([answer]).to_string()));
    assert_eq!(told, [ProtocolError::of_provider(Some("429".into()), "Quota")]);
}

#[test]
fn other_candidates_and_unknown_messages_are_kept() {
    let mut other = chunk(&json!([{"text": "b"}]), "");
    other["candidates"][0]["index"] = 1.into();
    let stream = sse(&[other.clone(), json!({"novelty": 1}), chunk(&json!([{"hologram": 1}]), "STOP")]);
    let told = read(Gemini, &stream);
    let unknown = told.iter().filter_map(|event| if let Event::Unknown(value) = event { Some(value) } else { None });
    assert_eq!(unknown.collect::<Vec<_>>(), [&other, &json!({"novelty": 1})]);
    assert_eq!((items(&told), errors(&told)), (vec![json!({"hologram": 1})], vec![]));
}

#[test]
fn chunks_that_come_again_give_their_calls_ids_of_their_own() {
    let twice = [
        chunk(&json!([{"functionCall": call("a", &json!({}))}]), ""),
        chunk(&json!([{"functionCall": call("a", &json!({}))}]), "STOP"),
    ];
    let events = read(Gemini, &sse(&twice));
    assert_eq!(calls(&events).iter().map(|call| call.id().to_owned()).collect::<Vec<_>>(), ["a", "a_2"]);
    assert_eq!(errors(&events), [ProtocolError::DuplicateId { id: "a".into() }]);
}

#[test]
fn chunks_in_another_order_lose_no_call() {
    for at in 0..step().len() - 1 {
        let mut swapped = step();
        swapped.swap(at, at + 1);
        let events = events(Gemini, [sse(&swapped).as_bytes()]);
        assert_eq!((calls(&events).len(), errors(&events)), (3, vec![]), "swapped at {at}");
    }
}

/// A call in pieces, as Vertex AI streams it.
fn pieces() -> Vec<Value> {
    let piece = |arguments: Value| json!({"functionCall": {"partialArgs": arguments, "willContinue": true}});
    let text =
        |piece: &str, goes_on: bool| json!({"jsonPath": "$.place", "stringValue": piece, "willContinue": goes_on});
    let parts = [
        json!({"functionCall": {"name": "look", "id": "a", "willContinue": true}, "thoughtSignature": "c2ln"}),
        piece(json!([text("Bos", true)])),
        piece(json!([text("ton ü", false), {"jsonPath": "$.list[0].n", "numberValue": 1.5}])),
        piece(
            json!([{"jsonPath": "$.list[1]", "boolValue": true}, {"jsonPath": "$['a b']", "nullValue": "NULL_VALUE"}]),
        ),
        json!({"functionCall": {}}),
        json!({"text": "Done."}),
    ];
    let last = parts.len() - 1;
    let reason = |at: usize| if at == last { "STOP" } else { "" };
    parts.iter().enumerate().map(|(at, part)| chunk(&json!([part]), reason(at))).collect()
}

#[test]
fn a_call_in_pieces_is_put_together() {
    expect![[r#"
        response: None Some("m")
        started a: look
        usage: 10 0 0 0 0
        usage: 10 0 0 0 0
        usage: 10 0 0 0 0
        usage: 10 0 0 0 0
        arguments a: {"place":"Boston ü","list":[{"n":1.5},true],"a b":null}
        call a look: {"place":"Boston ü","list":[{"n":1.5},true],"a b":null}
        item: {"functionCall":{"args":{"a b":null,"list":[{"n":1.5},true],"place":"Boston ü"},"id":"a","name":"look"},"thoughtSignature":"c2ln"}
        usage: 10 0 0 0 0
        text: Done.
        item: {"text":"Done."}
        usage: 10 0 0 0 0
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Gemini, &sse(&pieces()))));
}

#[test]
fn a_call_whose_pieces_break_off_does_not_run() {
    let mut next = pieces()[..3].to_vec();
    next.push(chunk(&json!([{"functionCall": call("b", &json!({"n": 1}))}]), "STOP"));
    for stream in [pieces()[..1].to_vec(), pieces()[..3].to_vec(), next] {
        let events = events(Gemini, [sse(&stream).as_bytes()]);
        assert!(errors(&events).contains(&ProtocolError::Truncated { call_id: Some("a".into()) }));
        let call = calls(&events).into_iter().next().expect("the call that is open");
        assert!(call.id() == "a" && serde_json::from_str::<Value>(call.arguments()).is_err(), "{call:?}");
    }
}

#[test]
fn a_piece_without_a_place_spoils_its_call_only() {
    for path in ["$.place.x", "$.list[7]", "$", "oops"] {
        let bad = json!({"functionCall": {"partialArgs": [{"jsonPath": "$.place", "stringValue": "x"}, {"jsonPath": path, "numberValue": 1}]}});
        let begin = json!({"functionCall": {"name": "look", "id": "a", "willContinue": true}});
        let other = json!({"functionCall": call("b", &json!({}))});
        let events = read(Gemini, &sse(&[chunk(&json!([begin, bad, other]), "STOP")]));
        let texts = calls(&events).iter().map(|call| call.arguments().to_owned()).collect::<Vec<_>>();
        assert_eq!(texts, ["{", "{}"], "{path}");
        assert!(matches!(&*errors(&events), [ProtocolError::Malformed { .. }]), "{path}");
    }
}

#[test]
fn a_call_without_a_name_is_an_error() {
    let piece = json!({"functionCall": {"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}]}});
    for part in [piece, json!({"functionCall": {"args": {"a": 1}}})] {
        let events = read(Gemini, &sse(&[chunk(&json!([part]), "STOP")]));
        assert_eq!((calls(&events), items(&events)), (vec![], vec![]));
        assert_eq!(errors(&events), [ProtocolError::Orphan { key: "functionCall".into() }]);
    }
}

#[test]
fn what_was_used_is_counted_with_thoughts_and_tools() {
    let events = read(Gemini, &sse(&step()));
    let usage = events.iter().rev().find_map(|event| if let Event::Usage(usage) = event { Some(*usage) } else { None });
    assert_eq!(usage, Some(TokenUsage { input: 107, cached: 80, output: 25, reasoning: 5, ..TokenUsage::default() }));
}
