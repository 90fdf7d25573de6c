//! Base URLs: the scheme that a URL without one gets, the path of an API after them, the secrets in
//! a URL, and keys that would be sent unencrypted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::net::IpAddr;
use tool_adapters_providers::spec::Server;
use tool_core::ToolError;
use tool_core::schema::percent_decode;

/// Adds a scheme to a base URL without one: `plain` for a server on this machine, and `secure` for
/// all others.
pub fn with_scheme(base: &str, secure: &str, plain: &str) -> String {
    let base = base.trim();
    if base.contains("://") {
        return base.to_owned();
    }
    let scheme = if is_local(host(base)) { plain } else { secure };
    format!("{scheme}://{base}")
}

/// Returns the host of a base URL.
pub fn host_of(base: &str) -> &str {
    let base = base.trim();
    host(base.split_once("://").map_or(base, |(_, rest)| rest))
}

/// Returns the host in a URL without its scheme.
pub fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let address = authority
        .rsplit_once('@')
        .map_or(authority, |(_, address)| address);
    match address.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    }
}

/// Returns true if a host is this machine. Servers that listen at all addresses are named by
/// 0.0.0.0.
pub fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// The change of a base URL's path that leads to an API.
#[derive(Debug, PartialEq)]
pub struct PathChange {
    /// The number of segments at the end that are left out.
    pub removed: usize,
    /// The segments that are appended.
    pub added: Vec<String>,
}

/// Returns the change that leads from a base URL, by its host and the segments of its path, to the
/// path of an API.
///
/// A part of the path that the base URL already has is not repeated: `https://host/v1` and
/// `https://host/v1/messages` are the same base as `https://host`, and `/v1` takes the place of
/// `/v1beta`. At a known host, the part before the path may be left out.
pub fn path_to_api(server: &Server, host: &str, base: &[&str], api: &[String]) -> PathChange {
    let end = other_api(server, base);
    let kept = base.get(..base.len() - end).unwrap_or_default();
    let shared = shared_segments(kept, api);
    if shared > 0 {
        let added = api.get(shared..).unwrap_or_default().to_vec();
        return PathChange {
            removed: end,
            added,
        };
    }
    if is_other_method(kept, api) {
        return PathChange {
            removed: end + 1,
            added: api.last().cloned().into_iter().collect(),
        };
    }
    let missing = missing_path(server, host, kept)
        .iter()
        .map(|segment| (*segment).to_owned());
    PathChange {
        removed: end,
        added: missing.chain(api.iter().cloned()).collect(),
    }
}

/// Returns the number of segments at the end of a base URL that belong to another API of the
/// server.
fn other_api(server: &Server, base: &[&str]) -> usize {
    let end = server.other_apis.iter().find(|end| base.ends_with(end));
    end.map_or(0, |end| end.len())
}

/// Returns the number of first segments of an API's path that a base URL ends with; all if it ends
/// with the last two.
fn shared_segments(base: &[&str], api: &[String]) -> usize {
    let ends_with = |part: &[String]| {
        let end = base
            .len()
            .checked_sub(part.len())
            .and_then(|start| base.get(start..));
        end.is_some_and(|end| {
            end.iter()
                .zip(part)
                .all(|(ours, theirs)| is_same_part(ours, theirs))
        })
    };
    let first = (1..=api.len())
        .rev()
        .find(|count| api.get(..*count).is_some_and(ends_with));
    // An endpoint behind a path of its own, such as `/openai/chat/completions`.
    let is_endpoint = || {
        api.len()
            .checked_sub(2)
            .and_then(|start| api.get(start..))
            .is_some_and(ends_with)
    };
    first.unwrap_or_else(|| if is_endpoint() { api.len() } else { 0 })
}

/// Returns true if two segments are the same, or versions of the same number, such as `v1` and
/// `v1beta`.
fn is_same_part(left: &str, right: &str) -> bool {
    let version = |segment: &str| {
        let digits = segment
            .strip_prefix('v')?
            .trim_end_matches(|last: char| last.is_ascii_alphabetic());
        digits.parse::<u32>().ok()
    };
    left == right || version(left).is_some_and(|number| version(right) == Some(number))
}

/// Returns true if a base URL is that of another method or model of the API, such as
/// `models/m:generateContent`, or `model/m/converse` for `model/m/converse-stream`.
fn is_other_method(base: &[&str], api: &[String]) -> bool {
    let Some((last, before)) = api.split_last() else {
        return false;
    };
    let Some((base_last, base_before)) = base.split_last() else {
        return false;
    };
    let has_methods = last.contains(':') && base_last.contains(':');
    let is_variant = last.starts_with(base_last) || base_last.starts_with(last.as_str());
    (has_methods || is_variant)
        && !before.is_empty()
        && shared_segments(base_before, before) == before.len()
}

/// Returns the segments that a base URL lacks of the path at its host.
fn missing_path(server: &Server, host: &str, base: &[&str]) -> &'static [&'static str] {
    let path = server.path_at(host);
    if path.starts_with(base) {
        path.get(base.len()..).unwrap_or_default()
    } else {
        &[]
    }
}

/// Returns the texts in a URL that may be secret: user name, password, both as a header has them,
/// and the values of the query. Each is there as it is written and decoded.
pub fn secrets(url: &str) -> Vec<String> {
    let (head, query) = url.split_once('?').unwrap_or((url, ""));
    let rest = head.split_once("://").map_or(head, |(_, rest)| rest);
    let authority = rest.split(['/', '#', '\\']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let query = query.split('#').next().unwrap_or_default();
    let values = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(_, value)| value);
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let written = [name, password]
        .into_iter()
        .chain(values)
        .filter(|text| !text.is_empty());
    let mut all = written
        .flat_map(|text| [text.to_owned(), decode(text)])
        .collect::<Vec<_>>();
    if !user.is_empty() {
        let decoded = decode(user);
        all.push(STANDARD.encode(if user.contains(':') {
            decoded
        } else {
            decoded + ":"
        }));
    }
    all.dedup();
    all
}

/// Returns true if a URL has a user, or a key in its query.
pub fn has_key(url: &str) -> bool {
    let url = url.split('#').next().unwrap_or_default();
    let (head, query) = url.split_once('?').unwrap_or((url, ""));
    let names = query.split('&').filter_map(|pair| pair.split_once('='));
    !secrets(head).is_empty()
        || names
            .filter(|(_, value)| !value.is_empty())
            .any(|(name, _)| is_secret_name(&decode(name)))
}

/// Decodes a part of a URL. Returns one that cannot be decoded as it is.
pub fn decode(text: &str) -> String {
    percent_decode(text).unwrap_or_else(|| text.to_owned())
}

/// The words that name a key.
const SECRET_WORDS: [&str; 6] = [
    "authentication",
    "authorization",
    "cookies",
    "key",
    "secrets",
    "sig",
];

/// The ends of words that name a key, such as `authtoken`. Of words that end in `key` there are
/// others, such as `monkey`.
const SECRET_ENDS: [&str; 15] = [
    "accesskey",
    "apikey",
    "apikeys",
    "auth",
    "authkey",
    "cookie",
    "masterkey",
    "passphrase",
    "password",
    "passwd",
    "privatekey",
    "secret",
    "secretkey",
    "signature",
    "token",
];

/// The last words of names that describe a key, such as `X-Auth-Provider`.
const DESCRIPTIONS: [&str; 12] = [
    "algorithm",
    "expires",
    "id",
    "issuer",
    "method",
    "mode",
    "name",
    "provider",
    "scheme",
    "type",
    "user",
    "version",
];

/// Returns true if a header or a parameter of this name may hold a key. Words count as a whole, so
/// that `keyword` and `author` are not names of keys.
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let is_secret = |word: &str| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end))
    };
    let is_description = words
        .last()
        .is_some_and(|word| DESCRIPTIONS.contains(&&**word));
    let has_secret = words.iter().any(|word| is_secret(word)) || is_secret(&words.concat());
    (has_secret && !is_description) || name.eq_ignore_ascii_case("code")
}

/// Returns the words of a name in lower case. A word ends at a character that is no letter and no
/// digit, and where another begins in upper case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_lower = |c: char| c.is_ascii_lowercase();
        let begins = letter.is_ascii_uppercase()
            && (is_lower(before) || letters.peek().is_some_and(|c| is_lower(*c)));
        match words.last_mut() {
            Some(word) if letter.is_alphanumeric() && !begins => {
                word.push(letter.to_ascii_lowercase());
            }
            _ => words.push(letter.to_ascii_lowercase().to_string()),
        }
        if !letter.is_alphanumeric() {
            words.push(String::new());
        }
        before = letter;
    }
    words.retain(|word| word.chars().any(char::is_alphanumeric));
    words
}

/// Refuses to send a model's key without encryption to another machine.
pub fn check_encrypted(scheme: &str, host: &str) -> Result<(), ToolError> {
    if matches!(scheme, "https" | "wss") || is_local(host) {
        return Ok(());
    }
    Err(ToolError::permanent(format!(
        "expected an encrypted connection to `{}`, because the request has a key; use https, or call \
         `allow_unencrypted` if the network between is trusted",
        host.escape_debug()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    // M7
    #[test]
    fn the_path_of_a_base_url_is_not_repeated() {
        use tool_adapters_providers::Provider;
        use tool_adapters_providers::spec::Endpoint;

        let joined = |provider: Provider, base: &str| {
            let Endpoint::Http(http) = provider.spec().endpoint else {
                panic!("{provider} is not over HTTP")
            };
            let (host, path) = base.split_once('/').unwrap_or((base, ""));
            let mut segments = path
                .split('/')
                .filter(|segment| !segment.is_empty())
                .collect::<Vec<_>>();
            let change = path_to_api(&http.server, host, &segments, &(http.path)("m", true));
            segments.truncate(segments.len() - change.removed);
            segments.extend(change.added.iter().map(String::as_str));
            segments.join("/")
        };
        let cases = [
            (Provider::OpenAiChat, "host/v1", "v1/chat/completions"),
            (Provider::OpenAiChat, "host/v1/", "v1/chat/completions"),
            (Provider::OpenAiChat, "host/v1/chat", "v1/chat/completions"),
            (
                Provider::OpenAiChat,
                "host/v1/chat/completions",
                "v1/chat/completions",
            ),
            (
                Provider::OpenAiChat,
                "host/openai/deployments/d/chat/completions",
                "openai/deployments/d/chat/completions",
            ),
            (Provider::OpenAiChat, "host", "chat/completions"),
            (
                Provider::OpenAiChat,
                "api.openai.com",
                "v1/chat/completions",
            ),
            (
                Provider::OpenAiChat,
                "api.groq.com",
                "openai/v1/chat/completions",
            ),
            (
                Provider::OpenAiChat,
                "api.groq.com/openai",
                "openai/v1/chat/completions",
            ),
            (
                Provider::OpenAiChat,
                "api.groq.com/openai/v1",
                "openai/v1/chat/completions",
            ),
            (
                Provider::OpenAiChat,
                "OpenRouter.ai/api",
                "api/v1/chat/completions",
            ),
            (
                Provider::OpenAiChat,
                "generativelanguage.googleapis.com/v1beta",
                "v1beta/openai/chat/completions",
            ),
            (Provider::OpenAiResponses, "api.openai.com", "v1/responses"),
            (
                Provider::OpenAiResponses,
                "api.openai.com/v1/responses",
                "v1/responses",
            ),
            (Provider::Anthropic, "host", "v1/messages"),
            (Provider::Anthropic, "host/v1", "v1/messages"),
            (
                Provider::Anthropic,
                "host/anthropic/v1/messages",
                "anthropic/v1/messages",
            ),
            (
                Provider::Anthropic,
                "host/anthropic",
                "anthropic/v1/messages",
            ),
            (Provider::Anthropic, "host/messages", "messages/v1/messages"),
            (
                Provider::Gemini,
                "host",
                "v1beta/models/m:streamGenerateContent",
            ),
            (
                Provider::Gemini,
                "host/v1beta",
                "v1beta/models/m:streamGenerateContent",
            ),
            (
                Provider::Gemini,
                "host/v1beta/models",
                "v1beta/models/m:streamGenerateContent",
            ),
            (
                Provider::Gemini,
                "host/v1beta/models/x:generateContent",
                "v1beta/models/m:streamGenerateContent",
            ),
            (
                Provider::Gemini,
                "host/v1",
                "v1/models/m:streamGenerateContent",
            ),
            (
                Provider::Gemini,
                "host/google-ai-studio/v1alpha",
                "google-ai-studio/v1alpha/models/m:streamGenerateContent",
            ),
            (
                Provider::Gemini,
                "host/v1beta/openai",
                "v1beta/models/m:streamGenerateContent",
            ),
            (Provider::Mistral, "host/v1", "v1/chat/completions"),
            (
                Provider::Mistral,
                "host/v1/chat/completions",
                "v1/chat/completions",
            ),
            (
                Provider::Mistral,
                "host/x/chat/completions",
                "x/chat/completions",
            ),
            (Provider::Mistral, "host/v2", "v2/v1/chat/completions"),
            (Provider::Cohere, "host/v2", "v2/chat"),
            (Provider::Cohere, "host/v2/chat", "v2/chat"),
            (Provider::Cohere, "host/v1", "v2/chat"),
            (Provider::Cohere, "host/compatibility/v1", "v2/chat"),
            (Provider::Ollama, "host/api", "api/chat"),
            (Provider::Ollama, "host/api/chat", "api/chat"),
            (Provider::Ollama, "host/v1", "api/chat"),
            (Provider::Bedrock, "host/model", "model/m/converse-stream"),
            (
                Provider::Bedrock,
                "host/model/m/converse",
                "model/m/converse-stream",
            ),
        ];
        for (provider, base, expected) in cases {
            assert_eq!(joined(provider, base), expected, "{provider} {base}");
        }
        // An endpoint leads to itself, for every provider.
        for provider in Provider::ALL
            .into_iter()
            .filter(|provider| matches!(provider.spec().endpoint, Endpoint::Http(_)))
        {
            let endpoint = joined(provider, "host/proxy");
            assert_eq!(
                joined(provider, &format!("host/{endpoint}")),
                endpoint,
                "{provider}"
            );
        }
    }

    #[test]
    fn url_without_scheme_is_encrypted_unless_it_is_local() {
        for base in [
            "127.0.0.1:11434",
            "127.8.9.1",
            "localhost",
            "LocalHost:80/v1",
            "[::1]:8080",
            "0.0.0.0:11434",
            "[::ffff:127.0.0.1]",
            "user:pass@localhost/x",
        ] {
            assert_eq!(with_scheme(base, "https", "http"), format!("http://{base}"));
        }
        let mut encrypted = 0;
        for n in 0..1_000_u32 {
            let name = match n % 8 {
                0 => format!("host{n}.example:{n}"),
                1 => format!("127.0.0.1.evil{n}.example"),
                2 => format!("localhost.evil{n}.example/v1"),
                3 => format!("localhost:80@evil{n}.example"),
                4 => format!("10.0.{}.{}", n / 256, n % 256),
                5 => format!("[fe80::{n:x}]:80"),
                6 => format!("evil{n}.example/?@localhost"),
                _ => format!("evil{n}.example\\@localhost"),
            };
            encrypted += usize::from(with_scheme(&name, "wss", "ws").starts_with("wss://"));
        }
        assert_eq!(encrypted, 1_000);
        assert_eq!(with_scheme(" http://host ", "https", "http"), "http://host");
    }

    #[test]
    fn secrets_of_a_url_are_found() {
        assert_eq!(
            secrets("https://ann:p%40ss@host:1/p?key=abc&v=#x=y"),
            ["ann", "p%40ss", "p@ss", "abc", "YW5uOnBAc3M="]
        );
        assert_eq!(secrets("token@host"), ["token", "dG9rZW46"]);
        assert!(secrets("https://host/a@b").is_empty());
    }

    #[test]
    fn keys_in_a_query_are_found_by_their_name() {
        let names = [
            "key",
            "api_key",
            "API-Key",
            "access_token",
            "sig",
            "code",
            "%6bey",
            "client_secret",
            "x-auth",
        ];
        let mut found = 0;
        for n in 0..1_000 {
            let name = names[n % names.len()];
            found += usize::from(has_key(&format!(
                "http://host{n}.example/v1?api-version={n}&{name}=canary-{n}#x"
            )));
        }
        assert_eq!(found, 1_000);
        for url in [
            "http://host/v1?api-version=2&keyless",
            "http://host/v1?key=",
            "http://host/key=1",
            "http://host#?key=1",
        ] {
            assert!(!has_key(url), "{url}");
        }
    }

    #[test]
    fn names_of_keys_are_found_by_whole_words() {
        let secret = "key api_key API-Key apiKey APIKey x-api-key OPENAI_API_KEY API_KEYS key2 access_token accesstoken csrftoken \
            X-Auth-Token x-auth Authorization Proxy-Authorization Cookie Set-Cookie client_secret clientSecret PGPASSWORD \
            X-Amz-Signature sig code GITHUB_TOKEN_2 API_KEY_PROD auth[key] AWSSecretKey";
        let ordinary = "keyword keywords author authors authority tokenizer max_tokens secretary X-Auth-Provider X-Auth-Type \
            key_id keyId token_type keyboard monkey turkey signatures passwordless country_code zipcode encode x-author \
            cookiecutter monkey_2 design";
        let mut found = [0, 0];
        for at in 0..100 {
            let around = |name: &str| {
                [
                    name.to_owned(),
                    format!("v{at}-{name}"),
                    format!("s{at}.{name}"),
                ]
            };
            for name in secret
                .split_whitespace()
                .filter(|name| *name != "code")
                .flat_map(around)
            {
                found[0] += usize::from(is_secret_name(&name));
                assert!(is_secret_name(&name), "{name}");
            }
            for name in ordinary.split_whitespace().flat_map(around) {
                found[1] += 1;
                assert!(!is_secret_name(&name), "{name}");
            }
        }
        assert!(
            is_secret_name("code") && found.iter().all(|found| *found >= 1_000),
            "{found:?}"
        );
    }

    #[test]
    fn keys_are_not_sent_unencrypted_to_other_machines() {
        for (scheme, host) in [
            ("https", "a.example"),
            ("wss", "10.0.0.1"),
            ("http", "localhost"),
            ("ws", "[::1]"),
        ] {
            assert!(check_encrypted(scheme, host).is_ok(), "{scheme} {host}");
        }
        for (scheme, host) in [
            ("http", "a.example"),
            ("ws", "10.0.0.1"),
            ("http", "localhost.example"),
            ("http", ""),
        ] {
            let error = check_encrypted(scheme, host).expect_err("refused");
            assert!(error.message().contains("`allow_unencrypted`"), "{error}");
        }
    }
}
