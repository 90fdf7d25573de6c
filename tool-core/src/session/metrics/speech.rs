//! The speech of a session, as its transport measures it.

use crate::call::envelope::milliseconds;
use crate::session::metrics::tool_stats::Percentiles;
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use std::collections::VecDeque;
use std::time::Duration;

/// A measurement of speech, for [`Session::observe_speech`](crate::Session::observe_speech).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpeechEvent {
    /// Audio of the user, by the time that it plays.
    Heard(Duration),
    /// Audio of the model, by the time that it plays.
    Spoken(Duration),
    /// The model has begun to speak, so long after a result of a call was sent to it.
    FirstAudio(Duration),
    /// The user has interrupted the model.
    Interrupted,
}

/// The speech of a session in this process. Serialises with seconds of audio, and milliseconds
/// until the first audio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SpeechMetrics {
    /// The audio of the user.
    #[serde(rename = "heardSeconds", serialize_with = "as_seconds")]
    pub heard: Duration,
    /// The audio of the model.
    #[serde(rename = "spokenSeconds", serialize_with = "as_seconds")]
    pub spoken: Duration,
    /// The times from the result of a call to the next audio, over the last 100.
    #[serde(rename = "firstAudioMs", serialize_with = "as_milliseconds")]
    pub first_audio: Percentiles<Duration>,
    /// The interruptions by the user.
    pub interruptions: u64,
}

impl SpeechMetrics {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn as_milliseconds<S: Serializer>(
    times: &Percentiles<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    times.map(milliseconds).serialize(serializer)
}

/// The times until the first audio that are kept.
const WINDOW: usize = 100;

#[derive(Default)]
pub(crate) struct SpeechStats(Mutex<SpeechTotals>);

#[derive(Default)]
struct SpeechTotals {
    /// Without the times until the first audio.
    sums: SpeechMetrics,
    first_audio: VecDeque<Duration>,
}

impl SpeechStats {
    pub(crate) fn add(&self, event: SpeechEvent) {
        let SpeechTotals { sums, first_audio } = &mut *self.0.lock();
        match event {
            SpeechEvent::Heard(time) => sums.heard = sums.heard.saturating_add(time),
            SpeechEvent::Spoken(time) => sums.spoken = sums.spoken.saturating_add(time),
            SpeechEvent::Interrupted => sums.interruptions += 1,
            SpeechEvent::FirstAudio(time) => {
                if first_audio.len() == WINDOW {
                    first_audio.pop_front();
                }
                first_audio.push_back(time);
            }
        }
    }

    pub(crate) fn report(&self) -> SpeechMetrics {
        let recorded = self.0.lock();
        SpeechMetrics {
            first_audio: Percentiles::of(recorded.first_audio.iter().copied()),
            ..recorded.sums
        }
    }
}
