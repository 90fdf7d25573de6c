//! Base URLs: the scheme that a URL without one gets, the secrets in a URL, and keys that would be sent unencrypted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::net::IpAddr;
#[cfg(any(feature = "http", feature = "websocket"))]
use tool_core::ToolError;
use tool_core::schema::percent_decode;

/// Adds a scheme to a base URL without one: `plain` for a server on this machine, and `secure` for all others.
pub(crate) fn with_scheme(base: &str, secure: &str, plain: &str) -> String {
    let base = base.trim();
    if base.contains("://") {
        return base.to_owned();
    }
    let scheme = if is_local(host(base)) { plain } else { secure };
    format!("{scheme}://{base}")
}

/// Returns the host of a base URL.
#[cfg(feature = "http")]
pub(crate) fn host_of(base: &str) -> &str {
    let base = base.trim();
    host(base.split_once("://").map_or(base, |(_, rest)| rest))
}

/// Returns the host in a URL without its scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    match address.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    }
}

/// Returns true if a host is this machine. Servers that listen at all addresses are named by 0.0.0.0.
pub(crate) fn is_local(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// Returns the texts in a URL that may be secret: user name, password, both as a header has them, and the values of the query.
/// Each is there as it is written and decoded.
pub(crate) fn secrets(url: &str) -> Vec<String> {
    let (head, query) = url.split_once('?').unwrap_or((url, ""));
    let rest = head.split_once("://").map_or(head, |(_, rest)| rest);
    let authority = rest.split(['/', '#', '\\']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let query = query.split('#').next().unwrap_or_default();
    let values = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let written = [name, password].into_iter().chain(values).filter(|text| !text.is_empty());
    let mut all = written.flat_map(|text| [text.to_owned(), decode(text)]).collect::<Vec<_>>();
    if !user.is_empty() {
        let decoded = decode(user);
        all.push(STANDARD.encode(if user.contains(':') { decoded } else { decoded + ":" }));
    }
    all.dedup();
    all
}

/// Returns true if a URL has a user, or a key in its query.
pub(crate) fn has_key(url: &str) -> bool {
    let url = url.split('#').next().unwrap_or_default();
    let (head, query) = url.split_once('?').unwrap_or((url, ""));
    let names = query.split('&').filter_map(|pair| pair.split_once('='));
    !secrets(head).is_empty()
        || names.filter(|(_, value)| !value.is_empty()).any(|(name, _)| is_secret_name(&decode(name)))
}

/// Decodes a part of a URL. Returns one that cannot be decoded as it is.
pub(crate) fn decode(text: &str) -> String {
    percent_decode(text).unwrap_or_else(|| text.to_owned())
}

/// The words that name a key.
const SECRET_WORDS: [&str; 6] = ["authentication", "authorization", "cookies", "key", "secrets", "sig"];

/// The ends of words that name a key, such as `authtoken`. Of words that end in `key` there are others, such as `monkey`.
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
const DESCRIPTIONS: [&str; 12] =
    ["algorithm", "expires", "id", "issuer", "method", "mode", "name", "provider", "scheme", "type", "user", "version"];

/// Returns true if a header or a parameter of this name may hold a key. Words count as a whole, so that `keyword` and `author`
/// are not names of keys.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let is_secret = |word: &str| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end))
    };
    let is_description = words.last().is_some_and(|word| DESCRIPTIONS.contains(&&**word));
    let has_secret = words.iter().any(|word| is_secret(word)) || is_secret(&words.concat());
    (has_secret && !is_description) || name.eq_ignore_ascii_case("code")
}

/// Returns the words of a name in lower case. A word ends at a character that is no letter and no digit, and where another
/// begins in upper case.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut before) = (vec![String::new()], ' ');
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_lower = |c: char| c.is_ascii_lowercase();
        let begins = letter.is_ascii_uppercase() && (is_lower(before) || letters.peek().is_some_and(|c| is_lower(*c)));
        match words.last_mut() {
            Some(word) if letter.is_alphanumeric() && !begins => word.push(letter.to_ascii_lowercase()),
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
#[cfg(any(feature = "http", feature = "websocket"))]
pub(crate) fn check_encrypted(scheme: &str, host: &str) -> Result<(), ToolError> {
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
        let names = ["key", "api_key", "API-Key", "access_token", "sig", "code", "%6bey", "client_secret", "x-auth"];
        let mut found = 0;
        for n in 0..1_000 {
            let name = names[n % names.len()];
            found += usize::from(has_key(&format!("http://host{n}.example/v1?api-version={n}&{name}=canary-{n}#x")));
        }
        assert_eq!(found, 1_000);
        for url in
            ["http://host/v1?api-version=2&keyless", "http://host/v1?key=", "http://host/key=1", "http://host#?key=1"]
        {
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
            let around = |name: &str| [name.to_owned(), format!("v{at}-{name}"), format!("s{at}.{name}")];
            for name in secret.split_whitespace().filter(|name| *name != "code").flat_map(around) {
                found[0] += usize::from(is_secret_name(&name));
                assert!(is_secret_name(&name), "{name}");
            }
            for name in ordinary.split_whitespace().flat_map(around) {
                found[1] += 1;
                assert!(!is_secret_name(&name), "{name}");
            }
        }
        assert!(is_secret_name("code") && found.iter().all(|found| *found >= 1_000), "{found:?}");
    }

    #[test]
    fn keys_are_not_sent_unencrypted_to_other_machines() {
        for (scheme, host) in [("https", "a.example"), ("wss", "10.0.0.1"), ("http", "localhost"), ("ws", "[::1]")] {
            assert!(check_encrypted(scheme, host).is_ok(), "{scheme} {host}");
        }
        for (scheme, host) in [("http", "a.example"), ("ws", "10.0.0.1"), ("http", "localhost.example"), ("http", "")] {
            let error = check_encrypted(scheme, host).expect_err("refused");
            assert!(error.message().contains("`allow_unencrypted`"), "{error}");
        }
    }
}
