//! Requests of running tools, prompts and resources to the client: to its user, to its model, and
//! for its roots.
//!
//! Up to revision 2025-11-25 the client gets a request. From 2026-07-28 on the answer to the call's
//! own request carries it, and the client repeats the call with its answer.

#![expect(
    deprecated,
    reason = "revision 2026-07-28 deprecates sampling and roots, and still serves them"
)]

use crate::send_on_drop::SendOnDrop;
use crate::server::request_ids::random_id;
use crate::server::session_streams::RunningHandler;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    AudioContent, CancelledNotificationParam, ClientCapabilities, CreateMessageRequest,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, GetExtensions, ImageContent, InputRequest, InputResponses,
    ListRootsRequest, ListRootsResult, ModelHint, ModelPreferences, RequestId, SamplingMessage,
    SamplingMessageContentBlock, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext, ServiceError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, SetOnce, mpsc, oneshot};
use tool_core::call::{
    Answer, AskError, HostHandlers, Question, RequestHandler, Role, Root, RootsRequest,
    SamplingAnswer, SamplingRequest,
};
use tool_core::session::SessionBuilder;
use tool_core::text::{escape_invisible, truncate};
use tool_core::{CancellationToken, Content};

/// The characters of a client's reason for refusing a request.
const MAX_REASON: usize = 200;

/// A capability of clients on which a request depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    Forms = 1,
    Sampling = 2,
    Roots = 4,
    Pages = 8,
}

impl Capability {
    const ALL: [Self; 4] = [Self::Forms, Self::Sampling, Self::Roots, Self::Pages];

    /// Returns the reason for which a client without the capability is not asked.
    fn reason(self) -> &'static str {
        match self {
            Self::Forms => {
                "this MCP client cannot ask its user, as it does not support elicitation by form"
            }
            Self::Sampling => {
                "this MCP client does not let tools ask its model, as it does not support sampling"
            }
            Self::Roots => "this MCP client names no folders, as it does not support roots",
            Self::Pages => {
                "this MCP client sends its user to no pages, as it does not support elicitation by URL"
            }
        }
    }

    /// Returns the error of a request to a client without the capability.
    fn missing(self) -> AskError {
        AskError::Unavailable(self.reason().to_owned())
    }
}

/// The capabilities that a client declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities(u8);

impl Capabilities {
    pub(crate) fn of(client: Option<ClientCapabilities>) -> Self {
        let Some(client) = client else {
            return Self::default();
        };
        let declares = |capability: &Capability| match capability {
            // A client that names neither form nor URL supports forms.
            Capability::Forms => client
                .elicitation
                .as_ref()
                .is_some_and(|can| can.form.is_some() || can.url.is_none()),
            Capability::Sampling => client.sampling.is_some(),
            Capability::Roots => client.roots.is_some(),
            Capability::Pages => client
                .elicitation
                .as_ref()
                .is_some_and(|can| can.url.is_some()),
        };
        Self(
            Capability::ALL
                .iter()
                .filter(|capability| declares(capability))
                .fold(0, |all, one| all | *one as u8),
        )
    }

    pub(crate) fn has(self, capability: Capability) -> bool {
        self.0 & capability as u8 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the capabilities as a client declares them.
    pub(crate) fn declared(self) -> ClientCapabilities {
        let declared = |capability, value: Value| self.has(capability).then_some(value);
        let elicitation = json!({
            "form": declared(Capability::Forms, json!({})),
            "url": declared(Capability::Pages, json!({})),
        });
        let asks = self.has(Capability::Forms) || self.has(Capability::Pages);
        let capabilities = json!({
            "elicitation": asks.then_some(elicitation),
            "sampling": declared(Capability::Sampling, json!({})),
            "roots": declared(Capability::Roots, json!({})),
        });
        serde_json::from_value(capabilities).unwrap_or_default()
    }
}

/// Sends a question to the client's user and waits for the answer. Dropped before it, withdraws the
/// question.
pub(crate) async fn elicit(
    context: &RequestContext<RoleServer>,
    question: ElicitRequestParams,
    timeout: Option<Duration>,
) -> Result<ElicitResult, ServiceError> {
    let question = ServerRequest::ElicitRequest(ElicitRequest::new(question));
    let answer = send(&Requester::of(context), question, timeout).await?;
    serde_json::from_value(answer).map_err(|_| ServiceError::UnexpectedResponse)
}

/// A client that gets requests.
#[derive(Clone)]
pub(crate) struct Requester {
    pub(crate) peer: Peer<RoleServer>,
    /// The client's own request, on whose stream it is asked over HTTP.
    pub(crate) origin: Option<RequestId>,
    /// The handler of a session over HTTP, which has to run until a request is withdrawn.
    pub(crate) handler: Option<RunningHandler>,
}

impl Requester {
    /// Returns the client that makes a request.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self {
            peer: context.peer.clone(),
            origin: Some(context.id.clone()),
            handler: context.extensions.get().cloned(),
        }
    }
}

async fn send(
    to: &Requester,
    mut request: ServerRequest,
    timeout: Option<Duration>,
) -> Result<Value, ServiceError> {
    if let Some(origin) = &to.origin {
        // rmcp knows it in the task of the request only, and a tool may ask in another one.
        let origin = OriginatingRequestId(origin.clone());
        request.extensions_mut().insert(origin);
    }
    let options = timeout.map_or_else(
        PeerRequestOptions::no_options,
        PeerRequestOptions::with_timeout,
    );
    let sent = to.peer.send_request_with_option(request, options).await?;
    let to = to.clone();
    let id = sent.id.clone();
    let mut withdrawal = SendOnDrop::new(|| {
        Box::pin(async move {
            let reason = Some("the call that asked has ended".to_owned());
            if let Err(error) = to
                .peer
                .notify_cancelled(CancelledNotificationParam::new(Some(id), reason))
                .await
            {
                tracing::debug!(%error, "failed to withdraw a request");
            }
            drop(to.handler);
        })
    });
    let answer = sent.await_response().await;
    withdrawal.disarm();
    serde_json::to_value(answer?).map_err(|_| ServiceError::UnexpectedResponse)
}

/// The way of a call's requests to its client.
pub(crate) enum RequestRoute {
    /// By requests to the client.
    Requests(Requester),
    /// By the answer to the call's own request, which the client repeats.
    Repeats(mpsc::UnboundedSender<AskedRequest>),
}

/// A request that the answer to its call's request carries. The session bounds their number.
#[derive(Debug)]
pub(crate) struct AskedRequest {
    /// The name that the tool gave it.
    pub(crate) key: Option<String>,
    pub(crate) request: InputRequest,
    pub(crate) answer: oneshot::Sender<Value>,
    /// Cancelled when the request is answered, or no longer waits.
    pub(crate) over: CancellationToken,
}

impl AskedRequest {
    /// Returns true if a client's answer has the form of one.
    pub(crate) fn takes(&self, answer: &Value) -> bool {
        takes(&self.request, answer)
    }
}

/// Returns true if a client's answer has the form of one to a request.
pub(crate) fn takes(request: &InputRequest, answer: &Value) -> bool {
    match request {
        InputRequest::Elicitation(_) => is::<ElicitResult>(answer),
        InputRequest::CreateMessage(_) => is::<CreateMessageResult>(answer),
        InputRequest::ListRoots(_) => is::<ListRootsResult>(answer),
        // `InputRequest` is non-exhaustive.
        _ => false,
    }
}

fn is<T: DeserializeOwned>(answer: &Value) -> bool {
    serde_json::from_value::<T>(answer.clone()).is_ok()
}

/// The requests of one call to its client. They wait until the way to the client is known.
#[derive(Default)]
pub(crate) struct CallRequests {
    route: SetOnce<(RequestRoute, Capabilities)>,
    /// Notified when a request waits for the way.
    asked: Notify,
    /// The answers that the client has sent with the call, by the names that the tool gives its
    /// requests.
    early: Mutex<InputResponses>,
    /// The capabilities that the client would have needed.
    missing: AtomicU8,
}

impl CallRequests {
    pub(crate) fn with_answers(early: InputResponses) -> Self {
        Self {
            early: Mutex::new(early),
            ..Self::default()
        }
    }

    /// Returns the handlers by which the client is asked in all ways.
    pub(crate) fn handlers(self: &Arc<Self>) -> HostHandlers {
        let handler = || ClientHandler(Arc::clone(self));
        HostHandlers::new()
            .on_question(handler())
            .on_sampling(handler())
            .on_roots(handler())
    }

    pub(crate) fn has_route(&self) -> bool {
        self.route.initialized()
    }

    /// Waits until a request waits for the way to the client.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }

    pub(crate) fn set_route(&self, route: RequestRoute, client: Capabilities) {
        let _ = self.route.set((route, client));
    }

    /// Returns the capabilities that the client is known to have.
    pub(crate) fn client(&self) -> Capabilities {
        let route = self.route.get();
        route.map_or_else(Capabilities::default, |(_, client)| *client)
    }

    /// Returns the capabilities that the client would have needed for its call not to fail with
    /// this message.
    pub(crate) fn missing(&self, message: &str) -> Option<Capabilities> {
        let missing = Capabilities(self.missing.load(Ordering::Relaxed));
        let explains = |one: &Capability| missing.has(*one) && message.contains(one.reason());
        Capability::ALL.iter().any(explains).then_some(missing)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        needed: Capability,
        key: Option<String>,
        request: InputRequest,
    ) -> Result<T, AskError> {
        if !self.has_route() {
            self.asked.notify_one();
        }
        let (route, client) = self.route.wait().await;
        if !client.has(needed) {
            self.missing.fetch_or(needed as u8, Ordering::Relaxed);
            return Err(needed.missing());
        }
        let answer = match route {
            RequestRoute::Requests(client) => send(client, as_sent(request), None)
                .await
                .map_err(refused)?,
            RequestRoute::Repeats(requests) => match self.early_answer(key.as_deref(), &request) {
                Some(answer) => answer,
                None => repeated(requests, key, request).await?,
            },
        };
        serde_json::from_value(answer).map_err(AskError::failed)
    }

    fn early_answer(&self, key: Option<&str>, request: &InputRequest) -> Option<Value> {
        let mut early = self.early.lock();
        early.remove(key?).filter(|answer| takes(request, answer))
    }
}

fn as_sent(request: InputRequest) -> ServerRequest {
    match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        // `InputRequest` is non-exhaustive, and this file makes no others.
        _ => ServerRequest::PingRequest(rmcp::model::PingRequest::default()),
    }
}

/// Returns the error of a request that the client has refused.
fn refused(error: ServiceError) -> AskError {
    match error {
        ServiceError::McpError(error) => {
            let reason = escape_invisible(&truncate(&error.message, MAX_REASON));
            AskError::Unavailable(format!("the MCP client refused the request: {reason}"))
        }
        error => AskError::failed(error),
    }
}

/// Waits for the answer that a repeated request brings.
async fn repeated(
    requests: &mpsc::UnboundedSender<AskedRequest>,
    key: Option<String>,
    request: InputRequest,
) -> Result<Value, AskError> {
    let over = CancellationToken::new();
    let _over = over.clone().drop_guard();
    let (answer, answered) = oneshot::channel();
    requests
        .send(AskedRequest {
            key,
            request,
            answer,
            over,
        })
        .map_err(|_| AskError::Ended)?;
    answered.await.map_err(|_| AskError::Ended)
}

/// Sends the requests of one call to its client.
struct ClientHandler(Arc<CallRequests>);

impl RequestHandler<Question> for ClientHandler {
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer<Value>, AskError>> {
        let requests = Arc::clone(&self.0);
        Box::pin(async move {
            let key = question.key.clone();
            let (needed, params) = elicitation(question)?;
            let request = InputRequest::Elicitation(ElicitRequest::new(params));
            let answer: ElicitResult = requests.ask(needed, key, request).await?;
            Ok(match answer.action {
                ElicitationAction::Accept => {
                    Answer::Accepted(answer.content.unwrap_or_else(|| json!({})))
                }
                ElicitationAction::Decline => Answer::Declined,
                // `ElicitationAction` is non-exhaustive.
                _ => Answer::Cancelled,
            })
        })
    }
}

/// Returns the request for a question, and the capability that it needs.
fn elicitation(question: Question) -> Result<(Capability, ElicitRequestParams), AskError> {
    let meta = None;
    let message = question.message;
    if let Some(url) = question.url {
        let elicitation_id = random_id().map_err(|error| AskError::failed(error.message))?;
        let params = ElicitRequestParams::UrlElicitationParams {
            meta,
            message,
            url,
            elicitation_id,
        };
        return Ok((Capability::Pages, params));
    }
    let requested_schema = serde_json::from_value(question.schema).map_err(AskError::failed)?;
    Ok((
        Capability::Forms,
        ElicitRequestParams::FormElicitationParams {
            meta,
            message,
            requested_schema,
        },
    ))
}

impl RequestHandler<SamplingRequest> for ClientHandler {
    fn ask(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'static, Result<SamplingAnswer, AskError>> {
        let requests = Arc::clone(&self.0);
        Box::pin(async move {
            let key = request.key.clone();
            let params = sampling_params(request);
            let request = InputRequest::CreateMessage(CreateMessageRequest::new(params));
            let answer: CreateMessageResult =
                requests.ask(Capability::Sampling, key, request).await?;
            let parts = answer.message.content.into_vec().into_iter().map(content);
            let mut read = SamplingAnswer::new(answer.model, parts);
            read.role = match answer.message.role {
                rmcp::model::Role::User => Role::User,
                rmcp::model::Role::Assistant => Role::Assistant,
            };
            read.stop_reason = answer.stop_reason;
            Ok(read)
        })
    }
}

impl RequestHandler<RootsRequest> for ClientHandler {
    fn ask(&self, request: RootsRequest) -> BoxFuture<'static, Result<Vec<Root>, AskError>> {
        let requests = Arc::clone(&self.0);
        Box::pin(async move {
            let list = InputRequest::ListRoots(ListRootsRequest::default());
            let answer: ListRootsResult =
                requests.ask(Capability::Roots, request.key, list).await?;
            let named = |root: rmcp::model::Root| match root.name {
                Some(name) => Root::new(root.uri).name(name),
                None => Root::new(root.uri),
            };
            Ok(answer.roots.into_iter().map(named).collect())
        })
    }
}

fn sampling_params(request: SamplingRequest) -> CreateMessageRequestParams {
    let message = |message: tool_core::call::SamplingMessage| {
        let mut blocks = message.content.into_iter().map(block).collect::<Vec<_>>();
        let role = match message.role {
            Role::User => rmcp::model::Role::User,
            Role::Assistant => rmcp::model::Role::Assistant,
        };
        // Older revisions take one part in a message.
        match (blocks.pop(), blocks.is_empty()) {
            (Some(block), true) => SamplingMessage::new(role, block),
            (last, _) => {
                SamplingMessage::new_multiple(role, blocks.into_iter().chain(last).collect())
            }
        }
    };
    let mut params = CreateMessageRequestParams::new(
        request.messages.into_iter().map(message).collect(),
        request.max_tokens,
    );
    params.system_prompt = request.system_prompt;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "these are numbers of few digits"
    )]
    let short = |number: Option<f64>| number.map(|number| number as f32);
    params.temperature = short(request.temperature);
    params.stop_sequences = Some(request.stop_sequences).filter(|texts| !texts.is_empty());
    let mut preferences = ModelPreferences::default();
    let hints = request
        .model_hints
        .into_iter()
        .map(ModelHint::new)
        .collect::<Vec<_>>();
    preferences.hints = Some(hints).filter(|hints| !hints.is_empty());
    preferences.cost_priority = short(request.cost_priority);
    preferences.speed_priority = short(request.speed_priority);
    preferences.intelligence_priority = short(request.intelligence_priority);
    params.model_preferences =
        Some(preferences).filter(|preferences| *preferences != ModelPreferences::default());
    params
}

fn block(part: Content) -> SamplingMessageContentBlock {
    match part {
        // A message has no resources.
        Content::Text { text }
        | Content::Resource {
            text: Some(text), ..
        } => SamplingMessageContentBlock::text(text),
        Content::Image { data, mime_type } => {
            SamplingMessageContentBlock::Image(ImageContent::new(data, mime_type))
        }
        Content::Audio { data, mime_type } => {
            SamplingMessageContentBlock::Audio(AudioContent::new(data, mime_type))
        }
        // `Content` is non-exhaustive.
        other => {
            SamplingMessageContentBlock::text(serde_json::to_string(&other).unwrap_or_default())
        }
    }
}

fn content(block: SamplingMessageContentBlock) -> Content {
    match block {
        SamplingMessageContentBlock::Text(text) => Content::text(text.text),
        SamplingMessageContentBlock::Image(image) => Content::image(image.data, image.mime_type),
        SamplingMessageContentBlock::Audio(audio) => Content::audio(audio.data, audio.mime_type),
        // The request offers the model no tools.
        other => Content::text(serde_json::to_string(&other).unwrap_or_default()),
    }
}

/// Sets the handlers of a session, for calls whose client declares no capability.
pub(crate) fn unavailable(builder: SessionBuilder) -> SessionBuilder {
    let builder = builder.on_question(async |_: Question| Err(Capability::Forms.missing()));
    let builder =
        builder.on_sampling(async |_: SamplingRequest| Err(Capability::Sampling.missing()));
    builder.on_roots(async |_: RootsRequest| Err(Capability::Roots.missing()))
}
