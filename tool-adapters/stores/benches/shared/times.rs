//! Times in microseconds, and their percentiles.

use std::time::Duration;

/// The times that were measured.
#[derive(Default)]
pub struct Times(Vec<u64>);

impl Times {
    pub fn add(&mut self, time: Duration) {
        self.0.push(micros(time));
    }

    pub fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the time that a part of all are below, as milliseconds: `0.5` is the median.
    pub fn percentile(&mut self, part: f64) -> f64 {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let at = (last as f64 * part).round() as usize;
        let micros = self.0.get(at).copied().unwrap_or_default();
        #[allow(clippy::cast_precision_loss)]
        let millis = micros as f64 / 1_000.0;
        millis
    }

    /// Writes them as lines.
    pub fn to_text(&self) -> String {
        let lines = self.0.iter().map(u64::to_string);
        lines.collect::<Vec<_>>().join("\n")
    }

    pub fn parse(text: &str) -> Self {
        let times = text.lines().map(|line| line.parse().expect("a time"));
        Self(times.collect())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
