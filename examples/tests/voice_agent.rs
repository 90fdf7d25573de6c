//! The voice agent example, run with cargo.

mod shared;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use shared::run;
use std::io::Write;
use std::process::Output;
use tokio::net::TcpListener;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

#[test]
fn conversation_crosses_to_voice_and_back() {
    let output = run("voice_agent", &[], &[], "");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = [
        "guest: I am Ann, room 12. When does the pool open?",
        r#"  < "07:00 to 21:00""#,
        "  ! START_VOICE_SESSION",
        "-- voice",
        "[connected]",
        "agent: Good evening, Ann. How can I help you?",
        r#"  > call_taxi {"destination":"the station"}"#,
        r#"  < "the taxi company is being called""#,
        "[connected again: the conversation goes on]",
        r#"  < later: "a taxi to the station comes in 5 minutes""#,
        "[the loudspeaker falls silent]",
        "  ! SUPPRESS_AUDIO",
        "agent: The code is on your screen.",
        "  < CONFIRMATION_REQUIRED",
        "guest: Yes, please.",
        r#"  < "booking 7 is cancelled""#,
        "  ! NAVIGATE",
        " bytes of audio were not spoken]",
        "-- text",
        "agent: Yes, Ann, the taxi to the station has been ordered.",
        "calls: 7, of which 1 waited or failed; turns: 8",
        "largest context: 600 tokens",
    ];
    // How much of the interrupted speech was spoken depends on the machine.
    let place = |line: &str| text.lines().position(|printed| printed.ends_with(line));
    let at = lines.map(|line| place(line).unwrap_or_else(|| panic!("{line}\n{text}")));
    assert!(at.is_sorted(), "{text}");
}

#[test]
fn script_steps_send_or_wait() {
    let script: Vec<Vec<Value>> =
        serde_json::from_str(include_str!("../voice_agent/script.json")).unwrap();
    for step in script
        .iter()
        .flatten()
        .map(|step| step.as_object().unwrap())
    {
        assert_eq!(step.len(), 1);
        assert!(
            ["send", "await"]
                .iter()
                .any(|kind| step.contains_key(*kind)),
            "{step:?}"
        );
    }
}

/// Sends 100 ms of audio to a provider that answers it, and returns the program's output.
async fn talk(
    provider: &str,
    base_url: &str,
    key: &str,
    samples_per_second: usize,
    answer: Vec<Value>,
) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let bytes = samples_per_second / 5;
    let serve = async {
        let mut socket = accept_async(listener.accept().await.unwrap().0)
            .await
            .unwrap();
        socket.next().await.unwrap().unwrap();
        socket
            .send(Message::text(r#"{"setupComplete": {}}"#))
            .await
            .unwrap();
        let mut heard = 0;
        while heard < bytes {
            let message: Value =
                serde_json::from_slice(&socket.next().await.unwrap().unwrap().into_data()).unwrap();
            let audio = message["audio"]
                .as_str()
                .or(message["realtimeInput"]["audio"]["data"].as_str());
            heard += audio.map_or(0, |audio| audio.len() / 4 * 3);
        }
        for message in answer {
            socket
                .send(Message::text(message.to_string()))
                .await
                .unwrap();
        }
        while let Some(Ok(_)) = socket.next().await {}
    };
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![1; bytes]).unwrap();
    let (path, provider, name, key) = (
        file.path().to_owned(),
        provider.to_owned(),
        base_url.to_owned(),
        key.to_owned(),
    );
    let program = tokio::task::spawn_blocking(move || {
        let settings = [
            ("VOICE_MODEL", "a-model"),
            ("VOICE_PROVIDER", provider.as_str()),
            (name.as_str(), url.as_str()),
            (key.as_str(), "sk-1"),
        ];
        run("voice_agent", &[path.to_str().unwrap()], &settings, "")
    });
    tokio::join!(program, serve).0.unwrap()
}

#[tokio::test]
async fn pcm_goes_to_gemini_and_comes_back() {
    let audio = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAECAwQF"}});
    let answer = vec![
        json!({"serverContent": {"modelTurn": {"role": "model", "parts": [audio]}}}),
        json!({"serverContent": {"turnComplete": true}}),
    ];
    let output = talk(
        "gemini-live",
        "GOOGLE_GEMINI_BASE_URL",
        "GEMINI_API_KEY",
        16_000,
        answer,
    )
    .await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn pcm_goes_to_openai_and_comes_back() {
    let answer = vec![
        json!({"type": "response.created", "response": {"id": "r"}}),
        json!({"type": "response.output_audio.delta", "item_id": "i", "delta": "AAECAwQF"}),
        json!({"type": "response.done", "response": {"id": "r", "status": "completed", "output": []}}),
    ];
    let output = talk(
        "openai-realtime",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        24_000,
        answer,
    )
    .await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn wrong_settings_are_explained() {
    let output = run("voice_agent", &["x.pcm"], &[], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .starts_with("usage:")
    );
    let output = run(
        "voice_agent",
        &["no-such.pcm"],
        &[("VOICE_MODEL", "m"), ("GEMINI_API_KEY", "k")],
        "",
    );
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && told.contains("cannot read `no-such.pcm`"),
        "{told}"
    );
}
