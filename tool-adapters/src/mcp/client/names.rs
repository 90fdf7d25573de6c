//! Default names of servers, without the keys in their commands and URLs. A name is an id, a key of the pins file, and
//! part of logs.

use reqwest::Url;
use std::process::Command;
use tool_core::trace::Redaction;

pub(crate) const KEY: &str = "[key]";

/// Returns the words of a command. Values of options that are named for a secret, values of variables, and words that look
/// random are masked.
pub(crate) fn of_command(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    let mut follows_secret = false;
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        words.push(if std::mem::take(&mut follows_secret) && !argument.starts_with('-') {
            KEY.to_owned()
        } else {
            follows_secret = is_secret_option(&argument);
            masked_word(&argument)
        });
    }
    words.join(" ")
}

/// Returns a URL without its user, its fragment and the values of its query. Random segments of its path are masked.
pub(crate) fn of_url(url: &Url) -> String {
    let path = url.path().split('/').map(masked_segment).collect::<Vec<_>>().join("/");
    let names = url.query_pairs().map(|(name, _)| format!("{}={KEY}", masked_segment(&name))).collect::<Vec<_>>();
    let query = if names.is_empty() { String::new() } else { format!("?{}", names.join("&")) };
    format!("{}{path}{query}", url.origin().ascii_serialization())
}

fn masked_word(word: &str) -> String {
    if word.contains("://")
        && let Ok(url) = Url::parse(word)
    {
        return of_url(&url);
    }
    if let Some((name, _)) = word.split_once(['=', ':']).filter(|(_, value)| !value.is_empty()) {
        // Variables, values of options and headers. The port of an address is masked too.
        return format!("{}={KEY}", masked_segment(name));
    }
    let word = word.split('/').map(masked_segment).collect::<Vec<_>>().join("/");
    Redaction::new().text(&word)
}

fn masked_segment(segment: &str) -> &str {
    if looks_random(segment) { KEY } else { segment }
}

/// Returns true for words of 16 characters and more that have a digit.
pub(crate) fn looks_random(word: &str) -> bool {
    word.len() >= 16 && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns true for options such as `--api-key`, whose value is the next word.
fn is_secret_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let pair = format!("{name}=value");
    word.starts_with('-') && Redaction::new().text(&pair) != pair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &[&str]) -> String {
        let mut command = Command::new("npx");
        command.args(words);
        of_command(&command)
    }

    #[test]
    fn names_keep_what_tells_servers_apart() {
        assert_eq!(
            named(&["-y", "@modelcontextprotocol/server-everything", "/home/alice", "--verbose"]),
            "npx -y @modelcontextprotocol/server-everything /home/alice --verbose"
        );
        let url = Url::parse("https://mcp.example:8443/v1/mcp").expect("a URL");
        assert_eq!(of_url(&url), "https://mcp.example:8443/v1/mcp");
    }

    #[test]
    fn keys_of_commands_and_urls_are_masked() {
        let mut masked = 0;
        for at in 0..1_000_u64 {
            let key = format!("{:x}Zq{at}w", at.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 60);
            let shown = [
                named(&["--api-key", &key]),
                named(&["--token", "short"]),
                named(&[&format!("--api-key={key}"), "serve"]),
                named(&["-e", &format!("GITHUB_TOKEN={key}"), "image"]),
                named(&["--header", &format!("Authorization: Bearer {key}")]),
                named(&["-k", &key]),
                named(&["serve", &key]),
                named(&[&format!("https://user:{key}@host/mcp?k={key}")]),
                of_url(&Url::parse(&format!("https://{key}:{key}@host/mcp?key={key}#{key}")).expect("a URL")),
                of_url(&Url::parse(&format!("https://host/s/{key}/mcp")).expect("a URL")),
            ];
            masked += shown
                .iter()
                .filter(|name| name.contains(KEY) && !name.contains(&key) && !name.contains("short"))
                .count();
        }
        assert_eq!(masked, 10_000);
    }
}
