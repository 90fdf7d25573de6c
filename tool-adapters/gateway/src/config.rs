//! The servers that people have configured for their client: `mcp.json` and its like, as each
//! client writes it.

use crate::document::Fields;
use crate::problems::Problems;
use crate::source;
use crate::tool_choice::{ApprovedTools, ToolChoice, is_opencode_tool, may_concern};
use crate::value::{Expand, Secret, env_file, is_env_name, read_bounded};
use reqwest::Url;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A server of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    /// The place of its address in the file, or of the entry.
    pub(crate) place: String,
    pub(crate) target: Target,
    /// The tools that the user has switched on and off.
    pub(crate) tools: ToolChoice,
    /// The tools that the user has approved once and for all.
    pub(crate) approved: ApprovedTools,
}

impl ServerEntry {
    pub(crate) fn new(name: impl Into<String>, target: Target) -> Self {
        let tools = ToolChoice::default();
        let approved = ApprovedTools::default();
        Self {
            name: name.into(),
            place: String::new(),
            target,
            tools,
            approved,
        }
    }
}

/// An input that a file asks its user for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) is_password: bool,
    pub(crate) default: Option<String>,
    pub(crate) options: Vec<String>,
}

/// The place where a server runs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Command {
        program: String,
        arguments: Vec<String>,
        env: Vec<(String, Secret)>,
        cwd: Option<PathBuf>,
    },
    Url {
        url: Url,
        headers: Vec<(String, Secret)>,
    },
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments, headers and URLs may have keys.
        match self {
            Self::Command { program, .. } => f
                .debug_struct("Command")
                .field("program", program)
                .finish_non_exhaustive(),
            Self::Url { url, .. } => f
                .debug_struct("Url")
                .field("host", &url.host_str())
                .finish_non_exhaustive(),
        }
    }
}

/// The members under which clients keep their servers.
const SERVERS: [&str; 4] = ["mcpServers", "servers", "context_servers", "amp.mcpServers"];

/// The members that name the lists of servers which are left out, and of those which are left in.
const SERVERS_OFF: [&str; 3] = [
    "disabledMcpServers",
    "disabledMcpjsonServers",
    "excludeMCPServers",
];
const SERVERS_ON: [&str; 3] = [
    "enabledMcpServers",
    "enabledMcpjsonServers",
    "allowMCPServers",
];

/// The folders in which clients keep their files of a workspace.
const CLIENT_FOLDERS: [&str; 16] = [
    ".amazonq",
    ".claude",
    ".continue",
    ".copilot",
    ".cursor",
    ".factory",
    ".gemini",
    ".github",
    ".idea",
    ".junie",
    ".kiro",
    ".qwen",
    ".roo",
    ".vs",
    ".vscode",
    ".windsurf",
];

/// Members that describe a server for people, or tune the client.
const WITHOUT_EFFECT: [&str; 24] = [
    "$schema",
    "alwaysLoad",
    "author",
    "category",
    "description",
    "dev",
    "disabledAutoApproveTools",
    "displayName",
    "gallery",
    "homepage",
    "icon",
    "id",
    "logo",
    "logoUrl",
    "metadata",
    "name",
    "note",
    "notes",
    "provider",
    "repository",
    "source",
    "tags",
    "title",
    "version",
];

/// Members that have an effect in a client and none here, each with what does the same here.
const ELSEWHERE: [(&str, &str); 18] = [
    ("timeout", "set `timeout` of the server in the policy"),
    (
        "requestTimeout",
        "set `timeout` of the server in the policy",
    ),
    (
        "startupTimeout",
        "set `timeout` of the server in the policy",
    ),
    ("initTimeout", "set `timeout` of the server in the policy"),
    (
        "networkTimeout",
        "set `timeout` of the server in the policy",
    ),
    (
        "startup_timeout_sec",
        "set `timeout` of the server in the policy",
    ),
    (
        "tool_timeout_sec",
        "set `timeout` of the server in the policy",
    ),
    ("oauth", "set the table `oauth` of the server in the policy"),
    (
        "oauthScopes",
        "set the table `oauth` of the server in the policy",
    ),
    (
        "settings",
        "only the editor passes them on; write them into `args` or `env`",
    ),
    ("auth", "set the table `oauth` of the server in the policy"),
    (
        "authProviderType",
        "set the table `oauth` of the server in the policy",
    ),
    (
        "headersHelper",
        "no command is run for headers; write them into `headers`",
    ),
    (
        "sandbox",
        "the gateway starts no sandbox; write it into `command`",
    ),
    (
        "sandboxEnabled",
        "the gateway starts no sandbox; write it into `command`",
    ),
    (
        "bearer_token_env_var",
        "write the header `Authorization` into `headers`",
    ),
    (
        "authorization_token",
        "write the header `Authorization` into `headers`",
    ),
    (
        "watchPaths",
        "a server is not started again when files change",
    ),
];

/// Returns the folder of the workspace of a file: its own, or the one around the folder of a
/// client, such as `.vscode`.
pub(crate) fn workspace_of(config: &Path) -> PathBuf {
    let path = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let is_of_client = |folder: &&Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| CLIENT_FOLDERS.contains(&name))
    };
    // `.kiro/settings/mcp.json` is one folder deeper.
    let client = folder.ancestors().take(2).find(is_of_client);
    client.and_then(Path::parent).unwrap_or(folder).to_owned()
}

/// The servers of a file, and the inputs that it defines.
#[derive(Default)]
pub(crate) struct Config {
    pub(crate) servers: Vec<ServerEntry>,
    pub(crate) inputs: Vec<Input>,
}

/// Reads the servers in the order of the file, without those that are disabled.
pub(crate) fn parse(text: &str, problems: &Problems, expand: &mut Expand) -> Config {
    let Some(mut document) = source::json(text, problems) else {
        return Config::default();
    };
    if is_of_gemini(&document) {
        expand.replace_plain_variables();
    }
    let expand = &*expand;
    wrap_bare_servers(&mut document);
    if let Some(servers) = document
        .get_mut("mcp")
        .filter(|mcp| mcp.get("servers").is_none())
    {
        translate_placeholders(servers);
    }
    let Some(mut fields) = Fields::new(document, String::new(), problems, expand) else {
        return Config::default();
    };
    let mut file = ConfigFile::default();
    let mut is_named = false;
    for name in SERVERS {
        is_named |= fields.has(name);
        file.add_servers(fields.named_tables(name));
    }
    file.inputs.extend(read_inputs(&mut fields));
    if fields.has("mcp") {
        is_named |= file.read_nested(&mut fields);
    }
    for name in SERVERS_OFF {
        file.choice.exclude(fields.texts(name));
    }
    for name in SERVERS_ON {
        file.choice.include(fields.texts(name));
    }
    file.tools_off = tools_off(&mut fields);
    if !is_named {
        let near = fields
            .rest()
            .find_map(|name| Some((name, fields.near(name)?)));
        let hint = near
            .map(|(name, near)| format!(", did you mean `{near}` by `{}`?", name.escape_debug()));
        let hint = hint.unwrap_or_default();
        problems.add(
            "",
            format_args!(
                "expected an object with the member `mcpServers` or `servers`, got none{hint}"
            ),
        );
        return Config::default();
    }
    warn_of_unread(&fields);
    for pattern in &file.tools_off {
        let mut servers = file.servers.iter();
        if !is_opencode_tool(pattern) && !servers.any(|(name, _)| may_concern(pattern, name)) {
            fields.warn(
                "tools",
                format_args!("`{pattern}` matches no tool of a server of this file"),
            );
        }
    }
    file.finish()
}

/// Returns true for settings of Gemini CLI, which replaces `$NAME` too.
fn is_of_gemini(document: &Value) -> bool {
    let own = ["httpUrl", "includeTools", "excludeTools", "trust"];
    let servers = document.get("mcpServers").and_then(Value::as_object);
    servers.is_some_and(|servers| {
        servers
            .values()
            .any(|server| own.iter().any(|name| server.get(name).is_some()))
    })
}

/// Puts servers that are the members of the file itself into `mcpServers`, as plugins of Claude
/// have them.
fn wrap_bare_servers(document: &mut Value) {
    let is_server = |value: &Value| {
        ["command", "url", "httpUrl", "serverUrl"]
            .iter()
            .any(|name| value.get(name).is_some())
    };
    let Some(members) = document.as_object_mut() else {
        return;
    };
    let is_bare = !members.is_empty() && members.values().all(is_server);
    if is_bare && !SERVERS.iter().any(|name| members.contains_key(*name)) {
        let servers = std::mem::take(members);
        members.insert("mcpServers".to_owned(), Value::Object(servers));
    }
}

/// Writes the placeholders of opencode, `{env:NAME}` and `{file:PATH}`, as other clients write
/// them.
fn translate_placeholders(value: &mut Value) {
    match value {
        Value::String(text) => {
            for kind in ["{env:", "{file:"] {
                let dollar = format!("${kind}");
                if !text.contains(&dollar) {
                    *text = text.replace(kind, &dollar);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(translate_placeholders),
        Value::Object(members) => members.values_mut().for_each(translate_placeholders),
        _ => {}
    }
}

/// The contents of a file, before it is known which of its servers are left out.
#[derive(Default)]
struct ConfigFile<'a> {
    servers: Vec<(String, Fields<'a>)>,
    inputs: Vec<Input>,
    choice: ToolChoice,
    /// The patterns of `SERVER_TOOL` that are switched off for all servers.
    tools_off: Vec<String>,
}

impl<'a> ConfigFile<'a> {
    fn add_servers(&mut self, servers: Vec<(String, Fields<'a>)>) {
        for (name, fields) in servers {
            match self.servers.iter().find(|(known, _)| *known == name) {
                Some((_, known)) if known.is_same(&fields) => {}
                Some((_, known)) => fields.problem(
                    "",
                    format_args!(
                        "expected a name of its own, got that of `{}`; rename or remove one of them",
                        known.place("")
                    ),
                ),
                None => self.servers.push((name, fields)),
            }
        }
    }

    /// Reads the member `mcp`: that of the settings of VS Code with servers and inputs, of Gemini
    /// CLI with the names of servers, and of opencode and Crush with the servers themselves.
    /// Returns true if it has servers.
    fn read_nested(&mut self, fields: &mut Fields<'a>) -> bool {
        let Some(mut nested) = fields.table("mcp") else {
            return true;
        };
        let has_servers = nested.has("servers") || nested.has("mcpServers");
        for name in ["servers", "mcpServers"] {
            let servers = nested.named_tables(name);
            self.add_servers(servers);
        }
        self.inputs.extend(read_inputs(&mut nested));
        self.choice.exclude(nested.texts("excluded"));
        self.choice.include(nested.texts("allowed"));
        let rest = nested.rest_tables();
        let is_filled = !rest.is_empty();
        self.add_servers(rest);
        has_servers || is_filled
    }

    fn finish(self) -> Config {
        let mut config = Config {
            servers: Vec::new(),
            inputs: self.inputs,
        };
        for (name, fields) in self.servers {
            if self.choice.off(&name).is_some() {
                continue;
            }
            if let Some(mut entry) = parse_server(name, fields) {
                entry.tools.exclude_of_server(&entry.name, &self.tools_off);
                config.servers.push(entry);
            }
        }
        config
    }
}

/// Reads the switches of opencode: `"tools": {"SERVER_*": false}`. Each holds for the tools of all
/// servers.
fn tools_off(fields: &mut Fields<'_>) -> Vec<String> {
    let is_map = |value: &Value| {
        value
            .as_object()
            .is_some_and(|tools| tools.values().all(Value::is_boolean))
    };
    let Some(tools) = fields.take_if("tools", is_map) else {
        return Vec::new();
    };
    let tools = tools.as_object().cloned().unwrap_or_default();
    tools
        .into_iter()
        .filter(|(_, is_on)| *is_on == Value::Bool(false))
        .map(|(name, _)| name)
        .collect()
}

/// Warns of the members that were not read. Of the settings of a whole program they are many, so
/// they share a line.
fn warn_of_unread(fields: &Fields<'_>) {
    let mut others = Vec::new();
    for name in fields.rest() {
        if is_remark(name) {
            continue;
        }
        match fields.near(name) {
            Some(_) => fields.warn(name, fields.not_understood(name)),
            None => others.push(name),
        }
    }
    let Some(first) = others.first() else { return };
    let more = others.len().saturating_sub(MAX_NAMED);
    let named = others
        .iter()
        .take(MAX_NAMED)
        .map(|name| format!("`{}`", name.escape_debug()))
        .collect::<Vec<_>>();
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    let named = named.join(", ");
    fields.warn(
        first,
        format_args!("these keys are not read: {named}{more}"),
    );
}

/// The keys that one warning names.
const MAX_NAMED: usize = 8;

/// Returns true for the name of a remark, and of a schema.
fn is_remark(name: &str) -> bool {
    name.starts_with(['_', '/', '#', '$']) || name == "comment"
}

fn read_inputs(fields: &mut Fields<'_>) -> Vec<Input> {
    let mut inputs = Vec::new();
    for mut input in fields.tables("inputs") {
        let Some(id) = input.literal("id") else {
            input.problem("id", "expected the name by which `${input:NAME}` uses it");
            continue;
        };
        let is_text = |value: &Value| value.as_str().map(str::to_owned);
        let option = |option: &Value| is_text(option).or_else(|| is_text(option.get("value")?));
        let options = |value: &Value| {
            value
                .as_array()
                .map(|items| items.iter().filter_map(option).collect())
        };
        inputs.push(Input {
            description: input.literal("description").unwrap_or_else(|| id.clone()),
            id,
            is_password: input.flag("password") == Some(true),
            default: input.read("default", "a text", is_text),
            options: input
                .read("options", "a list of texts", options)
                .unwrap_or_default(),
        });
    }
    inputs
}

fn parse_server(name: String, mut fields: Fields<'_>) -> Option<ServerEntry> {
    let off = ["disabled", "disable"]
        .into_iter()
        .any(|member| fields.flag(member) == Some(true));
    let on = ["enabled", "enable", "isActive", "active"];
    if off
        || on
            .into_iter()
            .any(|member| fields.flag(member) == Some(false))
    {
        return None;
    }
    if name.is_empty() || name.len() > MAX_NAME {
        fields.problem("", format_args!("expected a name of 1 to {MAX_NAME} bytes"));
        return None;
    }
    let tools = ToolChoice::read(&mut fields);
    let approved = ApprovedTools::read(&mut fields);
    fields.inline("transport");
    let url_member = URLS
        .into_iter()
        .find(|member| fields.has(member))
        .unwrap_or_default();
    let place = fields.place(url_member);
    let target = parse_target(&mut fields);
    warn_of_members(&mut fields);
    Some(ServerEntry {
        place,
        tools,
        approved,
        ..ServerEntry::new(name, target?)
    })
}

/// Maximum number of bytes of a server's name.
const MAX_NAME: usize = 200;

/// Warns of the members of a server that have no effect here.
fn warn_of_members(fields: &mut Fields<'_>) {
    for (name, instead) in ELSEWHERE {
        if fields.has(name) {
            fields.warn(name, format_args!("has no effect here: {instead}"));
            fields.forget(name);
        }
    }
    // `type` is enough where the others are there too.
    for name in WITHOUT_EFFECT
        .into_iter()
        .chain(["transport", "transportType"])
    {
        fields.forget(name);
    }
    for name in fields.rest().filter(|name| !is_remark(name)) {
        fields.warn(name, fields.not_understood(name));
    }
}

/// The members that have the address of a server. The first that is there holds.
const URLS: [&str; 4] = ["httpUrl", "serverUrl", "url", "baseUrl"];

/// The transport of a server.
#[derive(Clone, Copy, PartialEq)]
enum Transport {
    Stdio,
    Http,
    Sse,
}

fn transport(fields: &mut Fields<'_>) -> Result<Option<Transport>, ()> {
    for member in ["type", "transport", "transportType"] {
        let Some(kind) = fields.text(member) else {
            continue;
        };
        let letters = kind.to_ascii_lowercase().replace(['-', '_'], "");
        return match &*letters {
            "stdio" | "local" | "command" => Ok(Some(Transport::Stdio)),
            "http" | "streamablehttp" | "httpstream" | "remote" => Ok(Some(Transport::Http)),
            "sse" => {
                fields.warn(
                    member,
                    "the transport `sse` of 2024-11-05 is not supported; streamable HTTP is tried at this address, so use the \
                     server's address of it, with `\"type\": \"http\"`",
                );
                Ok(Some(Transport::Sse))
            }
            _ => {
                fields.problem(
                    member,
                    format_args!("expected `stdio` or `http`, got `{}`", kind.escape_debug()),
                );
                Err(())
            }
        };
    }
    Ok(None)
}

fn parse_target(fields: &mut Fields<'_>) -> Option<Target> {
    let kind = transport(fields);
    let program = command_line(fields);
    let url = URLS
        .into_iter()
        .find_map(|name| Some((name, fields.text_of(name)?)));
    // The members of a client that knows several are read, so that they are no unknown ones.
    for name in URLS {
        fields.forget(name);
    }
    let kind = kind.ok()?;
    match (kind, program, url) {
        (_, Some(_), Some(_)) => {
            fields.problem("", "expected either `command` or `url`, got both");
            None
        }
        (None | Some(Transport::Stdio), Some(program), None) => Some(command(program, fields)),
        (None | Some(Transport::Http | Transport::Sse), None, Some((name, url))) => {
            remote(name, &url?, fields)
        }
        (Some(Transport::Stdio), ..) => {
            fields.problem(
                "command",
                "expected the program of a `stdio` server, got none",
            );
            None
        }
        (Some(Transport::Http | Transport::Sse), ..) => {
            fields.problem("url", "expected the address of an `http` server, got none");
            None
        }
        (None, None, None) => {
            fields.problem("", "expected `command` or `url`, got neither");
            None
        }
    }
}

/// The command of a server, with the arguments and variables that are part of it.
#[derive(Default)]
struct CommandLine {
    program: Option<String>,
    arguments: Vec<String>,
    env: Vec<(String, Secret)>,
}

/// Reads `command`: a text, a list of all words as opencode has it, or a table as earlier versions
/// of Zed have it.
fn command_line(fields: &mut Fields<'_>) -> Option<CommandLine> {
    if let Some(words) = fields.take_if("command", Value::is_array) {
        let mut words = fields.all_expanded("command", words).into_iter();
        return Some(CommandLine {
            program: words.next(),
            arguments: words.collect(),
            env: Vec::new(),
        });
    }
    if fields.is_table("command") {
        let mut table = fields.table("command")?;
        let program = table.text("path").or_else(|| table.text("command"));
        let arguments = table.texts("args").unwrap_or_default();
        let env = secrets(table.value_table("env"));
        warn_of_members(&mut table);
        return Some(CommandLine {
            program,
            arguments,
            env,
        });
    }
    let program = fields.text_of("command")?;
    Some(CommandLine {
        program,
        ..CommandLine::default()
    })
}

fn command(line: CommandLine, fields: &mut Fields<'_>) -> Target {
    // One that cannot be read was reported.
    if line.program.as_ref().is_some_and(String::is_empty) {
        fields.problem("command", "expected a program, got an empty text");
    }
    let mut arguments = line.arguments;
    arguments.extend(fields.texts("args").unwrap_or_default());
    let mut env = fields
        .text("envFile")
        .map(|file| read_env_file(&file, fields))
        .unwrap_or_default();
    for (name, value) in line.env {
        env.insert(name, Some(value));
    }
    for member in ["env", "environment"] {
        for (name, value) in fields.value_table(member) {
            if !is_env_name(&name) {
                let name = name.escape_debug();
                fields.problem(member, format_args!("`{name}` is not a name of a variable"));
            }
            env.insert(name, value.map(Zeroizing::new));
        }
    }
    let env = env
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let cwd = fields
        .text("cwd")
        .or_else(|| fields.text("workingDirectory"));
    let cwd = cwd.map(|cwd| fields.workspace().join(cwd));
    Target::Command {
        program: line.program.unwrap_or_default(),
        arguments,
        env,
        cwd,
    }
}

/// The largest file of variables that is read.
const MAX_ENV_FILE: u64 = 1 << 20;

fn read_env_file(file: &str, fields: &Fields<'_>) -> BTreeMap<String, Option<Secret>> {
    let path = fields.workspace().join(file);
    let variables = match read_bounded(&path, MAX_ENV_FILE).map(|text| env_file(&text)) {
        Ok(Ok(variables)) => variables,
        Ok(Err(lines)) => {
            for line in lines {
                // The line may have a secret.
                let problem = format!(
                    "{}:{line}: expected a line such as `NAME=value`",
                    path.display()
                );
                fields.problem("envFile", problem);
            }
            Vec::new()
        }
        Err(error) => {
            fields.problem("envFile", format_args!("{}: {error}", path.display()));
            Vec::new()
        }
    };
    variables
        .into_iter()
        .map(|(name, value)| (name, Some(value)))
        .collect()
}

fn remote(name: &str, url: &str, fields: &mut Fields<'_>) -> Option<Target> {
    let mut headers = secrets(fields.value_table("headers"));
    headers.extend(secrets(fields.value_table("http_headers")));
    if let Some(mut init) = fields.table("requestInit") {
        headers.extend(secrets(init.value_table("headers")));
    }
    match url.parse::<Url>() {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host_str().is_some() => {
            Some(Target::Url { url, headers })
        }
        _ => {
            // The text may have a key.
            fields.problem(
                name,
                "expected a URL that begins with `https://` or `http://`, got another text",
            );
            None
        }
    }
}

fn secrets(values: Vec<(String, Option<String>)>) -> Vec<(String, Secret)> {
    values
        .into_iter()
        .filter_map(|(name, value)| Some((name, Zeroizing::new(value?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::EditorVariables;
    use serde_json::json;
    use std::fmt::Write as _;

    fn read(document: &Value) -> (Vec<ServerEntry>, Vec<String>) {
        let problems = Problems::new("mcp.json");
        let editor = EditorVariables {
            workspace: "/etc/mcp".into(),
            inputs: BTreeMap::new(),
        };
        let mut expand = Expand::of([("KEY", "k-1")]).editor(editor);
        let config = parse(&document.to_string(), &problems, &mut expand);
        (config.servers, problems.into_vec())
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
        let names = servers
            .iter()
            .map(|server| &*server.name)
            .collect::<Vec<_>>();
        assert_eq!(names, ["files", "web"]);
        let Target::Command {
            arguments,
            env,
            cwd,
            ..
        } = &servers[0].target
        else {
            panic!("a command")
        };
        assert_eq!(
            (arguments.len(), env[0].1.as_str(), cwd.as_deref()),
            (2, "k-1", Some(Path::new("/etc/mcp/data")))
        );
        let Target::Url { headers, .. } = &servers[1].target else {
            panic!("a URL")
        };
        assert_eq!(headers[0].1.as_str(), "Bearer k-1");
    }

    /// Describes what was read, for people who compare it with the file.
    fn describe(config: &Config) -> String {
        let mut text = String::new();
        for input in &config.inputs {
            let kind = if input.is_password {
                "password"
            } else {
                "text"
            };
            _ = writeln!(text, "input {}: {kind}, {:?}", input.id, input.description);
        }
        for server in &config.servers {
            match &server.target {
                Target::Command {
                    program,
                    arguments,
                    env,
                    cwd,
                } => {
                    _ = writeln!(text, "{}: {program:?} {arguments:?}", server.name);
                    for (name, value) in env {
                        _ = writeln!(text, "  env {name}={:?}", value.as_str());
                    }
                    if let Some(cwd) = cwd {
                        _ = writeln!(text, "  cwd {}", cwd.display());
                    }
                }
                Target::Url { url, headers } => {
                    _ = writeln!(text, "{}: {url}", server.name);
                    for (name, value) in headers {
                        _ = writeln!(text, "  header {name}: {:?}", value.as_str());
                    }
                }
            }
            for tool in ["read", "write", "delete_all"] {
                if let Some(member) = server.tools.off(tool) {
                    _ = writeln!(text, "  `{tool}` is off by `{member}`");
                }
                if let Some(member) = server.approved.member_of(tool) {
                    _ = writeln!(text, "  `{tool}` is approved by `{member}`");
                }
            }
        }
        text
    }

    /// Returns the file of a client in a folder, and below it.
    fn file_below(folder: &Path) -> Option<PathBuf> {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                if let Some(file) = file_below(&path) {
                    return Some(file);
                }
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                return Some(path);
            }
        }
        None
    }

    // C13
    #[test]
    fn files_of_clients_yield_their_servers() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/clients");
        let mut clients = std::fs::read_dir(&folder)
            .expect("a folder")
            .flatten()
            .collect::<Vec<_>>();
        clients.sort_by_key(std::fs::DirEntry::file_name);
        assert!(clients.len() >= 20, "{}", clients.len());
        for client in clients {
            let file = file_below(&client.path()).expect("a file");
            let problems = Problems::new(file.file_name().unwrap_or_default().to_string_lossy());
            let text = read_bounded(&file, 1 << 20).expect("a text");
            let inputs = BTreeMap::from([("token".to_owned(), Zeroizing::new("i-$1".to_owned()))]);
            let editor = EditorVariables {
                workspace: workspace_of(&file),
                inputs,
            };
            let mut expand =
                Expand::of([("API_KEY", "k-1"), ("HOME", "/home/ada"), ("PORT", "8931")])
                    .editor(editor);
            let mut described = describe(&parse(&text, &problems, &mut expand));
            let (problems, warnings) = problems.split();
            for problem in problems {
                _ = writeln!(described, "error: {problem}");
            }
            for warning in warnings {
                _ = writeln!(described, "warning: {warning}");
            }
            let described = described.replace(&*client.path().to_string_lossy(), "<workspace>");
            expect_test::expect_file![client.path().join("expected.txt")].assert_eq(&described);
        }
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
