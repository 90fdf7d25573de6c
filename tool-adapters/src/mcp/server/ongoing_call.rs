//! A call that runs in its client's session, from its request to its answer or to what its tool asks.

use crate::mcp::server::client_requests::{AskedRequest, CallRequests, Capabilities, Capability, RequestRoute};
use crate::mcp::server::forwarder::{Forwarder, Notices, Wanted};
use crate::mcp::server::parked::WaitingRequests;
use crate::mcp::server::session::{ClientSession, McpResult, RunningCall, ServerContext, http_parts, is_stateless};
use crate::mcp::server::tools;
use futures_util::future::{BoxFuture, OptionFuture};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;
use tool_core::session::SEARCH_TOOL;
use tool_core::{ErrorKind, Session, ToolCall, ToolResponse};

/// A call that runs in its client's session.
pub(crate) struct OngoingCall {
    pub(crate) running: RunningCall,
    pub(crate) session: Session,
    /// The tool's name in the session.
    pub(crate) tool: String,
    pub(crate) response: BoxFuture<'static, ToolResponse>,
    /// The tool's requests to the client, if the client may take them.
    requests: Option<Arc<CallRequests>>,
    /// The notifications that the client asks for, until they are forwarded.
    notices: Option<Notices>,
    /// The requests that the answer to the call's own request carries.
    asked: Option<UnboundedReceiver<AskedRequest>>,
    /// True if the call becomes a task as soon as its tool waits.
    pub(crate) becomes_task: bool,
}

/// The next step of a call.
pub(crate) enum Step {
    Answered(ToolResponse),
    Asked(WaitingRequests),
}

/// A call that has begun, in the extensions of its request.
#[derive(Clone)]
pub(crate) struct Begun(Arc<Mutex<Option<OngoingCall>>>);

impl OngoingCall {
    /// Returns the call as an extension of its request, for the handler that takes it over.
    pub(crate) fn hand_over(self) -> Begun {
        Begun(Arc::new(Mutex::new(Some(self))))
    }

    /// Takes over the call that a request has begun, if it has.
    pub(crate) fn taken_over(context: &ServerContext) -> Option<Self> {
        let of_http = || http_parts(context).and_then(|parts| parts.extensions.get::<Begun>());
        let begun = context.extensions.get::<Begun>().or_else(of_http);
        begun?.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Makes a call of a listed tool.
    pub(crate) fn new(
        (running, session): (RunningCall, Session),
        request: &CallToolRequestParams,
        wanted: Wanted,
        may_ask: bool,
    ) -> Self {
        let (notifier, notices) = Notices::new(wanted).unzip();
        let tool = tools::tool_name(&session, &request.name).unwrap_or_else(|| request.name.to_string());
        let arguments = request.arguments.as_ref().map(serde_json::to_string).and_then(Result::ok);
        let mut call = ToolCall::new(running.id(), &tool, arguments.unwrap_or_else(|| "{}".to_owned()));
        if let Some(notifier) = notifier {
            call = notifier.listen(call);
        }
        let early = || request.input_responses.clone().unwrap_or_default();
        let requests = may_ask.then(|| Arc::new(CallRequests::with_answers(early())));
        if let Some(requests) = &requests {
            call = requests.answer(call);
        }
        let caller = session.clone();
        let response = Box::pin(async move { caller.call(call).await });
        Self { running, session, tool, response, requests, notices, asked: None, becomes_task: false }
    }

    /// Sets the way of the call's requests. Over HTTP the call may have asked before its connection was known.
    fn set_route(&mut self, context: &ServerContext) {
        let Some(requests) = self.requests.as_ref().filter(|requests| !requests.has_route()) else { return };
        let route = if is_stateless(context) {
            let (sender, asked) = unbounded_channel();
            self.asked = Some(asked);
            RequestRoute::Repeats(sender)
        } else {
            RequestRoute::Requests(context.peer.clone())
        };
        requests.set_route(route, Capabilities::of(context.client_capabilities()));
    }

    /// Lets the call go on in a task, while no request waits for it.
    pub(crate) fn detached(mut self) -> Self {
        let task = tokio::spawn(self.response);
        self.response = Box::pin(async move {
            match task.await {
                Ok(response) => response,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The program ends.
                    Err(_) => std::future::pending().await,
                },
            }
        });
        self
    }

    /// Waits for the response, for a time at most. Returns `None` if something has to reach the client before it.
    pub(crate) async fn response_alone(&mut self, limit: Duration) -> Option<ToolResponse> {
        let asked = OptionFuture::from(self.requests.as_ref().map(|requests| requests.asked()));
        let noticed = OptionFuture::from(self.notices.as_mut().map(Notices::arrived));
        tokio::select! {
            biased;
            response = &mut self.response => Some(response),
            Some(()) = asked => None,
            Some(()) = noticed => None,
            () = sleep(limit) => None,
        }
    }

    /// Runs the call, forwards its notifications, and cancels it when the client does.
    pub(crate) async fn run(&mut self, context: &ServerContext) -> Step {
        self.set_route(context);
        self.run_for(&context.peer, context.ct.cancelled()).await
    }

    /// Runs the call of a client that gets requests.
    pub(crate) async fn respond(&mut self, peer: &Peer<RoleServer>, client: Capabilities) -> ToolResponse {
        if let Some(requests) = &self.requests {
            requests.set_route(RequestRoute::Requests(peer.clone()), client);
        }
        loop {
            if let Step::Answered(response) = self.run_for(peer, std::future::pending()).await {
                return response;
            }
        }
    }

    async fn run_for(&mut self, peer: &Peer<RoleServer>, cancelled: impl Future<Output = ()>) -> Step {
        let mut forwarder = self.notices.take().map(|notices| Forwarder::new(notices, peer));
        let (mut cancelled, mut is_cancelled) = (pin!(cancelled), false);
        let step = loop {
            let notified = OptionFuture::from(forwarder.as_mut().map(Forwarder::forward_next));
            tokio::select! {
                biased;
                step = self.step() => break step,
                () = &mut cancelled, if !is_cancelled => {
                    is_cancelled = true;
                    self.cancel();
                }
                Some(()) = notified => {}
            }
        };
        OptionFuture::from(forwarder.as_mut().map(Forwarder::forward_rest)).await;
        step
    }

    /// Waits until the call is answered, or its tool asks the client. Loses nothing if it is dropped.
    pub(crate) async fn step(&mut self) -> Step {
        let asked = OptionFuture::from(self.asked.as_mut().map(UnboundedReceiver::recv));
        let request = tokio::select! {
            biased;
            response = &mut self.response => return Step::Answered(response),
            Some(Some(request)) = asked => request,
        };
        Step::Asked(self.waiting_with(request))
    }

    pub(crate) fn cancel(&self) {
        self.session.cancel(&self.running.id());
    }

    /// Returns the session of the client.
    pub(crate) fn client_session(&self) -> &Arc<ClientSession> {
        self.running.session()
    }

    /// Returns true if the client of a call is known to have a capability.
    pub(crate) fn client_has(&self, capability: Capability) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.client_has(capability))
    }

    /// Returns a request with those that the tool has made beside it.
    fn waiting_with(&mut self, request: AskedRequest) -> WaitingRequests {
        let mut waiting = WaitingRequests::default();
        let more = std::iter::from_fn(|| self.asked.as_mut()?.try_recv().ok());
        std::iter::once(request).chain(more).for_each(|request| waiting.add(request));
        waiting
    }

    /// Returns true if the call was a search that may have changed the list of tools.
    pub(crate) fn has_searched(&self, response: &ToolResponse) -> bool {
        self.tool == SEARCH_TOOL && response.is_ok() && tools::are_searched(&self.session)
    }

    /// Returns the result of a response. A tool that does not exist is an error of the protocol.
    pub(crate) fn complete(&self, response: &ToolResponse) -> McpResult<CallToolResult> {
        // A tool's own "not found" error is a result.
        let is_listed = || {
            let (shown, searchable) = (self.session.definitions(), self.session.searchable_definitions());
            shown.iter().chain(&searchable).any(|known| known.name() == self.tool)
        };
        if response.error().is_some_and(|error| error.kind == ErrorKind::NotFound) && !is_listed() {
            let message = response.error().map_or_else(String::new, |error| error.message.clone());
            return Err(ErrorData::invalid_params(message, None));
        }
        // Older revisions have no such error.
        let requests = self.requests.as_ref().filter(|_| self.asked.is_some());
        if let Some(missing) = requests.zip(response.error()).and_then(|(asked, error)| asked.missing(&error.message)) {
            return Err(ErrorData::missing_required_client_capability(missing.declared()));
        }
        Ok(tools::complete(&self.session, &self.tool, response))
    }
}
