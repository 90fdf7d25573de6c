//! Pieces are joined before they are interpreted, wherever a server cuts them.

use crate::answers::bodies::{Body, call, text};
use crate::answers::{PROVIDERS, play};
use tool_adapters::Provider;

/// The protocols whose texts come in pieces.
const IN_PIECES: [Provider; 7] = [
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::Mistral,
    Provider::Cohere,
    Provider::Ollama,
];

/// The protocols whose arguments come in pieces.
const ARGUMENTS_IN_PIECES: [Provider; 5] = [
    Provider::OpenAiChat,
    Provider::OpenAiResponses,
    Provider::Anthropic,
    Provider::Mistral,
    Provider::Cohere,
];

/// Replaces a text in all events.
fn replaced(mut body: Body, from: &str, to: &str) -> Body {
    for event in &mut body.events {
        *event = event.replace(from, to);
    }
    body
}

/// Puts a smile into the text, as two halves of a surrogate pair in two pieces.
fn text_with_halves(provider: Provider) -> Body {
    let body = replaced(
        text(provider),
        "The folder is empty.",
        r"The folder\ud83d\ude00 is empty.",
    );
    replaced(
        replaced(body, "\"The folder\"", r#""The folder\ud83d""#),
        "\" is\"",
        r#""\ude00 is""#,
    )
}

// M2
#[tokio::test]
async fn a_text_that_is_cut_within_a_pair_is_joined() {
    for provider in IN_PIECES {
        let outcome = play(provider, [text_with_halves(provider).answer()]).await;
        assert_eq!(
            outcome.reply.text.as_deref(),
            Some("The folder😀 is empty."),
            "{provider}: {:?}",
            outcome.reply
        );
        assert_eq!(outcome.requests, 1, "{provider}");
    }
}

/// Puts a smile into the path, as two halves of a surrogate pair in two pieces.
fn call_with_halves(provider: Provider) -> Body {
    let body = replaced(
        call(provider),
        "/data/scratch/",
        r"/data/\ud83d\ude00scratch/",
    );
    replaced(
        replaced(body, "/data/\"", r#"/data/\ud83d""#),
        "\"scratch/\"",
        r#""\ude00scratch/""#,
    )
}

// M2
#[tokio::test]
async fn arguments_that_are_cut_within_a_pair_are_joined() {
    for provider in ARGUMENTS_IN_PIECES {
        let outcome = play(
            provider,
            [call_with_halves(provider).answer(), text(provider).answer()],
        )
        .await;
        assert_eq!(
            outcome.ran,
            ["/data/😀scratch/"],
            "{provider}: {:?}",
            outcome.reply
        );
    }
}

// M2
#[tokio::test]
async fn arguments_that_are_cut_within_an_escape_are_joined() {
    for provider in ARGUMENTS_IN_PIECES {
        // The arguments have the escape `ä` of a letter, in two pieces.
        let body = replaced(call(provider), "/data/scratch/", r"/data/\\u00e4scratch/");
        let body = replaced(
            replaced(body, "/data/\"", r#"/data/\\u00""#),
            "\"scratch/\"",
            r#""e4scratch/""#,
        );
        let outcome = play(provider, [body.answer(), text(provider).answer()]).await;
        assert_eq!(
            outcome.ran,
            ["/data/äscratch/"],
            "{provider}: {:?}",
            outcome.reply
        );
    }
}

// M2
#[tokio::test]
async fn bytes_of_a_character_in_two_pieces_are_joined() {
    for provider in ARGUMENTS_IN_PIECES {
        let marked = replaced(call(provider), "/data/scratch/", "/data/<>scratch/");
        let marked = replaced(
            replaced(marked, "/data/\"", "/data/<\""),
            "\"scratch/\"",
            "\">scratch/\"",
        );
        let smile = "😀".as_bytes();
        let mut bytes = Vec::new();
        for byte in marked.bytes() {
            match byte {
                b'<' => bytes.extend(&smile[..2]),
                b'>' => bytes.extend(&smile[2..]),
                byte => bytes.push(byte),
            }
        }
        let outcome = play(
            provider,
            [marked.answer().bytes(bytes), text(provider).answer()],
        )
        .await;
        assert_eq!(
            outcome.ran,
            ["/data/😀scratch/"],
            "{provider}: {:?}",
            outcome.reply
        );
    }
}

// M2
#[tokio::test]
async fn half_a_character_never_becomes_another_one() {
    for provider in PROVIDERS {
        for half in [r"\ud83d", r"\ude00"] {
            let body = replaced(call(provider), "scratch", &format!("scr{half}atch"));
            let outcome = play(provider, (0..9).map(|_| body.answer())).await;
            assert!(outcome.ran.is_empty(), "{provider}: {:?}", outcome.ran);
            assert!(
                outcome.reply.error.is_some(),
                "{provider}: {:?}",
                outcome.reply
            );
        }
    }
}
