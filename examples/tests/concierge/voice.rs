//! The voice session of the conversation.

use crate::support::{conversation, played};

// R-B1, R-B2
#[tokio::test]
async fn third_retrieval_of_a_voice_turn_is_over_budget() {
    let [_, voice] = conversation().await;
    let turn = voice.turn("breakfast, parking");
    assert_eq!(turn.kinds(), ["ok", "ok", "BUDGET_EXCEEDED"]);
    assert!(
        turn.message(2).contains('2') && turn.message(2).contains("retrieval"),
        "{}",
        turn.message(2)
    );
}

// R-B1, R-C1
#[tokio::test]
async fn fourth_call_of_a_voice_turn_is_over_budget() {
    let [_, voice] = conversation().await;
    let turn = voice.turn("my wife keeps 314");
    assert_eq!(
        turn.kinds(),
        ["ok", "ok", "CONFIRMATION_REQUIRED", "ok", "BUDGET_EXCEEDED"]
    );
    assert!(turn.message(4).contains('3'), "{}", turn.message(4));
}

// R-B2
#[tokio::test]
async fn next_turn_has_a_full_budget() {
    let [_, voice] = conversation().await;
    assert_eq!(voice.turn("the weather").kinds(), ["ok"]);
}

// R-I1, R-I3
#[tokio::test]
async fn session_ends_after_the_current_turn() {
    let [_, voice] = conversation().await;
    let last = voice.turn("good night");
    assert_eq!(last.kinds(), ["ok"]);
    assert!(
        last.at_end.ending && !last.at_end.ended && last.after.ended,
        "{:?} {:?}",
        last.at_end,
        last.after
    );
    assert_eq!(
        last.closing.as_deref(),
        Some("Good night, and enjoy your stay.")
    );
    let late = voice.turn("one more thing");
    assert!(late.over);
    assert_eq!(late.kinds(), ["SESSION_INACTIVE"]);
}

// R-I1
#[tokio::test]
async fn calls_after_the_end_request_run_in_the_same_turn() {
    let script = "== voice\nguest: Bye, is the pool open?\n> end_voice_session\n> kb_search {\"query\": \"pool\"}";
    assert_eq!(played(script).await[0].turns[0].kinds(), ["ok", "ok"]);
}

// R-I1, R-I2
#[tokio::test]
async fn ignoring_the_guest_suppresses_one_turn() {
    let [_, voice] = conversation().await;
    let turn = voice.turn("the weather");
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

// R-F4
#[tokio::test]
async fn voice_instructions_contain_summaries() {
    let [_, voice] = conversation().await;
    let summary = "Finds articles about the hotel by their words; search before you answer a question about it.";
    assert!(
        voice.instructions.contains(summary),
        "{}",
        voice.instructions
    );
    assert!(
        voice.instructions.contains("Ends the spoken conversation"),
        "{}",
        voice.instructions
    );
    for part in ["Watch Out", "start_voice_session"] {
        assert!(
            !voice.instructions.contains(part),
            "{part}: {}",
            voice.instructions
        );
    }
}

// R-B3
#[tokio::test]
async fn voice_session_cannot_start_another() {
    let scenes = played("== voice\nguest: Can we talk?\n> start_voice_session {}").await;
    assert_eq!(scenes[0].turns[0].kinds(), ["MODE_RESTRICTED"]);
}
