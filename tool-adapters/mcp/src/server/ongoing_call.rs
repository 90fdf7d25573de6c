//! A call that runs in its client's session, from its request to its answer or to what its tool
//! asks.

use crate::server::asking::{Asking, Step};
use crate::server::client_requests::Capabilities;
use crate::server::confirm::{self, ApprovedCall};
use crate::server::forwarder::{Forwarder, Wanted};
use crate::server::session::{ClientSession, McpResult, RunningCall, ServerContext, http_parts};
use crate::server::task_records::TaskPlace;
use crate::server::tools::{self, CompletedCall};
use futures_util::FutureExt;
use futures_util::future::OptionFuture;
use parking_lot::Mutex;
use rmcp::model::{CallToolRequestParams, InputResponses};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::sleep;
use tool_core::session::SEARCH_TOOL;
use tool_core::{CancellationToken, ErrorKind, Session, ToolCall, ToolResponse};

/// The time in which a client takes the notifications of a call before the call becomes a task.
const SENDING: Duration = Duration::from_secs(30);

/// A call that runs in its client's session.
pub(crate) struct OngoingCall {
    pub(crate) running: RunningCall,
    pub(crate) session: Session,
    /// The tool's name in the session.
    pub(crate) tool: String,
    pub(crate) asking: Asking<ToolResponse>,
    /// The way of the notifications that the client asks for.
    forwarder: Option<Forwarder>,
    cancellation: CancellationToken,
    /// The place of the task that the call becomes as soon as its tool waits. `None` if it does not
    /// become one.
    pub(crate) task_place: Option<TaskPlace>,
}

/// A call that has begun, in the extensions of its request.
#[derive(Clone)]
pub(crate) struct Begun(Arc<BegunCall>);

struct BegunCall(Mutex<Option<OngoingCall>>);

impl Drop for BegunCall {
    fn drop(&mut self) {
        // No handler took it over, as its client or its session has gone. Its record is written nevertheless.
        if let Some(call) = self.0.get_mut().take() {
            call.cancel();
            call.end_alone(());
        }
    }
}

impl OngoingCall {
    /// Returns the call as an extension of its request, for the handler that takes it over.
    pub(crate) fn hand_over(self) -> Begun {
        Begun(Arc::new(BegunCall(Mutex::new(Some(self)))))
    }

    /// Lets the call end in a task of its own, which holds something until then.
    pub(crate) fn end_alone(mut self, held: impl Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                self.asking.step().await;
                drop(held);
            });
        }
    }

    /// Takes over the call that a request has begun, if it has.
    pub(crate) fn taken_over(context: &ServerContext) -> Option<Self> {
        let of_http = || http_parts(context).and_then(|parts| parts.extensions.get::<Begun>());
        let begun = context.extensions.get::<Begun>().or_else(of_http);
        begun?.0.0.lock().take()
    }

    /// Makes a call of a listed tool, which ends when its token is cancelled.
    pub(crate) fn new(
        (running, session): (RunningCall, Session),
        request: &CallToolRequestParams,
        wanted: Wanted,
        may_ask: bool,
        cancellation: CancellationToken,
    ) -> Self {
        let tool =
            tools::tool_name(&session, &request.name).unwrap_or_else(|| request.name.to_string());
        let arguments = request
            .arguments
            .as_ref()
            .map(serde_json::to_string)
            .and_then(Result::ok);
        let (notifier, forwarder) = Forwarder::new(wanted).unzip();
        let mut call = ToolCall::new(
            running.id(),
            &tool,
            arguments.unwrap_or_else(|| "{}".to_owned()),
        )
        .with_cancellation(cancellation.clone());
        let caller = session.clone();
        let early = may_ask.then(|| request.input_responses.clone().unwrap_or_default());
        let asking = Asking::new(early, |handlers| {
            if let Some(handlers) = handlers {
                call = call.with_handlers(handlers);
            }
            if let Some(notifier) = notifier {
                call = notifier.listen(call);
            }
            async move { caller.call(call).await }
        });
        Self {
            running,
            session,
            tool,
            asking,
            forwarder,
            cancellation,
            task_place: None,
        }
    }

    /// Makes a call that the client's user has approved.
    pub(crate) fn approved(
        (running, session): (RunningCall, Session),
        approved: ApprovedCall,
        wanted: Wanted,
        may_ask: bool,
    ) -> Self {
        let ApprovedCall {
            token,
            tool,
            outcome,
        } = approved;
        let cancellation = CancellationToken::new();
        let cancelled = cancellation.clone();
        let (notifier, forwarder) = Forwarder::new(wanted).unzip();
        let caller = session.clone();
        let early = may_ask.then(InputResponses::default);
        let asking = Asking::new(early, |handlers| async move {
            let prepare = |call: ToolCall| {
                let call = call
                    .with_cancellation(cancelled)
                    .with_handlers(handlers.unwrap_or_default());
                match notifier {
                    Some(notifier) => notifier.listen(call),
                    None => call,
                }
            };
            let response = caller.approve_with(&token, prepare).await;
            match outcome {
                // The host was first, or the tool itself has not found something, which is the
                // outcome then.
                Some(outcome) if confirm::is_late(&response) => outcome.await.unwrap_or(response),
                _ => response,
            }
        });
        Self {
            running,
            session,
            tool,
            asking,
            forwarder,
            cancellation,
            task_place: None,
        }
    }

    /// Makes the call of a task that the client's user has approved. The client has these
    /// capabilities. Tasks have no notifications about progress, and none of the log.
    pub(crate) fn with_approval(&self, approved: ApprovedCall, client: Capabilities) -> Self {
        let running = self.client_session().count_begun();
        let begun = (running, self.session.clone());
        let mut call = Self::approved(begun, approved, Wanted::default(), true);
        call.asking.set_repeats(client);
        call
    }

    /// Waits for the response, for a time at most. Returns `None` if something has to reach the
    /// client before it.
    pub(crate) async fn response_alone(&mut self, limit: Duration) -> Option<ToolResponse> {
        let noticed = OptionFuture::from(self.forwarder.as_ref().map(Forwarder::arrived));
        tokio::select! {
            biased;
            response = self.asking.response_alone() => response,
            Some(()) = noticed => None,
            () = sleep(limit) => None,
        }
    }

    /// Runs the call, forwards its notifications, and cancels it when the client does.
    pub(crate) async fn run(&mut self, context: &ServerContext) -> Step<ToolResponse> {
        self.asking.set_route(context);
        self.run_for(&context.peer, context.ct.cancelled()).await
    }

    /// Runs the call of a client that gets requests.
    pub(crate) async fn respond(
        &mut self,
        peer: &Peer<RoleServer>,
        client: Capabilities,
    ) -> ToolResponse {
        self.asking.set_peer(peer, client);
        loop {
            if let Step::Answered(response) = self.run_for(peer, std::future::pending()).await {
                return response;
            }
        }
    }

    /// Returns the next step if the call reaches it without waiting.
    pub(crate) fn step_at_once(&mut self, context: &ServerContext) -> Option<Step<ToolResponse>> {
        self.asking.set_route(context);
        if context.ct.is_cancelled() {
            self.cancel();
        }
        self.asking.step().now_or_never()
    }

    /// Sends the notifications that wait now, for a time at most, while the call goes on. Returns
    /// its next step if it reaches that meanwhile.
    pub(crate) async fn forward_waiting(
        &mut self,
        context: &ServerContext,
    ) -> Option<Step<ToolResponse>> {
        let forwarder = self.forwarder.as_mut()?;
        let waiting = forwarder.waiting();
        if waiting == 0 {
            return None;
        }
        let sending = async {
            for _ in 0..waiting {
                forwarder.forward_next(&context.peer).await;
            }
        };
        tokio::select! {
            biased;
            step = self.asking.step() => return Some(step),
            () = context.ct.cancelled() => {}
            () = sending => return None,
            () = sleep(SENDING) => return None,
        }
        self.cancel();
        Some(self.asking.step().await)
    }

    /// Sends the notifications that wait for the client.
    pub(crate) async fn forward_rest(&mut self, peer: &Peer<RoleServer>) {
        if let Some(forwarder) = &mut self.forwarder {
            forwarder.forward_rest(peer).await;
        }
    }

    /// Sets the notifications that the client asks for from now on.
    pub(crate) fn set_wanted(&self, wanted: Wanted) {
        if let Some(forwarder) = &self.forwarder {
            forwarder.set_wanted(wanted);
        }
    }

    /// Runs the call to its next step, which is lost if this future is dropped before it returns.
    async fn run_for(
        &mut self,
        peer: &Peer<RoleServer>,
        cancelled: impl Future<Output = ()>,
    ) -> Step<ToolResponse> {
        let mut cancelled = pin!(cancelled);
        let mut is_cancelled = false;
        let step = loop {
            let forwarder = self.forwarder.as_mut();
            let notified = forwarder.map(|forwarder| forwarder.forward_next(peer));
            let notified = OptionFuture::from(notified);
            tokio::select! {
                biased;
                () = &mut cancelled, if !is_cancelled => {
                    is_cancelled = true;
                    self.cancellation.cancel();
                }
                step = self.asking.step() => break step,
                Some(()) = notified => {}
            }
        };
        self.forward_rest(peer).await;
        step
    }

    /// Cancels the call, also before it has begun.
    pub(crate) fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Returns the session of the client.
    pub(crate) fn client_session(&self) -> &Arc<ClientSession> {
        self.running.session()
    }

    /// Returns true if the call was a search that may have changed the list of tools.
    pub(crate) fn has_searched(&self, response: &ToolResponse) -> bool {
        self.tool == SEARCH_TOOL && response.is_ok() && tools::are_searched(&self.session)
    }

    /// Returns the result of a response. A tool that does not exist is an error of the protocol.
    pub(crate) fn complete<'a>(&self, response: &'a ToolResponse) -> McpResult<CompletedCall<'a>> {
        // A tool's own "not found" error is a result. An approval that is used up belongs to no
        // tool.
        let is_listed = || {
            let shown = self.session.definitions();
            let searchable = self.session.searchable_definitions();
            !response.meta().tool().is_empty()
                && shown
                    .iter()
                    .chain(&searchable)
                    .any(|known| known.name() == self.tool)
        };
        if response
            .error()
            .is_some_and(|error| error.kind == ErrorKind::NotFound)
            && !is_listed()
        {
            let message = response
                .error()
                .map_or_else(String::new, |error| error.message.clone());
            return Err(ErrorData::invalid_params(message, None));
        }
        if let Some(missing) = response
            .error()
            .and_then(|error| self.asking.missing(&error.message))
        {
            return Err(missing);
        }
        Ok(tools::complete(&self.session, &self.tool, response))
    }
}
