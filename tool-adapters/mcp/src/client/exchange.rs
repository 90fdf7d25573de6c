//! A request to a server on behalf of a run, and what the server sends meanwhile: progress, which
//! becomes updates of the run, and requests, which the run answers.

use crate::client::budget::Spending;
use crate::client::error::{TOO_MANY_REQUESTS, has_expired, http_status, was_not_sent};
use crate::client::options::{AskedRun, is_stateless};
use crate::client::remote::{RemoteServer, ServerConnection};
use crate::client::requests;
use crate::client::routes::{CallMessage, CallRoute, RelayedRequest};
use crate::client::tasks::{self, RunningTask};
use crate::send_on_drop::SendOnDrop;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    InputRequiredResult, InputResponses, ProgressNotificationParam, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tool_core::call::CountedWork;
use tool_core::{RunContext, ToolError, time, trace};

/// A server and the run that asks it.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    pub(crate) remote: &'a RemoteServer,
    pub(crate) ctx: &'a RunContext,
    pub(crate) state: &'a RunState,
}

/// A request that a run makes.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
    Call(&'a CallToolRequestParams),
    Other(&'a ClientRequest),
}

impl Asked<'_> {
    /// Returns the request as rmcp sends it. Boxed, as it would be the largest part of the future
    /// of a call.
    fn to_request(self) -> Box<ClientRequest> {
        Box::new(match self {
            Self::Call(params) => {
                ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()))
            }
            Self::Other(request) => request.clone(),
        })
    }
}

/// The state of a run that asks a server.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    /// The use of the model by the server for this run.
    pub(crate) spending: Spending,
    /// The last message of a task, which comes by notifications and by answers.
    said: Mutex<String>,
}

/// The rounds of input that a server may require for a request.
const MAX_ROUNDS: u32 = 8;

/// The pause before a request is repeated for which the server requires no input, which doubles
/// with each round.
const STATE_PAUSE: Duration = Duration::from_millis(100);

/// The connections in a row over which a task may be looked for without being found.
const MAX_RESUMED: u32 = 5;

impl Exchange<'_> {
    fn asked(&self) -> AskedRun<'_> {
        let Self { remote, ctx, state } = self;
        AskedRun {
            options: &remote.options,
            spending: &remote.spending,
            ctx,
            charged: &state.spending,
        }
    }

    /// Runs an exchange, until the run's deadline or its cancellation. Without a deadline it has
    /// the client's time limit.
    pub(crate) async fn within_limits<T>(
        &self,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.ctx.cancellation().cancelled() => Err(ToolError::cancelled("the call was cancelled")),
            () = self.deadline() => Err(ToolError::timeout("the tool's server did not answer in time")),
        }
    }

    /// Returns the time for which a server has to keep a task: until the run's deadline, in whole seconds, or the client's
    /// time limit without one.
    fn task_time(&self) -> Duration {
        let Some(deadline) = self.ctx.deadline() else {
            return self.remote.options.timeout;
        };
        let left = Instant::from_std(deadline).saturating_duration_since(Instant::now());
        Duration::from_secs(left.as_secs().saturating_add(1))
    }

    /// Waits until the time of the run is over. It goes on while the user is asked.
    async fn deadline(&self) {
        let began = Instant::now();
        let limit = self.remote.options.timeout;
        let end = || match self.ctx.deadline() {
            Some(deadline) => Instant::from_std(deadline),
            None => time::after(began, limit.saturating_add(self.ctx.waited_for_user())),
        };
        let mut at = end();
        loop {
            sleep_until(at).await;
            let later = end();
            if later <= at {
                return;
            }
            at = later;
        }
    }

    /// Sends a request, and repeats it with the input that the server requires (revision
    /// 2026-07-28), or once after the user has agreed to the pages that it requires (revision
    /// 2025-11-25).
    pub(crate) async fn converse(
        &self,
        connection: &ServerConnection,
        request: Asked<'_>,
    ) -> Result<Result<ServerResult, ServiceError>, ToolError> {
        // What is rare is boxed, as a call's future has room for all of it.
        if connection
            .peer
            .peer_info()
            .is_some_and(|info| is_stateless(&info.protocol_version))
        {
            return Box::pin(self.converse_without_session(connection, request.to_request())).await;
        }
        let answer = self.send_in_session(connection, request).await;
        let Some(error) = requests::requires_pages(&answer) else {
            return Ok(answer);
        };
        Box::pin(requests::show_pages(self.asked(), error)).await?;
        requests::after_pages(Box::pin(self.send_in_session(connection, request)).await)
    }

    async fn converse_without_session(
        &self,
        connection: &ServerConnection,
        request: Box<ClientRequest>,
    ) -> Result<Result<ServerResult, ServiceError>, ToolError> {
        let mut next = request.clone();
        for round in 0..=MAX_ROUNDS {
            let required = match self.send(connection, next).await {
                Ok(ServerResult::InputRequiredResult(required)) => required,
                answer => return Ok(answer),
            };
            if round == MAX_ROUNDS {
                break;
            }
            let state = required.request_state.clone();
            next = request.clone();
            set_input(&mut next, self.input(required, round).await?, state);
        }
        Err(ToolError::permanent(format!(
            "the tool's server asked for input more than {MAX_ROUNDS} times"
        )))
    }

    /// Returns the input that a server requires.
    async fn input(
        &self,
        required: InputRequiredResult,
        round: u32,
    ) -> Result<Option<InputResponses>, ToolError> {
        let requests = required.input_requests.unwrap_or_default();
        if requests.len() > requests::MAX_REQUESTS {
            return Err(ToolError::permanent(format!(
                "the tool's server asked {} things at once",
                requests.len()
            )));
        }
        if requests.is_empty() {
            // The server wants the request again, later.
            sleep(STATE_PAUSE * 2_u32.pow(round)).await;
            return Ok(None);
        }
        let mut responses = InputResponses::new();
        for (name, request) in requests {
            let mut request = serde_json::to_value(request).unwrap_or_default();
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            let answer = requests::answer(self.asked(), &method, request["params"].take()).await;
            let answer = answer.map_err(|error| {
                ToolError::permanent(format!(
                    "the tool's server needs an answer that it cannot get: {}",
                    error.message
                ))
            })?;
            responses.insert(name, answer);
        }
        Ok(Some(responses))
    }

    /// Runs a call as a task, and as another one after the user has agreed to the pages that it
    /// requires.
    pub(crate) async fn run_task(
        &self,
        connection: &Arc<ServerConnection>,
        params: &CallToolRequestParams,
    ) -> Result<Result<ServerResult, ServiceError>, ToolError> {
        let answer = self.attempt_task(Arc::clone(connection), params).await;
        let Some(error) = requests::requires_pages(&answer) else {
            return Ok(answer);
        };
        requests::show_pages(self.asked(), error).await?;
        requests::after_pages(self.attempt_task(Arc::clone(connection), params).await)
    }

    /// Runs a call as a task. When the connection is lost, the task is looked for over the next
    /// one.
    async fn attempt_task(
        &self,
        mut connection: Arc<ServerConnection>,
        params: &CallToolRequestParams,
    ) -> Result<ServerResult, ServiceError> {
        let options = &self.remote.options;
        let mut route = connection.routes.enter();
        let request = Box::new(tasks::begin(params, self.task_time())?);
        let begun = self.send_on(&connection, &route, request).await?;
        let mut task = match RunningTask::new(begun)? {
            Ok(task) => task,
            Err(answer) => return Ok(answer),
        };
        let report = |message: &str| self.report_status(message);
        let mut resumed = 0;
        loop {
            route.set_task(&task.id);
            let may_ask = options.rights.any();
            let finish = task.finish(&connection, &route, may_ask, report);
            let error = match self.attend(&route, pin!(finish)).await {
                Err(error) if tasks::is_lost(&error) && resumed < MAX_RESUMED => error,
                answer => {
                    connection.note_answer(&answer);
                    return answer.map_err(of_begun_task);
                }
            };
            if std::mem::take(&mut task.was_seen) {
                resumed = 0;
            }
            resumed += 1;
            connection = match self.remote.connection().await {
                Ok(next) if !Arc::ptr_eq(&next, &connection) => next,
                _ => return Err(of_begun_task(error)),
            };
            route = connection.routes.enter();
        }
    }

    async fn send_in_session(
        &self,
        connection: &ServerConnection,
        request: Asked<'_>,
    ) -> Result<ServerResult, ServiceError> {
        match request {
            Asked::Call(params) => self.call(connection, params).await,
            Asked::Other(_) => Box::pin(self.send(connection, request.to_request())).await,
        }
    }

    /// Makes a call without rmcp.
    async fn call(
        &self,
        connection: &ServerConnection,
        params: &CallToolRequestParams,
    ) -> Result<ServerResult, ServiceError> {
        let route = connection.routes.enter();
        let calls = &connection.calls;
        let (id, token) = calls.next_id();
        route.set_request(id.clone(), token.clone());
        self.set_attributes(&connection.peer, &id, "tools/call");
        let mut cancel = cancel_on_drop(&connection.peer, &id);
        let answer = self
            .attend(&route, pin!(calls.call((&id, &token), params)))
            .await;
        cancel.disarm();
        connection.note_answer(&answer);
        answer
    }

    /// Sends a request, and describes it on the span of the run. Dropping the future notifies the
    /// server that the request is cancelled.
    async fn send(
        &self,
        connection: &ServerConnection,
        request: Box<ClientRequest>,
    ) -> Result<ServerResult, ServiceError> {
        let route = connection.routes.enter();
        self.send_on(connection, &route, request).await
    }

    async fn send_on(
        &self,
        connection: &ServerConnection,
        route: &CallRoute,
        request: Box<ClientRequest>,
    ) -> Result<ServerResult, ServiceError> {
        let peer = &connection.peer;
        let method = request.method().to_owned();
        let sent = peer
            .send_request_with_option(*request, PeerRequestOptions::no_options())
            .await?;
        route.set_request(sent.id.clone(), sent.progress_token.clone());
        self.set_attributes(peer, &sent.id, &method);
        let id = sent.id.clone();
        let mut cancel = cancel_on_drop(peer, &id);
        let answer = self.attend(route, pin!(sent.await_response())).await;
        cancel.disarm();
        connection.note_answer(&answer);
        answer
    }

    fn set_attributes(&self, peer: &Peer<RoleClient>, id: &RequestId, method: &str) {
        let options = &self.remote.options;
        let transport = self.remote.transport;
        trace::attributes(|| {
            let version = peer
                .peer_info()
                .map(|info| options.credentials.redact(info.protocol_version.as_str()));
            [
                ("mcp.method.name", Some(method.into())),
                ("jsonrpc.request.id", Some(id.to_string().into())),
                ("mcp.protocol.version", version.map(Into::into)),
                ("network.transport", transport.map(Into::into)),
            ]
        });
    }

    /// Waits for an answer, and handles the messages of the server that belong to the run.
    async fn attend<T>(
        &self,
        route: &CallRoute,
        mut answer: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        let mut answering = None::<FuturesUnordered<_>>;
        let answer = loop {
            let answered = OptionFuture::from(answering.as_mut().map(StreamExt::next));
            tokio::select! {
                biased;
                message = route.next() => match message {
                    CallMessage::Request(request) => answering.get_or_insert_default().push(self.answer(request)),
                    message => self.report(message),
                },
                Some(Some(())) = answered => {}
                answer = &mut answer => break answer,
            }
        };
        route.set_answered();
        while let Some(message) = route.try_next() {
            self.report(message);
        }
        answer
    }

    /// Answers a request of the server, until it is withdrawn.
    async fn answer(self, request: RelayedRequest) {
        let RelayedRequest {
            method,
            params,
            answer: mut sender,
        } = request;
        let answered = tokio::select! {
            biased;
            answered = requests::answer(self.asked(), &method, params) => answered,
            () = sender.closed() => return,
        };
        // A receiver that is gone has withdrawn the request.
        _ = sender.send(answered);
    }

    /// Reports a message of the server as an update of the run. Requests after the answer are
    /// dropped.
    fn report(&self, message: CallMessage) {
        match message {
            CallMessage::Progress(update) => self.report_progress(&update),
            CallMessage::Status(message) => self.report_status(&message),
            CallMessage::Log(message) => {
                let server = &self.remote.options.name;
                let logger = match &*message.logger {
                    "" => server.clone(),
                    logger => format!("{server}/{logger}"),
                };
                self.ctx.log(message.level, logger, message.data);
            }
            CallMessage::Request(_) => {}
        }
    }

    /// Reports the message of a task, unless it is the last one.
    fn report_status(&self, message: &str) {
        let message = self.remote.options.credentials.display(message);
        let mut said = self.state.said.lock();
        if *said != message {
            message.clone_into(&mut said);
            drop(said);
            self.ctx.update(message);
        }
    }

    fn report_progress(&self, update: &ProgressNotificationParam) {
        let message = update.message.as_deref().unwrap_or_default();
        let counted = CountedWork {
            done: update.progress,
            total: update.total,
        };
        let credentials = &self.remote.options.credentials;
        self.ctx
            .progress()
            .counted(counted, credentials.display(message));
    }
}

/// Returns the error of a task that has begun. It is not one of a call that did not begin, which
/// would be made again.
fn of_begun_task(error: ServiceError) -> ServiceError {
    let is_limit = http_status(&error) == Some(TOO_MANY_REQUESTS);
    if is_limit || has_expired(&error) || was_not_sent(&error) {
        return ServiceError::TransportClosed;
    }
    error
}

/// Sets the input and the state with which a request is repeated.
fn set_input(
    request: &mut ClientRequest,
    responses: Option<InputResponses>,
    state: Option<String>,
) {
    let (own_responses, own_state) = match request {
        ClientRequest::CallToolRequest(call) => (
            &mut call.params.input_responses,
            &mut call.params.request_state,
        ),
        ClientRequest::GetPromptRequest(get) => (
            &mut get.params.input_responses,
            &mut get.params.request_state,
        ),
        ClientRequest::ReadResourceRequest(read) => (
            &mut read.params.input_responses,
            &mut read.params.request_state,
        ),
        // No other request may be answered so.
        _ => return,
    };
    (*own_responses, *own_state) = (responses, state);
}

/// Notifies the server that a request is cancelled when it is dropped.
fn cancel_on_drop<'a>(
    peer: &'a Peer<RoleClient>,
    id: &'a RequestId,
) -> SendOnDrop<impl FnOnce() -> BoxFuture<'static, ()> + 'a> {
    SendOnDrop::new(|| {
        let peer = peer.clone();
        let id = id.clone();
        Box::pin(async move {
            let reason = Some("the caller no longer waits for the result".to_owned());
            if let Err(error) = peer
                .notify_cancelled(CancelledNotificationParam::new(Some(id), reason))
                .await
            {
                tracing::debug!(%error, "failed to notify a server of a cancelled call");
            }
        })
    })
}
