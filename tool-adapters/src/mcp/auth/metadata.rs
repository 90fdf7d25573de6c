//! The metadata of protected resources (RFC 9728) and of authorization servers (RFC 8414, OpenID Connect Discovery).

use crate::mcp::auth::fetch::{FetchError, Fetcher};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

/// Longest list that is read from a document.
const MAX_ITEMS: usize = 256;

/// Returns the address of the metadata of a resource, below the root of its origin.
pub(crate) fn resource_metadata_path(resource: &Url) -> String {
    let path = resource.path().trim_end_matches('/');
    format!("/.well-known/oauth-protected-resource{path}")
}

/// Returns the addresses at which an authorization server may publish its metadata, in the order of the specification.
pub(crate) fn issuer_metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let inserted = |name: &str| format!("/.well-known/{name}{path}");
    let mut paths = vec![inserted("oauth-authorization-server"), inserted("openid-configuration")];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths.into_iter().map(|path| at_path(issuer, &path)).collect()
}

/// Returns a URL of the same origin.
pub(crate) fn at_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
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
        let metadata = serde_json::from_value::<Self>(document).map_err(|_| {
            "expected metadata of a protected resource with `resource` and `authorization_servers`".to_owned()
        })?;
        let resource = Url::parse(&metadata.resource).ok().filter(|url| covers(url, server));
        if resource.is_none() || metadata.authorization_servers.len() > MAX_ITEMS {
            let named = metadata.resource.escape_debug();
            return Err(format!("the metadata is that of another resource, `{named:.200}`"));
        }
        Ok(metadata)
    }
}

/// Returns true if a resource is the server, or a path above it on the same origin.
fn covers(resource: &Url, server: &Url) -> bool {
    let (above, path) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let is_above = path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
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
    #[error("`{0}` publishes no metadata of an authorization server")]
    Missing(String),
    #[error("the metadata of an authorization server has another form")]
    Form,
    #[error("expected the issuer `{expected}`, got `{got}`")]
    OtherIssuer { expected: String, got: String },
}

impl IssuerMetadata {
    /// Fetches the metadata of an issuer, which has to name exactly this issuer.
    pub(crate) async fn fetch(fetcher: &Fetcher, issuer: &str) -> Result<Self, IssuerError> {
        let url = fetcher.parse("the issuer", issuer)?;
        for at in issuer_metadata_urls(&url) {
            let Some(document) = fetcher.document(&at).await? else { continue };
            let metadata = serde_json::from_value::<Self>(document).map_err(|_| IssuerError::Form)?;
            // Without this check one server could speak for another.
            if metadata.issuer != issuer {
                let shorten = |text: &str| text.escape_debug().take(200).collect::<String>();
                return Err(IssuerError::OtherIssuer { expected: shorten(issuer), got: shorten(&metadata.issuer) });
            }
            return Ok(metadata);
        }
        Err(IssuerError::Missing(url.host_str().unwrap_or_default().to_owned()))
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
            ("https://mcp.example", "/.well-known/oauth-protected-resource"),
            ("https://mcp.example/", "/.well-known/oauth-protected-resource"),
            ("https://mcp.example/team/mcp?x=1", "/.well-known/oauth-protected-resource/team/mcp"),
        ] {
            assert_eq!(resource_metadata_path(&url(resource)), path);
        }
        let texts = |issuer: &str| issuer_metadata_urls(&url(issuer)).iter().map(Url::to_string).collect::<Vec<_>>();
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

    #[test]
    fn metadata_of_other_resources_is_refused() {
        let server = url("https://mcp.example/team/mcp");
        let read = |resource: &str| ResourceMetadata::of(json!({"resource": resource}), &server);
        for own in ["https://mcp.example/team/mcp", "https://mcp.example", "https://mcp.example/team/"] {
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
        ResourceMetadata::of(json!({"authorization_servers": ["https://as.example"]}), &server)
            .expect_err("no resource");
    }
}
