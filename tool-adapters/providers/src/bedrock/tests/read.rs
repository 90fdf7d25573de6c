//! Converse: reading.

use crate::Provider::Bedrock;
use crate::bedrock::tests::{delta, end, input, message, start, step, stop, tool_use};
use crate::event::{Event, Finish, ProtocolError};
use crate::tests::faults::{Fault, FaultKind, check_faults};
use crate::tests::fixtures::{brief, calls, cut_calls, errors, items, lines, read, read_cut_off};
use crate::tests::streams::events;
use expect_test::expect;
use serde_json::{Value, json};

#[test]
fn a_stream_is_read_the_same_wherever_it_is_cut() {
    expect![[r#"
        reasoning: Where ü?
        item: {"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Where ü?"}}}
        item: {"reasoningContent":{"redactedContent":"cmVk"}}
        text: Left, then right.
        item: {"text":"Left, then right."}
        item: {"toolUse":{"input":{"q":1},"name":"web","toolUseId":"s1","type":"server_tool_use"}}
        item: {"toolResult":{"content":[{"text":"found"}],"status":"success","toolUseId":"s1"}}
        text: It says so.
        item: {"citationsContent":{"citations":[{"title":"T"}],"content":[{"text":"It says so."}]}}
        started t1: look
        arguments t1: {"place": "left", "n": 123456789012345678901}
        item: {"toolUse":{"input":{"n":1.2345678901234568e+20,"place":"left"},"name":"look","toolUseId":"t1"}}
        started t2: look
        item: {"toolUse":{"input":{},"name":"look","toolUseId":"t2"}}
        call t1 look: {"place": "left", "n": 123456789012345678901}
        call t2 look: {}
        finished: ToolCalls
        usage: 25 12 3 4 0
    "#]]
    .assert_eq(&brief(&read(Bedrock, &step())));
}

// M1
#[test]
fn a_stream_that_ends_anywhere_is_an_error_and_runs_no_call() {
    let stream = step();
    read_cut_off(
        Bedrock,
        &stream,
        stream.find("\n{\"metadata").expect("the end"),
    );
}

#[test]
fn a_whole_answer_is_read_with_every_digit_of_its_arguments() {
    let answer = r#"{"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}, {"text": "Left."},
        {"citationsContent": {"content": [{"text": "It says so."}], "citations": []}},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"z": 1.50, "a": 123456789012345678901}}},
        {"toolUse": {"toolUseId": "t2", "name": "look", "input": {}}}]}},
        "stopReason": "tool_use", "usage": {"inputTokens": 1, "outputTokens": 2}, "metrics": {"latencyMs": 1}}"#;
    expect![[r#"
        reasoning: Hm.
        item: {"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Hm."}}}
        text: Left.
        item: {"text":"Left."}
        text: It says so.
        item: {"citationsContent":{"citations":[],"content":[{"text":"It says so."}]}}
        started t1: look
        arguments t1: {"z": 1.50, "a": 123456789012345678901}
        item: {"toolUse":{"input":{"a":1.2345678901234568e+20,"z":1.5},"name":"look","toolUseId":"t1"}}
        started t2: look
        item: {"toolUse":{"input":{},"name":"look","toolUseId":"t2"}}
        usage: 1 0 0 2 0
        call t1 look: {"z": 1.50, "a": 123456789012345678901}
        call t2 look: {}
        finished: ToolCalls
    "#]]
    .assert_eq(&brief(&read(Bedrock, answer)));
    read_cut_off(Bedrock, answer, answer.len());
}

// M1
#[test]
fn reasons_to_end_are_told() {
    for (reason, finish) in [
        ("end_turn", Some(Finish::Stop)),
        ("stop_sequence", Some(Finish::Stop)),
        ("max_tokens", Some(Finish::Length)),
        ("model_context_window_exceeded", Some(Finish::Length)),
        ("guardrail_intervened", Some(Finish::Filtered)),
        ("content_filtered", Some(Finish::Filtered)),
        ("eos", Some(Finish::Other("eos".into()))),
        ("malformed_model_output", None),
        ("malformed_tool_use", None),
    ] {
        let told = events(Bedrock, [message(&[], reason).as_bytes()]);
        let end = told.iter().find_map(|event| {
            if let Event::Finished(finish) = event {
                Some(finish)
            } else {
                None
            }
        });
        assert_eq!(end, finish.as_ref(), "{reason}");
        let code = errors(&told).into_iter().find_map(|error| match error {
            ProtocolError::Provider { code, .. } => code,
            _ => None,
        });
        assert_eq!(code.as_deref(), Some(reason).filter(|_| finish.is_none()));
    }
}

fn out_of_place(message: &str) -> ProtocolError {
    ProtocolError::OutOfPlace {
        message: message.to_owned(),
    }
}

// M1
#[test]
fn a_message_without_a_reason_to_end_is_an_error() {
    let call = [start(0, tool_use("t1")), stop(0)];
    let answer = json!({"output": {"message": {"role": "assistant", "content": [tool_use("t1")]}}});
    for stream in [
        lines(&[&call[..], &[json!({"messageStop": {}})]].concat()),
        lines(&[&call[..], &[json!({"messageStop": {"stopReason": null}})]].concat()),
        answer.to_string(),
    ] {
        let told = read(Bedrock, &stream);
        assert_eq!(
            (errors(&told), calls(&told)),
            (
                vec![out_of_place("the message ended without a reason")],
                vec![]
            )
        );
    }
}

// M1
#[test]
fn a_call_that_grew_too_long_is_cut_off() {
    let blocks = [start(0, tool_use("t1")), input(0, r#"{"place": "le"#)];
    let events = read(Bedrock, &message(&blocks, "max_tokens"));
    assert_eq!(
        (cut_calls(&events)[0].arguments(), calls(&events)),
        (r#"{"place": "le"#, vec![])
    );
    assert_eq!(
        errors(&events),
        [ProtocolError::Truncated {
            call_id: Some("t1".into())
        }]
    );
}

// M3
#[test]
fn events_that_come_again_change_nothing() {
    let [last, usage] = end("tool_use");
    let begin = json!({"messageStart": {"role": "assistant"}});
    let call = [start(0, tool_use("t1")), input(0, r#"{"a":1}"#), stop(0)];
    let repeated = [
        &[begin.clone(), begin, call[0].clone()],
        &call[..],
        &[call[2].clone()],
        &call,
        &[json!({"novelty": 1}), last.clone(), last, usage],
    ];
    let events = read(Bedrock, &lines(&repeated.concat()));
    assert_eq!(
        (calls(&events).len(), calls(&events)[0].arguments()),
        (1, r#"{"a":1}"#)
    );
    assert_eq!((items(&events).len(), errors(&events)), (1, vec![]));
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, Event::Unknown(_)))
            .count(),
        1
    );
}

// M3
#[test]
fn a_call_with_the_same_id_and_contents_is_one_call() {
    let call = |index, id: &str| {
        [
            start(index, tool_use(id)),
            input(index, r#"{"a": 1}"#),
            stop(index),
        ]
    };
    let told = read(
        Bedrock,
        &message(&[call(0, "t1"), call(1, "t1")].concat(), "tool_use"),
    );
    assert_eq!((calls(&told).len(), items(&told).len()), (1, 1));
    let told = read(
        Bedrock,
        &message(&[call(0, "t1"), call(1, "t2")].concat(), "tool_use"),
    );
    assert_eq!(calls(&told).len(), 2);
}

// M1
#[test]
fn an_event_out_of_place_is_an_error_and_nothing_runs() {
    let text = |index| delta(index, json!({"text": "Left."}));
    let call = |index, pieces: &[Value]| {
        [&[start(index, tool_use("t1"))], pieces, &[stop(index)]].concat()
    };
    let whole = call(0, &[input(0, "{}")]);
    for (blocks, error) in [
        (
            [&[input(9, "{")], &whole[..]].concat(),
            ProtocolError::Orphan { key: "9".into() },
        ),
        (
            [&whole[..], &[text(7)]].concat(),
            out_of_place("content block 7 came, but block 1 did not"),
        ),
        (
            [&whole[..], &[input(0, " ")]].concat(),
            out_of_place("a piece of content block 0 came after its end"),
        ),
        (
            [&whole[..], &[stop(1)]].concat(),
            out_of_place("content block 1 ended, but it did not begin"),
        ),
        (
            call(2, &[]),
            out_of_place("content block 2 came, but block 0 did not"),
        ),
        (
            vec![text(0), input(0, "{}")],
            out_of_place("a piece came for a content block of another kind"),
        ),
        (
            call(0, &[text(0)]),
            out_of_place("a piece came for a content block of another kind"),
        ),
        (
            vec![start(0, tool_use("t1"))],
            out_of_place("content block 0 has no end"),
        ),
        (
            vec![start(0, tool_use("t1")), input(0, r#"{"a":"#)],
            out_of_place("content block 0 has no end"),
        ),
    ] {
        let told = read(Bedrock, &message(&blocks, "tool_use"));
        assert_eq!(
            (errors(&told).first(), calls(&told)),
            (Some(&error), vec![]),
            "{blocks:?}"
        );
        assert!(!told.iter().any(|event| matches!(event, Event::Finished(_))));
    }
    let late = [&whole[..], &end("tool_use"), &[text(1)]].concat();
    let told = errors(&read(Bedrock, &lines(&late)));
    assert_eq!(
        told,
        [out_of_place(
            "a part of content block 1 came after the end of the message"
        )]
    );
}

// M1
#[test]
fn an_event_that_cannot_be_read_is_an_error_and_nothing_runs() {
    let call = [
        start(0, tool_use("t1")),
        input(0, r#"{"path":"/data/"#),
        input(0, r#""}"#),
        stop(0),
    ];
    for unreadable in [
        json!([1]),
        json!("text"),
        json!({"contentBlockStart": "x"}),
        json!({"contentBlockStart": {"contentBlockIndex": 1}}),
        json!({"contentBlockStart": {"start": tool_use("t2")}}),
        json!({"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": "look"}}}),
        json!({"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t2"}}}}),
        json!({"contentBlockDelta": []}),
        json!({"contentBlockDelta": {"contentBlockIndex": 0}}),
        json!({"contentBlockDelta": {"delta": {"toolUse": {"input": "x"}}}}),
        json!({"contentBlockDelta": {"contentBlockIndex": "a", "delta": {"toolUse": {"input": "x"}}}}),
        delta(0, json!("scratch/")),
        delta(0, json!({})),
        delta(0, json!({"toolUse": "x"})),
        delta(0, json!({"toolUse": {}})),
        delta(0, json!({"toolPiece": {"input": "x"}})),
        delta(1, json!({"text": {"a": 1}})),
        delta(1, json!({"text": 5})),
        delta(1, json!({"reasoningContent": "x"})),
        delta(1, json!({"reasoningContent": {}})),
        json!({"contentBlockStop": 5}),
        json!({"contentBlockStop": {}}),
        json!({"contentBlockPiece": {"contentBlockIndex": 0}}),
        json!({"future": {"contentBlockIndex": 0, "delta": {"text": "x"}}}),
        json!({"messageStop": "tool_use"}),
    ] {
        let begin = json!({"messageStart": {"role": "assistant"}});
        let stream = [
            &[begin],
            &call[..2],
            std::slice::from_ref(&unreadable),
            &call[2..],
            &end("tool_use"),
        ]
        .concat();
        let told = read(Bedrock, &lines(&stream));
        let is_lost = errors(&told)
            .first()
            .is_some_and(|error| matches!(error, ProtocolError::Malformed { .. }));
        assert!(is_lost && calls(&told).is_empty(), "{unreadable}: {told:?}");
    }
    for answer in [
        json!({"output": {"message": {"role": "assistant"}}, "stopReason": "end_turn"}),
        json!({"output": {"message": {"content": "Left."}}, "stopReason": "end_turn"}),
        json!({"output": {"message": {"content": ["Left."]}}, "stopReason": "end_turn"}),
    ] {
        assert!(
            errors(&read(Bedrock, &answer.to_string()))[0].is_loss(),
            "{answer}"
        );
    }
}

// M1
#[test]
fn structure_that_some_models_leave_out_loses_nothing() {
    let blocks = [
        start(0, json!({})),
        delta(0, json!({"text": "Left, "})),
        delta(1, json!({"text": "then right."})),
        start(2, tool_use("t1")),
        input(2, "{}"),
        start(3, tool_use("t2")),
        input(3, ""),
        stop(3),
    ];
    let [last, usage] = end("tool_use");
    // No beginning, no ends of texts and whole calls, and the usage before the end.
    let told = read(Bedrock, &lines(&[&blocks[..], &[usage, last]].concat()));
    assert_eq!((calls(&told).len(), errors(&told)), (2, vec![]));
    assert_eq!(
        items(&told)
            .iter()
            .filter_map(|item| item["text"].as_str())
            .collect::<String>(),
        "Left, then right."
    );
}

// M3
#[test]
fn calls_that_the_provider_runs_are_not_ours() {
    for kind in ["server_tool_use", "future_tool_use"] {
        let block = json!({"toolUse": {"toolUseId": "s1", "name": "look", "type": kind}});
        for reason in ["tool_use", "end_turn"] {
            let told = read(
                Bedrock,
                &message(
                    &[start(0, block.clone()), input(0, r#"{"q":1}"#), stop(0)],
                    reason,
                ),
            );
            assert_eq!((calls(&told), errors(&told)), (vec![], vec![]), "{kind}");
            assert!(told.contains(&Event::Finished(Finish::Stop)), "{kind}");
            assert_eq!(
                items(&told)[0]["toolUse"]["input"],
                json!({"q": 1}),
                "{kind}"
            );
        }
    }
}

// M1
#[test]
fn a_call_without_arguments_is_one_under_any_completed_end() {
    for reason in ["tool_use", "end_turn", "stop_sequence", "eos"] {
        for pieces in [&[][..], &[input(0, "")], &[input(0, "{}")]] {
            let told = read(
                Bedrock,
                &message(
                    &[&[start(0, tool_use("t1"))], pieces, &[stop(0)]].concat(),
                    reason,
                ),
            );
            assert_eq!((calls(&told).len(), errors(&told)), (1, vec![]), "{reason}");
            assert_eq!(calls(&told)[0].arguments(), "{}", "{reason}");
        }
    }
}

// M2
#[test]
fn bytes_that_come_again_are_the_same_bytes() {
    let blob = |piece: &str| delta(0, json!({"reasoningContent": {"redactedContent": piece}}));
    for (pieces, bytes) in [
        (&["cmVk"][..], "cmVk"),
        (&["cmVk", "YWN0"], "cmVkYWN0"),
        (&["cmU=", "cmU="], "cmU="),
    ] {
        let pieces = pieces.iter().map(|piece| blob(piece)).collect::<Vec<_>>();
        let told = read(
            Bedrock,
            &message(&[&pieces[..], &[stop(0)]].concat(), "end_turn"),
        );
        assert_eq!(
            items(&told),
            [json!({"reasoningContent": {"redactedContent": bytes}})]
        );
    }
    let told = read(
        Bedrock,
        &message(&[blob("cmU="), blob("YWN0"), stop(0)], "end_turn"),
    );
    assert_eq!(
        errors(&told),
        [out_of_place("a piece of a thought came after its end")]
    );
}

#[test]
fn an_image_is_an_item_with_its_bytes() {
    let blocks = [
        start(0, json!({"image": {"format": "png"}})),
        delta(0, json!({"image": {"source": {"bytes": "iVBO"}}})),
        delta(0, json!({"image": {"source": {"bytes": "Rw=="}}})),
        stop(0),
    ];
    let told = read(Bedrock, &message(&blocks, "end_turn"));
    assert_eq!(
        items(&told),
        [json!({"image": {"format": "png", "source": {"bytes": "iVBORw=="}}})]
    );
}

// M1
#[test]
fn no_fault_of_a_stream_runs_another_call() {
    let blocks = [
        delta(0, json!({"reasoningContent": {"text": "Where?"}})),
        delta(0, json!({"reasoningContent": {"signature": "c2ln"}})),
        stop(0),
        delta(1, json!({"text": "Left, "})),
        delta(1, json!({"text": "then right."})),
        stop(1),
        start(2, tool_use("t1")),
        input(2, r#"{"path": "/da"#),
        input(2, r#"ta/", "n": 1"#),
        input(2, "}"),
        stop(2),
        start(3, tool_use("t2")),
        stop(3),
    ];
    let events = [
        &[json!({"messageStart": {"role": "assistant"}})],
        &blocks[..],
        &end("tool_use"),
    ]
    .concat();
    let whole = events.iter().map(Value::to_string).collect::<Vec<_>>();
    let texts = 4..6;
    check_faults(
        Bedrock,
        &whole,
        |events| events.join("\n") + "\n",
        // The pieces have no numbers: one that is missing, comes twice or comes late leaves no trace, unless the arguments
        // are no JSON then.
        |Fault { kind, event }| {
            texts.contains(event)
                && matches!(
                    kind,
                    FaultKind::Dropped | FaultKind::Doubled | FaultKind::Swapped
                )
        },
    );
}

// M1
#[test]
fn an_error_of_the_provider_ends_the_answer() {
    for exception in [
        "internalServerException",
        "modelStreamErrorException",
        "validationException",
        "throttlingException",
        "serviceUnavailableException",
        "futureException",
    ] {
        let event = json!({exception: {"message": "Too many"}});
        let events = read(
            Bedrock,
            &lines(&[start(0, tool_use("t1")), input(0, "{}"), stop(0), event]),
        );
        let error = ProtocolError::of_provider(Some(exception.into()), "Too many");
        assert_eq!((errors(&events), calls(&events)), (vec![error], vec![]));
    }
    let refused = errors(&read(Bedrock, r#"{"message": "Malformed input request"}"#));
    assert_eq!(
        refused,
        [ProtocolError::of_provider(None, "Malformed input request")]
    );
}
