//! The check of one access token: its signature, issuer, audience and time.

use crate::auth::fetch::FetchError;
use crate::auth::keys::IssuerCache;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tool_adapters_http::debug_only;
use tool_adapters_http::quota::{Quota, QuotaLimits, Share};
use tool_core::Secret;

/// Longest token in bytes.
const MAX_TOKEN: usize = 16 * 1024;
/// Maximum number of introspections at once. Further tokens wait.
const MAX_INTROSPECTIONS: usize = 16;
/// Maximum number of tokens of one peer that are introspected or wait. Further ones are refused.
const MAX_OF_PEER: usize = 64;
/// The time for which a token waits. It is refused for a moment then.
const PATIENCE: Duration = Duration::from_secs(5);
/// The algorithms of signatures by public keys. A shared key would let every server that checks a
/// token sign one.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The types of access tokens. Many issuers have no type of their own for them.
const TYPES: [&str; 2] = ["at+jwt", "jwt"];

/// The claims of an access token that [`Server::oauth`](crate::Server::oauth) has checked. They are
/// in the extensions of the request, for [`Server::principal`](crate::Server::principal).
///
/// ```
/// use std::sync::Arc;
/// use tool_adapters::mcp::{AccessClaims, Server};
/// use tool_core::serde_json::Value;
///
/// /// Makes the users of one tenant one principal.
/// fn by_tenant(server: Server) -> Server {
///     server.principal(|parts| {
///         let claims = parts.extensions.get::<Arc<AccessClaims>>()?;
///         claims.claim("tenant").and_then(Value::as_str).map(str::to_owned)
///     })
/// }
/// ```
#[derive(Clone, PartialEq)]
pub struct AccessClaims {
    issuer: String,
    scopes: Vec<String>,
    claims: Map<String, Value>,
}

impl AccessClaims {
    fn new(issuer: &str, claims: Map<String, Value>) -> Self {
        // `scp` is the name that some providers use.
        let scopes = ["scope", "scp"]
            .iter()
            .filter_map(|name| claims.get(*name))
            .flat_map(|scopes| match scopes {
                Value::String(scopes) => scopes.split(' ').map(str::to_owned).collect::<Vec<_>>(),
                Value::Array(scopes) => scopes
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect(),
                _ => Vec::new(),
            });
        let scopes = scopes.filter(|scope| !scope.is_empty()).collect();
        Self {
            issuer: issuer.to_owned(),
            scopes,
            claims,
        }
    }

    /// Returns the issuer of the token.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the person or the program that the token was issued for. It is unique at its issuer
    /// only.
    pub fn subject(&self) -> Option<&str> {
        self.text("sub")
    }

    /// Returns the id of the client that the token was issued to.
    pub fn client_id(&self) -> Option<&str> {
        self.text("client_id").or_else(|| self.text("azp"))
    }

    /// Returns the scopes of the token.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns a claim by its name.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.claims.get(name)
    }

    /// Returns the principal of a session: the issuer and the subject, or else the client. An
    /// issuer has neither a blank nor a `#`, so that no two are equal.
    pub(crate) fn principal(&self) -> Option<String> {
        let subject = self
            .subject()
            .map(|subject| format!("{} {subject}", self.issuer));
        subject.or_else(|| {
            self.client_id()
                .map(|client| format!("{}#client {client}", self.issuer))
        })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.claims
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
    }
}

debug_only!(AccessClaims, |this| issuer: this.issuer, subject: this.subject(), scopes: this.scopes);

/// The reason why a token is refused. Its text is the `error_description` of the answer, so it has
/// no quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenProblem {
    #[error("the token is malformed")]
    Malformed,
    #[error("the token is of another issuer")]
    Issuer,
    #[error("the signature of the token is invalid")]
    Signature,
    #[error("the token is signed with an algorithm that is not accepted")]
    Algorithm,
    #[error("the token was issued for another resource")]
    Audience,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    TooEarly,
    #[error("the token lacks a claim")]
    Claim,
    #[error("the token is bound to a key whose possession cannot be shown here")]
    Bound,
    #[error("the token is not active")]
    Inactive,
    /// The token was not checked.
    #[error("the issuer cannot be reached")]
    Unavailable,
}

/// An issuer whose tokens are accepted.
pub(crate) struct TrustedIssuer {
    pub(crate) cache: Arc<IssuerCache>,
    /// The client that asks the issuer about tokens that are not JWTs.
    pub(crate) introspection: Option<(String, Secret)>,
    pub(crate) asking: Semaphore,
    /// The tokens of each peer that are introspected or wait.
    of_peers: Arc<Quota<Option<IpAddr>>>,
}

impl TrustedIssuer {
    pub(crate) fn new(cache: IssuerCache, introspection: Option<(String, Secret)>) -> Self {
        Self {
            cache: Arc::new(cache),
            introspection,
            asking: Semaphore::new(MAX_INTROSPECTIONS),
            of_peers: Arc::default(),
        }
    }
}

/// Checks a token that comes from a peer.
pub(crate) async fn check(
    (token, peer): (&str, Option<IpAddr>),
    issuers: &[TrustedIssuer],
    audiences: &[String],
    leeway: Duration,
) -> Result<AccessClaims, TokenProblem> {
    if token.is_empty() || token.len() > MAX_TOKEN {
        return Err(TokenProblem::Malformed);
    }
    let claims = if let Some(named) = unchecked_issuer(token) {
        let issuer = issuers
            .iter()
            .find(|known| known.cache.issuer == named)
            .ok_or(TokenProblem::Issuer)?;
        check_jwt(token, &issuer.cache, audiences, leeway).await?
    } else {
        let issuer = issuers
            .iter()
            .find(|known| known.introspection.is_some())
            .ok_or(TokenProblem::Malformed)?;
        introspect((token, peer), issuer, audiences, leeway).await?
    };
    // The proof of possession (RFC 8705, RFC 9449) is not checked here, so a stolen token would be
    // accepted.
    if claims.claim("cnf").is_some() {
        return Err(TokenProblem::Bound);
    }
    claims
        .principal()
        .is_some()
        .then_some(claims)
        .ok_or(TokenProblem::Claim)
}

/// Returns the issuer that a JWT names, before its signature is checked. Returns `None` for other
/// tokens.
fn unchecked_issuer(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let _ = parts.next()?;
    let payload = parts.next()?;
    let _ = parts.next()?;
    if parts.next().is_some() {
        return None;
    }
    let payload = serde_json::from_slice::<Value>(&BASE64.decode(payload).ok()?).ok()?;
    payload
        .get("iss")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

/// Returns true if the header of a JWT is that of an access token: a token of another type is for
/// something else, and one that is compressed, or whose payload is not encoded, is read in another
/// way than it was signed.
fn is_access_token(token: &str) -> bool {
    let header = token
        .split('.')
        .next()
        .and_then(|header| BASE64.decode(header).ok());
    let header =
        header.and_then(|header| serde_json::from_slice::<Map<String, Value>>(&header).ok());
    let Some(header) = header else { return false };
    let is_known = |kind: &Value| {
        let kind = kind.as_str().unwrap_or_default().to_ascii_lowercase();
        TYPES.contains(&kind.strip_prefix("application/").unwrap_or(&kind))
    };
    header.get("typ").is_none_or(is_known)
        && !header.contains_key("zip")
        && !header.contains_key("b64")
}

async fn check_jwt(
    token: &str,
    issuer: &Arc<IssuerCache>,
    audiences: &[String],
    leeway: Duration,
) -> Result<AccessClaims, TokenProblem> {
    // A program that has both of the crate's implementations has to choose one, and otherwise gets
    // a panic.
    let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
    let header = decode_header(token).map_err(|_| TokenProblem::Algorithm)?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(TokenProblem::Algorithm);
    }
    if header.crit.is_some() || !is_access_token(token) {
        return Err(TokenProblem::Malformed);
    }
    let id = header.kid.as_deref();
    let documents = issuer
        .documents(|documents| documents.keys(id, header.alg).next().is_some())
        .await;
    let documents = documents
        .filter(|documents| documents.have_keys())
        .ok_or(TokenProblem::Unavailable)?;
    let mut validation = Validation::new(header.alg);
    validation.leeway = leeway.as_secs();
    validation.validate_nbf = true;
    validation.set_audience(audiences);
    validation.set_issuer(&[&issuer.issuer]);
    validation.set_required_spec_claims(&["exp", "iss", "aud"]);
    let mut problem = TokenProblem::Signature;
    for key in documents.keys(id, header.alg) {
        match decode::<Map<String, Value>>(token, &key.key, &validation) {
            // The library also accepts a list of issuers that contains this one.
            Ok(checked)
                if checked.claims.get("iss").and_then(Value::as_str) == Some(&*issuer.issuer) =>
            {
                return Ok(AccessClaims::new(&issuer.issuer, checked.claims));
            }
            Ok(_) => return Err(TokenProblem::Issuer),
            Err(error) => problem = problem_of(error.kind()),
        }
    }
    Err(problem)
}

fn problem_of(error: &ErrorKind) -> TokenProblem {
    match error {
        ErrorKind::InvalidIssuer => TokenProblem::Issuer,
        ErrorKind::InvalidAudience => TokenProblem::Audience,
        ErrorKind::ExpiredSignature => TokenProblem::Expired,
        ErrorKind::ImmatureSignature => TokenProblem::TooEarly,
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => {
            TokenProblem::Claim
        }
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => TokenProblem::Algorithm,
        _ => TokenProblem::Signature,
    }
}

/// Asks the issuer about a token that is not a JWT (RFC 7662).
async fn introspect(
    (token, peer): (&str, Option<IpAddr>),
    issuer: &TrustedIssuer,
    audiences: &[String],
    leeway: Duration,
) -> Result<AccessClaims, TokenProblem> {
    let unavailable = |error: FetchError| {
        tracing::error!(issuer = %issuer.cache.issuer, %error, "failed to ask an issuer about a token");
        TokenProblem::Unavailable
    };
    let (id, secret) = issuer
        .introspection
        .as_ref()
        .ok_or(TokenProblem::Malformed)?;
    let limits = QuotaLimits {
        all: usize::MAX,
        each: MAX_OF_PEER,
    };
    let _place =
        Share::one(&issuer.of_peers, peer, limits).map_err(|_| TokenProblem::Unavailable)?;
    let Ok(Ok(_permit)) = timeout(PATIENCE, issuer.asking.acquire()).await else {
        return Err(TokenProblem::Unavailable);
    };
    let documents = issuer
        .cache
        .documents(|_| true)
        .await
        .ok_or(TokenProblem::Unavailable)?;
    let endpoint = documents
        .metadata
        .introspection_endpoint
        .as_deref()
        .ok_or(TokenProblem::Unavailable)?;
    let fetcher = &issuer.cache.fetcher;
    let url = fetcher
        .parse("the introspection endpoint", endpoint)
        .map_err(unavailable)?;
    let body = oauth2::url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("token", token), ("token_type_hint", "access_token")])
        .finish();
    let encoded = |text: &str| {
        oauth2::url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
    };
    let request = fetcher
        .post(&url)
        .basic_auth(encoded(id), Some(encoded(secret.expose())));
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let (status, answer) = fetcher.exchange(request, &url).await.map_err(unavailable)?;
    if !status.is_success() {
        tracing::error!(issuer = %issuer.cache.issuer, %status, "the issuer refuses to tell about tokens");
        return Err(TokenProblem::Unavailable);
    }
    let Value::Object(claims) = answer else {
        return Err(TokenProblem::Inactive);
    };
    check_introspected(&claims, &issuer.cache.issuer, audiences, leeway)?;
    Ok(AccessClaims::new(&issuer.cache.issuer, claims))
}

/// Returns the seconds since 1970.
pub(crate) fn unix_time() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

fn check_introspected(
    claims: &Map<String, Value>,
    issuer: &str,
    audiences: &[String],
    leeway: Duration,
) -> Result<(), TokenProblem> {
    if claims.get("active") != Some(&Value::Bool(true)) {
        return Err(TokenProblem::Inactive);
    }
    if claims
        .get("iss")
        .is_some_and(|named| named.as_str() != Some(issuer))
    {
        return Err(TokenProblem::Issuer);
    }
    let is_own = |named: &Value| {
        named
            .as_str()
            .is_some_and(|named| audiences.iter().any(|own| own == named))
    };
    let is_audience = match claims.get("aud") {
        Some(Value::Array(named)) => named.iter().any(is_own),
        named => named.is_some_and(is_own),
    };
    if !is_audience {
        return Err(TokenProblem::Audience);
    }
    let now = unix_time();
    let leeway = leeway.as_secs_f64();
    let time = |name: &str| claims.get(name).map(Value::as_f64);
    match (time("exp"), time("nbf")) {
        (Some(None), _) | (_, Some(None)) => Err(TokenProblem::Claim),
        (Some(Some(end)), _) if end + leeway <= now => Err(TokenProblem::Expired),
        (_, Some(Some(begin))) if begin > now + leeway => Err(TokenProblem::TooEarly),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scopes_are_read_in_each_form() {
        for claims in [
            json!({"scope": "a b"}),
            json!({"scp": ["a", "b"]}),
            json!({"scope": "a", "scp": "b "}),
        ] {
            let Value::Object(claims) = claims else {
                panic!("an object")
            };
            assert_eq!(
                AccessClaims::new("https://as.example", claims).scopes(),
                ["a", "b"]
            );
        }
    }

    #[test]
    fn principals_of_issuers_and_clients_differ() {
        let principal = |issuer: &str, claims: Value| {
            let Value::Object(claims) = claims else {
                panic!("an object")
            };
            AccessClaims::new(issuer, claims).principal()
        };
        let (a, b) = ("https://a.example", "https://b.example");
        let all = [
            principal(a, json!({"sub": "x"})),
            principal(b, json!({"sub": "x"})),
            principal(a, json!({"client_id": "x"})),
            principal(a, json!({"sub": "#client x"})),
            principal(a, json!({"sub": "client x"})),
        ];
        assert!(all.iter().all(Option::is_some));
        assert_eq!(
            all.iter().collect::<std::collections::HashSet<_>>().len(),
            all.len()
        );
        assert_eq!(principal(a, json!({"sub": " "})), None);
    }

    #[test]
    fn introspected_tokens_need_this_audience_and_time() {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time")
            .as_secs();
        let check = |claims: Value| {
            let Value::Object(claims) = claims else {
                panic!("an object")
            };
            check_introspected(
                &claims,
                "https://as.example",
                &["https://mcp.example".to_owned()],
                Duration::from_secs(30),
            )
        };
        let aud = "https://mcp.example";
        check(json!({"active": true, "aud": aud, "exp": now + 60, "nbf": now})).expect("sound");
        check(json!({"active": true, "aud": ["https://other.example", aud]})).expect("sound");
        for (claims, problem) in [
            (json!({"aud": aud}), TokenProblem::Inactive),
            (
                json!({"active": "true", "aud": aud}),
                TokenProblem::Inactive,
            ),
            (json!({"active": true}), TokenProblem::Audience),
            (
                json!({"active": true, "aud": "https://mcp.example.evil"}),
                TokenProblem::Audience,
            ),
            (
                json!({"active": true, "aud": aud, "iss": "https://evil.example"}),
                TokenProblem::Issuer,
            ),
            (
                json!({"active": true, "aud": aud, "exp": now - 60}),
                TokenProblem::Expired,
            ),
            (
                json!({"active": true, "aud": aud, "exp": "never"}),
                TokenProblem::Claim,
            ),
            (
                json!({"active": true, "aud": aud, "nbf": now + 60}),
                TokenProblem::TooEarly,
            ),
        ] {
            assert_eq!(check(claims.clone()), Err(problem), "{claims}");
        }
    }
}
