//! A call whose first update is its answer, and whose tool goes on in the background.

use crate::call::{ProgressUpdate, ToolCall, ToolOutput, ToolResponse};
use crate::session::inner::SessionInner;
use crate::session::pipeline::observed::call_nested;
use crate::session::timer;
use crate::session::unmade_calls::lost_background_call;
use crate::session::updates::{BackgroundAnswer, BackgroundAnswers, response_of, with_suffix};
use crate::time::CallInstant;
use crate::trace;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// Makes a call whose first update, or else its result, is its answer. After an update the tool
/// goes on in the background, and its later updates and its result are further answers.
///
/// The end of the session waits until the result is among them.
pub(crate) async fn call_in_background(
    session: Arc<SessionInner>,
    call: ToolCall,
    answers: Arc<BackgroundAnswers>,
) -> ToolResponse {
    if timer::check().is_err() {
        // The call answers at once, or says what it needs to wait.
        return call_nested(&session, call).await;
    }
    let (answer, answered) = oneshot::channel();
    let relay = Arc::new(UpdateRelay {
        call: call.clone(),
        began: CallInstant::now(),
        sent: Mutex::new(SentUpdates {
            answer: Some(answer),
            count: 0,
            is_read: false,
            is_over: false,
        }),
        answers,
    });
    let listener = Arc::clone(&relay);
    let running = RunningRelay {
        relay: Arc::clone(&relay),
        session: Arc::clone(&session),
    };
    let unanswered = call.clone();
    let call = call.and_on_update(move |update| listener.update(update));
    let task = AbortOnDropHandle::new(tokio::spawn(trace::in_current_span(async move {
        let _delivery = session.calls.enter();
        running.relay.end(call_nested(&session, call).await);
    })));
    let response = answered.await;
    relay.sent.lock().is_read = true;
    // The call is answered, so the tool continues even when the caller drops this future.
    drop(task.detach());
    response.unwrap_or_else(|_| ToolResponse::outside_session(&unanswered))
}

/// Sends the first update or the result as the answer, and everything after it as further answers.
struct UpdateRelay {
    call: ToolCall,
    began: CallInstant,
    sent: Mutex<SentUpdates>,
    answers: Arc<BackgroundAnswers>,
}

struct SentUpdates {
    /// Taken when the call is answered.
    answer: Option<oneshot::Sender<ToolResponse>>,
    /// The updates after the answer.
    count: usize,
    /// True once the caller has the answer.
    is_read: bool,
    /// True once nothing is sent any more.
    is_over: bool,
}

/// The relay of a call whose task runs. Dropped before the call has ended, it ends the call for those who wait for its result.
struct RunningRelay {
    relay: Arc<UpdateRelay>,
    session: Arc<SessionInner>,
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        let relay = &self.relay;
        let mut sent = relay.sent.lock();
        if std::mem::replace(&mut sent.is_over, true) || sent.answer.take().is_some() {
            return;
        }
        if sent.is_read {
            relay.push_end(lost_background_call(&self.session, &relay.call));
        } else {
            // The caller was dropped before it has read the answer.
            relay.answers.withdraw(relay.call.id());
        }
    }
}

impl UpdateRelay {
    fn update(&self, update: &ProgressUpdate) {
        if update.message.is_empty() {
            // It says nothing to a model.
            return;
        }
        let mut sent = self.sent.lock();
        if sent.is_over {
            return;
        }
        if sent.answer.is_none() {
            sent.count += 1;
            let response = response_of(
                &self.call,
                update,
                self.began,
                &format!("update_{}", sent.count),
            );
            return self.push(response, false);
        }
        if self.answers.begin(self.call.id())
            && let Some(answer) = sent.answer.take()
        {
            let mut response =
                ToolResponse::of_call(&self.call, ToolOutput::new(&update.message), self.began);
            response.optional_meta().goes_on = true;
            if answer.send(response).is_err() {
                // The caller is gone, and the call is dropped with it.
                sent.is_over = true;
                self.answers.withdraw(self.call.id());
            }
        }
    }

    fn end(&self, response: ToolResponse) {
        let mut sent = self.sent.lock();
        if std::mem::replace(&mut sent.is_over, true) {
            return;
        }
        match sent.answer.take() {
            Some(answer) => _ = answer.send(response),
            None => self.push_end(response),
        }
    }

    fn push_end(&self, response: ToolResponse) {
        self.push(with_suffix(response, &self.call, "final"), true);
    }

    fn push(&self, response: ToolResponse, is_end: bool) {
        self.answers.push(BackgroundAnswer {
            call_id: self.call.id().to_owned(),
            is_end,
            response,
        });
    }
}
