//! Default names of servers, without the keys in their commands and URLs. A name is an id, a key of
//! the pins file, and part of logs.

use reqwest::Url;
use std::process::Command;
use tool_adapters_http::base_url::{self, is_secret_name};
use tool_core::text::escape_invisible;

/// The mask of a key. A name with a mask may be the name of other servers too.
pub(crate) const KEY: &str = "[key]";

/// Options of launchers that have no value, so that the name of a program may follow.
const WITHOUT_VALUE: [&str; 6] = ["-y", "--yes", "-i", "--rm", "-m", "--"];

/// The meaning of a command's word, by the word before it.
#[derive(Clone, Copy)]
enum Position {
    /// The first word of the command, or the first after an option without a value: a program or a
    /// package.
    Program,
    /// A word after the program.
    Argument,
    /// The value of an option.
    Value { is_secret: bool },
}

/// A text that is masked in the name of a command.
#[derive(Debug, PartialEq)]
pub(crate) struct MaskedText {
    pub(crate) text: String,
    /// True if the command names it as a secret, such as the value of `--token`.
    pub(crate) is_named: bool,
}

/// Returns the name of a command, and the texts that are masked in it. Names of options, of
/// programs and of files are shown. All other words may be keys.
pub(crate) fn of_command(command: &Command) -> (String, Vec<MaskedText>) {
    let mut words = vec![escape_invisible(&command.get_program().to_string_lossy())];
    let mut position = Position::Program;
    let mut secrets = Vec::new();
    for word in command.get_args() {
        let word = word.to_string_lossy();
        let (shown, secret) = split_word(&word, position);
        let is_named =
            matches!(position, Position::Value { is_secret: true }) || is_secret_name(shown);
        position = match position {
            _ if WITHOUT_VALUE.contains(&&*word) => Position::Program,
            _ if word.starts_with('-') => Position::Value {
                is_secret: is_secret_name(&word),
            },
            _ => Position::Argument,
        };
        let mask = if secret.is_empty() { "" } else { KEY };
        words.push(format!("{shown}{mask}"));
        secrets.push(MaskedText {
            text: secret.to_owned(),
            is_named,
        });
        for url in [&word, secret]
            .into_iter()
            .filter_map(|text| Url::parse(text).ok())
        {
            let is_named = is_named || url.password().is_some();
            secrets.extend(
                secrets_of_url(&url)
                    .into_iter()
                    .map(|text| MaskedText { text, is_named }),
            );
        }
    }
    secrets.retain(|secret| !secret.text.is_empty());
    (words.join(" "), secrets)
}

/// Returns true if a command has a key among its arguments: the value of an option or a variable
/// that is named for one, or a password in a URL. Every user of the machine can read the arguments
/// of a process.
pub(crate) fn has_key_argument(command: &Command) -> bool {
    let words = command
        .get_args()
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>();
    let is_value = |word: &str| !word.is_empty() && !word.starts_with('-');
    let named = |pair: &[std::borrow::Cow<'_, str>]| {
        pair[0].starts_with("--")
            && is_secret_name(&pair[0])
            && !pair[0].contains('=')
            && is_value(&pair[1])
    };
    let assigned = |word: &str| {
        let pair = word.split_once(['=', ':']);
        pair.is_some_and(|(name, value)| {
            is_secret_name(name) && is_value(value.trim()) && !value.starts_with('$')
        })
    };
    let has_password = |word: &str| Url::parse(word).is_ok_and(|url| url.password().is_some());
    words.windows(2).any(named)
        || words
            .iter()
            .any(|word| assigned(word) || has_password(word))
}

/// Splits a word into the part that is shown and the part that is masked.
fn split_word(word: &str, position: Position) -> (&str, &str) {
    let is_option = word.starts_with('-');
    if let Some((name, value)) = word
        .split_once(['=', ':'])
        .filter(|(name, _)| is_option || !name.contains('/'))
    {
        // Variables, values of options, headers and URLs.
        let name_end = name.len() + usize::from(!value.is_empty());
        return if is_words(name) {
            word.split_at(name_end)
        } else {
            ("", word)
        };
    }
    if is_option && !word.starts_with("--") {
        // A value may follow the letter of its option.
        let option = word
            .get(..if word.len() > 3 { 2 } else { word.len() })
            .filter(|option| is_words(option));
        return word.split_at(option.map_or(0, str::len));
    }
    let is_shown = match position {
        _ if is_option => is_words(word),
        Position::Program => is_words(word),
        Position::Argument => is_words(word) && word.contains(['/', '.']),
        Position::Value { is_secret } => {
            is_words(word) && !is_secret && word.starts_with(['/', '.', '~', '@'])
        }
    };
    if is_shown { (word, "") } else { ("", word) }
}

/// Returns a URL without its user, its fragment and the values of its query. Segments of its path
/// that may be keys are masked.
pub(crate) fn of_url(url: &Url) -> String {
    let masked = |text: &str| {
        if is_words(text) {
            text.to_owned()
        } else {
            KEY.to_owned()
        }
    };
    let path = url
        .path()
        .split('/')
        .map(masked)
        .collect::<Vec<_>>()
        .join("/");
    let names = url.query().into_iter().flat_map(|query| query.split('&'));
    let names = names.map(|pair| {
        format!(
            "{}={KEY}",
            masked(pair.split('=').next().unwrap_or_default())
        )
    });
    let query = names.collect::<Vec<_>>().join("&");
    let query = if query.is_empty() {
        query
    } else {
        format!("?{query}")
    };
    let user = if url.username().is_empty() && url.password().is_none() {
        ""
    } else {
        "[key]@"
    };
    format!(
        "{}{path}{query}",
        url.origin()
            .ascii_serialization()
            .replacen("://", &format!("://{user}"), 1)
    )
}

/// Returns the texts of a URL that may be keys.
pub(crate) fn secrets_of_url(url: &Url) -> Vec<String> {
    let segments = url
        .path()
        .split('/')
        .filter(|segment| !is_words(segment))
        .map(str::to_owned);
    base_url::secrets(url.as_str())
        .into_iter()
        .chain(segments)
        .collect()
}

/// Returns true for names of programs, options and files: words of lower-case letters, and few
/// digits, as in `s3` or `v2`.
fn is_words(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase();
    let is_word = |part: &str| {
        let letters = part
            .strip_prefix(|c: char| c.is_ascii_uppercase())
            .unwrap_or(part);
        (letters.len() <= 24 && letters.chars().all(is_plain))
            || (part.len() <= 3 && part.chars().all(|c| is_plain(c) || c.is_ascii_digit()))
    };
    text.bytes().filter(u8::is_ascii_digit).count() <= 5
        && text.split(['/', '-', '_', '.', '@', '~', ':']).all(is_word)
}

/// Returns true for texts with 20 letters and digits or more in a row. Names such as
/// `my-project-12345` are shorter words.
pub(crate) fn looks_random(text: &str) -> bool {
    let is_random = |part: &str| part.len() >= 20 && part.contains(|c: char| c.is_ascii_digit());
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(is_random)
}

/// Returns true for texts with a part that is unlike any word: six letters and digits or more in a
/// row that mix both, sixteen digits, or twenty letters that mix upper and lower case. `not-found`,
/// `version-12345` and `modelcontextprotocol` have none.
pub(crate) fn looks_like_key(text: &str) -> bool {
    let is_key = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        let has_letters = digits < part.len();
        let cases = part.bytes().skip(1).filter(u8::is_ascii_uppercase).count();
        (part.len() >= 6 && digits > 0 && has_letters)
            || (part.len() >= 16 && !has_letters)
            || (part.len() >= 20 && cases > 2)
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &[&str]) -> (String, Vec<String>) {
        let mut command = Command::new("npx");
        command.args(words);
        let (name, secrets) = of_command(&command);
        (
            name,
            secrets.into_iter().map(|secret| secret.text).collect(),
        )
    }

    #[test]
    fn keys_are_unlike_words() {
        for key in [
            "sk-proj1234abcd",
            "hunter2",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "550e8400-e29b",
            "1234567890123456",
        ] {
            assert!(looks_like_key(key), "{key}");
        }
        for words in [
            "not found",
            "@modelcontextprotocol/server-everything",
            "internationalization",
            "registry.npmjs.org",
            "v2",
            "404",
            "version-12345",
            "C:/Users/ada",
            "E404",
            "2026-11-28",
            "MyOrdinaryWord",
        ] {
            assert!(!looks_like_key(words), "{words}");
        }
    }

    #[test]
    fn names_keep_what_tells_servers_apart() {
        for words in [
            "-y @modelcontextprotocol/server-everything /home/alice --verbose",
            "-y mcp-notion-v2",
            "-y evil-mcp-srv-v2",
            "-y @scope/server@1.2.3 --root ./data",
            "run -i --rm mcp/fetch:latest",
            "-m mcp_server_fetch",
        ] {
            let (name, secrets) = named(&words.split(' ').collect::<Vec<_>>());
            assert_eq!((name, secrets), (format!("npx {words}"), Vec::new()));
        }
        let url = Url::parse("https://mcp.example:8443/v1/mcp").expect("a URL");
        assert_eq!(of_url(&url), "https://mcp.example:8443/v1/mcp");
    }

    /// Returns a short key with a digit, a long one, and one of letters only.
    fn keys(at: u64) -> [String; 3] {
        let random = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 60;
        let letters = (0..12)
            .map(|n| char::from(b'a' + u8::try_from(random >> (5 * n) & 15).unwrap_or_default()));
        [
            format!("hunter{at}x"),
            format!("{random:x}Zq{at}w"),
            letters.collect(),
        ]
    }

    #[test]
    fn keys_of_commands_are_masked() {
        let mut masked = 0;
        for key in (0..1_000).flat_map(keys) {
            let shown = [
                named(&["--api-key", &key]),
                named(&["--key", &key]),
                named(&["--token", &format!("/{key}")]),
                named(&[&format!("--api-key={key}"), "serve"]),
                named(&["-e", &format!("GITHUB_TOKEN={key}"), "image"]),
                named(&["--header", &format!("Authorization: Bearer {key}")]),
                named(&["-p", &key]),
                named(&[&format!("-p{key}")]),
                named(&["serve", &key]),
                named(&[&format!("https://user:{key}@host/mcp?k={key}")]),
            ];
            let is_noted = |secrets: &[String]| secrets.iter().any(|secret| secret.contains(&key));
            masked += shown
                .iter()
                .filter(|(name, noted)| {
                    !name.contains(&key) && name.contains(KEY) && is_noted(noted)
                })
                .count();
        }
        assert_eq!(masked, 30_000);
    }

    #[test]
    fn keys_among_arguments_are_found() {
        let found = |words: &[&str]| {
            let mut command = Command::new("npx");
            command.args(words);
            has_key_argument(&command)
        };
        for words in [
            &["--api-key", "hunter2"][..],
            &["--token=hunter2"],
            &["run", "-e", "GITHUB_TOKEN=hunter2", "image"],
            &["--header", "Authorization: Bearer hunter2"],
            &["postgres://user:hunter2@host/db"],
        ] {
            assert!(found(words), "{words:?}");
        }
        for words in [
            &["-y", "@scope/server", "/home/alice"][..],
            &["run", "-e", "GITHUB_TOKEN", "image"],
            &["--token-type", "bearer"],
            &["--no-auth", "--verbose"],
            &["--header", "Authorization:${AUTH}"],
            &["postgres://user@host/db", "https://mcp.example/mcp"],
            &["--root=./keys", "--keyboard", "x"],
        ] {
            assert!(!found(words), "{words:?}");
        }
    }

    #[test]
    fn keys_of_urls_are_masked() {
        let mut masked = 0;
        for at in 0..1_000 {
            let short = format!("ab{at:02}cd34");
            for key in [&keys(at)[0], &keys(at)[1], &short] {
                let urls = [
                    format!("https://{key}:{key}@host/mcp?key={key}#{key}"),
                    format!("https://{key}@host/mcp"),
                    format!("https://host/t/{key}/mcp"),
                    format!("https://host/mcp?{key}"),
                ];
                let names = urls.map(|url| of_url(&Url::parse(&url).expect("a URL")));
                masked += names
                    .iter()
                    .filter(|name| !name.contains(key) && name.contains(KEY))
                    .count();
            }
        }
        assert_eq!(masked, 12_000);
    }
}
