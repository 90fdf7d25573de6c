//! A body that passes through as it comes, and closes the request's span when it has ended or is dropped.

use crate::interop::reqwest;
use crate::telemetry::observer::Observer;
use http_body::{Body as HttpBody, Frame, SizeHint};
use reqwest::Body;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use tool_core::trace;
use tool_core::trace::SpanHandle;

/// What is known of the answer so far.
pub(crate) struct Seen {
    pub(crate) span: SpanHandle,
    /// Reads what a model has used, where a model answers. Nobody waits for the lock: bodies have to be shareable, which
    /// what reads is not.
    pub(crate) observer: Mutex<Option<Observer>>,
    /// What kind of error it is by its status.
    pub(crate) error: Option<&'static str>,
}

/// How the body came to its end.
#[derive(Clone, Copy)]
enum Ended {
    Whole,
    /// Nobody wanted to read it.
    Unread,
    /// Whoever read it has stopped.
    Left,
    Broken(&'static str),
}

impl Seen {
    fn close(self, ended: Ended) {
        let Self { span, observer, error } = self;
        let observer = observer.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = observer.and_then(Observer::finish) {
            // Into the span that is closed after it: the body may be read in a task that knows no span.
            span.run(|| trace::observe(used));
        }
        match (error, ended) {
            (Some(kind), _) | (None, Ended::Broken(kind)) => span.fail(kind),
            (None, Ended::Whole | Ended::Unread) => span.end(),
            (None, Ended::Left) => drop(span),
        }
    }
}

/// See the [module](self).
pub(crate) struct Watched {
    body: Body,
    /// Until it has ended.
    seen: Option<Seen>,
    begun: bool,
}

impl Watched {
    pub(crate) fn new(body: Body, seen: Seen) -> Self {
        let mut watched = Self { body, seen: Some(seen), begun: false };
        // Nobody asks for more of a body that is known to be empty.
        if is_over(&watched.body) {
            watched.close(Ended::Whole);
        }
        watched
    }

    fn close(&mut self, ended: Ended) {
        if let Some(seen) = self.seen.take() {
            seen.close(ended);
        }
    }
}

/// Whether nothing more is to come: who has read all of a body does not look again.
fn is_over(body: &Body) -> bool {
    body.is_end_stream() || body.size_hint().exact() == Some(0)
}

impl HttpBody for Watched {
    type Data = <Body as HttpBody>::Data;
    type Error = ::reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        this.begun = true;
        let body = Pin::new(&mut this.body);
        let Some(seen) = &mut this.seen else { return body.poll_frame(cx) };
        let polled = seen.span.run(|| body.poll_frame(cx));
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(frame))) => {
                let observer = seen.observer.get_mut().unwrap_or_else(PoisonError::into_inner);
                if let (Some(data), Some(observer)) = (frame.data_ref(), observer) {
                    observer.push(data);
                }
                if is_over(&this.body) {
                    this.close(Ended::Whole);
                }
            }
            Poll::Ready(Some(Err(error))) => {
                let kind = crate::interop::reqwest::of_transport(error);
                this.close(Ended::Broken(kind));
            }
            Poll::Ready(None) => this.close(Ended::Whole),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.close(if self.begun { Ended::Left } else { Ended::Unread });
    }
}
