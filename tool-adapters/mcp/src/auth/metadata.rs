//! The metadata of protected resources (RFC 9728) and of authorization servers (RFC 8414, OpenID
//! Connect Discovery).

use crate::auth::fetch::{FetchError, Fetcher};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// Longest list that is read from a document.
const MAX_ITEMS: usize = 256;

/// Returns the address of the metadata of a resource, below the root of its origin.
pub(crate) fn resource_metadata_path(resource: &Url) -> String {
    let path = resource.path().trim_end_matches('/');
    format!("/.well-known/oauth-protected-resource{path}")
}

/// Returns the addresses at which an authorization server may publish its metadata, in the order of
/// the specification.
pub(crate) fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let inserted = |name: &str| format!("/.well-known/{name}{path}");
    let mut paths = vec![
        inserted("oauth-authorization-server"),
        inserted("openid-configuration"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths
        .into_iter()
        .map(|path| at_path(issuer, &path))
        .collect()
}

/// Returns a URL of the same origin.
pub(crate) fn at_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns a document without its members that are null, as some servers write those that they do
/// not set.
fn without_nulls(mut document: Value) -> Value {
    if let Value::Object(members) = &mut document {
        members.retain(|_, value| !value.is_null());
    }
    document
}

/// The metadata of a protected resource.
#[derive(Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
}

impl ResourceMetadata {
    /// Reads the metadata of a server. Fails if it is that of another resource.
    pub(crate) fn of(document: Value, server: &Url) -> Result<Self, String> {
        let metadata = serde_json::from_value::<Self>(without_nulls(document)).map_err(|_| {
            "expected metadata of a protected resource with `resource` and `authorization_servers`".to_owned()
        })?;
        let resource = Url::parse(&metadata.resource)
            .ok()
            .filter(|url| covers(url, server));
        if resource.is_none() || metadata.authorization_servers.len() > MAX_ITEMS {
            let named = metadata.resource.escape_debug();
            return Err(format!(
                "the metadata is that of another resource, `{named:.200}`"
            ));
        }
        Ok(metadata)
    }
}

/// Returns true if a resource is the server, or a path above it on the same origin.
fn covers(resource: &Url, server: &Url) -> bool {
    let above = resource.path().trim_end_matches('/');
    let path = server.path().trim_end_matches('/');
    let is_above = path
        .strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && resource.fragment().is_none() && is_above
}

/// The metadata of an authorization server.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct IssuerMetadata {
    pub(crate) issuer: String,
    #[serde(default)]
    pub(crate) authorization_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) token_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) introspection_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) jwks_uri: Option<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
    #[serde(default)]
    pub(crate) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
}

/// The reason why the metadata of an authorization server cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum IssuerError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The host, and the addresses that were tried.
    #[error("`{host}` publishes no metadata of an authorization server; tried {tried}")]
    Missing { host: String, tried: Attempts },
}

/// The addresses at which metadata was looked for, each with what was there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attempts(Vec<Attempt>);

#[derive(Clone, Debug, PartialEq)]
struct Attempt {
    url: String,
    outcome: String,
    kind: AttemptKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum AttemptKind {
    /// The server has nothing there.
    Absent,
    /// The document there cannot be used.
    Unusable,
    /// The server does not answer, or not for now.
    Unavailable,
}

impl Attempts {
    /// Notes an address at which there is no document.
    pub(crate) fn absent(&mut self, url: &Url) {
        self.push(url, "there is none".to_owned(), AttemptKind::Absent);
    }

    /// Notes a document that cannot be used.
    pub(crate) fn unusable(&mut self, url: &Url, problem: String) {
        self.push(url, problem, AttemptKind::Unusable);
    }

    /// Notes a failed request.
    pub(crate) fn failed(&mut self, url: &Url, error: &FetchError) {
        let kind = match error {
            FetchError::Unreachable { .. } | FetchError::Status(..) => AttemptKind::Unavailable,
            _ => AttemptKind::Unusable,
        };
        self.push(url, error.to_string(), kind);
    }

    fn push(&mut self, url: &Url, outcome: String, kind: AttemptKind) {
        // A query may have a key.
        let shown = url.as_str().split('?').next().unwrap_or_default();
        let url = shown.escape_debug().take(200).collect();
        self.0.push(Attempt { url, outcome, kind });
    }

    /// Adds those that came later.
    pub(crate) fn extend(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Returns true if one of the servers may answer later.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.0
            .iter()
            .any(|attempt| attempt.kind == AttemptKind::Unavailable)
    }

    /// Returns true if the servers have answered, and have nothing at any address.
    pub(crate) fn is_absent(&self) -> bool {
        self.0
            .iter()
            .all(|attempt| attempt.kind == AttemptKind::Absent)
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, attempt) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", attempt.url, attempt.outcome)?;
        }
        Ok(())
    }
}

/// Returns true if two texts name one issuer. Servers and settings differ by the last slash, which
/// no other server can add.
pub(crate) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.strip_suffix('/').unwrap_or(one) == other.strip_suffix('/').unwrap_or(other)
}

impl IssuerMetadata {
    /// Reads the metadata of an authorization server.
    fn of(document: Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(without_nulls(document))
    }

    /// Fetches the metadata of an issuer, which has to name this issuer. An address with something
    /// else is passed over.
    pub(crate) async fn fetch(fetcher: &Fetcher, issuer: &str) -> Result<Self, IssuerError> {
        let url = fetcher.parse("the issuer", issuer)?;
        let mut tried = Attempts::default();
        for at in issuer_metadata_urls(&url) {
            let document = match fetcher.document(&at).await {
                Ok(Some(document)) => document,
                Ok(None) => {
                    tried.absent(&at);
                    continue;
                }
                Err(error) => {
                    tried.failed(&at, &error);
                    // The other addresses are at the same host.
                    if matches!(error, FetchError::Unreachable { .. }) {
                        break;
                    }
                    continue;
                }
            };
            match Self::of(document) {
                // Without this check one server could speak for another.
                Ok(metadata) if is_same_issuer(&metadata.issuer, issuer) => return Ok(metadata),
                Ok(metadata) => {
                    let got = metadata.issuer.escape_debug().take(200).collect::<String>();
                    tried.unusable(
                        &at,
                        format!(
                            "expected the issuer `{}`, got `{got}`",
                            issuer.escape_debug()
                        ),
                    );
                }
                Err(_) => tried.unusable(
                    &at,
                    "expected the metadata of an authorization server".to_owned(),
                ),
            }
        }
        Err(IssuerError::Missing {
            host: url.host_str().unwrap_or_default().to_owned(),
            tried,
        })
    }

    /// Returns the endpoints that a server has which publishes no metadata, as in revision
    /// 2025-03-26.
    pub(crate) fn of_defaults(server: &Url) -> Self {
        let at = |path: &str| Some(at_path(server, path).to_string());
        Self {
            issuer: server.origin().ascii_serialization(),
            authorization_endpoint: at("/authorize"),
            token_endpoint: at("/token"),
            registration_endpoint: at("/register"),
            introspection_endpoint: None,
            jwks_uri: None,
            scopes_supported: Vec::new(),
            // The revision requires PKCE.
            code_challenge_methods_supported: vec!["S256".to_owned()],
            token_endpoint_auth_methods_supported: Vec::new(),
            authorization_response_iss_parameter_supported: false,
            client_id_metadata_document_supported: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn metadata_is_inserted_before_the_path() {
        for (resource, path) in [
            (
                "https://mcp.example",
                "/.well-known/oauth-protected-resource",
            ),
            (
                "https://mcp.example/",
                "/.well-known/oauth-protected-resource",
            ),
            (
                "https://mcp.example/team/mcp?x=1",
                "/.well-known/oauth-protected-resource/team/mcp",
            ),
        ] {
            assert_eq!(resource_metadata_path(&url(resource)), path);
        }
        let texts = |issuer: &str| {
            issuer_metadata_urls(&url(issuer))
                .iter()
                .map(Url::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts("https://as.example/tenant"),
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant",
                "https://as.example/.well-known/openid-configuration/tenant",
                "https://as.example/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(texts("https://as.example").len(), 2);
    }

    // C21
    #[test]
    fn an_issuer_may_differ_by_its_last_slash() {
        assert!(is_same_issuer(
            "https://accounts.google.com",
            "https://accounts.google.com/"
        ));
        for other in [
            "https://accounts.google.com//",
            "https://accounts.google.co",
            "https://ACCOUNTS.google.com",
            "",
        ] {
            assert!(
                !is_same_issuer("https://accounts.google.com", other),
                "{other}"
            );
        }
    }

    #[test]
    fn members_of_metadata_that_are_null_are_absent() {
        let resource = json!({"resource": "https://mcp.example", "scopes_supported": null});
        let metadata = ResourceMetadata::of(resource, &url("https://mcp.example/mcp"));
        assert!(metadata.expect("metadata").scopes_supported.is_empty());

        let issuer = json!({
            "issuer": "https://as.example",
            "token_endpoint_auth_methods_supported": null,
            "authorization_response_iss_parameter_supported": null
        });
        let metadata = IssuerMetadata::of(issuer).expect("metadata");
        assert!(metadata.token_endpoint_auth_methods_supported.is_empty());
    }

    #[test]
    fn metadata_of_other_resources_is_refused() {
        let server = url("https://mcp.example/team/mcp");
        let read = |resource: &str| ResourceMetadata::of(json!({"resource": resource}), &server);
        for own in [
            "https://mcp.example/team/mcp",
            "https://mcp.example",
            "https://mcp.example/team/",
        ] {
            read(own).expect(own);
        }
        for other in [
            "https://mcp.example/team/mc",
            "https://mcp.example/team/mcp/admin",
            "https://mcp.example.evil.example/team/mcp",
            "http://mcp.example/team/mcp",
            "https://mcp.example:8443/team/mcp",
            "https://mcp.example/team/mcp#x",
            "mcp",
            "",
        ] {
            read(other).expect_err(other);
        }
        ResourceMetadata::of(
            json!({"authorization_servers": ["https://as.example"]}),
            &server,
        )
        .expect_err("no resource");
    }
}
