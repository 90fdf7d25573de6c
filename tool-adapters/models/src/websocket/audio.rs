//! The playing time of raw audio.

use std::time::Duration;

/// Returns the time for which bytes of mono audio play; zero for a type whose time its bytes do not
/// tell.
pub(crate) fn playing_time(mime_type: &str, bytes: usize) -> Duration {
    let mut parts = mime_type.split(';').map(str::trim);
    let bytes_per_second = match parts.next() {
        // 16 bits a sample.
        Some("audio/pcm" | "audio/L16" | "audio/l16") => {
            let rate = parts.find_map(|part| part.strip_prefix("rate=")?.parse::<u64>().ok());
            rate.unwrap_or(24_000).saturating_mul(2)
        }
        Some("audio/pcmu" | "audio/pcma") => 8_000,
        _ => 0,
    };
    let micros = (bytes as u64)
        .saturating_mul(1_000_000)
        .checked_div(bytes_per_second);
    Duration::from_micros(micros.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn playing_time_follows_from_rate_and_format() {
        for (mime_type, bytes, milliseconds) in [
            ("audio/pcm;rate=16000", 32_000, 1_000),
            ("audio/pcm; rate=24000", 24_000, 500),
            ("audio/pcm", 48_000, 1_000),
            ("audio/pcmu", 4_000, 500),
            ("audio/pcm;rate=0", 4_000, 0),
            ("audio/opus", 4_000, 0),
        ] {
            assert_eq!(
                playing_time(mime_type, bytes),
                Duration::from_millis(milliseconds),
                "{mime_type}"
            );
        }
    }
}
