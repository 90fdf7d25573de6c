//! Requests to authorization servers: encrypted, without redirects, and limited in size and time.

use reqwest::header::ACCEPT;
use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect};
use serde_json::Value;
use std::error::Error;
use std::iter::successors;
use std::time::Duration;
use tool_adapters_agents::oauth2::HttpClient;
use tool_adapters_http::base_url::is_local;
use tool_adapters_http::egress::{EgressError, EgressPolicy, client_builder};
use zeroize::Zeroizing;

/// Longest exchange with a server.
const TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// The reason why a document was not fetched. No text of it contains a query or a body.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("the URL of {0} is refused: {1}")]
    Url(String, String),
    #[error("failed to reach `{host}`: {problem}")]
    Unreachable { host: String, problem: String },
    #[error("`{0}` redirects, which is not followed")]
    Redirect(String),
    #[error("`{0}` answered with status {1}")]
    Status(String, u16),
    #[error("expected an answer of at most {MAX_ANSWER} bytes from `{0}`, got a longer one")]
    TooLong(String),
    #[error("expected a JSON object from `{0}`, got something else")]
    NotJson(String),
}

/// An HTTP client for the documents and endpoints of authorization servers.
#[derive(Clone)]
pub(crate) struct Fetcher {
    http: Client,
    policy: Option<EgressPolicy>,
    /// Allows `http` to this machine.
    allow_local: bool,
}

impl Fetcher {
    /// Creates a client for servers that the program trusts.
    pub(crate) fn trusted() -> Result<Self, FetchError> {
        Self::new(Client::builder(), None, true)
    }

    /// Creates a client whose connections go to the addresses only that the policy allows.
    pub(crate) fn guarded(policy: &EgressPolicy, allow_local: bool) -> Result<Self, FetchError> {
        let builder = client_builder(policy.clone()).map_err(|error| unbuilt(&error))?;
        Self::new(builder, Some(policy.clone()), allow_local)
    }

    fn new(
        builder: reqwest::ClientBuilder,
        policy: Option<EgressPolicy>,
        allow_local: bool,
    ) -> Result<Self, FetchError> {
        let builder = builder
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_gzip();
        let http = builder
            .timeout(TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        let http = http.map_err(|error| unbuilt(&error))?;
        Ok(Self {
            http,
            policy,
            allow_local,
        })
    }

    /// Begins a request with a body, for [`exchange`](Self::exchange).
    pub(crate) fn post(&self, url: &Url) -> RequestBuilder {
        self.http.post(url.clone())
    }

    /// Returns the client for the exchange of tokens at a URL, after a check of its address.
    pub(crate) async fn token_client(&self, url: &str) -> Result<HttpClient, FetchError> {
        let url = self.parse("the token endpoint", url)?;
        self.check_proxied(&url).await?;
        Ok(self.http.clone().into())
    }

    /// Parses the URL of a document or an endpoint. It has to be encrypted, unless it is on this
    /// machine.
    pub(crate) fn parse(&self, what: &str, text: &str) -> Result<Url, FetchError> {
        let refuse = |problem: &str| FetchError::Url(what.to_owned(), problem.to_owned());
        let url = Url::parse(text).map_err(|_| refuse("it is not a URL"))?;
        let is_local = is_local(url.host_str().unwrap_or_default());
        match url.scheme() {
            "https" => {}
            "http" if is_local && self.allow_local => {}
            _ => return Err(refuse("expected https")),
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(refuse("expected no user, no password and no fragment"));
        }
        if let Some(policy) = &self.policy {
            policy
                .check_url(&url)
                .map_err(|error| refuse(&error.to_string()))?;
        }
        Ok(url)
    }

    /// Fetches a JSON document. Returns `None` if the server has none there.
    pub(crate) async fn document(&self, url: &Url) -> Result<Option<Value>, FetchError> {
        let request = self
            .http
            .get(url.clone())
            .header(ACCEPT, "application/json");
        let (status, body) = self.send(request, url).await?;
        match status {
            status if status.is_success() => object(&body, url).map(Some),
            status if status.is_client_error() && !matches!(status.as_u16(), 408 | 425 | 429) => {
                Ok(None)
            }
            status => Err(FetchError::Status(host(url), status.as_u16())),
        }
    }

    /// Sends a request. Returns the status and the JSON object of the answer.
    pub(crate) async fn exchange(
        &self,
        request: RequestBuilder,
        url: &Url,
    ) -> Result<(StatusCode, Value), FetchError> {
        let (status, body) = self
            .send(request.header(ACCEPT, "application/json"), url)
            .await?;
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(FetchError::Status(host(url), status.as_u16()));
        }
        Ok((status, object(&body, url)?))
    }

    /// Checks the address of a URL that a proxy reaches.
    async fn check_proxied(&self, url: &Url) -> Result<(), FetchError> {
        let Some(policy) = &self.policy else {
            return Ok(());
        };
        let checked = policy.check_proxied(url).await;
        checked.map_err(|error| FetchError::Unreachable {
            host: host(url),
            problem: error.to_string(),
        })
    }

    async fn send(
        &self,
        request: RequestBuilder,
        url: &Url,
    ) -> Result<(StatusCode, Zeroizing<Vec<u8>>), FetchError> {
        self.check_proxied(url).await?;
        let failed = |error: reqwest::Error| FetchError::Unreachable {
            host: host(url),
            problem: describe(&error),
        };
        let mut response = request.send().await.map_err(failed)?;
        if response.status().is_redirection() {
            return Err(FetchError::Redirect(host(url)));
        }
        let mut body = Zeroizing::new(Vec::new());
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(FetchError::TooLong(host(url)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((response.status(), body))
    }
}

fn unbuilt(error: &(dyn Error + 'static)) -> FetchError {
    FetchError::Unreachable {
        host: "the network".to_owned(),
        problem: format!("no HTTP client: {error}"),
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn object(body: &[u8], url: &Url) -> Result<Value, FetchError> {
    serde_json::from_slice::<Value>(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| FetchError::NotJson(host(url)))
}

/// Describes a failed request without its URL.
fn describe(error: &reqwest::Error) -> String {
    let mut causes = successors(error.source(), |cause| (*cause).source());
    let refused = causes.find_map(|cause| cause.downcast_ref::<EgressError>());
    match refused {
        Some(refused) => refused.to_string(),
        None if error.is_timeout() => "no answer in time".to_owned(),
        None if error.is_connect() => "no connection".to_owned(),
        None => "the connection broke".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::dns::{Addrs, Name, Resolve, Resolving};
    use std::net::SocketAddr;
    use tool_adapters_http::egress::network::{Network, ProxySettings};

    /// Resolves each name to an address of a private network.
    struct Private;

    impl Resolve for Private {
        fn resolve(&self, _: Name) -> Resolving {
            let found: Addrs = Box::new(std::iter::once(SocketAddr::from(([10, 0, 0, 1], 0))));
            Box::pin(std::future::ready(Ok(found)))
        }
    }

    // T29
    #[tokio::test]
    async fn tokens_go_to_no_internal_address_by_a_proxy() {
        let proxies = ProxySettings {
            https: Some("http://proxy.example:3128".to_owned()),
            ..ProxySettings::default()
        };
        let network = Network::new(&proxies, Vec::new()).expect("a proxy");
        let policy = EgressPolicy::new().network(network).resolver(Private);
        let fetcher = Fetcher::guarded(&policy, false).expect("a client");
        let url = "https://login.example/token";
        let refused = fetcher.token_client(url).await.err();
        assert!(
            matches!(refused, Some(FetchError::Unreachable { .. })),
            "{refused:?}"
        );
    }
}
