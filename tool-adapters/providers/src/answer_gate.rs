//! The gate between a reader and the caller: nothing of half an answer gets through it as a call.

use crate::event::{Event, Finish, ProtocolError};
use tool_core::ToolCall;

/// Decides, for each message, which calls may run and whether the message has an end.
///
/// The calls of an answer wait here until the answer ends. If a part of the answer was lost, if it
/// ended as no complete answer does, or if it never ended, they are dropped.
#[derive(Debug, Default)]
pub(crate) struct AnswerGate {
    timing: CallTiming,
    waiting: Vec<ToolCall>,
    /// The ids of calls whose arguments are cut off.
    cut: Vec<String>,
    has_lost: bool,
    has_finished: bool,
}

/// The time at which the calls of a message may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallTiming {
    /// After the end of the answer.
    #[default]
    AtTheEnd,
    /// As soon as each is whole. Live models wait for the results of one before they go on.
    Immediate,
    /// Each message is one request, which has nothing to do with the others.
    Single,
}

impl AnswerGate {
    pub(crate) fn new(timing: CallTiming) -> Self {
        Self {
            timing,
            ..Self::default()
        }
    }

    /// Lets the events from an index on through, changes them, or drops them.
    pub(crate) fn admit_all(&mut self, events: &mut Vec<Event>, from: usize) {
        if self.timing == CallTiming::Single {
            return;
        }
        for event in events.split_off(from) {
            self.admit(event, events);
        }
    }

    /// Ends the message: another may follow. Calls that still wait belong to a message that never
    /// ended.
    pub(crate) fn finish(&mut self) {
        *self = Self::new(self.timing);
    }

    /// Returns false for an event that gets through as it is, like most.
    pub(crate) fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Call(_) | Event::Cancelled(_) | Event::Finished(_) | Event::Error(_) => true,
            event => self.has_finished && is_part_of_answer(event),
        }
    }

    fn admit(&mut self, event: Event, events: &mut Vec<Event>) {
        if self.has_finished && self.timing == CallTiming::AtTheEnd && is_part_of_answer(&event) {
            self.lose_after_end(events);
            return;
        }
        match event {
            Event::Call(call) if self.timing == CallTiming::AtTheEnd => self.waiting.push(call),
            Event::Call(call) if self.has_lost || self.is_cut(&call) => {
                events.push(Event::CutCall(call));
            }
            Event::Error(error) => {
                self.has_lost |= self.loses(&error);
                if let ProtocolError::Truncated { call_id: Some(id) } = &error {
                    self.cut.push(id.clone());
                }
                events.push(Event::Error(error));
            }
            Event::Cancelled(ids) => {
                self.waiting
                    .retain(|call| !ids.iter().any(|id| id == call.id()));
                events.push(Event::Cancelled(ids));
            }
            Event::Finished(finish) => self.end(finish, events),
            event => events.push(event),
        }
    }

    /// Returns true if the error is a loss of the message. In a live session the provider's errors
    /// are about what the client has sent.
    fn loses(&self, error: &ProtocolError) -> bool {
        let is_provider = matches!(error, ProtocolError::Provider { .. });
        error.is_loss() && !(is_provider && self.timing == CallTiming::Immediate)
    }

    fn is_cut(&self, call: &ToolCall) -> bool {
        self.cut.iter().any(|id| id == call.id())
    }

    fn lose_after_end(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.has_lost, true) {
            let message = "a part of an answer came after the end of the answer".to_owned();
            events.push(Event::Error(ProtocolError::OutOfPlace { message }));
        }
    }

    /// Ends the answer: emits its calls and its end, or the error of an end that is none.
    fn end(&mut self, finish: Finish, events: &mut Vec<Event>) {
        if self.timing == CallTiming::Immediate {
            self.finish();
            events.push(Event::Finished(finish));
            return;
        }
        if self.has_finished {
            self.lose_after_end(events);
            return;
        }
        self.has_finished = true;
        let calls = std::mem::take(&mut self.waiting);
        if self.has_lost {
            return;
        }
        if let Some(error) = error_of_end(&finish, !calls.is_empty()) {
            self.has_lost = true;
            events.push(Event::Error(error));
            return;
        }
        match finish {
            Finish::Stop | Finish::ToolCalls | Finish::Paused | Finish::Other(_) => {
                // The answer says that it is complete, and one of its calls is not.
                if calls.iter().any(|call| self.is_cut(call)) {
                    self.has_lost = true;
                    events.push(Event::Error(ProtocolError::Truncated { call_id: None }));
                    return;
                }
                events.extend(calls.into_iter().map(Event::Call));
            }
            Finish::Length => events.extend(calls.into_iter().map(Event::CutCall)),
            // What was withheld may be the reason for the calls.
            Finish::Filtered | Finish::Refused => {}
        }
        events.push(Event::Finished(finish));
    }
}

/// Returns the error of an answer that ends with a failure, or with calls that it does not have.
fn error_of_end(finish: &Finish, has_calls: bool) -> Option<ProtocolError> {
    if let Some(word) = finish.failure() {
        return Some(ProtocolError::of_provider(
            Some(word.to_owned()),
            "the model's answer ended with a failure",
        ));
    }
    if *finish == Finish::ToolCalls && !has_calls {
        let message = "the answer ends with tool calls, but none came".to_owned();
        return Some(ProtocolError::OutOfPlace { message });
    }
    None
}

/// Returns true for an event that brings a part of an answer.
fn is_part_of_answer(event: &Event) -> bool {
    match event {
        Event::Text(_)
        | Event::Reasoning(_)
        | Event::CallStarted { .. }
        | Event::Arguments { .. }
        | Event::Call(_)
        | Event::CutCall(_)
        | Event::Item(_)
        | Event::Audio { .. } => true,
        Event::Response { .. }
        | Event::Cancelled(_)
        | Event::ServiceTier(_)
        | Event::Usage(_)
        | Event::Interrupted
        | Event::Finished(_)
        | Event::Unknown(_)
        | Event::Error(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool_call(id: &str) -> ToolCall {
        ToolCall::new(id, "delete_path", r#"{"path":"/data/"}"#)
    }

    fn call(id: &str) -> Event {
        Event::Call(tool_call(id))
    }

    fn lost() -> Event {
        Event::Error(ProtocolError::Orphan { key: "0".into() })
    }

    /// Passes the events one after another.
    fn pass(timing: CallTiming, sent: impl IntoIterator<Item = Event>) -> Vec<Event> {
        let mut gate = AnswerGate::new(timing);
        let mut events = Vec::new();
        for event in sent {
            let from = events.len();
            events.push(event);
            gate.admit_all(&mut events, from);
        }
        events
    }

    // M1
    #[test]
    fn calls_wait_for_the_end_of_the_answer() {
        let text = Event::Text("Let me see.".into());
        let end = Event::Finished(Finish::ToolCalls);
        assert_eq!(
            pass(CallTiming::AtTheEnd, [call("1"), text.clone()]),
            std::slice::from_ref(&text)
        );
        assert_eq!(
            pass(CallTiming::AtTheEnd, [call("1"), text.clone(), end.clone()]),
            [text, call("1"), end]
        );
    }

    // M1
    #[test]
    fn a_withdrawn_call_does_not_run() {
        let withdrawn = Event::Cancelled(vec!["1".into()]);
        let end = Event::Finished(Finish::ToolCalls);
        assert_eq!(
            pass(
                CallTiming::AtTheEnd,
                [call("1"), withdrawn.clone(), call("2"), end.clone()]
            ),
            [withdrawn, call("2"), end]
        );
    }

    // M1
    #[test]
    fn a_loss_anywhere_leaves_no_call_and_no_end() {
        let end = || Event::Finished(Finish::ToolCalls);
        for sent in [
            vec![lost(), call("1"), end()],
            vec![call("1"), lost(), end()],
        ] {
            assert_eq!(pass(CallTiming::AtTheEnd, sent), [lost()]);
        }
    }

    // M1
    #[test]
    fn a_part_after_the_end_is_a_loss() {
        for late in [Event::Text("more".into()), call("2")] {
            let events = pass(
                CallTiming::AtTheEnd,
                [call("1"), Event::Finished(Finish::Stop), late],
            );
            assert!(
                matches!(
                    events.last(),
                    Some(Event::Error(ProtocolError::OutOfPlace { .. }))
                ),
                "{events:?}"
            );
        }
        let usage = Event::Usage(tool_core::trace::TokenUsage::default());
        let events = pass(
            CallTiming::AtTheEnd,
            [Event::Finished(Finish::Stop), usage.clone()],
        );
        assert_eq!(
            events,
            [Event::Finished(Finish::Stop), usage],
            "the usage may come late"
        );
    }

    // M1
    #[test]
    fn an_end_with_calls_needs_a_call() {
        let events = pass(CallTiming::AtTheEnd, [Event::Finished(Finish::ToolCalls)]);
        assert!(
            matches!(
                &events[..],
                [Event::Error(ProtocolError::OutOfPlace { .. })]
            ),
            "{events:?}"
        );
    }

    // M1
    #[test]
    fn calls_of_an_answer_that_was_cut_off_do_not_run() {
        let cut = Event::CutCall(tool_call("1"));
        let events = pass(
            CallTiming::AtTheEnd,
            [call("1"), Event::Finished(Finish::Length)],
        );
        assert_eq!(events, [cut, Event::Finished(Finish::Length)]);
        for finish in [Finish::Filtered, Finish::Refused] {
            let events = pass(
                CallTiming::AtTheEnd,
                [call("1"), Event::Finished(finish.clone())],
            );
            assert_eq!(events, [Event::Finished(finish)]);
        }
    }

    // M1
    #[test]
    fn an_end_that_names_a_failure_is_an_error() {
        for word in [
            "ERROR",
            "TIMEOUT",
            "MALFORMED_FUNCTION_CALL",
            "insufficient_system_resource",
            "abort",
            "network_error",
        ] {
            let events = pass(
                CallTiming::AtTheEnd,
                [call("1"), Event::Finished(Finish::of_unlisted(word))],
            );
            let code = match &events[..] {
                [Event::Error(ProtocolError::Provider { code, .. })] => code.as_deref(),
                _ => None,
            };
            assert_eq!(code, Some(word), "{events:?}");
        }
    }

    #[test]
    fn a_word_that_names_nothing_known_is_an_end() {
        for word in ["eos", "eos_token", "done", "COMPLETE_2"] {
            let end = Event::Finished(Finish::of_unlisted(word));
            assert_eq!(
                pass(CallTiming::AtTheEnd, [call("1"), end.clone()]),
                [call("1"), end]
            );
        }
    }

    #[test]
    fn an_unlisted_word_of_a_limit_or_filter_is_read_as_one() {
        for (word, finish) in [
            ("max_length", Finish::Length),
            ("MAX_TOKENS_REACHED", Finish::Length),
            ("image_safety_2", Finish::Filtered),
            ("refusal", Finish::Refused),
        ] {
            assert_eq!(Finish::of_unlisted(word), finish, "{word}");
        }
    }

    // M1
    #[test]
    fn a_call_that_was_cut_off_is_no_part_of_a_complete_answer() {
        let cut = Event::Error(ProtocolError::Truncated {
            call_id: Some("1".into()),
        });
        let events = pass(
            CallTiming::AtTheEnd,
            [cut.clone(), call("1"), Event::Finished(Finish::ToolCalls)],
        );
        assert_eq!(
            events,
            [
                cut.clone(),
                Event::Error(ProtocolError::Truncated { call_id: None })
            ]
        );
        let events = pass(CallTiming::Immediate, [cut.clone(), call("1"), call("2")]);
        assert_eq!(events, [cut, Event::CutCall(tool_call("1")), call("2")]);
    }

    #[test]
    fn a_live_call_runs_at_once_unless_a_part_was_lost() {
        assert_eq!(pass(CallTiming::Immediate, [call("1")]), [call("1")]);
        let events = pass(
            CallTiming::Immediate,
            [lost(), call("1"), Event::Finished(Finish::Stop), call("2")],
        );
        let cut = Event::CutCall(tool_call("1"));
        assert_eq!(
            events,
            [lost(), cut, Event::Finished(Finish::Stop), call("2")]
        );
    }
}
