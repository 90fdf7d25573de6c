//! Raw PCM: from a file or standard input to the model, at the pace at which it plays.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::error::Error;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use tool_adapters::Provider;
use tool_adapters::transport::websocket::LiveInput;

/// The time that one piece of audio plays.
const PIECE: Duration = Duration::from_millis(20);

/// Returns Gemini's setting for answers that are spoken.
pub(crate) fn spoken_answers() -> Value {
    json!({"responseModalities": ["AUDIO"]})
}

pub(crate) fn decoded(base64: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    Ok(BASE64_STANDARD.decode(base64)?)
}

/// Sends the audio of a file in a task, and then a second of silence, by which the provider hears the end of the sentence.
pub(crate) async fn send(
    file: &str,
    provider: Provider,
    input: LiveInput,
) -> Result<JoinHandle<()>, Box<dyn Error>> {
    let mut source: Box<dyn AsyncRead + Send + Unpin> = match file {
        "-" => Box::new(tokio::io::stdin()),
        path => Box::new(
            tokio::fs::File::open(path)
                .await
                .map_err(|error| format!("cannot read `{path}`: {error}"))?,
        ),
    };
    let samples_per_second = if provider == Provider::OpenAiRealtime {
        24_000
    } else {
        16_000
    };
    let bytes = samples_per_second * 2 / 50;
    Ok(tokio::spawn(async move {
        let mut clock = interval(PIECE);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut piece = vec![0; bytes];
        loop {
            match read_piece(&mut source, &mut piece).await {
                Ok(0) => break,
                Ok(read) => piece[read..].fill(0),
                Err(error) => return eprintln!("cannot read the audio: {error}"),
            }
            clock.tick().await;
            if input.audio(piece.clone()).await.is_err() {
                return;
            }
        }
        for _ in 0..50 {
            clock.tick().await;
            let _ = input.audio(vec![0; bytes]).await;
        }
    }))
}

/// Fills a piece as far as the source has bytes. Returns their number.
async fn read_piece(
    source: &mut (impl AsyncRead + Unpin),
    piece: &mut [u8],
) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < piece.len() {
        match source.read(&mut piece[filled..]).await? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
