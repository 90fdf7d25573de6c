//! The secrets of a request, which do not go into a recording.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::borrow::Cow;
use tool_adapters_http::base_url::is_secret_name;
use tool_adapters_providers::hosted::percent_encode;
use tool_core::trace::Redaction;
use zeroize::Zeroizing;

/// The text that replaces a secret.
pub(crate) const MARK: &str = "[hidden]";

/// Length in bytes of the shortest secret that is looked for in bodies. A shorter one is a
/// placeholder, such as `none`, which occurs in any body.
const MIN_SECRET: usize = 6;

/// Headers that name an account. Their values are hidden in bodies, too.
const ACCOUNT_HEADERS: [&str; 6] = [
    "anthropic-organization-id",
    "openai-organization",
    "openai-project",
    "x-amzn-bedrock-account-id",
    "x-goog-user-project",
    "x-ms-client-principal-id",
];

/// The list of signed headers, whose names are no secrets.
const SIGNED_HEADERS: &str = "SignedHeaders=";

/// The words in headers of keys that are no secrets. A body may have them.
const KNOWN_WORDS: [&str; 5] = [
    "AWS4-HMAC-SHA256",
    "Basic",
    "Bearer",
    "Credential",
    "Signature",
];

/// The beginnings of the ids of accounts in the messages of errors.
const ACCOUNT_IDS: [&str; 3] = ["org-", "proj_", "acct_"];

/// Texts that are hidden, in every form in which a body may have them. The longest is first, so
/// that the rest of one does not reveal another.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<Zeroizing<String>>);

impl Secrets {
    /// Returns the secrets in the URL and the headers of a request, and further texts of the host.
    pub(crate) fn of(url: &Url, headers: &HeaderMap, further: &[String]) -> Self {
        let mut secrets = Self::default();
        secrets.add_user(url);
        for (name, value) in url.query_pairs() {
            if is_secret_name(&name) {
                secrets.add(&value);
            }
        }
        secrets.add_headers(headers);
        for text in further {
            secrets.add_always(text);
        }
        secrets.sort();
        secrets
    }

    /// Adds the user and the password of a URL.
    fn add_user(&mut self, url: &Url) {
        let decoded = tool_adapters_http::base_url::decode;
        self.add(&decoded(url.username()));
        self.add(&decoded(url.password().unwrap_or_default()));
    }

    /// Adds the values of headers that hold a key or name an account.
    pub(crate) fn add_headers(&mut self, headers: &HeaderMap) {
        for (name, value) in headers {
            let is_account = ACCOUNT_HEADERS.contains(&name.as_str());
            let Ok(value) = value.to_str() else { continue };
            if !is_account && !is_secret_name(name.as_str()) {
                continue;
            }
            self.add(value);
            // `Bearer sk-1`, and `AWS4-HMAC-SHA256 Credential=.., SignedHeaders=.., Signature=..`
            let parts = value.split([' ', ',']);
            for part in parts.filter(|part| !part.starts_with(SIGNED_HEADERS)) {
                let words = part.split(['=', ';']);
                words
                    .filter(|word| !KNOWN_WORDS.contains(word))
                    .for_each(|word| self.add(word));
            }
            self.add_basic(value);
        }
        self.sort();
    }

    /// Adds the user and the password of `Basic` authorization.
    fn add_basic(&mut self, value: &str) {
        let decoded = value
            .strip_prefix("Basic ")
            .and_then(|encoded| STANDARD.decode(encoded.trim()).ok());
        let Some(decoded) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return;
        };
        let (user, password) = decoded.split_once(':').unwrap_or((&decoded, ""));
        self.add(user);
        self.add(password);
    }

    fn add(&mut self, text: &str) {
        if text.len() >= MIN_SECRET && text != "Bearer" {
            self.add_always(text);
        }
    }

    fn add_always(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let quoted = Value::from(text).to_string();
        let quoted = quoted.trim_matches('"');
        for form in [text, &percent_encode(text), quoted] {
            if !self.0.iter().any(|known| **known == form) {
                self.0.push(Zeroizing::new(form.to_owned()));
            }
        }
    }

    /// Adds those of another request.
    pub(crate) fn extend(&mut self, other: &Self) {
        for secret in &other.0 {
            if !self.0.contains(secret) {
                self.0.push(secret.clone());
            }
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// Hides the secrets in a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), MARK));
            }
        }
        text.into_owned()
    }

    /// Hides the secrets in all texts and names of a value, whose depth is bounded.
    pub(crate) fn hide_in_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(&text)),
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.hide_in_value(item));
                Value::Array(items.collect())
            }
            Value::Object(members) => {
                let members = members
                    .into_iter()
                    .map(|(name, value)| (self.hide(&name), self.hide_in_value(value)));
                Value::Object(members.collect())
            }
            other => other,
        }
    }

    /// Hides the secrets in a body that came in chunks. A secret may be divided between two.
    pub(crate) fn hide_in_chunks(&self, chunks: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
        let mut body = ChunkedBody::of(chunks);
        for secret in &self.0 {
            body.replace(secret.as_bytes(), MARK.as_bytes());
        }
        body.chunks()
    }

    /// Returns the path and the query of a URL, without the values of parameters that hold a key.
    pub(crate) fn path(&self, url: &Url) -> String {
        let mut path = self.hide(url.path());
        let mut separator = '?';
        for (name, value) in url.query_pairs() {
            let value = if is_secret_name(&name) {
                MARK.to_owned()
            } else {
                percent_encode(&self.hide(&value))
            };
            path.push(separator);
            path.push_str(&percent_encode(&name));
            path.push('=');
            path.push_str(&value);
            separator = '&';
        }
        path
    }
}

/// Hides what the message of an error may repeat of a key or an account: texts that look like keys,
/// and ids of accounts.
pub(crate) fn hide_in_error(body: &str) -> String {
    let redaction = Redaction::new();
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    let body = if is_json {
        redaction.json(body)
    } else {
        redaction.text(body)
    };
    without_account_ids(&body)
}

fn without_account_ids(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, start)) = ACCOUNT_IDS
        .iter()
        .filter_map(|start| Some((rest.find(start)?, *start)))
        .min()
    {
        let (before, found) = rest.split_at(at);
        let id = &found[start.len()..];
        let end = id
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
            .unwrap_or(id.len());
        shown.push_str(before);
        shown.push_str(if end < MIN_SECRET {
            &found[..start.len() + end]
        } else {
            MARK
        });
        rest = &id[end..];
    }
    shown + rest
}

/// A body with the places at which its chunks end.
struct ChunkedBody {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ChunkedBody {
    fn of(chunks: &[impl AsRef<[u8]>]) -> Self {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for chunk in chunks {
            bytes.extend_from_slice(chunk.as_ref());
            ends.push(bytes.len());
        }
        Self { bytes, ends }
    }

    /// Replaces a text. A chunk that ended inside it ends after it.
    fn replace(&mut self, text: &[u8], mark: &[u8]) {
        let mut replaced = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            ends: Vec::with_capacity(self.ends.len()),
        };
        let mut at = 0;
        loop {
            while self
                .ends
                .get(replaced.ends.len())
                .is_some_and(|end| *end <= at)
            {
                replaced.ends.push(replaced.bytes.len());
            }
            let rest = &self.bytes[at..];
            let Some(byte) = rest.first() else { break };
            if rest.starts_with(text) {
                replaced.bytes.extend_from_slice(mark);
                at += text.len();
            } else {
                replaced.bytes.push(*byte);
                at += 1;
            }
        }
        *self = replaced;
    }

    fn chunks(&self) -> Vec<Vec<u8>> {
        let mut start = 0;
        let mut chunks = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            chunks.push(self.bytes[start..*end].to_vec());
            start = *end;
        }
        chunks.retain(|chunk| !chunk.is_empty());
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    fn secrets(url: &str, headers: &[(&'static str, &'static str)]) -> Secrets {
        let headers = headers.iter().map(|(name, value)| {
            let value = HeaderValue::from_static(value);
            (HeaderName::from_static(name), value)
        });
        let url = Url::parse(url).expect("a URL");
        Secrets::of(&url, &headers.collect(), &["our-project".to_owned()])
    }

    // M32
    #[test]
    fn keys_of_every_header_are_hidden_in_bodies() {
        let secrets = secrets(
            "https://ann:hunter22@host/v1?key=query-canary&code=code-canary&alt=sse",
            &[
                ("authorization", "Bearer sk-canary-1"),
                ("x-api-key", "canary-2"),
                ("api-key", "canary-3"),
                ("x-goog-api-key", "canary-4"),
                ("x-amz-security-token", "canary-5/+=="),
                ("cookie", "id=canary-6"),
                ("openai-organization", "org-canary"),
                ("x-team", "seven-dwarfs"),
            ],
        );
        let body = json!({
            "messages": ["sk-canary-1", "canary-2", "canary-3", "canary-4", "canary-5/+==", "canary-6"],
            "query": ["query-canary", "code-canary", "hunter22", "canary-5%2F%2B%3D%3D"],
            "org-canary": "our-project",
            "kept": ["seven-dwarfs", "sse", "ann", 7],
        });
        let hidden = secrets.hide_in_value(body);
        let text = hidden.to_string();
        assert!(
            !text.contains("canary") && !text.contains("hunter22"),
            "{text}"
        );
        assert_eq!(hidden["kept"], json!(["seven-dwarfs", "sse", "ann", 7]));
        assert_eq!(hidden[MARK], MARK);
    }

    // M32
    #[test]
    fn signatures_and_basic_passwords_are_hidden() {
        let secrets = secrets(
            "https://host/v1",
            &[
                (
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=AKIACANARY/x, Signature=abcdef0123",
                ),
                ("proxy-authorization", "Basic YW5uYS1saXNhOnBhc3N3MHJk"),
            ],
        );
        let hidden =
            secrets.hide("AKIACANARY/x abcdef0123 anna-lisa passw0rd YW5uYS1saXNhOnBhc3N3MHJk");
        assert_eq!(hidden, [MARK; 5].join(" "));
    }

    // M32
    #[test]
    fn a_key_that_is_divided_between_chunks_is_hidden() {
        let secrets = secrets("https://host", &[("x-api-key", "canary-key")]);
        let chunks = ["a canary-", "key b ", "", "canary-keycan", "ary-", "key c"];
        let hidden = secrets.hide_in_chunks(&chunks);
        let texts = hidden
            .iter()
            .map(|chunk| String::from_utf8_lossy(chunk))
            .collect::<Vec<_>>();
        assert_eq!(texts, ["a [hidden]", " b ", "[hidden][hidden]", " c"]);
    }

    // M32
    #[test]
    fn a_path_has_no_key_in_its_query() {
        let url = "https://host/v1/our-project/chat?key=k&alt=sse&X-Amz-Signature=abc&api-version=2024-10-21";
        let path = secrets(url, &[]).path(&Url::parse(url).expect("a URL"));
        assert_eq!(
            path,
            "/v1/[hidden]/chat?key=[hidden]&alt=sse&X-Amz-Signature=[hidden]&api-version=2024-10-21"
        );
    }

    // M32
    #[test]
    fn placeholders_for_keys_stay_in_bodies() {
        let secrets = secrets("https://host", &[("authorization", "Bearer none")]);
        assert_eq!(
            secrets.hide(r#"{"tool_choice":"none"}"#),
            r#"{"tool_choice":"none"}"#
        );
    }

    // M32
    #[test]
    fn errors_show_no_masked_key_and_no_account() {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-proj-abcd1234efgh5678. Rate limit in organization org-AbC123xyz on re-org-anise, proj_1.","code":"invalid_api_key"}}"#;
        let hidden = hide_in_error(body);
        assert!(
            !hidden.contains("abcd1234") && !hidden.contains("AbC123"),
            "{hidden}"
        );
        assert!(
            hidden.contains("invalid_api_key") && hidden.contains("proj_1."),
            "{hidden}"
        );
        assert!(serde_json::from_str::<Value>(&hidden).is_ok(), "{hidden}");
        assert_eq!(
            hide_in_error("no JSON: Bearer abcdefgh12345678 of org-AbC123xyz")
                .matches("Ab")
                .count(),
            0
        );
    }
}
