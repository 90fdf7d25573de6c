//! The deadline of a call, which moves while its tool waits for the user.

use crate::call::ToolError;
use crate::call::asker::CallQuestions;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::timer;
use crate::time;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

pin_project! {
    /// Ends at the deadline of a call and a grace. While the tool waits for the user, the deadline
    /// moves.
    pub(crate) struct Deadline<'a> {
        questions: Option<&'a OnceLock<Arc<CallQuestions>>>,
        // The end of the call if the user takes no time.
        end: Instant,
        until: Instant,
        #[pin]
        timer: Sleep,
    }
}

impl<'a> Deadline<'a> {
    pub(crate) fn new(call: &GovernedCall<'a>, grace: Duration) -> Result<Self, ToolError> {
        Self::of(
            call.scope().map(|scope| &scope.questions),
            call.deadline() + grace,
        )
    }

    /// Returns the end of what ends at this time if its questions take none.
    pub(crate) fn of(
        questions: Option<&'a OnceLock<Arc<CallQuestions>>>,
        end: Instant,
    ) -> Result<Self, ToolError> {
        Ok(Self {
            questions,
            end,
            until: end,
            timer: timer::until(end)?,
        })
    }
}

impl Future for Deadline<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            // Asked of the clock too, because a timer that is polled after a future which was busy
            // may not have fired yet.
            if this.timer.as_mut().poll(cx).is_pending() && Instant::now() < *this.until {
                return Poll::Pending;
            }
            let Some(questions) = this.questions.and_then(OnceLock::get) else {
                return Poll::Ready(());
            };
            let Some(waited) = questions.poll_waited(cx) else {
                return Poll::Pending;
            };
            let until = time::after(*this.end, waited);
            if until <= *this.until {
                return Poll::Ready(());
            }
            *this.until = until;
            this.timer.as_mut().reset(until);
        }
    }
}
