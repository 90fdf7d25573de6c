//! Gemini: reading.

use crate::Provider::{Gemini, GeminiJsonSchema};
use crate::event::{Event, Finish, ProtocolError};
use crate::gemini::tests::{call, chunk, step};
use crate::protocol::protocol;
use crate::tests::faults::{Fault, FaultKind, check_faults};
use crate::tests::fixtures::{brief, calls, cut_calls, errors, items, read, read_cut_off, sse};
use crate::tests::streams;
use crate::tests::streams::events;
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
        item: {"functionCall":{"args":{"place":"left"},"name":"look"},"thoughtSignature":"c2ln"}
        started abc: look
        arguments abc: {"n":1}
        item: {"functionCall":{"args":{"n":1},"id":"abc","name":"look"}}
        started call_1: look
        arguments call_1: {}
        item: {"functionCall":{"name":"look"}}
        usage: 10 0 0 0 0
        item: {"text":"","thoughtSignature":"bGFzdA=="}
        usage: 107 80 0 25 5
        call call_0 look: {"place":"left"}
        call abc look: {"n":1}
        call call_1 look: {}
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
    assert_eq!(
        streams::events(GeminiJsonSchema, [stream.as_bytes()]),
        events,
        "the other form of declarations"
    );
    let mut parsed = protocol(Gemini);
    let mut told = parsed.push_event(&json!(step()));
    told.extend(parsed.finish());
    assert_eq!(told, events, "parsed already");
}

// M1
#[test]
fn a_stream_that_ends_anywhere_is_an_error_and_runs_no_call() {
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
    assert_eq!(
        calls(&events)[0].arguments(),
        r#"{"z": 1.50, "a": 123456789012345678901}"#
    );
    assert_eq!(items(&events)[0]["thought_signature"], "c2ln");
    assert_eq!(events.last(), Some(&Event::Finished(Finish::ToolCalls)));
}

// M1
#[test]
fn reasons_to_end_are_told() {
    for (reason, finish) in [
        ("STOP", Finish::Stop),
        ("MAX_TOKENS", Finish::Length),
        ("CONTINUATION", Finish::Length),
        ("SAFETY", Finish::Filtered),
        ("RECITATION", Finish::Filtered),
        ("BLOCKLIST", Finish::Filtered),
        ("PROHIBITED_CONTENT", Finish::Filtered),
        ("SPII", Finish::Filtered),
        ("IMAGE_SAFETY", Finish::Filtered),
        ("IMAGE_PROHIBITED_CONTENT", Finish::Filtered),
        ("IMAGE_RECITATION", Finish::Filtered),
        ("MODEL_ARMOR", Finish::Filtered),
        ("ESCALATION", Finish::Filtered),
        ("eos", Finish::Other("eos".into())),
    ] {
        let call = json!([{"functionCall": call("a", &json!({}))}]);
        let expected = match finish {
            Finish::Stop => Finish::ToolCalls,
            _ => finish,
        };
        let runs = matches!(expected, Finish::ToolCalls | Finish::Other(_));
        let events = events(Gemini, [sse(&[chunk(&call, reason)]).as_bytes()]);
        assert_eq!(
            (events.last(), errors(&events)),
            (Some(&Event::Finished(expected)), vec![]),
            "{reason}"
        );
        assert_eq!(calls(&events).len(), usize::from(runs), "{reason}");
    }
}

// M1
#[test]
fn an_end_that_is_a_failure_is_an_error_and_runs_nothing() {
    for reason in [
        "FINISH_REASON_UNSPECIFIED",
        "LANGUAGE",
        "OTHER",
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
        "NO_IMAGE",
        "IMAGE_OTHER",
        "PUP_LIMITED_DISABLED",
    ] {
        let mut last = chunk(&json!([{"functionCall": call("a", &json!({}))}]), reason);
        last["candidates"][0]["finishMessage"] = json!("print(look(");
        let told = |message: &str| ProtocolError::of_provider(Some(reason.into()), message);
        let said = chunk(&json!([{"text": "Well."}]), "");
        let events = read(Gemini, &sse(&[said, last.clone()]));
        assert_eq!(
            (errors(&events), calls(&events)),
            (vec![told("print(look(")], vec![])
        );
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Finished(_))),
            "{reason}"
        );
        last["candidates"][0]["finishMessage"] = Value::Null;
        assert_eq!(
            errors(&read(Gemini, &last.to_string())),
            [told("the model's answer could not be used")]
        );
    }
}

// M1
#[test]
fn the_last_reason_counts_unless_one_was_a_failure() {
    let said = |reason: &str| chunk(&json!([{"text": "a"}]), reason);
    for (reasons, finish) in [
        (["STOP", "STOP", "MAX_TOKENS"], Some(Finish::Length)),
        (
            [
                "FINISH_REASON_UNSPECIFIED",
                "FINISH_REASON_UNSPECIFIED",
                "STOP",
            ],
            Some(Finish::Stop),
        ),
        (
            ["STOP", "", "FINISH_REASON_UNSPECIFIED"],
            Some(Finish::Stop),
        ),
        (["", "MALFORMED_FUNCTION_CALL", "STOP"], None),
    ] {
        let told = read(Gemini, &sse(&reasons.map(said)));
        let end = told.iter().find_map(|event| {
            if let Event::Finished(finish) = event {
                Some(finish)
            } else {
                None
            }
        });
        assert_eq!(end, finish.as_ref(), "{reasons:?}");
    }
}

#[test]
fn a_prompt_that_is_blocked_is_withheld() {
    let feedback = json!({"blockReason": "SAFETY", "blockReasonMessage": "No."});
    let answer = json!({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 3}});
    let events = read(Gemini, &answer.to_string());
    assert_eq!(
        (errors(&events), events.last()),
        (vec![], Some(&Event::Finished(Finish::Filtered)))
    );
    assert!(
        events.contains(&Event::Unknown(json!({"promptFeedback": feedback}))),
        "the listener sees the reason"
    );
}

#[test]
fn an_error_of_the_provider_is_told() {
    let answer =
        json!({"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}});
    let told = errors(&read(Gemini, &json!([answer]).to_string()));
    assert_eq!(
        told,
        [ProtocolError::of_provider(Some("429".into()), "Quota")]
    );
}

#[test]
fn other_candidates_and_unknown_messages_are_kept() {
    let mut other = chunk(&json!([{"text": "b"}]), "");
    other["candidates"][0]["index"] = 1.into();
    let stream = sse(&[
        other.clone(),
        json!({"novelty": 1}),
        chunk(&json!([{"hologram": 1}]), "STOP"),
    ]);
    let told = read(Gemini, &stream);
    let unknown = told.iter().filter_map(|event| {
        if let Event::Unknown(value) = event {
            Some(value)
        } else {
            None
        }
    });
    assert_eq!(
        unknown.collect::<Vec<_>>(),
        [&other, &json!({"novelty": 1})]
    );
    assert_eq!(
        (items(&told), errors(&told)),
        (vec![json!({"hologram": 1})], vec![])
    );
}

// M3
#[test]
fn a_call_with_the_same_id_and_contents_is_one_call() {
    let part = |id: &str, args: &Value| json!({"functionCall": call(id, args)});
    let one = part("a", &json!({"n": 1}));
    for stream in [
        vec![chunk(&json!([one]), ""), chunk(&json!([one]), "STOP")],
        vec![
            chunk(&json!([one]), ""),
            chunk(&json!([{"text": "Well."}]), ""),
            chunk(&json!([one]), "STOP"),
        ],
        vec![chunk(&json!([one, one]), "STOP")],
    ] {
        let told = read(Gemini, &sse(&stream));
        let items = items(&told)
            .iter()
            .filter(|item| item.get("functionCall").is_some())
            .count();
        assert_eq!(
            (calls(&told).len(), items, errors(&told)),
            (1, 1, vec![]),
            "{stream:?}"
        );
    }
    for other in [part("b", &json!({"n": 1})), part("a", &json!({"n": 2}))] {
        let told = read(
            Gemini,
            &sse(&[chunk(&json!([one]), ""), chunk(&json!([other]), "STOP")]),
        );
        assert_eq!(calls(&told).len(), 2, "{other}");
    }
}

#[test]
fn an_id_that_another_call_has_is_replaced_and_told() {
    let part = |n: u32| json!([{"functionCall": call("a", &json!({"n": n}))}]);
    let events = read(
        Gemini,
        &sse(&[chunk(&part(1), ""), chunk(&part(2), "STOP")]),
    );
    assert_eq!(
        calls(&events)
            .iter()
            .map(|call| call.id().to_owned())
            .collect::<Vec<_>>(),
        ["a", "a_2"]
    );
    assert_eq!(
        errors(&events),
        [ProtocolError::DuplicateId { id: "a".into() }]
    );
}

// M3
#[test]
fn a_chunk_with_all_parts_so_far_repeats_them() {
    let text = |text: &str| json!({"text": text});
    let signed = json!({"functionCall": call("", &json!({"n": 1})), "thoughtSignature": "c2ln"});
    let one = json!({"functionCall": call("", &json!({"n": 1}))});
    let two = json!({"functionCall": call("", &json!({"n": 2}))});
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
    for (chunks, calls_made, said) in [
        (vec![json!([one]), json!([one])], 1, ""),
        (vec![json!([signed]), json!([signed])], 1, ""),
        (
            vec![json!([text("So")]), json!([one, one]), json!([one, one])],
            2,
            "So",
        ),
        (
            vec![
                json!([text("Let ")]),
                json!([text("me."), one]),
                json!([text("Let me."), one]),
            ],
            1,
            "Let me.",
        ),
        (
            vec![
                json!([text("Let "), code, one]),
                json!([text("L"), text("et "), code, one, two]),
            ],
            2,
            "Let ",
        ),
        (
            vec![json!([one]), json!([one, two]), json!([one, two])],
            2,
            "",
        ),
        (vec![json!([one]), json!([two]), json!([one, two])], 2, ""),
        (
            vec![json!([one, text("So")]), json!([one, text("So far.")])],
            1,
            "So far.",
        ),
        // Two calls are two.
        (vec![json!([signed]), json!([one])], 2, ""),
        (vec![json!([one, one])], 2, ""),
        (vec![json!([one]), json!([two]), json!([one])], 3, ""),
        (
            vec![json!([text("First."), one]), json!([text("Then."), one])],
            2,
            "First.Then.",
        ),
        // A text that comes again is another piece.
        (vec![json!([text("ha")]), json!([text("ha")])], 0, "haha"),
        (
            vec![json!([text("ha")]), json!([text("ha"), one])],
            1,
            "haha",
        ),
    ] {
        let last = chunks.len() - 1;
        let reason = |at: usize| if at == last { "STOP" } else { "" };
        let stream = chunks
            .iter()
            .enumerate()
            .map(|(at, parts)| chunk(parts, reason(at)))
            .collect::<Vec<_>>();
        let told = read(Gemini, &sse(&stream));
        let texts = told.iter().filter_map(|event| {
            if let Event::Text(text) = event {
                Some(&**text)
            } else {
                None
            }
        });
        assert_eq!(
            (calls(&told).len(), errors(&told)),
            (calls_made, vec![]),
            "{chunks:?}"
        );
        assert_eq!(texts.collect::<String>(), said, "{chunks:?}");
        let parts = items(&told);
        assert_eq!(
            parts
                .iter()
                .filter(|part| part.get("functionCall").is_some())
                .count(),
            calls_made,
            "{chunks:?}"
        );
        assert_eq!(
            parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect::<String>(),
            said,
            "{chunks:?}"
        );
    }
}

// M1
#[test]
fn a_chunk_that_cannot_be_read_is_an_error_and_nothing_runs() {
    let candidate = |candidate: Value| json!({"candidates": [candidate]});
    let part = |part: Value| candidate(json!({"content": {"parts": [part]}}));
    for unreadable in [
        json!([1]),
        json!(["text"]),
        json!("text"),
        json!(null),
        json!({"candidates": "text"}),
        json!({"candidates": [5]}),
        json!({"candidate": [{"content": {"parts": [{"text": "scratch/"}]}}], "modelVersion": "m"}),
        candidate(json!({"content": "text"})),
        candidate(json!({"content": [{"text": "a"}]})),
        candidate(json!({"contents": {"parts": [{"text": "a"}]}})),
        candidate(json!({"content": {"parts": {"text": "a"}}})),
        candidate(json!({"content": {"part": [{"text": "a"}]}})),
        part(json!("text")),
        part(json!([])),
        part(json!({"text": {"a": 1}})),
        part(json!({"text": 5})),
        part(json!({"functionCall": "look"})),
        part(json!({"functionCall": [{"name": "look"}]})),
        part(json!({"functionCal1": {"name": "look"}})),
        part(json!({"functionCall": {"args": {}}})),
        part(json!({"functionCall": {"name": "look", "partialArgs": "x", "willContinue": true}})),
        part(json!({"functionCall": {"name": "look", "arqs": {"a": 1}}})),
    ] {
        let call = chunk(&json!([{"functionCall": call("a", &json!({}))}]), "STOP");
        let told = read(Gemini, &sse(&[unreadable.clone(), call]));
        let is_lost = errors(&told).first().is_some_and(ProtocolError::is_loss);
        assert!(is_lost && calls(&told).is_empty(), "{unreadable}: {told:?}");
    }
    let mut repeated = sse(&[chunk(
        &json!([{"functionCall": call("a", &json!({}))}]),
        "STOP",
    )]);
    repeated = repeated.replacen("\"args\":{}", "\"args\":{},\"args\":{}", 1);
    assert_eq!(
        calls(&read(Gemini, &repeated)),
        [],
        "a member that comes twice"
    );
}

// M1
#[test]
fn chunks_without_a_bearing_on_the_answer_are_skipped() {
    let stream = [
        json!({"usageMetadata": {"promptTokenCount": 1}, "createTime": "t", "responseId": "r"}),
        json!({"candidates": [{"index": 0, "safetyRatings": [{"category": "c"}]}], "future": {"x": [1]}}),
        json!({"candidates": [{"content": {"role": "model"}, "groundingMetadata": {"webSearchQueries": ["q"]}}]}),
        json!({"candidates": null, "usageMetadata": {"promptTokenCount": 1}}),
        json!({"novelty": 1}),
        chunk(
            &json!([{"functionCall": {"id": "a", "name": "look", "future": 1}, "future": {"y": 1}}]),
            "STOP",
        ),
        json!({"usageMetadata": {"promptTokenCount": 1}}),
    ];
    let told = read(Gemini, &(": comment\n\n".to_owned() + &sse(&stream)));
    assert_eq!((calls(&told).len(), errors(&told)), (1, vec![]));
    assert_eq!(
        items(&told),
        [json!({"functionCall": {"id": "a", "name": "look", "future": 1}, "future": {"y": 1}})]
    );
}

// M3
#[test]
fn calls_that_the_provider_runs_are_not_ours() {
    for part in [
        json!({"executableCode": {"language": "PYTHON", "code": "look()"}}),
        json!({"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH", "args": {"queries": ["q"]}}}),
        json!({"futureCall": {"id": "t", "name": "look", "args": {}}}),
    ] {
        let told = read(Gemini, &sse(&[chunk(&json!([part]), "STOP")]));
        assert_eq!(
            (calls(&told), errors(&told), items(&told)),
            (vec![], vec![], vec![part])
        );
        assert_eq!(told.last(), Some(&Event::Finished(Finish::Stop)));
    }
}

// M1
#[test]
fn a_call_without_arguments_is_one_under_any_completed_end() {
    for reason in ["STOP", "eos"] {
        for call in [
            json!({"name": "look"}),
            json!({"name": "look", "args": null}),
            json!({"name": "look", "args": {}}),
        ] {
            let told = read(
                Gemini,
                &sse(&[chunk(&json!([{"functionCall": call}]), reason)]),
            );
            assert_eq!((calls(&told).len(), errors(&told)), (1, vec![]), "{reason}");
            assert_eq!(calls(&told)[0].arguments(), "{}", "{reason}");
        }
    }
    let ended = [chunk(
        &json!([{"functionCall": call("a", &json!({}))}]),
        "MAX_TOKENS",
    )];
    let told = read(Gemini, &sse(&ended));
    assert_eq!((calls(&told).len(), cut_calls(&told).len()), (0, 1));
}

#[test]
fn chunks_in_another_order_lose_no_call() {
    for at in 0..step().len() - 1 {
        let mut swapped = step();
        swapped.swap(at, at + 1);
        let events = events(Gemini, [sse(&swapped).as_bytes()]);
        assert_eq!(
            (calls(&events).len(), errors(&events)),
            (3, vec![]),
            "swapped at {at}"
        );
    }
}

// M1
#[test]
fn no_fault_of_a_stream_runs_another_call() {
    let whole = step().iter().map(Value::to_string).collect::<Vec<_>>();
    let texts = 1..3;
    check_faults(
        Gemini,
        &whole,
        |chunks| streams::sse(chunks.iter().map(String::as_str)),
        // Chunks have neither numbers nor a count: one that is missing, comes twice or comes late leaves no trace. A call
        // that comes twice is one. The names of arguments may be any.
        |Fault { kind, event }| match kind {
            FaultKind::Misspelled(name) => matches!(name.as_str(), "place" | "n"),
            FaultKind::Dropped | FaultKind::Doubled | FaultKind::Swapped => texts.contains(event),
            FaultKind::Cut | FaultKind::Garbled => false,
        },
    );
    let whole = pieces().iter().map(Value::to_string).collect::<Vec<_>>();
    check_faults(
        Gemini,
        &whole,
        |chunks| streams::sse(chunks.iter().map(String::as_str)),
        // A missing value of an argument leaves no trace, nor does a piece of a text that goes on.
        |Fault { kind, event }| match kind {
            FaultKind::Dropped => matches!(event, 1 | 3..=5),
            FaultKind::Doubled => matches!(event, 1 | 5),
            FaultKind::Swapped => matches!(event, 4),
            _ => false,
        },
    );
}

// M2
#[test]
fn characters_that_are_cut_in_two_are_joined() {
    let half = |parts: Value, half: &str, reason: &str| {
        chunk(&parts, reason).to_string().replace('~', half)
    };
    let text = json!([{"text": "~"}]);
    let thought = json!([{"text": "~", "thought": true}]);
    let argument = |goes_on: bool| {
        json!([{"functionCall": {"name": "look", "id": "a", "willContinue": goes_on,
            "partialArgs": [{"jsonPath": "$.a", "stringValue": "~", "willContinue": goes_on}]}}])
    };
    let chunks = [
        half(thought.clone(), r"\ud83d", ""),
        half(thought, r"\ude00", ""),
        half(text.clone(), r"\ud83d", ""),
        half(text, r"\ude00", ""),
        half(argument(true), r"\ud83d", ""),
        half(argument(false), r"\ude00", "STOP"),
    ];
    let told = events(
        Gemini,
        [streams::sse(chunks.iter().map(String::as_str)).as_bytes()],
    );
    assert_eq!(
        (calls(&told)[0].arguments(), errors(&told)),
        (r#"{"a":"😀"}"#, vec![])
    );
    assert!(
        told.contains(&Event::Text("😀".into())) && told.contains(&Event::Reasoning("😀".into()))
    );
    assert_eq!(
        items(&told)
            .iter()
            .filter_map(|item| item["text"].as_str())
            .collect::<String>(),
        "😀😀"
    );
}

/// A call in pieces, as Vertex AI streams it.
fn pieces() -> Vec<Value> {
    let piece = |arguments: Value| json!({"functionCall": {"partialArgs": arguments, "willContinue": true}});
    let text = |piece: &str, goes_on: bool| json!({"jsonPath": "$.place", "stringValue": piece, "willContinue": goes_on});
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
    parts
        .iter()
        .enumerate()
        .map(|(at, part)| chunk(&json!([part]), reason(at)))
        .collect()
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
        item: {"functionCall":{"args":{"a b":null,"list":[{"n":1.5},true],"place":"Boston ü"},"id":"a","name":"look"},"thoughtSignature":"c2ln"}
        usage: 10 0 0 0 0
        text: Done.
        item: {"text":"Done."}
        usage: 10 0 0 0 0
        call a look: {"place":"Boston ü","list":[{"n":1.5},true],"a b":null}
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Gemini, &sse(&pieces()))));
}

/// A piece of a call with arguments.
fn argument(call: Value, path: &str, value: Value, goes_on: bool) -> Value {
    let mut call = call;
    let mut argument = value;
    argument["jsonPath"] = path.into();
    call["partialArgs"] = json!([argument]);
    call["willContinue"] = goes_on.into();
    json!({"functionCall": call})
}

// M2
#[test]
fn pieces_go_to_the_calls_that_they_name() {
    let piece = |id: &str, text: &str, goes_on: bool| {
        argument(
            json!({"id": id}),
            "$.place",
            json!({"stringValue": text, "willContinue": goes_on}),
            goes_on,
        )
    };
    let begin =
        |id: &str| json!({"functionCall": {"name": "look", "id": id, "willContinue": true}});
    let whole = json!({"functionCall": call("c", &json!({"n": 1}))});
    let parts = [
        begin("a"),
        piece("a", "Bos", true),
        begin("b"),
        piece("b", "Par", true),
        piece("a", "ton", true),
        whole,
        piece("b", "is", false),
        piece("a", "", false),
    ];
    let told = read(Gemini, &sse(&[chunk(&json!(parts), "STOP")]));
    let mut arguments = calls(&told)
        .iter()
        .map(|call| format!("{} {}", call.id(), call.arguments()))
        .collect::<Vec<_>>();
    arguments.sort();
    assert_eq!(
        arguments,
        [
            r#"a {"place":"Boston"}"#,
            r#"b {"place":"Paris"}"#,
            r#"c {"n":1}"#
        ]
    );
    assert_eq!(errors(&told), []);
}

// M2
#[test]
fn texts_of_a_call_grow_in_any_order() {
    let begin = json!({"functionCall": {"name": "look", "id": "a", "willContinue": true}});
    let piece = |path: &str, text: &str, goes_on: bool| {
        argument(
            json!({}),
            path,
            json!({"stringValue": text, "willContinue": goes_on}),
            true,
        )
    };
    let parts = [
        begin,
        piece("$.a", "le", true),
        piece("$.b", "ri", true),
        piece("$.a", "ft", false),
        piece("$.b", "ght", false),
        argument(json!({}), "$.n", json!({"numberValue": 1}), true),
        argument(json!({}), "$.n", json!({"numberValue": 1}), true),
        json!({"functionCall": {}}),
    ];
    let told = read(Gemini, &sse(&[chunk(&json!(parts), "STOP")]));
    assert_eq!(
        (calls(&told)[0].arguments(), errors(&told)),
        (r#"{"a":"left","b":"right","n":1}"#, vec![])
    );
}

// M1
#[test]
fn a_call_whose_pieces_break_off_does_not_run() {
    let mut next = pieces()[..3].to_vec();
    next.push(chunk(
        &json!([{"functionCall": call("b", &json!({"n": 1}))}]),
        "STOP",
    ));
    for stream in [pieces()[..1].to_vec(), pieces()[..3].to_vec(), next.clone()] {
        let told = read(Gemini, &sse(&stream));
        assert!(errors(&told).contains(&ProtocolError::Truncated {
            call_id: Some("a".into())
        }));
        assert!(errors(&told).contains(&ProtocolError::Truncated { call_id: None }));
        assert_eq!(calls(&told), []);
    }
    let last = next.len() - 1;
    next[last]["candidates"][0]["finishReason"] = json!("MAX_TOKENS");
    let told = cut_calls(&read(Gemini, &sse(&next)));
    let told = told
        .iter()
        .map(|call| (call.id(), call.arguments()))
        .collect::<Vec<_>>();
    assert_eq!(
        told,
        [
            ("b", r#"{"n":1}"#),
            ("a", r#"{"place":"Boston ü","list":[{"n":1.5}]"#)
        ]
    );
}

// M1
#[test]
fn a_piece_without_a_place_is_an_error_and_nothing_runs() {
    let begin = json!({"functionCall": {"name": "look", "id": "a", "willContinue": true}});
    let text = |path: &str| argument(json!({}), path, json!({"stringValue": "x"}), true);
    for pieces in [
        vec![
            text("$.place"),
            argument(json!({}), "$.place.x", json!({"numberValue": 1}), false),
        ],
        vec![text("$.list[7]")],
        vec![text("$")],
        vec![text("oops")],
        vec![text("")],
        vec![
            text("$.place"),
            argument(json!({}), "$.place", json!({"stringValue": "y"}), false),
        ],
        vec![
            text("$.place"),
            argument(json!({}), "$.place", json!({"boolValue": true}), false),
        ],
        vec![argument(json!({}), "$.place", json!({}), false)],
        vec![argument(
            json!({}),
            "$.place",
            json!({"stringvalue": "x"}),
            false,
        )],
        vec![argument(
            json!({}),
            "$.place",
            json!({"stringValue": 5}),
            false,
        )],
        vec![argument(
            json!({}),
            "$.place",
            json!({"numberValue": "1"}),
            false,
        )],
        vec![argument(
            json!({}),
            "$.place",
            json!({"boolValue": 0}),
            false,
        )],
        vec![argument(
            json!({}),
            "$.place",
            json!({"stringValue": "x", "willContinue": true}),
            false,
        )],
        vec![json!({"functionCall": {"partialArgs": [5]}})],
        vec![
            text("$.place"),
            json!({"functionCall": {"args": {"place": "y"}}}),
        ],
    ] {
        let other = json!({"functionCall": call("b", &json!({}))});
        let parts = [
            std::slice::from_ref(&begin),
            &pieces[..],
            &[json!({"functionCall": {}}), other],
        ]
        .concat();
        let told = read(Gemini, &sse(&[chunk(&json!(parts), "STOP")]));
        assert!(
            errors(&told)[0].is_loss() && calls(&told).is_empty(),
            "{pieces:?}: {told:?}"
        );
    }
}

#[test]
fn whole_arguments_that_repeat_the_pieces_change_nothing() {
    let parts = [
        argument(
            json!({"name": "look", "id": "a"}),
            "$.place",
            json!({"stringValue": "x"}),
            true,
        ),
        json!({"functionCall": {"name": "look", "id": "a", "args": {"place": "x"}}}),
    ];
    let told = read(Gemini, &sse(&[chunk(&json!(parts), "STOP")]));
    assert_eq!(
        (calls(&told).len(), calls(&told)[0].arguments()),
        (1, r#"{"place":"x"}"#)
    );
}

// M1
#[test]
fn a_call_without_a_name_is_an_error() {
    let piece = json!({"functionCall": {"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}]}});
    for part in [piece, json!({"functionCall": {"args": {"a": 1}}})] {
        let events = read(Gemini, &sse(&[chunk(&json!([part]), "STOP")]));
        assert_eq!((calls(&events), items(&events)), (vec![], vec![]));
        assert_eq!(
            errors(&events),
            [ProtocolError::Orphan {
                key: "functionCall".into()
            }]
        );
    }
}

#[test]
fn what_was_used_is_counted_with_thoughts_and_tools() {
    let events = read(Gemini, &sse(&step()));
    let usage = events.iter().rev().find_map(|event| {
        if let Event::Usage(usage) = event {
            Some(*usage)
        } else {
            None
        }
    });
    assert_eq!(
        usage,
        Some(TokenUsage {
            input: 107,
            cached: 80,
            output: 25,
            reasoning: 5,
            ..TokenUsage::default()
        })
    );
}

fn unknown(events: &[Event]) -> Vec<Value> {
    let unknown = events.iter().filter_map(|event| match event {
        Event::Unknown(value) => Some(value.clone()),
        _ => None,
    });
    unknown.collect()
}

/// The members of a candidate that name its sources.
fn sources() -> [Value; 3] {
    [
        json!({"groundingMetadata": {"webSearchQueries": ["q"], "groundingChunks": [{"web": {"uri": "u"}}]}}),
        json!({"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "u"}]}}),
        json!({"citationMetadata": {"citationSources": [{"uri": "u"}]}}),
    ]
}

/// A chunk with the sources of its text.
fn grounded(text: &str, reason: &str) -> Value {
    let mut chunk = chunk(&json!([{"text": text}]), reason);
    for source in sources() {
        for (name, value) in source.as_object().expect("an object") {
            chunk["candidates"][0][name] = value.clone();
        }
    }
    chunk
}

#[test]
fn the_sources_of_a_whole_answer_are_told() {
    let events = read(Gemini, &grounded("A", "STOP").to_string());
    assert_eq!(unknown(&events), sources());
}

#[test]
fn the_sources_of_a_stream_are_told_once() {
    let chunks = [grounded("A", ""), grounded("b", ""), grounded("c", "STOP")];
    let events = read(Gemini, &sse(&chunks));
    assert_eq!(unknown(&events), sources());
}

#[test]
fn sources_that_change_are_told_again() {
    let mut second = grounded("b", "STOP");
    second["candidates"][0]["groundingMetadata"] = json!({"webSearchQueries": ["r"]});
    let events = read(Gemini, &sse(&[grounded("A", ""), second]));
    assert_eq!(unknown(&events).len(), 4);
}

#[test]
fn sources_do_not_go_back() {
    let events = read(Gemini, &grounded("A", "STOP").to_string());
    assert_eq!(items(&events), [json!({"text": "A"})]);
}
