//! Work of a request that may ask the client: a call of a tool, or the reading of a prompt or a
//! resource.

use crate::server::client_requests::{
    AskedRequest, CallRequests, Capabilities, RequestRoute, Requester,
};
use crate::server::parked::WaitingRequests;
use crate::server::session::{ServerContext, is_stateless};
use futures_util::future::{BoxFuture, OptionFuture};
use rmcp::model::InputResponses;
use rmcp::service::Peer;
use rmcp::{ErrorData, RoleServer};
use std::panic::resume_unwind;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tool_core::call::HostHandlers;

/// Work that may ask the client, until its response.
pub(crate) struct Asking<R> {
    pub(crate) response: BoxFuture<'static, R>,
    /// The requests to the client, if the client may take them.
    requests: Option<Arc<CallRequests>>,
    /// The requests that the answer to the work's own request carries.
    asked: Option<UnboundedReceiver<AskedRequest>>,
}

/// The next step of work that may ask.
pub(crate) enum Step<R> {
    Answered(R),
    Asked(WaitingRequests),
}

impl<R: Send + 'static> Asking<R> {
    /// Makes work that asks by handlers, if `early` is there: the answers that the client has sent
    /// with its request.
    pub(crate) fn new<F>(
        early: Option<InputResponses>,
        start: impl FnOnce(Option<HostHandlers>) -> F,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
    {
        let requests = early.map(|early| Arc::new(CallRequests::with_answers(early)));
        let response = Box::pin(start(requests.as_ref().map(CallRequests::handlers)));
        Self {
            response,
            requests,
            asked: None,
        }
    }

    /// Sets the way of the requests. Over HTTP a call may have asked before its connection was
    /// known.
    pub(crate) fn set_route(&mut self, context: &ServerContext) {
        let Some(requests) = self
            .requests
            .as_ref()
            .filter(|requests| !requests.has_route())
        else {
            return;
        };
        let client = Capabilities::of(context.client_capabilities());
        if is_stateless(context) {
            self.set_repeats(client);
        } else {
            requests.set_route(RequestRoute::Requests(Requester::of(context)), client);
        }
    }

    /// Lets the answer to the work's own request carry the requests to a client.
    pub(crate) fn set_repeats(&mut self, client: Capabilities) {
        if let Some(requests) = &self.requests {
            let (sender, asked) = unbounded_channel();
            requests.set_route(RequestRoute::Repeats(sender), client);
            self.asked = Some(asked);
        }
    }

    /// Sets the way of the requests to a client that gets requests.
    pub(crate) fn set_peer(&self, peer: &Peer<RoleServer>, client: Capabilities) {
        if let Some(requests) = &self.requests {
            let requester = Requester {
                peer: peer.clone(),
                origin: None,
                handler: None,
            };
            requests.set_route(RequestRoute::Requests(requester), client);
        }
    }

    /// Waits for the response. Returns `None` if the work asks while the way of its requests is not
    /// set.
    pub(crate) async fn response_alone(&mut self) -> Option<R> {
        let asked = OptionFuture::from(self.requests.as_ref().map(|requests| requests.asked()));
        tokio::select! {
            biased;
            response = &mut self.response => Some(response),
            Some(()) = asked => None,
        }
    }

    /// Lets the work go on in a task, while no request waits for it.
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

    /// Waits until the work is done, or asks the client. Loses nothing if it is dropped.
    pub(crate) async fn step(&mut self) -> Step<R> {
        let asked = OptionFuture::from(self.asked.as_mut().map(UnboundedReceiver::recv));
        let request = tokio::select! {
            biased;
            response = &mut self.response => return Step::Answered(response),
            Some(Some(request)) = asked => request,
        };
        Step::Asked(self.waiting_with(request))
    }

    /// Returns a request with those that were made beside it.
    fn waiting_with(&mut self, request: AskedRequest) -> WaitingRequests {
        let mut waiting = WaitingRequests::default();
        let more = std::iter::from_fn(|| self.asked.as_mut()?.try_recv().ok());
        std::iter::once(request)
            .chain(more)
            .for_each(|request| waiting.add(request));
        waiting
    }

    /// Returns the capabilities that the client is known to have.
    pub(crate) fn client(&self) -> Capabilities {
        let requests = self.requests.as_ref();
        requests.map_or_else(Capabilities::default, |requests| requests.client())
    }

    /// Returns the error of the protocol for an error with this message, if the client would have
    /// needed a capability. Older revisions have no such error.
    pub(crate) fn missing(&self, message: &str) -> Option<ErrorData> {
        let requests = self.requests.as_ref().filter(|_| self.asked.is_some())?;
        Some(ErrorData::missing_required_client_capability(
            requests.missing(message)?.declared(),
        ))
    }
}
