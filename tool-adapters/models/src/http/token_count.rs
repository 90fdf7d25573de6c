//! The tokens of a request, before it is sent.

use crate::http::exchange::{Endpoint, Exchange, http_api};
use crate::http::failure::RequestFailure;
use crate::http::model::HttpModel;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use tool_adapters_http::base_url::is_local;
use tool_adapters_providers::estimate_tokens;
use tool_adapters_providers::token_counter::TokenCounter;
use tool_core::session::ModelRequest;
use tool_core::{ToolError, time};

/// The input tokens of a request: see [`HttpModel::count_tokens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenCount {
    /// The provider has counted them.
    Counted(u64),
    /// The provider does not count. It is a quarter of the characters of the request, and a fixed
    /// number for each picture.
    Estimated(u64),
}

impl TokenCount {
    /// Returns the number.
    ///
    /// ```
    /// use tool_adapters::transport::http::TokenCount;
    ///
    /// assert_eq!(TokenCount::Estimated(1_200).tokens(), 1_200);
    /// ```
    pub fn tokens(self) -> u64 {
        match self {
            Self::Counted(tokens) | Self::Estimated(tokens) => tokens,
        }
    }
}

/// The number of bytes that are read of an answer.
const MAX_ANSWER: usize = 64 * 1024;

impl HttpModel {
    /// Counts the input tokens of a request without asking the model.
    ///
    /// Anthropic, Gemini, OpenAI's Responses and Bedrock count them. Every other provider, and a
    /// server that does not have the endpoint of its protocol, gets an estimate. What you count is
    /// what [`step`](tool_core::session::Model::step) would send, with the tools and the settings
    /// of this model.
    ///
    /// ```
    /// use tool_adapters::transport::http::{HttpModel, TokenCount};
    /// use tool_core::session::{Message, ModelRequest, ToolChoice};
    /// use tool_core::{Session, ToolError};
    ///
    /// async fn fits(model: &mut HttpModel, session: &Session, history: &[Message]) -> Result<bool, ToolError> {
    ///     let request = ModelRequest {
    ///         instructions: &session.instructions(),
    ///         history,
    ///         tools: &session.definitions(),
    ///         searchable: &session.searchable_definitions(),
    ///         provider_tools: session.tools().provider_tools(),
    ///         tool_choice: ToolChoice::Auto,
    ///         events: None,
    ///     };
    ///     Ok(match model.count_tokens(request).await? {
    ///         TokenCount::Counted(tokens) => tokens < 200_000,
    ///         estimated => estimated.tokens() < 150_000,
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of a step: a file that the server does not take, a setting that the provider does not
    /// have, a missing or refused key, or a server that cannot be reached.
    pub async fn count_tokens(
        &mut self,
        request: ModelRequest<'_>,
    ) -> Result<TokenCount, ToolError> {
        self.check_files(request.history)?;
        // What is counted may be another history than that of the next step.
        let mut refused = self.transport.refused_files.clone();
        refused.forget_lost_messages(request.history);
        let history = refused.left_out_of(request.history);
        let lighter = ModelRequest {
            history: &history,
            ..request
        };
        let failure = match self.count(lighter).await {
            Ok(count) => return Ok(count),
            Err(failure) => failure,
        };
        if !failure.is_refused_request() {
            return Err(failure.error);
        }
        // A step would send the request again without the files of earlier messages.
        for files in refused.suspects(request.history) {
            let history = files.of(request.history);
            let lighter = ModelRequest {
                history: &history,
                ..request
            };
            if let Ok(count) = self.count(lighter).await {
                return Ok(count);
            }
        }
        Err(failure.error)
    }

    /// Counts the tokens of a request as it is.
    async fn count(&mut self, request: ModelRequest<'_>) -> Result<TokenCount, RequestFailure> {
        let host = self.server_host();
        let structured = self.wants_structured_output(&request, &host);
        let prepared = self
            .prepare(request, structured, &host)
            .map_err(RequestFailure::permanent)?;
        let fallback = TokenCount::Estimated(estimate_tokens(&prepared.body));
        let http = http_api(self.provider).map_err(RequestFailure::permanent)?;
        let Some(counter) = http.token_counter else {
            return Ok(fallback);
        };
        if self.access.path.is_some() {
            return Ok(fallback);
        }
        let answer = self.ask_counter(counter, prepared.body).await?;
        Ok(answer.map_or(fallback, TokenCount::Counted))
    }

    /// Returns the count of the provider; `None` if the server does not have the endpoint.
    async fn ask_counter(
        &mut self,
        counter: TokenCounter,
        body: Value,
    ) -> Result<Option<u64>, RequestFailure> {
        let deadline = time::after(Instant::now(), self.transport.timeouts.total);
        let path = (counter.path)(&self.model);
        let endpoint = Endpoint::at_path(self.provider, &self.access, &path);
        let late = |_| RequestFailure::transient("the request took longer than its time limit");
        let endpoint = timeout_at(deadline, endpoint)
            .await
            .map_err(late)?
            .map_err(RequestFailure::permanent)?;
        let client = self
            .shared_client(is_local(endpoint.url.host_str().unwrap_or_default()))
            .map_err(RequestFailure::permanent)?;
        let exchange = Exchange {
            endpoint: &endpoint,
            client: &client,
            deadline,
            idle: self.transport.timeouts.idle,
            max_bytes: MAX_ANSWER,
            recording: self.transport.recording.as_ref(),
        };
        let body = (counter.body)(&self.model, body).to_string();
        let answer = match exchange.fetch(&body).await {
            Ok(answer) => answer,
            Err(failure) if matches!(failure.status, Some(404 | 405 | 501)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let answer = serde_json::from_slice::<Value>(&answer).unwrap_or_default();
        Ok(answer.pointer(counter.result).and_then(Value::as_u64))
    }
}
