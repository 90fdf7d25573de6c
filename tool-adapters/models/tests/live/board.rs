//! The counts of a load, which clients and providers share.

// The test and the benchmark use their parts of this.
#![allow(dead_code)]

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A load of conversations.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Half of them are with each provider.
    pub(crate) conversations: usize,
    /// The calls of each conversation.
    pub(crate) calls: usize,
    /// True if connections of every tenth conversation break.
    pub(crate) has_breaks: bool,
    /// The longest pause of a provider before further calls.
    pub(crate) pause: Duration,
}

#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counts of one call.
#[derive(Default)]
pub(crate) struct CallCounts {
    pub(crate) runs: Count,
    /// Results that the provider received first.
    pub(crate) answers: Count,
    /// Results that the provider received again, after a connection had broken.
    pub(crate) repeats: Count,
    /// The time at which the provider sent the call, in nanoseconds.
    sent: Count,
    /// The time from then to the start of the tool.
    latency: Count,
}

pub(crate) struct Board {
    pub(crate) load: Load,
    /// The calls by conversation.
    pub(crate) calls: Vec<Vec<CallCounts>>,
    /// The broken connections by conversation.
    pub(crate) breaks: Vec<Count>,
    /// The bytes of the clients at the most.
    pub(crate) peak_bytes: AtomicI64,
    start: Instant,
}

pub(crate) fn call_id(conversation: usize, call: usize) -> String {
    format!("call-{conversation}-{call}.")
}

/// The result of a call, which no other has.
pub(crate) fn result(conversation: usize, call: usize) -> String {
    format!("result-{conversation}-{call}.")
}

impl Board {
    pub(crate) fn new(load: Load) -> Self {
        let calls = || {
            std::iter::repeat_with(CallCounts::default)
                .take(load.calls)
                .collect()
        };
        Self {
            load,
            calls: std::iter::repeat_with(calls)
                .take(load.conversations)
                .collect(),
            breaks: std::iter::repeat_with(Count::default)
                .take(load.conversations)
                .collect(),
            peak_bytes: AtomicI64::new(0),
            start: Instant::now(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn call_is_sent(&self, conversation: usize, call: usize) {
        self.calls[conversation][call].sent.set(self.now());
    }

    pub(crate) fn call_starts(&self, conversation: usize, call: usize) {
        let call = &self.calls[conversation][call];
        call.runs.add();
        call.latency.set(self.now() - call.sent.get());
    }

    /// Returns the times from the sending of a call to the start of its tool, sorted.
    pub(crate) fn latencies(&self) -> Vec<Duration> {
        let mut latencies = self
            .calls
            .iter()
            .flatten()
            .map(|call| call.latency.get())
            .collect::<Vec<_>>();
        latencies.sort_unstable();
        latencies.into_iter().map(Duration::from_nanos).collect()
    }

    pub(crate) fn summary(&self) -> String {
        let sum = |count: fn(&CallCounts) -> &Count| {
            self.calls
                .iter()
                .flatten()
                .map(|call| count(call).get())
                .sum::<u64>()
        };
        let (runs, answers, repeats) = (
            sum(|call| &call.runs),
            sum(|call| &call.answers),
            sum(|call| &call.repeats),
        );
        let breaks = self.breaks.iter().map(Count::get).sum::<u64>();
        let Load {
            conversations,
            calls,
            ..
        } = self.load;
        format!(
            "{conversations} conversations of {calls} calls, {breaks} broken connections: {runs} runs, {answers} answers, \
             {repeats} repeated"
        )
    }
}
