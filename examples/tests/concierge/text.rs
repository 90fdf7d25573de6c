//! The text session of the conversation.

use crate::support::{conversation, played};
use serde_json::{Value, json};
use tool_core::Intent;

#[tokio::test]
async fn search_and_its_article_are_answered() {
    let [text, _] = conversation().await;
    let turn = text.turn("When does the pool open");
    assert_eq!(turn.kinds(), ["ok"; 3]);
    let data = |number: usize| turn.responses()[number].data::<Value>().unwrap();
    assert_eq!(data(0)["results"][0]["id"], "pool");
    assert!(
        data(1)["body"]
            .as_str()
            .unwrap()
            .contains("from 7:00 to 22:00"),
        "{}",
        data(1)
    );
    assert_eq!(data(2)["results"][0]["id"], "pets");
}

// R-L1, R-L3
#[tokio::test]
async fn third_equal_search_of_a_turn_is_a_loop() {
    let [text, _] = conversation().await;
    let turn = text.turn("swimming at midnight");
    assert_eq!(turn.kinds(), ["ok", "ok", "LOOP_DETECTED"]);
    assert_eq!(
        turn.message(2),
        "Loop detected: kb_search called 3 times with identical arguments. Try a different approach or rephrase your query."
    );
}

// R-L2
#[tokio::test]
async fn search_is_refused_after_two_empty_results() {
    let [text, _] = conversation().await;
    let turn = text.turn("helipad");
    assert_eq!(turn.kinds(), ["ok", "ok", "LOOP_DETECTED"]);
    assert_eq!(turn.responses()[0].data_json(), Some(r#"{"results":[]}"#));
    assert_eq!(
        turn.message(2),
        "kb_search returned empty results 2 times. Data may not exist. Try different search terms or a different tool."
    );
}

// R-B3
#[tokio::test]
async fn voice_tool_is_refused_in_text_mode() {
    let [text, _] = conversation().await;
    let turn = text.turn("Goodbye then");
    assert_eq!(turn.kinds()[0], "MODE_RESTRICTED");
    assert!(turn.message(0).contains("voice"), "{}", turn.message(0));
    assert!(!turn.after.ended);
}

#[tokio::test]
async fn conversation_continues_after_invalid_calls() {
    let [text, _] = conversation().await;
    let turn = text.turn("Goodbye then");
    assert_eq!(turn.kinds()[1..], ["NOT_FOUND", "VALIDATION", "PERMANENT"]);
    assert!(turn.message(1).contains("kb_search"), "{}", turn.message(1));
}

// R-C1
#[tokio::test]
async fn approved_call_runs() {
    let [text, _] = conversation().await;
    let turn = text.turn("Keep my room");
    assert_eq!(turn.kinds(), ["CONFIRMATION_REQUIRED", "ok"]);
    let booked = json!({"room": "312", "until": "14:00", "price_euros": 45});
    assert_eq!(turn.responses()[1].data::<Value>().unwrap(), booked);
    assert_eq!(
        turn.responses()[1].meta().call_id(),
        turn.responses()[0].meta().call_id()
    );
}

// R-C1
#[tokio::test]
async fn denied_call_does_not_run() {
    let [text, _] = conversation().await;
    let turn = text.turn("Make that four");
    assert_eq!(turn.kinds(), ["CONFIRMATION_REQUIRED", "DENIED"]);
    // A second booking of the room would be a CONFLICT.
    let book = "> book_late_checkout {\"room\": \"101\", \"until\": \"13:00\"}";
    let scenes = played(&format!(
        "== text\nguest: Keep 101\n{book}\ndeny\n{book}\napprove\n{book}\napprove"
    ))
    .await;
    let wait = "CONFIRMATION_REQUIRED";
    assert_eq!(
        scenes[0].turns[0].kinds(),
        [wait, "DENIED", wait, "ok", "LOOP_DETECTED"]
    );
}

// R-I1, R-I2
#[tokio::test]
async fn ignoring_the_guest_suppresses_one_turn() {
    let [text, _] = conversation().await;
    let turn = text.turn("keys");
    assert_eq!(turn.kinds(), ["ok"]);
    assert!(
        turn.at_end.audio_suppressed && turn.at_end.transcript_suppressed,
        "{:?}",
        turn.at_end
    );
    assert!(
        !turn.after.audio_suppressed && !turn.after.transcript_suppressed,
        "{:?}",
        turn.after
    );
}

// R-I1
#[tokio::test]
async fn voice_session_begins_with_the_greeting() {
    let [text, voice] = conversation().await;
    let greeting = Some("Good evening! What else would you like to know?".to_owned());
    assert_eq!(text.turn("Can we talk").at_end.pending_message, greeting);
    assert_eq!(voice.turns[0].opening, greeting);
}

// R-I1
#[tokio::test]
async fn audit_log_lists_every_intent_with_its_effect() {
    let [text, _] = conversation().await;
    let names = [
        "SUPPRESS_AUDIO",
        "SUPPRESS_TRANSCRIPT",
        "concierge.block_user",
        "SET_PENDING_MESSAGE",
    ];
    assert_eq!(
        text.intents.iter().map(Intent::name).collect::<Vec<_>>(),
        names
    );
    let with_intents = text
        .audit
        .iter()
        .filter(|entry| !entry.intents.is_empty())
        .collect::<Vec<_>>();
    let tools = with_intents
        .iter()
        .map(|entry| entry.tool.as_str())
        .collect::<Vec<_>>();
    assert_eq!(tools, ["ignore_user", "start_voice_session"]);
    let audited = with_intents
        .iter()
        .flat_map(|entry| &entry.intents)
        .collect::<Vec<_>>();
    assert_eq!(
        audited
            .iter()
            .map(|audited| audited.intent.name())
            .collect::<Vec<_>>(),
        names
    );
    assert!(audited.iter().all(|audited| !audited.effect.is_empty()));
}

// R-F4
#[tokio::test]
async fn text_instructions_contain_full_guides() {
    let [text, _] = conversation().await;
    for part in [
        "Search the articles",
        "## Watch Out",
        "start_voice_session",
        "book_late_checkout",
    ] {
        assert!(
            text.instructions.contains(part),
            "{part}: {}",
            text.instructions
        );
    }
    assert!(
        !text.instructions.contains("Stop talking"),
        "{}",
        text.instructions
    );
}

#[tokio::test]
async fn blocked_user_is_not_heard_until_the_time_is_over() {
    let script = "== text\nguest: Not you.\n> ignore_user {\"duration_seconds\": 20}\nwait 19\n\
                  guest: Nor this.\n> kb_search {\"query\": \"pool\"}\nwait 1\n\
                  guest: The pool?\n> kb_search {\"query\": \"pool\"}";
    let turns = &played(script).await[0].turns;
    assert_eq!(
        turns
            .iter()
            .map(|turn| turn.blocked_for)
            .collect::<Vec<_>>(),
        [0, 1, 0]
    );
    assert_eq!(
        turns
            .iter()
            .map(|turn| turn.kinds().len())
            .collect::<Vec<_>>(),
        [1, 0, 1]
    );
}

#[tokio::test]
async fn duration_of_a_block_is_bounded() {
    let script = "== text\nguest: Not you.\n> ignore_user {\"duration_seconds\": 3601}\n> ignore_user {\"duration_seconds\": 0}";
    assert_eq!(
        played(script).await[0].turns[0].kinds(),
        ["VALIDATION", "VALIDATION"]
    );
}
