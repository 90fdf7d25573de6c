//! Signatures of AWS, checked from the bytes of a request alone. The code shares nothing with the one that signs.

use crate::server::Request;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use tool_core::text::hex;

/// Credentials that a server knows.
#[derive(Clone, Copy)]
pub(super) struct Account {
    pub(super) id: &'static str,
    pub(super) secret: &'static str,
    pub(super) token: Option<&'static str>,
}

/// A request as a server receives it.
struct ReceivedRequest<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    headers: BTreeMap<String, &'a str>,
    body: &'a [u8],
}

/// What a request says about its signature.
struct Authorization<'a> {
    id: &'a str,
    /// The day, the region, the service and the version.
    scope: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
}

impl<'a> ReceivedRequest<'a> {
    fn of(request: &'a Request) -> Self {
        let mut lines = request.sent_head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let headers = lines.filter_map(|line| line.split_once(':'));
        Self {
            method,
            path,
            query,
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.trim()))
                .collect(),
            body: &request.sent_body,
        }
    }

    fn header(&self, name: &str) -> &'a str {
        self.headers.get(name).copied().unwrap_or_default()
    }

    fn authorization(&self) -> Option<Authorization<'a>> {
        let parts = self
            .header("authorization")
            .strip_prefix("AWS4-HMAC-SHA256 ")?;
        let part = |name: &str| {
            let mut parts = parts.split(',').map(str::trim);
            parts.find_map(|part| part.strip_prefix(name))
        };
        let (id, scope) = part("Credential=")?.split_once('/')?;
        Some(Authorization {
            id,
            scope,
            signed_headers: part("SignedHeaders=")?,
            signature: part("Signature=")?,
        })
    }

    /// Returns the text whose digest is signed.
    fn canonical(&self, signed_headers: &str) -> String {
        let headers = signed_headers
            .split(';')
            .map(|name| format!("{name}:{}\n", self.header(name)))
            .collect::<Vec<_>>()
            .concat();
        let path = escaped(self.path);
        let method = self.method;
        let query = self.query;
        let body = hex(&Sha256::digest(self.body));
        format!("{method}\n{path}\n{query}\n{headers}\n{signed_headers}\n{body}")
    }

    fn signature(&self, authorization: &Authorization<'_>, secret: &str) -> String {
        let canonical = self.canonical(authorization.signed_headers);
        let digest = hex(&Sha256::digest(canonical.as_bytes()));
        let date = self.header("x-amz-date");
        let scope = authorization.scope;
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}");

        let mut key = format!("AWS4{secret}").into_bytes();
        for part in scope.split('/') {
            key = mac(&key, part);
        }
        hex(&mac(&key, &text))
    }
}

/// Escapes a path that is escaped already once more, as Bedrock does.
fn escaped(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(escape).collect()
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Returns the reason for which AWS would refuse a request, with the name of the error.
pub(super) fn refusal(
    request: &Request,
    accounts: &[Account],
    region: &str,
) -> Option<(&'static str, String)> {
    let received = ReceivedRequest::of(request);
    let Some(authorization) = received.authorization() else {
        return Some((
            "IncompleteSignatureException",
            format!("no signature in {}", request.sent_head),
        ));
    };
    let known = |account: &&Account| account.id == authorization.id;
    let Some(account) = accounts.iter().find(known) else {
        return Some((
            "UnrecognizedClientException",
            "The security token included in the request is invalid.".to_owned(),
        ));
    };
    let invalid = |reason: String| Some(("InvalidSignatureException", reason));

    let date = received.header("x-amz-date");
    let day = date.get(..8).unwrap_or_default();
    if authorization.scope != format!("{day}/{region}/bedrock/aws4_request") {
        return invalid(format!("the scope is {}", authorization.scope));
    }
    let age = time_of(date).map(|sent| SystemTime::now().duration_since(sent).unwrap_or_default());
    if age.is_none_or(|age| age > Duration::from_secs(300)) {
        return invalid(format!("Signature expired: {date}"));
    }
    let mut required = vec!["content-type", "host", "x-amz-date"];
    if received.header("x-amz-security-token") != account.token.unwrap_or_default() {
        return invalid("another session token".to_owned());
    }
    if account.token.is_some() {
        required.push("x-amz-security-token");
    }
    if authorization.signed_headers != required.join(";") {
        return invalid(format!("signed are {}", authorization.signed_headers));
    }
    let expected = received.signature(&authorization, account.secret);
    if expected == authorization.signature {
        return None;
    }
    invalid(format!(
        "The request signature we calculated does not match {} of {}",
        authorization.signature, account.id
    ))
}

/// Reads a time such as `20150830T123600Z`.
fn time_of(date: &str) -> Option<SystemTime> {
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", date).ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().into())
}

// AWS's example for the signature of `ListUsers`.
#[test]
fn the_check_computes_the_signature_of_awss_documents() {
    let head = "GET /?Action=ListUsers&Version=2010-05-08 HTTP/1.1\r\nHost: iam.amazonaws.com\r\n\
        Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\nX-Amz-Date: 20150830T123600Z\r\n\r\n";
    let request = Request {
        head: head.to_lowercase(),
        body: serde_json::Value::Null,
        sent_head: head.to_owned(),
        sent_body: Vec::new(),
    };
    let authorization = Authorization {
        id: "AKIDEXAMPLE",
        scope: "20150830/us-east-1/iam/aws4_request",
        signed_headers: "content-type;host;x-amz-date",
        signature: "",
    };
    let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    assert_eq!(
        ReceivedRequest::of(&request).signature(&authorization, secret),
        "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    );
}
