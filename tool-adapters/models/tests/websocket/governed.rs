//! The rules of a session, as they hold in a live conversation over either protocol.

use crate::peer::Server;
use crate::support::{Talk, talk_under};
use crate::wire::{BOTH, Gemini, OpenAi, Wire};
use serde_json::{Value, json};
use std::time::Duration;
use tool_adapters::providers::Event;
use tool_adapters::transport::websocket::LiveEvent;
use tool_core::session::{Decision, History};
use tool_core::{ErrorKind, Policy, ToolResponse};

async fn answered(talk: &mut Talk) -> ToolResponse {
    talk.until(|event| {
        if let LiveEvent::Answered(response) = event {
            Some(response.clone())
        } else {
            None
        }
    })
    .await
}

async fn turn(talk: &mut Talk) {
    talk.until(|event| matches!(event, LiveEvent::Turn(_)).then_some(()))
        .await;
}

fn add(number: u32) -> Value {
    json!({"a": number, "b": 1})
}

// L15
#[tokio::test]
async fn tools_are_hidden_while_the_model_enters() {
    for wire in BOTH {
        let server = Server::start().await;
        let model = wire.model(&server).enter();
        let (mut talk, mut peer, setup) = wire
            .start_with(&server, model, Policy::text(), History::new())
            .await;
        assert!(!wire.declared(&setup).contains(&"order_taxi"), "{wire:?}");
        match wire {
            Gemini => assert_eq!(wire.text(&mut peer).await, "The conversation begins."),
            OpenAi => _ = wire.response_request(&mut peer).await,
        }
        wire.make_resumable(&mut peer).await;
        wire.speak(&mut peer, "Welcome!", "AAAA").await;
        assert!(
            peer.receives_nothing().await,
            "{wire:?}: the model still speaks"
        );
        wire.finish(&mut peer).await;
        turn(&mut talk).await;
        let declared = match wire {
            Gemini => wire.accept(&server).await.1,
            OpenAi => peer.receive().await["session"].take(),
        };
        assert!(wire.declared(&declared).contains(&"order_taxi"), "{wire:?}");
    }
}

// L21
#[tokio::test]
async fn calls_after_the_last_step_are_not_run() {
    for wire in BOTH {
        let server = Server::start().await;
        let policy = Policy::text().max_tool_steps(3);
        let (mut talk, mut peer, _) = wire
            .start_with(&server, wire.model(&server), policy, History::new())
            .await;
        for step in 0..3 {
            wire.call(&mut peer, &format!("c{step}"), "add", &add(step))
                .await;
            wire.result(&mut peer).await;
            let settings = wire.response_request(&mut peer).await;
            assert_eq!(
                settings["tool_choice"] == "none",
                wire == OpenAi && step == 2,
                "{wire:?} {step}"
            );
        }
        wire.call(&mut peer, "c3", "add", &add(3)).await;
        let (id, text) = wire.result(&mut peer).await;
        assert!(
            id == "c3" && text.contains("3 steps of calls of this reply are used up"),
            "{wire:?} {text}"
        );
        while answered(&mut talk).await.is_ok() {}
        assert_eq!(talk.desk.runs(), 3, "{wire:?}");
    }
}

// L21
#[tokio::test]
async fn steps_are_counted_anew_after_the_turn() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        for round in 0..2 {
            for step in 0..3 {
                let number = round * 3 + step;
                wire.call(&mut peer, &format!("c{number}"), "add", &add(number))
                    .await;
                wire.result(&mut peer).await;
                wire.response_request(&mut peer).await;
            }
            wire.speak(&mut peer, "Done.", "AAAA").await;
            wire.finish(&mut peer).await;
            turn(&mut talk).await;
        }
        assert_eq!(talk.desk.runs(), 6, "{wire:?}");
    }
}

// R-L1, R-B1
#[tokio::test]
async fn loops_and_budgets_are_reported_to_the_model() {
    for (policy, expected) in [
        (Policy::text(), ErrorKind::LoopDetected),
        (
            Policy::text().max_calls(Some(2)).repeated_calls(None),
            ErrorKind::BudgetExceeded,
        ),
    ] {
        for wire in BOTH {
            let server = Server::start().await;
            let (mut talk, mut peer, _) = wire
                .start_with(&server, wire.model(&server), policy.clone(), History::new())
                .await;
            let mut kinds = Vec::new();
            for step in 0..3 {
                wire.call(&mut peer, &format!("c{step}"), "add", &add(1))
                    .await;
                assert_eq!(wire.result(&mut peer).await.0, format!("c{step}"));
                wire.response_request(&mut peer).await;
                kinds.push(answered(&mut talk).await.error().map(|error| error.kind));
            }
            assert_eq!(kinds, [None, None, Some(expected)], "{wire:?}");
        }
    }
}

// R-C1
#[tokio::test]
async fn confirmation_reaches_the_host_and_no_token_the_model() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        wire.call(&mut peer, "c1", "cancel_booking", &json!({"number": 7}))
            .await;
        let (_, question) = wire.result(&mut peer).await;
        wire.response_request(&mut peer).await;
        let token = answered(&mut talk)
            .await
            .meta()
            .confirmation()
            .expect("waits")
            .token
            .clone();
        // The model asks the user, who says yes.
        wire.speak(&mut peer, "Shall I cancel booking 7?", "AAAA")
            .await;
        wire.finish(&mut peer).await;
        talk.live.input().approve(&token).await.expect("accepted");
        let note = wire.text(&mut peer).await;
        assert!(
            note.contains("has approved it, and it has run")
                && note.contains("booking 7 is cancelled"),
            "{note}"
        );
        let secret = token.split('.').next_back().expect("a signature");
        assert!(
            !question.contains(secret) && !note.contains(secret),
            "{wire:?}"
        );
    }
}

// R-C6
#[tokio::test]
async fn live_call_is_approved_with_other_arguments() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        wire.call(&mut peer, "c1", "cancel_booking", &json!({"number": 7}))
            .await;
        wire.result(&mut peer).await;
        wire.response_request(&mut peer).await;
        let response = answered(&mut talk).await;
        let token = &response.meta().confirmation().expect("waits").token;
        wire.speak(&mut peer, "Shall I?", "AAAA").await;
        wire.finish(&mut peer).await;
        let decision = Decision::approve(token).with_arguments(json!({"number": 8}));
        talk.live.input().decide(decision).await.expect("accepted");
        let note = wire.text(&mut peer).await;
        assert!(
            note.contains("after changing its arguments to")
                && note.contains("booking 8 is cancelled"),
            "{note}"
        );
    }
}

// L24
#[tokio::test]
async fn updates_are_notes_after_the_answer_of_their_call() {
    for wire in BOTH {
        let server = Server::start().await;
        let (_talk, mut peer, _) = wire.start(&server).await;
        wire.call(&mut peer, "c1", "order_taxi", &json!({})).await;
        let mut messages = Vec::new();
        while messages.len() < 3 {
            let message = peer.receive().await.to_string();
            if message.contains("response.create") {
                wire.finish(&mut peer).await;
            } else {
                messages.push(message);
            }
        }
        let is_note = |message: &str| message.contains("[Note by the application");
        assert!(
            !is_note(&messages[0]) && messages[0].contains("a taxi is being looked for"),
            "{wire:?} {messages:?}"
        );
        assert!(
            is_note(&messages[1]) && messages[1].contains("one is on its way"),
            "{wire:?} {messages:?}"
        );
        assert!(
            is_note(&messages[2]) && messages[2].contains("it is here"),
            "{wire:?} {messages:?}"
        );
    }
}

// L18
#[tokio::test]
async fn stop_brings_no_reply_to_the_host() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        wire.call(&mut peer, "c1", "intend", &json!({"name": "stop"}))
            .await;
        assert_eq!(wire.result(&mut peer).await.0, "c1");
        if wire == OpenAi {
            assert!(peer.receives_nothing().await, "no response is requested");
        } else {
            // Gemini answers results without being asked.
            wire.speak(&mut peer, "As you wish.", "AAAAAAAA").await;
            wire.finish(&mut peer).await;
        }
        turn(&mut talk).await;
        wire.hear(&mut peer, "Hello?").await;
        wire.speak(&mut peer, "Hello!", "AAAA").await;
        let speech = |event: &LiveEvent| match event {
            LiveEvent::Model(Event::Audio { data, .. }) => Some(data.clone()),
            _ => None,
        };
        assert_eq!(talk.until(speech).await, "AAAA", "{wire:?}");
        let withheld = talk.live.suppressed();
        let expected = if wire == Gemini { (8, 12) } else { (0, 0) };
        assert_eq!(
            (withheld.audio_bytes, withheld.transcript_bytes),
            expected,
            "{wire:?}"
        );
    }
}

// L18
#[tokio::test]
async fn stop_beside_another_result_brings_a_reply() {
    let server = Server::start().await;
    let (mut talk, mut peer, _) = Gemini.start(&server).await;
    let calls = json!([{"id": "c1", "name": "intend", "args": {"name": "stop"}}, {"id": "c2", "name": "add", "args": add(1)}]);
    peer.send(json!({"toolCall": {"functionCalls": calls}}))
        .await;
    for _ in 0..2 {
        Gemini.result(&mut peer).await;
    }
    Gemini.speak(&mut peer, "It is 2.", "AAAA").await;
    let text = |event: &LiveEvent| {
        if let LiveEvent::Model(Event::Text(text)) = event {
            Some(text.clone())
        } else {
            None
        }
    };
    assert_eq!(talk.until(text).await, "It is 2.");
}

// L18
#[tokio::test]
async fn stop_of_a_background_tool_is_silent() {
    let server = Server::start().await;
    let model = Gemini.model(&server).background_tools();
    let (mut talk, mut peer, setup) = Gemini
        .start_with(&server, model, Policy::text(), History::new())
        .await;
    let declarations = setup["tools"][0]["functionDeclarations"]
        .as_array()
        .expect("functions");
    assert!(
        declarations
            .iter()
            .all(|function| function["behavior"] == "NON_BLOCKING"),
        "{setup}"
    );
    Gemini
        .call(&mut peer, "c1", "intend", &json!({"name": "stop"}))
        .await;
    let result = peer.receive().await;
    assert_eq!(
        result["toolResponse"]["functionResponses"][0]["scheduling"],
        "SILENT"
    );
    // The model speaks about other things meanwhile.
    Gemini.speak(&mut peer, "By the way.", "AAAA").await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(()))
        .await;
}

#[tokio::test]
async fn slow_host_loses_no_call_and_no_connection() {
    for wire in BOTH {
        let server = Server::start().await;
        let model = wire
            .model(&server)
            .event_bytes(10_000)
            .heartbeat(Duration::from_millis(400));
        let mut talk = talk_under(Policy::text(), model, History::new()).await;
        let (mut peer, _) = wire.accept(&server).await;
        // More than the buffers of both sockets hold, so that the server has to wait.
        let serve = tokio::spawn(async move {
            for _ in 0..400 {
                wire.speak(&mut peer, "word ", &"A".repeat(40_000)).await;
            }
            wire.finish(&mut peer).await;
            wire.call(&mut peer, "c1", "add", &add(1)).await;
            while peer.receive().await.to_string().contains("session.update") {}
            peer
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            (talk.desk.runs(), serve.is_finished()),
            (0, false),
            "{wire:?}: the host reads nothing"
        );
        let mut heard = 0;
        loop {
            match talk.next().await.expect("the conversation goes on") {
                LiveEvent::Model(Event::Audio { data, .. }) => heard += data.len(),
                LiveEvent::Disconnected { error, .. } => panic!("{wire:?}: {error}"),
                LiveEvent::Answered(response) => break assert!(response.is_ok()),
                _ => {}
            }
        }
        assert_eq!((heard, talk.desk.runs()), (400 * 40_000, 1), "{wire:?}");
        drop(serve.await.expect("served"));
    }
}

#[tokio::test]
async fn speech_is_measured() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        let rate = if wire == Gemini { 16_000 } else { 24_000 };
        talk.live
            .input()
            .audio(vec![0; rate])
            .await
            .expect("accepted");
        peer.receive().await;
        wire.call(&mut peer, "c1", "add", &add(1)).await;
        wire.result(&mut peer).await;
        wire.response_request(&mut peer).await;
        wire.speak(&mut peer, "It is 2.", &"A".repeat(64_000)).await;
        talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(()))
            .await;
        wire.interrupt(&mut peer).await;
        talk.until(|event| matches!(event, LiveEvent::Model(Event::Interrupted)).then_some(()))
            .await;
        let speech = talk.session.metrics().speech;
        assert_eq!(
            (
                speech.heard.as_millis(),
                speech.spoken.as_millis(),
                speech.interruptions
            ),
            (500, 1_000, 1),
            "{wire:?}"
        );
        assert!(!speech.first_audio.p50.is_zero(), "{wire:?}");
    }
}

// R-M4
#[tokio::test]
async fn usage_is_the_context_of_the_session() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        peer.send(match wire {
            Gemini => json!({"usageMetadata": {"promptTokenCount": 900, "responseTokenCount": 7}}),
            OpenAi => {
                json!({"type": "response.done", "response": {"id": "r", "status": "completed", "output": [],
                "usage": {"total_tokens": 907, "input_tokens": 900, "output_tokens": 7}}})
            }
        })
        .await;
        talk.until(|event| matches!(event, LiveEvent::Model(Event::Usage(_))).then_some(()))
            .await;
        assert_eq!(talk.session.context().peak_tokens, 900, "{wire:?}");
    }
}

// L18
#[tokio::test]
async fn late_transcript_does_not_deliver_an_unwanted_reply() {
    let server = Server::start().await;
    let (mut talk, mut peer, _) = Gemini.start(&server).await;
    Gemini
        .call(&mut peer, "c1", "intend", &json!({"name": "stop"}))
        .await;
    Gemini.result(&mut peer).await;
    Gemini.hear(&mut peer, "Stop, please.").await;
    Gemini.speak(&mut peer, "As you wish.", "AAAAAAAA").await;
    Gemini.finish(&mut peer).await;
    turn(&mut talk).await;
    assert_eq!(talk.live.suppressed().audio_bytes, 8);
}

// L18
#[tokio::test]
async fn silent_stop_ends_the_turn() {
    let server = Server::start().await;
    let model = Gemini.model(&server).background_tools();
    let (mut talk, mut peer, _) = Gemini
        .start_with(&server, model, Policy::text(), History::new())
        .await;
    Gemini
        .call(&mut peer, "c1", "intend", &json!({"name": "stop"}))
        .await;
    Gemini.result(&mut peer).await;
    turn(&mut talk).await;
}

// L21
#[tokio::test]
async fn repeated_call_after_the_last_step_is_not_run() {
    let server = Server::start().await;
    let policy = Policy::text().max_tool_steps(1);
    let (talk, mut peer, _) = Gemini
        .start_with(&server, Gemini.model(&server), policy, History::new())
        .await;
    Gemini.make_resumable(&mut peer).await;
    for number in 0..2 {
        Gemini
            .call(&mut peer, &format!("c{number}"), "add", &add(number))
            .await;
        Gemini.result(&mut peer).await;
    }
    drop(peer);
    let (mut peer, _) = Gemini.accept(&server).await;
    for id in ["c0", "c1"] {
        assert_eq!(
            Gemini.result(&mut peer).await.0,
            id,
            "the result may have been lost"
        );
    }
    Gemini.call(&mut peer, "c1", "add", &add(1)).await;
    Gemini.call(&mut peer, "c1", "add", &add(7)).await;
    assert!(
        Gemini
            .result(&mut peer)
            .await
            .1
            .contains("steps of calls of this reply are used up")
    );
    assert_eq!(talk.desk.runs(), 1);
}

// R-B2
#[tokio::test]
async fn call_after_the_end_of_a_turn_belongs_to_the_next() {
    for wire in BOTH {
        let server = Server::start().await;
        let policy = Policy::text().max_calls(Some(1));
        let (mut talk, mut peer, _) = wire
            .start_with(&server, wire.model(&server), policy, History::new())
            .await;
        for number in 0..20 {
            wire.call(&mut peer, &format!("c{number}"), "add", &add(number))
                .await;
            wire.result(&mut peer).await;
            wire.response_request(&mut peer).await;
            // The next call follows at once.
            wire.finish(&mut peer).await;
        }
        for _ in 0..20 {
            assert!(
                answered(&mut talk).await.is_ok(),
                "{wire:?}: the budget of its own turn"
            );
        }
    }
}

async fn interrupted(talk: &mut Talk) {
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Interrupted)).then_some(()))
        .await;
}

// L24
#[tokio::test]
async fn speech_does_not_cancel_calls_in_the_background() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        wire.call(
            &mut peer,
            "c1",
            "watch",
            &json!({"rounds": 1, "updates": 0}),
        )
        .await;
        assert_eq!(wire.result(&mut peer).await.0, "c1");
        wire.response_request(&mut peer).await;
        talk.desk.begun(1).await;
        wire.interrupt(&mut peer).await;
        interrupted(&mut talk).await;
        talk.desk.gate.add_permits(1);
        let note = wire.text(&mut peer).await;
        assert!(note.contains("nobody is left"), "{wire:?} {note}");
    }
}

// L24
#[tokio::test]
async fn speech_lets_a_call_in_the_background_try_again() {
    let server = Server::start().await;
    let (mut talk, mut peer, _) = Gemini.start(&server).await;
    Gemini.call(&mut peer, "c1", "fetch", &json!({})).await;
    assert_eq!(Gemini.result(&mut peer).await.0, "c1");
    talk.desk.begun(1).await;
    Gemini.interrupt(&mut peer).await;
    interrupted(&mut talk).await;
    talk.desk.gate.add_permits(2);
    let update = Gemini.text(&mut peer).await;
    assert!(update.contains("the mail is being fetched"), "{update}");
    let end = Gemini.text(&mut peer).await;
    assert!(end.contains("there is no mail"), "{end}");
}

// R-C1
#[tokio::test]
async fn speech_does_not_cancel_what_a_person_approved() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        wire.call(&mut peer, "c1", "close_account", &json!({"quietly": false}))
            .await;
        wire.result(&mut peer).await;
        wire.response_request(&mut peer).await;
        let response = answered(&mut talk).await;
        let token = &response.meta().confirmation().expect("waits").token;
        talk.live.input().approve(token).await.expect("accepted");
        talk.desk.begun(1).await;
        wire.interrupt(&mut peer).await;
        interrupted(&mut talk).await;
        talk.desk.gate.add_permits(1);
        let note = wire.text(&mut peer).await;
        assert!(note.contains("the account is closed"), "{wire:?} {note}");
    }
}

// L24
#[tokio::test]
async fn an_interrupted_background_call_asks_for_no_reply() {
    let server = Server::start().await;
    let (talk, mut peer, _) = OpenAi.start(&server).await;
    OpenAi
        .call(
            &mut peer,
            "c1",
            "watch",
            &json!({"rounds": 1, "updates": 0}),
        )
        .await;
    OpenAi.result(&mut peer).await;
    OpenAi.response_request(&mut peer).await;
    OpenAi.speak(&mut peer, "I watch it.", "AAAA").await;
    OpenAi.finish(&mut peer).await;
    talk.desk.begun(1).await;
    assert!(peer.receives_nothing().await);
    talk.live.input().interrupt().await.expect("accepted");
    let note = OpenAi.text(&mut peer).await;
    assert!(note.contains("cancelled"), "{note}");
    assert!(peer.receives_nothing().await, "no response is requested");
}

#[tokio::test]
async fn speech_overtakes_audio_that_the_host_has_not_taken() {
    for wire in BOTH {
        let server = Server::start().await;
        let (mut talk, mut peer, _) = wire.start(&server).await;
        for _ in 0..10 {
            wire.speak(&mut peer, "word ", "AAAA").await;
        }
        wire.interrupt(&mut peer).await;
        assert!(peer.receives_nothing().await, "{wire:?}: all is read");
        let mut audio = 0;
        let mut texts = 0;
        loop {
            match talk.next().await.expect("the conversation goes on") {
                LiveEvent::Model(Event::Audio { .. }) => audio += 1,
                LiveEvent::Model(Event::Text(_)) => texts += 1,
                LiveEvent::Model(Event::Interrupted) => break,
                _ => {}
            }
        }
        assert_eq!((audio, texts), (0, 10), "{wire:?}");
    }
}

#[tokio::test]
async fn updates_that_wait_for_the_host_are_bounded() {
    const ROUNDS: u32 = 6;
    let server = Server::start().await;
    let model = Gemini.model(&server).event_bytes(1);
    let (mut talk, mut peer, _) = Gemini
        .start_with(&server, model, Policy::text(), History::new())
        .await;
    let arguments = json!({"rounds": ROUNDS, "updates": 1_000});
    // The host has to take the events before, as otherwise the socket is not read.
    let calling = async {
        Gemini.call(&mut peer, "c1", "watch", &arguments).await;
        Gemini.result(&mut peer).await;
        peer
    };
    let (mut peer, _) = tokio::join!(calling, answered(&mut talk));
    tokio::spawn(async move { while peer.next().await.is_some() {} });

    let mut updates = 0;
    for round in 1..=ROUNDS {
        talk.desk.begun(round).await;
        talk.desk.gate.add_permits(1);
        // The task takes what the session has once the host has taken an event.
        updates += u32::from(is_update(&talk.next().await.expect("an event")));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    loop {
        let event = talk.next().await.expect("the conversation goes on");
        if let LiveEvent::Updated(response) = event {
            updates += 1;
            if response.meta().call_id() == Some("c1_final") {
                break;
            }
        }
    }
    assert!((1_000..2_100).contains(&updates), "{updates}");
}

fn is_update(event: &LiveEvent) -> bool {
    matches!(event, LiveEvent::Updated(_))
}

// L18
#[tokio::test]
async fn a_quiet_decision_lets_the_current_answer_end() {
    let server = Server::start().await;
    let (mut talk, mut peer, _) = Gemini.start(&server).await;
    Gemini
        .call(&mut peer, "c1", "close_account", &json!({"quietly": true}))
        .await;
    Gemini.result(&mut peer).await;
    let response = answered(&mut talk).await;
    let token = &response.meta().confirmation().expect("waits").token;
    Gemini.speak(&mut peer, "By the ", "AAAA").await;
    talk.until(|event| matches!(event, LiveEvent::Model(Event::Audio { .. })).then_some(()))
        .await;
    talk.live.input().approve(token).await.expect("accepted");
    Gemini.text(&mut peer).await;
    Gemini.speak(&mut peer, "way.", "BBBB").await;
    Gemini.finish(&mut peer).await;
    // Gemini answers the note without being asked.
    Gemini.speak(&mut peer, "As you wish.", "CCCC").await;
    Gemini.finish(&mut peer).await;
    Gemini.speak(&mut peer, "Anything else?", "DDDD").await;
    let mut heard = Vec::new();
    while heard.last().is_none_or(|data| data != "DDDD") {
        if let Some(LiveEvent::Model(Event::Audio { data, .. })) = talk.next().await {
            heard.push(data);
        }
    }
    assert_eq!(heard, ["BBBB", "DDDD"]);
}

/// Returns the interruptions that are counted once the user begins to speak after an answer.
async fn interruptions_after_an_answer(wire: Wire, is_playing: bool) -> u64 {
    let server = Server::start().await;
    let (mut talk, mut peer, _) = wire.start(&server).await;
    wire.speak(&mut peer, "It is six.", "AAAA").await;
    wire.finish(&mut peer).await;
    turn(&mut talk).await;
    talk.session.playout_started();
    if !is_playing {
        talk.session.playout_finished();
    }
    wire.interrupt(&mut peer).await;
    interrupted(&mut talk).await;
    talk.session.metrics().speech.interruptions
}

#[tokio::test]
async fn an_interruption_of_the_playout_is_counted() {
    for wire in BOTH {
        assert_eq!(interruptions_after_an_answer(wire, true).await, 1);
    }
}

#[tokio::test]
async fn speech_after_the_playout_is_no_interruption() {
    for wire in BOTH {
        assert_eq!(interruptions_after_an_answer(wire, false).await, 0);
    }
}
