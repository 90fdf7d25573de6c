//! The signature of a request.

use crate::http::aws::credentials::CredentialsCache;
use crate::http::failure::RequestFailure;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tool_adapters_providers::retry_delay::parse_http_date;
use tool_core::ToolError;

/// The name of Bedrock in the scope of a signature.
const SERVICE: &str = "bedrock";
/// The headers that a signature adds by itself.
const OWN_HEADERS: &[&str] = &["x-amz-date", "x-amz-security-token"];
/// AWS takes signatures that are up to five minutes old.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(4 * 60);

/// Signs a request.
pub(crate) struct RequestSigner {
    region: String,
    credentials: Credentials,
    cache: Arc<CredentialsCache>,
}

impl RequestSigner {
    pub(crate) fn new(
        region: String,
        credentials: Credentials,
        cache: Arc<CredentialsCache>,
    ) -> Self {
        Self {
            region,
            credentials,
            cache,
        }
    }

    /// Returns the texts that no error may show.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let id = self.credentials.access_key_id();
        let secret = self.credentials.secret_access_key();
        let token = self.credentials.session_token();
        [Some(id), Some(secret), token].into_iter().flatten()
    }

    /// Forgets the credentials with which a request was refused. Returns true if the next request may have others.
    pub(crate) fn forget_refused(&self, failure: &RequestFailure) -> bool {
        // Other credentials of the same role have no other rights.
        let message = failure.error.message().to_ascii_lowercase();
        let is_denied = message.contains("accessdenied");
        !is_denied && self.cache.forget(&self.credentials)
    }

    /// Adds the signature of a request to its headers.
    ///
    /// The signature covers the method, the URL, the body, the type of the body and all headers that begin with `x-amz-`.
    /// A proxy may change others.
    pub(crate) fn sign(
        &self,
        url: &Url,
        headers: &mut HeaderMap,
        body: &[u8],
    ) -> Result<(), ToolError> {
        for name in OWN_HEADERS {
            headers.remove(*name);
        }
        let is_signed =
            |name: &HeaderName| name == CONTENT_TYPE || name.as_str().starts_with("x-amz-");
        let signed_headers = headers
            .iter()
            .filter(|(name, _)| is_signed(name))
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));

        let unsigned = |error: &dyn std::fmt::Display| {
            ToolError::permanent(format!("the request could not be signed for AWS: {error}"))
        };
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| unsigned(&error))?
            .into();
        let request = SignableRequest::new(
            Method::POST.as_str(),
            url.as_str(),
            signed_headers,
            SignableBody::Bytes(body),
        );
        let request = request.map_err(|error| unsigned(&error))?;
        let output = sign(request, &parameters).map_err(|error| unsigned(&error))?;

        let (instructions, _) = output.into_parts();
        for (name, value) in instructions.headers() {
            let invalid = || unsigned(&"the credentials contain characters that no header has");
            let name = HeaderName::try_from(name).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(())
    }
}

/// Adds to a refusal that the clock of this machine is wrong, if the date of the answer shows it.
pub(crate) fn explain_refusal(failure: RequestFailure, answer: &HeaderMap) -> RequestFailure {
    let is_refused = matches!(failure.status, Some(401 | 403));
    let Some(clock) = clock_problem(answer, SystemTime::now()).filter(|_| is_refused) else {
        return failure;
    };
    let message = format!("{}; {clock}", failure.error.message());
    RequestFailure {
        error: ToolError::auth(message),
        ..failure
    }
}

/// Escapes the path of a URL as AWS does before it signs it: everything but `A-Z a-z 0-9 - . _ ~`. The signature then covers
/// the path that is sent, whether a server decodes it first or not.
pub(crate) fn escape_path(url: &mut Url) {
    let mut escaped = String::with_capacity(url.path().len());
    for byte in url.path().bytes() {
        // A `%` begins an escape that is there already.
        if byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a `String` does not fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    url.set_path(&escaped);
}

/// Describes how far the clock of this machine is from that of the server, if it is too far.
fn clock_problem(answer: &HeaderMap, now: SystemTime) -> Option<String> {
    let date = answer.get(DATE)?.to_str().ok()?;
    let server = parse_http_date(date)?;
    let ahead = now.duration_since(server);
    let is_ahead = ahead.is_ok();
    let distance = ahead.unwrap_or_else(|error| error.duration());
    if distance < CLOCK_TOLERANCE {
        return None;
    }
    let direction = if is_ahead { "ahead of" } else { "behind" };
    Some(format!(
        "the clock of this machine is {} s {direction} that of the server, and AWS refuses signatures from another time: set \
         the clock",
        distance.as_secs()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_escaped_once() {
        let mut url = Url::parse("https://host/team%20a/model").expect("a URL");
        url.path_segments_mut()
            .expect("a path")
            .push("arn:aws:bedrock:eu-west-1:1:inference-profile/x(1)");
        escape_path(&mut url);
        assert_eq!(
            url.path(),
            "/team%20a/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx%281%29"
        );
    }

    #[test]
    fn a_wrong_clock_is_described() {
        let mut answer = HeaderMap::new();
        let date = HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT");
        answer.insert(DATE, date);
        let server = parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date");
        let problem = |now| clock_problem(&answer, now).unwrap_or_default();

        let late = problem(server - Duration::from_secs(600));
        assert!(late.contains("600 s behind"), "{late}");
        let early = problem(server + Duration::from_secs(600));
        assert!(early.contains("600 s ahead of"), "{early}");
        assert_eq!(problem(server + Duration::from_secs(200)), "");
    }
}
