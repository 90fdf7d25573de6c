//! The span of a request that another client sends to a model, with what the bytes of its answer tell.

use crate::api_key::log_excerpt;
use crate::error_body::{
    error_message, error_of_status, is_worth_a_retry, kind_of_code, status_of_code,
};
use crate::observer::Observer;
use tool_adapters_providers::ProtocolError;
use tool_core::trace::{self, SpanHandle, SpanKind, WithSpan};
use tool_core::{ErrorKind, ToolError};

/// Maximum number of bytes that are read of an error's body.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// An open span of a request to a model.
///
/// It is the same as that of a request of our own models: it has the model, the provider, the usage and the error. If it is
/// dropped before the answer has ended, the span is cancelled, and what is known of the usage counts.
#[must_use]
pub struct ObservedCall {
    /// `None` once the span is closed.
    open: Option<OpenCall>,
}

struct OpenCall {
    span: SpanHandle,
    observer: Observer,
    /// The status of an answer that is an error, and the beginning of its body.
    refusal: Option<(u16, Vec<u8>)>,
}

/// The way in which an answer ended.
enum CallEnd {
    /// All bytes have come.
    Complete,
    /// The reader went away.
    Dropped,
    Failed(ToolError),
}

impl ObservedCall {
    /// Opens a span where tool calls have one. Returns `None` without spans, and for a request that does not go to a model.
    pub fn begin(method: &str, url: &str, body: &[u8]) -> Option<Self> {
        if !trace::is_wanted() {
            return None;
        }
        let mut observer = Observer::for_url(method, url)?;
        observer.request(body);
        let model = observer.requested_model().unwrap_or_default().to_owned();
        let span = SpanHandle::open_if_wanted(SpanKind::Llm, model);
        if !span.is_open() {
            return None;
        }
        if let Some(provider) = observer.biller() {
            span.attribute("gen_ai.provider.name", provider);
        }
        let open = OpenCall {
            span,
            observer,
            refusal: None,
        };
        Some(Self { open: Some(open) })
    }

    /// Returns `work` bound to the span.
    pub fn inside<F: Future>(&self, work: F) -> WithSpan<F> {
        match &self.open {
            Some(open) => open.span.inside(work),
            None => trace::in_current_span(work),
        }
    }

    /// Notes the status of the answer.
    pub fn answered(&mut self, status: u16) {
        if let Some(open) = &mut self.open
            && status >= 400
        {
            open.refusal = Some((status, Vec::new()));
        }
    }

    /// Reads the next bytes of the answer.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some(open) = &mut self.open else {
            return;
        };
        match &mut open.refusal {
            Some((_, body)) => {
                let room = MAX_ERROR_BODY.saturating_sub(body.len()).min(bytes.len());
                body.extend_from_slice(bytes.get(..room).unwrap_or_default());
            }
            None => open.observer.push(bytes),
        }
    }

    /// Closes the span at the end of the answer.
    pub fn end(mut self) {
        self.close(CallEnd::Complete);
    }

    /// Closes the span of a request that failed, or of an answer that broke off.
    pub fn fail(mut self, error: ToolError) {
        self.close(CallEnd::Failed(error));
    }

    fn close(&mut self, end: CallEnd) {
        let Some(open) = self.open.take() else {
            return;
        };
        let has_ended = open.observer.has_ended();
        let observed = open.observer.finish_with_error();
        if let Some(used) = observed.used {
            // The answer may be read by a task in another span.
            open.span.run(|| trace::record(used));
        }
        let refusal = open.refusal.map(|(status, body)| refused(status, &body));
        let failure = refusal.or_else(|| observed.error.as_ref().map(failed_answer));
        match (failure, end) {
            (Some(error), _) | (None, CallEnd::Failed(error)) => open.span.fail_with(&error),
            (None, CallEnd::Complete) => open.span.end(),
            // Clients stop reading after the last event.
            (None, CallEnd::Dropped) if has_ended => open.span.end(),
            (None, CallEnd::Dropped) => drop(open.span),
        }
    }
}

impl Drop for ObservedCall {
    fn drop(&mut self) {
        self.close(CallEnd::Dropped);
    }
}

/// Returns the error of an answer with this status.
pub fn refused(status: u16, body: &[u8]) -> ToolError {
    let mut message = format!("the provider answered {status}");
    let details = error_message(body);
    if !details.is_empty() {
        message = format!("{message}: {}", log_excerpt(&details, None));
    }
    error_of_status(status, message, is_worth_a_retry(status))
}

/// Returns the error of an answer with an error inside.
fn failed_answer(error: &ProtocolError) -> ToolError {
    let message = log_excerpt(&error.to_string(), None);
    let ProtocolError::Provider { code, .. } = error else {
        return ToolError::transient(message);
    };
    let code = code.as_deref().unwrap_or_default().to_ascii_lowercase();
    if let Some(status) = status_of_code(&code) {
        return error_of_status(status, message, is_worth_a_retry(status));
    }
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    let is_permanent = has(&["invalid", "not_found", "unsupported"]);
    match kind_of_code(&code) {
        Some(ErrorKind::RateLimit) => ToolError::rate_limit(message),
        Some(ErrorKind::Auth) => ToolError::auth(message),
        None if !is_permanent => ToolError::transient(message),
        _ => ToolError::permanent(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_core::trace::{Collector, SpanStatus};

    const URL: &str = "https://api.openai.com/v1/chat/completions";
    const REQUEST: &[u8] = br#"{"model": "gpt-5", "messages": []}"#;
    const USAGE: &[u8] = b"data: {\"id\":\"r\",\"model\":\"gpt-5-2025\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";
    const TEXT: &[u8] = b"data: {\"id\":\"r\",\"model\":\"gpt-5-2025\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    const STOP: &[u8] =
        b"data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    const DONE: &[u8] = b"data: [DONE]\n\n";

    /// Returns what a span shows: its label, its status, its error, and its input tokens.
    fn seen(work: impl FnOnce(ObservedCall)) -> (String, SpanStatus, Option<String>, u64) {
        let collector = Collector::new();
        collector.run_sync(|| work(ObservedCall::begin("POST", URL, REQUEST).expect("a model")));
        let report = collector.report();
        let span = report.spans().first().expect("a span");
        let spent = span.spent().iter().map(|entry| entry.used.usage.input);
        let error = span.error().map(|error| error.kind.to_owned());
        (span.label(), span.status(), error, spent.sum())
    }

    fn answer(mut call: ObservedCall, pieces: &[&[u8]]) -> ObservedCall {
        call.answered(200);
        for piece in pieces {
            call.push(piece);
        }
        call
    }

    #[test]
    fn whole_stream_has_its_usage() {
        let found = seen(|call| answer(call, &[TEXT, STOP, USAGE, DONE]).end());
        let label = "llm:gpt-5".to_owned();
        assert_eq!(found, (label, SpanStatus::Ok, None, 9));
    }

    #[test]
    fn stream_dropped_after_its_end_is_complete() {
        let found = seen(|call| drop(answer(call, &[TEXT, STOP, USAGE, DONE])));
        assert_eq!((found.1, found.3), (SpanStatus::Ok, 9));
    }

    #[test]
    fn dropped_stream_is_cancelled_with_what_is_known() {
        let found = seen(|call| drop(answer(call, &[TEXT, USAGE])));
        assert_eq!((found.1, found.3), (SpanStatus::Cancelled, 9));
    }

    #[test]
    fn refused_request_has_the_kind_of_its_status() {
        let found = seen(|mut call| {
            call.answered(429);
            call.push(br#"{"error": {"message": "slow down"}}"#);
            call.end();
        });
        assert_eq!(found.1, SpanStatus::Error);
        assert_eq!(found.2.as_deref(), Some("RATE_LIMIT"));
    }

    #[test]
    fn error_inside_a_stream_fails_the_span() {
        let error = b"data: {\"error\": {\"message\": \"busy\", \"code\": \"overloaded\"}}\n\n";
        let found = seen(|call| answer(call, &[TEXT, USAGE, error]).end());
        assert_eq!((found.1, found.3), (SpanStatus::Error, 9));
        assert_eq!(found.2.as_deref(), Some("TRANSIENT"));
    }

    #[test]
    fn other_requests_and_a_process_without_spans_have_none() {
        assert!(ObservedCall::begin("POST", URL, REQUEST).is_none());
        let collector = Collector::new();
        let models = "https://api.openai.com/v1/models";
        collector.run_sync(|| assert!(ObservedCall::begin("GET", models, b"").is_none()));
    }
}
