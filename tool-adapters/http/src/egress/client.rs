//! The guarded HTTP client of tools.

use crate::egress::error::EgressError;
use crate::egress::guard::client_builder;
use crate::egress::policy::EgressPolicy;
use crate::egress::redirect::next_request;
use crate::egress::response::EgressResponse;
use crate::middleware::{TraceMiddleware, WithoutUsage};
use http::Extensions;
use reqwest::redirect::Policy;
use reqwest::{Method, Request, Response, Url};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde::Serialize;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;
use tool_core::RunContext;

/// The name that servers see, as some refuse requests without one.
const USER_AGENT: &str = concat!("tool-adapters/", env!("CARGO_PKG_VERSION"));

/// An HTTP client for tools, under an [`EgressPolicy`]. Cheap to clone; clones share their
/// connections.
///
/// Each request has an `http` span. The usage that a model reports in its answer counts for the
/// span around it, if the request went over `https` to the default host of a provider, or to a host
/// that [`EgressPolicy::allow_host`] names. Other servers cannot add to the cost.
///
/// ```
/// use tool_adapters::egress::{EgressClient, EgressError, EgressPolicy};
/// use tool_core::{Mode, Runtime, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let egress = EgressClient::new(EgressPolicy::new().only_allowed().allow_host("api.example"))?;
/// let session = runtime.session("chat-42", Mode::Text).user_data(egress.clone()).await?; // for `ctx.http()`
///
/// let other = egress.get("https://other.example/").send().await;
/// assert!(matches!(other, Err(EgressError::NotAllowed { host }) if host == "other.example"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EgressClient(Arc<ClientInner>);

struct ClientInner {
    policy: EgressPolicy,
    /// Follows no redirects: the guard does, with a check of each.
    http: ClientWithMiddleware,
    /// Builds requests, and sends none.
    builder: reqwest::Client,
}

impl EgressClient {
    /// Creates a client. Put it into the user data of sessions, where [`RunContextExt::http`] finds
    /// it.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy has invalid settings, or the certificates of the system
    /// cannot be read.
    pub fn new(policy: EgressPolicy) -> Result<Self, EgressError> {
        let builder = client_builder(policy.clone())?
            .redirect(Policy::none())
            .user_agent(USER_AGENT);
        let builder = builder.build().map_err(|error| EgressError::Policy {
            problems: vec![format!("failed to create an HTTP client: {error}")],
        })?;
        let http = ClientBuilder::new(builder.clone())
            .with(TraceMiddleware::new())
            .build();
        Ok(Self(Arc::new(ClientInner {
            policy,
            http,
            builder,
        })))
    }

    /// Returns the policy.
    pub fn policy(&self) -> &EgressPolicy {
        &self.0.policy
    }

    /// Begins a GET request.
    pub fn get(&self, url: impl AsRef<str>) -> EgressRequest {
        self.request(Method::GET, url)
    }

    /// Begins a POST request.
    pub fn post(&self, url: impl AsRef<str>) -> EgressRequest {
        self.request(Method::POST, url)
    }

    /// Begins a request.
    pub fn request(&self, method: Method, url: impl AsRef<str>) -> EgressRequest {
        let url = Url::parse(url.as_ref()).map_err(|error| EgressError::InvalidUrl {
            reason: error.to_string(),
        });
        let url = url.and_then(|url| self.0.policy.check_url(&url).map(|()| url));
        EgressRequest {
            client: self.clone(),
            request: url.map(|url| self.0.builder.request(method, url)),
        }
    }

    /// Sends a request that `reqwest` built, and follows its redirects.
    ///
    /// # Errors
    ///
    /// Returns an error if the request or one of its redirects is refused, fails, or takes too
    /// long.
    pub async fn execute(&self, request: Request) -> Result<EgressResponse, EgressError> {
        self.execute_within(request, &|_| true).await
    }

    /// Sends a request, and follows its redirects, to the hosts only for which `allows` returns
    /// true.
    pub(crate) async fn execute_within(
        &self,
        mut request: Request,
        allows: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<EgressResponse, EgressError> {
        let policy = &self.0.policy;
        let limit = request
            .timeout()
            .map_or(policy.timeout, |own| policy.timeout.min(*own));
        let deadline = Instant::now() + limit;
        for hop in 0.. {
            let wrap = |error| {
                if hop == 0 {
                    error
                } else {
                    EgressError::Redirect(Box::new(error))
                }
            };
            policy.check_url(request.url()).map_err(wrap)?;
            let host = request
                .url()
                .host_str()
                .unwrap_or_default()
                .trim_end_matches('.');
            if !allows(host) {
                return Err(wrap(EgressError::NotAllowed {
                    host: host.to_owned(),
                }));
            }
            let copy = request.try_clone();
            let response = self.send(request, deadline, limit).await.map_err(wrap)?;
            request = match next_request(&response, copy)? {
                None => return Ok(EgressResponse::new(response, policy.max_body, limit)),
                Some(_) if hop == policy.max_redirects => break,
                Some(next) => next,
            };
        }
        Err(EgressError::TooManyRedirects {
            limit: policy.max_redirects,
        })
    }

    async fn send(
        &self,
        mut request: Request,
        deadline: Instant,
        limit: Duration,
    ) -> Result<Response, EgressError> {
        let host = request.url().host_str().unwrap_or_default().to_owned();
        // The limit of a request ends with its body.
        *request.timeout_mut() = Some(deadline.saturating_duration_since(Instant::now()));
        let mut extensions = Extensions::new();
        if !self.0.policy.trusts_usage(request.url()) {
            extensions.insert(WithoutUsage);
        }
        self.0
            .http
            .execute_with_extensions(request, &mut extensions)
            .await
            .map_err(|error| EgressError::from_transport(error, &host, limit))
    }

    /// Resolves a host to the addresses that the policy allows, for protocols other than HTTP.
    /// Connect to one of these, and do not resolve the name again: the next answer may be another
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not allow the name, or if it has no address, or none
    /// that is allowed.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressError> {
        self.0.policy.resolve(host, port).await
    }
}

debug_only!(EgressClient, |this| policy: this.0.policy);

/// A request that is not sent yet.
///
/// ```no_run
/// use tool_adapters::egress::{EgressError, RunContextExt};
/// use tool_core::serde_json::{Value, json};
/// use tool_core::{RunContext, tool};
///
/// /// Open an issue.
/// #[tool(category = "action", open_world)]
/// async fn open_issue(ctx: &RunContext, title: &str) -> Result<Value, EgressError> {
///     let request = ctx.http()?.post("https://issues.example/api/issues");
///     let request = request.query(&[("project", "garden")]).header("x-request-id", "r-1").json(&json!({"title": title}));
///     request.send().await?.error_for_status()?.json().await
/// }
/// ```
#[must_use = "a request does nothing before it is sent"]
pub struct EgressRequest {
    client: EgressClient,
    request: Result<reqwest::RequestBuilder, EgressError>,
}

impl EgressRequest {
    /// Adds a header. A redirect to another origin drops it, unless it is `Accept`,
    /// `Accept-Encoding`, `Accept-Language`, `Content-Type`, `Range` or `User-Agent`.
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        self.map(|request| request.header(name.as_ref(), value.as_ref()))
    }

    /// Adds a bearer token. A redirect to another origin drops it.
    pub fn bearer_auth(self, token: impl fmt::Display) -> Self {
        self.map(|request| request.bearer_auth(token))
    }

    /// Adds parameters to the query of the URL.
    pub fn query(self, parameters: &(impl Serialize + ?Sized)) -> Self {
        self.map(|request| request.query(parameters))
    }

    /// Sets a body of JSON.
    pub fn json(self, body: &(impl Serialize + ?Sized)) -> Self {
        self.map(|request| request.json(body))
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<reqwest::Body>) -> Self {
        self.map(|request| request.body(body))
    }

    /// Returns a copy, or `None` if the body is a stream.
    pub fn try_clone(&self) -> Option<Self> {
        let request = match &self.request {
            Ok(request) => Ok(request.try_clone()?),
            Err(refused) => Err(refused.clone()),
        };
        Some(Self {
            client: self.client.clone(),
            request,
        })
    }

    /// Changes the request with the methods of `reqwest`.
    pub fn map(
        self,
        change: impl FnOnce(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Self {
        Self {
            request: self.request.map(change),
            ..self
        }
    }

    /// Sends the request, and follows its redirects.
    ///
    /// # Errors
    ///
    /// Returns an error if the request or one of its redirects is refused, fails, or takes too
    /// long.
    pub async fn send(self) -> Result<EgressResponse, EgressError> {
        self.send_within(&|_| true).await
    }

    /// Sends the request, and follows its redirects, to the hosts only for which `allows` returns
    /// true.
    pub async fn send_within(
        self,
        allows: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<EgressResponse, EgressError> {
        let request = self.request?.build();
        let request = request.map_err(|error| EgressError::InvalidUrl {
            reason: error.without_url().to_string(),
        })?;
        self.client.execute_within(request, allows).await
    }
}

/// The guarded HTTP client of a run context.
///
/// ```
/// use tool_adapters::egress::{EgressError, RunContextExt};
/// use tool_core::{RunContext, ToolContext, tool};
///
/// /// Fetch a page of the web as text.
/// #[tool(category = "retrieval", open_world)]
/// async fn fetch(ctx: &RunContext, url: &str) -> Result<String, EgressError> {
///     ctx.http()?.get(url).send().await?.error_for_status()?.text().await
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(fetch).build()?;
/// let response = tools.call("fetch", r#"{"url": "http://127.0.0.1:6379/"}"#, &RunContext::detached()).await;
/// assert!(response.into_text().starts_with("expected a public host, got `127.0.0.1`, which is a loopback address"));
/// # Ok(())
/// # }
/// ```
pub trait RunContextExt {
    /// Returns the [`EgressClient`] of the run's user data, or the client of the default policy if
    /// there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the default client cannot be created, or the user data has a policy
    /// without a client.
    fn http(&self) -> Result<&EgressClient, EgressError>;
}

impl RunContextExt for RunContext {
    fn http(&self) -> Result<&EgressClient, EgressError> {
        static DEFAULT: OnceLock<EgressClient> = OnceLock::new();
        if let Some(client) = self.user_data::<EgressClient>() {
            return Ok(client);
        }
        if self.user_data::<EgressPolicy>().is_some() {
            let problem = "expected an `EgressClient` in the user data, got an `EgressPolicy`; create the client once with \
                           `EgressClient::new`";
            return Err(EgressError::Policy {
                problems: vec![problem.to_owned()],
            });
        }
        if let Some(client) = DEFAULT.get() {
            return Ok(client);
        }
        let client = EgressClient::new(EgressPolicy::new())?;
        Ok(DEFAULT.get_or_init(|| client))
    }
}
