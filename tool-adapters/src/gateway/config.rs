//! The servers that people have configured for their client: the `mcpServers` of a JSON file.

use crate::gateway::document::{Fields, Problems, join};
use crate::gateway::value::Expand;
use crate::providers::json_reader::JsonReader;
use reqwest::Url;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A server of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    pub(crate) target: Target,
}

/// The place where a server runs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Command { program: String, arguments: Vec<String>, env: Vec<(String, Secret)>, cwd: Option<PathBuf> },
    Url { url: Url, headers: Vec<(String, Secret)> },
}

/// A value that may be a secret.
pub(crate) type Secret = Zeroizing<String>;

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments, headers and URLs may have keys.
        match self {
            Self::Command { program, .. } => {
                f.debug_struct("Command").field("program", program).finish_non_exhaustive()
            }
            Self::Url { url, .. } => f.debug_struct("Url").field("host", &url.host_str()).finish_non_exhaustive(),
        }
    }
}

/// The names under which clients keep their servers.
const SERVERS: [&str; 2] = ["mcpServers", "servers"];

/// Reads the servers in the order of the file, without those that are disabled. Relative folders are of `folder`.
pub(crate) fn parse(text: &str, folder: &Path, problems: &Problems, expand: &Expand) -> Vec<ServerEntry> {
    let read = report_repeated(&mut JsonReader::new(text), "", problems);
    let document = match read.and_then(|()| serde_json::from_str::<Value>(text)) {
        Ok(document) => document,
        Err(error) => {
            problems.add("", format_args!("expected JSON: {error}"));
            return Vec::new();
        }
    };
    let Some(name) = SERVERS.into_iter().find(|name| document.get(name).is_some()) else {
        problems.add("", "expected an object with the member `mcpServers`, got none");
        return Vec::new();
    };
    let Some(mut fields) = Fields::new(document, String::new(), problems, expand) else { return Vec::new() };
    let servers = fields.named_tables(name);
    let servers = servers.into_iter().filter_map(|(name, fields)| parse_server(name, fields, folder));
    servers.collect()
}

/// Reports the names that an object, or one inside of it, has again. The later value would replace the earlier one.
fn report_repeated(json: &mut JsonReader<'_>, place: &str, problems: &Problems) -> serde_json::Result<()> {
    if json.peek() != b'{' {
        return json.skip();
    }
    let mut names = HashSet::new();
    json.object(|name, json| {
        let place = join(place, name);
        if !names.insert(name.to_owned()) {
            problems
                .add(&place, "expected a name of its own, got one that is there already; rename or remove one of them");
        }
        report_repeated(json, &place, problems)
    })
}

fn parse_server(name: String, mut fields: Fields<'_>, folder: &Path) -> Option<ServerEntry> {
    if fields.flag("disabled") == Some(true) || fields.flag("enabled") == Some(false) {
        return None;
    }
    if name.is_empty() || name.len() > 64 {
        fields.problem("", "expected a name of 1 to 64 bytes");
        return None;
    }
    let kind = fields.text("type").or_else(|| fields.text("transport"));
    let (program, url) = (fields.text("command"), fields.text("url").or_else(|| fields.text("serverUrl")));
    let target = match (kind.as_deref(), program, url) {
        (Some("sse"), ..) => {
            fields.problem(
                "type",
                "the transport `sse` of 2024-11-05 is not supported; use the server's address of streamable HTTP, with `\"type\": \"http\"`",
            );
            None
        }
        (Some(kind), ..) if !["stdio", "http", "streamable-http", "streamableHttp"].contains(&kind) => {
            fields.problem("type", format_args!("expected `stdio` or `http`, got `{kind}`"));
            None
        }
        (_, Some(_), Some(_)) => {
            fields.problem("", "expected either `command` or `url`, got both");
            None
        }
        (None | Some("stdio"), Some(program), None) => Some(command(program, &mut fields, folder)),
        (kind, None, Some(url)) if kind != Some("stdio") => remote(&url, &mut fields),
        (Some("stdio"), ..) => {
            fields.problem("command", "expected the program of a `stdio` server, got none");
            None
        }
        (Some(_), ..) => {
            fields.problem("url", "expected the address of an `http` server, got none");
            None
        }
        (None, None, None) => {
            fields.problem("", "expected `command` or `url`, got neither");
            None
        }
        // A name that is empty, or a text with a variable that is not set, was reported.
        (None, None, Some(_)) => None,
    };
    Some(ServerEntry { name, target: target? })
}

fn command(program: String, fields: &mut Fields<'_>, folder: &Path) -> Target {
    if program.is_empty() {
        fields.problem("command", "expected a program, got an empty text");
    }
    let arguments = fields.texts("args").unwrap_or_default();
    let env = secrets(fields.text_table("env"));
    for (name, _) in &env {
        if name.is_empty() || name.contains(['=', '\0']) {
            fields.problem("env", format_args!("`{}` is not a name of a variable", name.escape_debug()));
        }
    }
    let cwd = fields.text("cwd").map(|cwd| folder.join(cwd));
    Target::Command { program, arguments, env, cwd }
}

fn remote(url: &str, fields: &mut Fields<'_>) -> Option<Target> {
    let headers = secrets(fields.text_table("headers"));
    match url.parse::<Url>() {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host_str().is_some() => {
            Some(Target::Url { url, headers })
        }
        _ => {
            // The text may have a key.
            fields.problem("url", "expected a URL that begins with `https://` or `http://`, got another text");
            None
        }
    }
}

fn secrets(texts: Vec<(String, String)>) -> Vec<(String, Secret)> {
    texts.into_iter().map(|(name, value)| (name, Zeroizing::new(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(document: &Value) -> (Vec<ServerEntry>, Vec<String>) {
        let (problems, expand) = (Problems::new("mcp.json"), Expand::of([("KEY", "k-1")]));
        let servers = parse(&document.to_string(), Path::new("/etc/mcp"), &problems, &expand);
        (servers, problems.into_vec())
    }

    #[test]
    fn reads_servers_as_clients_write_them() {
        let (servers, problems) = read(&json!({
            "globalShortcut": "Ctrl+Space",
            "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "${KEY}"}, "cwd": "data", "autoApprove": []},
                "web": {"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
                "off": {"command": "x", "disabled": true}
            }
        }));
        assert_eq!(problems, [""; 0]);
        let names = servers.iter().map(|server| &*server.name).collect::<Vec<_>>();
        assert_eq!(names, ["files", "web"]);
        let Target::Command { arguments, env, cwd, .. } = &servers[0].target else { panic!("a command") };
        assert_eq!((arguments.len(), env[0].1.as_str(), cwd.as_deref()), (2, "k-1", Some(Path::new("/etc/mcp/data"))));
        let Target::Url { headers, .. } = &servers[1].target else { panic!("a URL") };
        assert_eq!(headers[0].1.as_str(), "Bearer k-1");
    }

    #[test]
    fn debug_shows_no_secret() {
        let (servers, _) = read(&json!({"mcpServers": {
            "a": {"command": "x", "args": ["k-1"], "env": {"T": "k-1"}},
            "b": {"url": "https://h/k-1", "headers": {"T": "k-1"}}
        }}));
        assert_eq!(servers.len(), 2);
        assert!(!format!("{servers:?}").contains("k-1"));
    }
}
