//! What a gateway passes on: everything that the policy does not govern, as the server has sent it.

use crate::raw_server::{self, Answers, HttpServer};
use crate::support::{Client, Folder};
use serde_json::{Map, Value, json};
use tool_adapters::gateway::Gateway;
use tool_adapters::mcp::Pins;

/// Results of calls: each is the name of its tool, and what the server sends.
const RESULTS: [(&str, &str); 24] = [
    ("text", r#"{"content":[{"type":"text","text":"plain"}]}"#),
    (
        "not_an_error",
        r#"{"isError":false,"content":[{"type":"text","text":"plain \u00e9 \ud83d\ude00"}]}"#,
    ),
    ("nothing", r#"{"content":[]}"#),
    (
        "meta",
        r#"{"_meta":{"ui":{"resourceUri":"ui://x/y.html","n":1.0},"a.example/b":[null,{}]},"content":[{"type":"text","text":"a"}]}"#,
    ),
    (
        "unknown_members",
        r#"{"content":[{"type":"text","text":"a","later":{"x":[1]}}],"also":null,"new":{"_meta":{}}}"#,
    ),
    (
        "content_meta",
        r#"{"content":[{"_meta":{"k":true},"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
    ),
    (
        "annotations",
        r#"{"content":[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.1,"lastModified":"2026-01-05T10:00:00Z","more":1}}]}"#,
    ),
    (
        "link",
        r#"{"content":[{"type":"resource_link","uri":"file:///a/b.md","name":"notes","title":"Notes","description":"All notes","mimeType":"text/markdown","size":123,"icons":[{"src":"https://x.example/i.png?s=1","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],"annotations":{"priority":1.0},"_meta":{"l":1}}]}"#,
    ),
    (
        "embedded_text",
        r#"{"content":[{"type":"resource","resource":{"uri":"ui://a/b","mimeType":"text/html;profile=mcp-app","text":"<p>","_meta":{"ui":{"csp":{}}}},"annotations":{"audience":["assistant"]}}]}"#,
    ),
    (
        "embedded_blob",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///p.pdf","mimeType":"application/pdf","blob":"JVBERi0=","_meta":{"b":2}}}]}"#,
    ),
    (
        "embedded_image",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///p.png","mimeType":"image/png","blob":"AAAA"}}]}"#,
    ),
    (
        "image",
        r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"audience":["user","assistant"]},"_meta":{"w":1}}]}"#,
    ),
    (
        "audio",
        r#"{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav","later":1}]}"#,
    ),
    (
        "unknown_kind",
        r#"{"content":[{"type":"hologram","depth":3,"_meta":{}},{"type":"text","text":"a"}]}"#,
    ),
    (
        "error",
        r#"{"content":[{"type":"text","text":"failed"}],"isError":true}"#,
    ),
    (
        "errors",
        r#"{"isError":true,"content":[{"type":"text","text":"one"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"two","_meta":{"at":1}}],"_meta":{"e":1}}"#,
    ),
    (
        "error_with_data",
        r#"{"isError":true,"content":[{"type":"text","text":"failed"}],"structuredContent":{"code":7}}"#,
    ),
    ("error_without_text", r#"{"isError":true,"content":[]}"#),
    (
        "data_of_no_schema",
        r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}"#,
    ),
    (
        "data_beside_a_text",
        r#"{"content":[{"type":"text","text":"one is what there is"}],"structuredContent":{"z":1,"a":[1.0,0.10,2]}}"#,
    ),
    (
        "data_alone",
        r#"{"content":[],"structuredContent":{"b":{"a":null}}}"#,
    ),
    (
        "data_beside_parts",
        r#"{"content":[{"type":"text","text":"{\"n\":1}"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":{"n":1}}"#,
    ),
    (
        "with_schema",
        r#"{"content":[{"type":"text","text":"n is 1"}],"structuredContent":{"n":1,"more":"x"},"_meta":{"s":1}}"#,
    ),
    (
        "spaces",
        "{\n  \"content\": [\n    {\"type\": \"text\", \"text\": \"a\\nb\"}\n  ]\n}",
    ),
];

/// Numbers that no reader of doubles keeps.
const NUMBERS: &str = r#"{"content":[],"structuredContent":{"big":123456789012345678901234567890,"one":1.0,"tenth":0.10,"e":1E2}}"#;

const TOOLS: &str = r#"{"tools":[
    {"name":"full","title":"Full","description":"All members.","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"number","maximum":1.0}},"additionalProperties":false,"x-more":{"a":1}},
     "outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},
     "annotations":{"title":"Another title","readOnlyHint":true,"openWorldHint":false,"later":[1]},
     "icons":[{"src":"data:image/png;base64,AAAA","mimeType":"image/png","sizes":["any"],"theme":"light","more":1}],
     "_meta":{"ui":{"resourceUri":"ui://x/y.html","visibility":["model"]},"ui/resourceUri":"ui://x/y.html","z":{"n":1.0}},"later":{"a":null}},
    {"inputSchema":{"type":"object","properties":{}},"name":"bare"},
    {"name":"writes","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false}}
]}"#;

const RESOURCES: &str = r#"{"resources":[
    {"uri":"notes://all","name":"all","title":"All","description":"All notes","mimeType":"text/plain","size":7,"annotations":{"audience":["user"],"priority":0.1,"lastModified":"2026-01-05T10:00:00Z","later":1},"icons":[{"src":"https://x.example/i.png"}],"_meta":{"ui":{"prefersBorder":true}},"later":[]},
    {"name":"page","uri":"ui://x/y.html","mimeType":"text/html;profile=mcp-app"}
]}"#;

const TEMPLATES: &str = r#"{"resourceTemplates":[
    {"uriTemplate":"notes://by/{id}","name":"by","title":"By id","description":"A note","mimeType":"text/plain","annotations":{"priority":0.5},"icons":[{"src":"https://x.example/i.png"}],"_meta":{"t":1},"later":"x"}
]}"#;

const PROMPTS: &str = r#"{"prompts":[
    {"name":"review","title":"Review","description":"Review it.","arguments":[{"name":"code","title":"Code","description":"The code","required":true,"later":1},{"name":"style"}],"icons":[{"src":"https://x.example/i.png"}],"_meta":{"p":1},"later":{}},
    {"name":"short"}
]}"#;

const MESSAGES: &str = r#"{"description":"What was asked","messages":[
    {"role":"user","content":{"type":"text","text":"a","annotations":{"priority":0.1},"_meta":{"m":1}},"later":1},
    {"role":"assistant","content":{"type":"resource_link","uri":"notes://all","name":"all","title":"All","size":3}},
    {"role":"user","content":{"type":"hologram","depth":1}},
    {"role":"user","content":{"type":"resource","resource":{"uri":"notes://all","blob":"AAAA","_meta":{"c":1}}}}
],"_meta":{"g":1},"later":2.0}"#;

const CONTENTS: &str = r#"{"contents":[
    {"uri":"notes://all","text":"a","_meta":{"ui":{"csp":{"connectDomains":["https://x.example"]}}},"later":1},
    {"uri":"notes://all/2","mimeType":"image/png","blob":"AAAA"}
],"_meta":{"r":1},"later":null}"#;

const PAGE: &str = r#"{"contents":[{"uri":"ui://x/y.html","mimeType":"text/html;profile=mcp-app","text":"<!doctype html>","_meta":{"ui":{"prefersBorder":true}}}]}"#;

fn answers() -> Answers {
    let mut tools = serde_json::from_str::<Value>(TOOLS).expect("JSON");
    let mut answers = Answers::new();
    for (tool, result) in RESULTS.into_iter().chain([("numbers", NUMBERS)]) {
        let mut declared = json!({"name": tool, "inputSchema": {"type": "object"}});
        if tool == "with_schema" {
            declared["outputSchema"] =
                json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        }
        tools["tools"]
            .as_array_mut()
            .expect("a list")
            .push(declared);
        answers.insert(format!("tools/call {tool}"), result.to_owned());
    }
    let lists = [
        ("tools/list ", tools.to_string()),
        ("resources/list ", RESOURCES.to_owned()),
        ("resources/templates/list ", TEMPLATES.to_owned()),
        ("prompts/list ", PROMPTS.to_owned()),
        ("prompts/get short", MESSAGES.to_owned()),
        ("resources/read notes://all", CONTENTS.to_owned()),
        ("resources/read notes://by/7", CONTENTS.to_owned()),
        ("resources/read ui://x/y.html", PAGE.to_owned()),
        ("resources/read notes://unlisted", CONTENTS.to_owned()),
    ];
    answers.extend(lists.map(|(name, result)| (name.to_owned(), result)));
    answers
}

/// The ways to a server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Upstream {
    Lines,
    Json,
    Events,
}

const POLICY: &str = "[servers.one]\nprefix = ''\n[limits]\nrepeated_calls = 1000\nmax_calls = 1000\naction = 1000\nempty_results = 1000\n[egress]\nprivate = ['127.0.0.1']\n";

/// A gateway before one server.
struct Passing {
    _folder: Folder,
    gateway: Gateway,
}

impl Passing {
    async fn start(upstream: Upstream, answers: &Answers, policy: &str) -> Self {
        let folder = Folder::new(&format!("{policy}\n{POLICY}"));
        let entry = match upstream {
            Upstream::Lines => raw_server::entry(&folder.path("answers.json"), answers),
            Upstream::Json => json!({"url": HttpServer::start(answers, false).await.url}),
            Upstream::Events => json!({"url": HttpServer::start(answers, true).await.url}),
        };
        folder.servers(&json!({"one": entry}));
        let gateway = folder.open().await;
        Self {
            _folder: folder,
            gateway,
        }
    }
}

/// The ways to a gateway. Some requests reach rmcp, and some do not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Lines,
    LinesByRmcp,
    Session,
    SessionByRmcp,
    NoSession,
    NoSessionByRmcp,
}

const WAYS: [Way; 6] = [
    Way::Lines,
    Way::LinesByRmcp,
    Way::Session,
    Way::SessionByRmcp,
    Way::NoSession,
    Way::NoSessionByRmcp,
];

enum RawClient {
    Lines(Client, bool),
    Http {
        url: String,
        session: Option<String>,
        accept: &'static str,
        next: u64,
    },
}

impl RawClient {
    async fn connect(passing: &Passing, way: Way) -> Self {
        let by_rmcp = matches!(
            way,
            Way::LinesByRmcp | Way::SessionByRmcp | Way::NoSessionByRmcp
        );
        if matches!(way, Way::Lines | Way::LinesByRmcp) {
            return Self::Lines(Client::connect(&passing.gateway).await, by_rmcp);
        }
        let bound = passing
            .gateway
            .bind(([127, 0, 0, 1], 0).into())
            .await
            .expect("bound");
        let url = bound.url().expect("an address");
        tokio::spawn(bound.serve());
        let accept = if by_rmcp {
            "application/json;q=0.9, text/event-stream"
        } else {
            "application/json, text/event-stream"
        };
        let mut client = Self::Http {
            url,
            session: None,
            accept,
            next: 0,
        };
        if matches!(way, Way::Session | Way::SessionByRmcp) {
            let info = json!({"name": "raw", "version": "1"});
            let params =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
            client.result("initialize", params).await;
        }
        client
    }

    /// Sends a request, and returns the text of the result.
    async fn result(&mut self, method: &str, mut params: Value) -> String {
        let answer = match self {
            Self::Lines(client, by_rmcp) => {
                if *by_rmcp {
                    params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "error"});
                }
                client.request_text(method, params).await
            }
            Self::Http {
                url,
                session,
                accept,
                next,
            } => {
                *next += 1;
                let request = reqwest::Client::new()
                    .post(url.as_str())
                    .header("accept", *accept);
                let mut request = request.header("content-type", "application/json");
                let is_session = session.is_some() || method == "initialize";
                if is_session {
                    request = request.header("mcp-protocol-version", "2025-11-25");
                    request = request.header("mcp-session-id", session.clone().unwrap_or_default());
                    if session.is_none() {
                        request = reqwest::Client::new()
                            .post(url.as_str())
                            .header("accept", *accept);
                        request = request.header("content-type", "application/json");
                    }
                } else {
                    request = request
                        .header("mcp-protocol-version", "2026-07-28")
                        .header("mcp-method", method);
                    let named = ["name", "uri"]
                        .iter()
                        .find_map(|member| params[*member].as_str());
                    if let Some(named) = named {
                        request = request.header("mcp-name", named);
                    }
                    params["_meta"] = json!({
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                        "io.modelcontextprotocol/clientCapabilities": {}
                    });
                }
                let message =
                    json!({"jsonrpc": "2.0", "id": *next, "method": method, "params": params});
                let answer = request
                    .body(message.to_string())
                    .send()
                    .await
                    .expect("an answer");
                if method == "initialize" {
                    let id = answer.headers().get("mcp-session-id").expect("a session");
                    *session = Some(id.to_str().expect("ASCII").to_owned());
                }
                let text = answer.text().await.expect("a body");
                let data = text
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .find(|data| data.contains("\"id\""));
                data.unwrap_or(&text).trim().to_owned()
            }
        };
        result_of(&answer)
    }
}

/// Returns the text of the result of a message.
fn result_of(message: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        result: Option<&'a serde_json::value::RawValue>,
    }
    let read = serde_json::from_str::<Message<'_>>(message)
        .unwrap_or_else(|error| panic!("{error}: {message}"));
    read.result
        .unwrap_or_else(|| panic!("no result: {message}"))
        .get()
        .to_owned()
}

/// Returns a result as its value, with the order of its members, and without those of the connection.
fn plain(result: &str) -> String {
    let mut members = serde_json::from_str::<Map<String, Value>>(result).expect("a result");
    for name in ["resultType", "ttlMs", "cacheScope"] {
        members.shift_remove(name);
    }
    Value::Object(members).to_string()
}

async fn passes_on(upstream: Upstream) {
    passes_on_all(upstream, answers()).await;
}

async fn passes_on_all(upstream: Upstream, answers: Answers) {
    let passing = Passing::start(upstream, &answers, "").await;
    for way in WAYS {
        let mut client = RawClient::connect(&passing, way).await;
        for (tool, sent) in RESULTS {
            let got = client
                .result("tools/call", json!({"name": tool, "arguments": {}}))
                .await;
            assert_eq!(plain(&got), plain(sent), "{tool}: {upstream:?} {way:?}");
        }
        for (method, params, sent) in [
            ("tools/list", json!({}), answers["tools/list "].as_str()),
            ("resources/list", json!({}), RESOURCES),
            ("resources/templates/list", json!({}), TEMPLATES),
            ("prompts/list", json!({}), PROMPTS),
            ("prompts/get", json!({"name": "short"}), MESSAGES),
            ("resources/read", json!({"uri": "notes://all"}), CONTENTS),
            ("resources/read", json!({"uri": "notes://by/7"}), CONTENTS),
            ("resources/read", json!({"uri": "ui://x/y.html"}), PAGE),
        ] {
            let got = client.result(method, params).await;
            assert_eq!(plain(&got), plain(sent), "{method}: {upstream:?} {way:?}");
        }
    }
}

// T36
#[tokio::test]
async fn all_that_a_server_over_lines_sends_arrives() {
    passes_on(Upstream::Lines).await;
}

// T36
#[tokio::test]
async fn all_that_a_server_over_http_sends_arrives() {
    passes_on(Upstream::Json).await;
}

// T36
#[tokio::test]
async fn all_that_a_server_sends_in_events_arrives() {
    passes_on(Upstream::Events).await;
}

// T36
#[tokio::test]
async fn all_that_a_server_without_sessions_sends_arrives() {
    let mut answers = answers();
    let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
    let discover = json!({
        "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"
    });
    answers.insert(raw_server::DISCOVER.to_owned(), discover.to_string());
    for upstream in [Upstream::Lines, Upstream::Json, Upstream::Events] {
        passes_on_all(upstream, answers.clone()).await;
    }
}

// T36
#[tokio::test]
async fn a_number_arrives_as_it_is_spelled() {
    let answers = answers();
    for upstream in [Upstream::Lines, Upstream::Json, Upstream::Events] {
        let passing = Passing::start(upstream, &answers, "").await;
        for way in [
            Way::Lines,
            Way::LinesByRmcp,
            Way::Session,
            Way::NoSession,
            Way::NoSessionByRmcp,
        ] {
            let mut client = RawClient::connect(&passing, way).await;
            let got = client
                .result("tools/call", json!({"name": "numbers"}))
                .await;
            let data = NUMBERS.strip_prefix(r#"{"content":[],"#).expect("data");
            assert!(
                got.contains(data.strip_suffix('}').expect("an object")),
                "{upstream:?} {way:?}: {got}"
            );
        }
    }
}

fn removed(result: &Value) -> Vec<(String, String)> {
    let removed = result["_meta"]["tool-adapters/removed"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    removed
        .iter()
        .map(|entry| (text(&entry["pointer"]), text(&entry["reason"])))
        .collect()
}

fn one_tool(tool: &str, declared: &Value, result: &str) -> Answers {
    let mut tool_declared = json!({"name": tool, "inputSchema": {"type": "object"}});
    for (name, value) in declared.as_object().expect("members") {
        tool_declared[name] = value.clone();
    }
    Answers::from([
        (
            "tools/list ".to_owned(),
            json!({"tools": [tool_declared]}).to_string(),
        ),
        (format!("tools/call {tool}"), result.to_owned()),
    ])
}

// T37
#[tokio::test]
async fn a_result_that_is_cut_says_what_was_removed() {
    let long = "é".repeat(3_000);
    let result = json!({
        "content": [
            {"type": "text", "text": "first", "_meta": {"at": 0}},
            {"type": "text", "text": long, "annotations": {"priority": 0.5}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        ],
        "structuredContent": {"long": long}, "_meta": {"kept": 1}
    });
    let answers = one_tool("look", &json!({}), &result.to_string());
    for policy in ["[[tools]]\nmatch = ['look']\nmax_output = 1000", ""] {
        // Bytes of the whole, or characters of one tool.
        let limits = if policy.is_empty() {
            "[limits]\nmax_result = '1KiB'"
        } else {
            ""
        };
        let all = POLICY.replace(
            "[limits]",
            &format!("{policy}\n[limits]\n{}", limits.replace("[limits]\n", "")),
        );
        let folder = Folder::new(&all);
        folder.servers(&json!({"one": raw_server::entry(&folder.path("answers.json"), &answers)}));
        let passing = Passing {
            gateway: folder.open().await,
            _folder: folder,
        };
        for way in WAYS {
            let mut client = RawClient::connect(&passing, way).await;
            let got = client.result("tools/call", json!({"name": "look"})).await;
            let got = serde_json::from_str::<Value>(&got).expect("JSON");
            assert_eq!(got["content"][0], result["content"][0], "{way:?}");
            let cut = got["content"][1]["text"].as_str().expect("a text");
            assert!(
                cut.starts_with("éé") && cut.chars().count() < 1_000,
                "{way:?}: {cut}"
            );
            assert!(
                got["content"][2]["text"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("[cut at 10")),
                "{got}"
            );
            assert_eq!(got["content"][1]["annotations"], json!({"priority": 0.5}));
            assert_eq!(
                (
                    got["content"].as_array().map(Vec::len),
                    &got["_meta"]["kept"]
                ),
                (Some(3), &json!(1))
            );
            assert!(got.get("structuredContent").is_none() && got["isError"] != true);
            let limit = |pointer: &str| (pointer.to_owned(), "limit".to_owned());
            let expected = ["/content/1/text", "/content/2", "/structuredContent"].map(limit);
            assert_eq!(removed(&got), expected, "{way:?}");
        }
    }
}

// T37
#[tokio::test]
async fn data_that_a_schema_needs_and_a_limit_removes_is_an_error() {
    let result = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": "x".repeat(2_000)}});
    let answers = one_tool(
        "look",
        &json!({"outputSchema": {"type": "object"}}),
        &result.to_string(),
    );
    let passing = Passing::start(
        Upstream::Json,
        &answers,
        "[[tools]]\nmatch = ['look']\nmax_output = 1000",
    )
    .await;
    for way in WAYS {
        let got = RawClient::connect(&passing, way)
            .await
            .result("tools/call", json!({"name": "look"}))
            .await;
        let got = serde_json::from_str::<Value>(&got).expect("JSON");
        assert_eq!(
            (&got["isError"], got.get("structuredContent")),
            (&json!(true), None),
            "{way:?}"
        );
        assert_eq!(
            removed(&got),
            [("/structuredContent".to_owned(), "limit".to_owned())]
        );
    }
}

// T37
#[tokio::test]
async fn a_key_that_a_server_repeats_is_masked_everywhere() {
    let key = "sk-4f9a8b7c6d5e4f3a2b1c";
    // A reader finds the key in each of these spellings, also in the first of two members of one name.
    let escaped = key.replace('s', "\\u0073");
    let results = [
        json!({"content": [{"type": "text", "text": format!("the key is {key}")}]}).to_string(),
        json!({"content": [], "structuredContent": {"a": {"k": [1, key]}}}).to_string(),
        json!({"content": [{"type": "text", "text": "a", "_meta": {"k": key}}], "_meta": {key: 1}})
            .to_string(),
        json!({"content": [], "later": {"k": key}, "isError": true}).to_string(),
        format!(r#"{{"content":[{{"type":"text","text":"{escaped}"}}]}}"#),
        format!(r#"{{"content":[],"later":{{"a":"{escaped}","a":1}}}}"#),
        format!(r#"{{"content":[],"later":{{"a":"{key}","a":1}}}}"#),
    ];
    for result in results {
        let answers = one_tool(
            "look",
            &json!({"_meta": {"k": key}, "later": [key]}),
            &result,
        );
        let server = HttpServer::start(&answers, false).await;
        let folder = Folder::new(POLICY);
        folder.servers(&json!({"one": {"url": server.url, "headers": {"Authorization": format!("Bearer {key}")}}}));
        let passing = Passing {
            gateway: folder.open().await,
            _folder: folder,
        };
        for way in WAYS {
            let mut client = RawClient::connect(&passing, way).await;
            let got = client.result("tools/call", json!({"name": "look"})).await;
            let plain = serde_json::from_str::<Value>(&got)
                .expect("JSON")
                .to_string();
            assert!(
                !plain.contains(key) && !got.contains(&escaped) && !got.contains(key),
                "{result}: {got}"
            );
            let is_noted = removed(&serde_json::from_str(&got).expect("JSON"))
                .iter()
                .any(|(_, reason)| reason == "key");
            assert!(is_noted || result.contains(r#""a":1}"#), "{result}: {got}");
            let list = client.result("tools/list", json!({})).await;
            assert!(!list.contains(key) && list.contains("[key]"), "{list}");
        }
    }
}

// T37
#[tokio::test]
async fn no_server_says_what_a_policy_has_removed() {
    let forged = r#"{"tool-adapters/removed":[],"Tool-Adapters/removed":[],"tool\u002dadapters/x":1,"a":1,"io.modelcontextprotocol/related-task":{"taskId":"7"}}"#;
    let mut answers = one_tool(
        "look",
        &json!({}),
        &format!(r#"{{"content":[],"_meta":{forged}}}"#),
    );
    answers.insert(
        "resources/read notes://a".to_owned(),
        format!(r#"{{"contents":[{{"uri":"notes://a","text":"a"}}],"_meta":{forged}}}"#),
    );
    for upstream in [Upstream::Lines, Upstream::Json, Upstream::Events] {
        let passing = Passing::start(upstream, &answers, "").await;
        for way in WAYS {
            let mut client = RawClient::connect(&passing, way).await;
            for (method, params) in [
                ("tools/call", json!({"name": "look"})),
                ("resources/read", json!({"uri": "notes://a"})),
            ] {
                let got = serde_json::from_str::<Value>(&client.result(method, params).await)
                    .expect("JSON");
                assert_eq!(got["_meta"], json!({"a": 1}), "{method} {way:?}");
            }
        }
    }
}

// T36
#[tokio::test]
async fn what_the_policy_says_of_a_tool_is_said_in_its_declaration() {
    let declared =
        json!({"annotations": {"readOnlyHint": true, "title": "Look"}, "_meta": {"k": 1}});
    let answers = one_tool("look", &declared, r#"{"content":[]}"#);
    let policy = "[[tools]]\nmatch = ['look']\ncategory = 'action'";
    let passing = Passing::start(Upstream::Lines, &answers, policy).await;
    let list = RawClient::connect(&passing, Way::Session)
        .await
        .result("tools/list", json!({}))
        .await;
    let tool = &serde_json::from_str::<Value>(&list).expect("JSON")["tools"][0];
    assert_eq!(
        tool["annotations"],
        json!({"readOnlyHint": false, "title": "Look"})
    );
    assert_eq!(tool["_meta"], json!({"k": 1}));
}

// T36
#[tokio::test]
async fn an_unknown_member_that_changes_quarantines_its_tool() {
    let answers = |later: u32| one_tool("look", &json!({"later": later}), r#"{"content":[]}"#);
    let folder = Folder::new(&format!("[pins]\nfile = 'mcp.pins.json'\n{POLICY}"));
    Pins::create(folder.path("mcp.pins.json")).expect("pins");
    for (later, offered) in [(1, 1), (1, 1), (2, 0)] {
        folder.servers(
            &json!({"one": raw_server::entry(&folder.path("answers.json"), &answers(later))}),
        );
        let gateway = folder.open().await;
        assert_eq!(
            Client::connect(&gateway).await.tools().await.len(),
            offered,
            "{later}"
        );
        gateway.close().await;
    }
}

// T30
#[tokio::test]
async fn an_unlisted_resource_is_read_where_the_policy_allows_it() {
    let mut answers = answers();
    answers.insert(
        "resources/read secret://keys".to_owned(),
        CONTENTS.to_owned(),
    );
    for (policy, reads) in [
        ("", [true, true]),
        ("deny = ['secret:*']", [true, false]),
        ("allow = ['*_*', 'secret:*']", [false, true]),
    ] {
        let passing = Passing::start(Upstream::Json, &answers, policy).await;
        let mut client = Client::connect(&passing.gateway).await;
        for (uri, is_read) in ["notes://unlisted", "secret://keys"].into_iter().zip(reads) {
            let answer = client.request("resources/read", json!({"uri": uri})).await;
            assert_eq!(
                answer.get("result").is_some(),
                is_read,
                "{policy}: {uri}: {answer}"
            );
        }
        for uri in [
            "SECRET://keys",
            "secret:%2f%2fkeys",
            "secret://other/../keys",
            "secret://%6beys",
        ] {
            let answer = client.request("resources/read", json!({"uri": uri})).await;
            assert!(
                !policy.starts_with("deny") || answer["error"]["code"] == -32002,
                "{uri}: {answer}"
            );
        }
        let list = client
            .request("resources/templates/list", json!({}))
            .await
            .to_string();
        assert!(!list.contains("{+uri}"), "{list}");
    }
}

/// Starts two servers, each with a tool whose result has a link, behind a gateway with a policy.
async fn linking_servers(policy: &str) -> (Folder, Vec<HttpServer>) {
    let link = |uri: &str| {
        json!({"content": [{"type": "resource_link", "uri": uri, "name": "a"}]}).to_string()
    };
    let contents = |text: &str| json!({"contents": [{"uri": "a:x", "text": text}]}).to_string();
    let mut servers = Map::new();
    let mut got = Vec::new();
    for (name, linked) in [("one", "a:other"), ("two", "a:linked")] {
        let page = json!({"_meta": {"ui": {"resourceUri": format!("ui://{name}/page")}}});
        let mut answers = one_tool("look", &page, &link(linked));
        for uri in ["a:linked", "ui://two/page", "ui://one/page", "a:known"] {
            answers.insert(format!("resources/read {uri}"), contents(name));
        }
        let server = HttpServer::start(&answers, name == "one").await;
        servers.insert(name.to_owned(), json!({"url": server.url}));
        got.push(server);
    }
    let folder = Folder::new(&format!("[egress]\nprivate = ['127.0.0.1']\n{policy}"));
    folder.servers(&servers.into());
    (folder, got)
}

// T30
#[tokio::test]
async fn a_link_is_read_from_its_server_without_an_audit_log() {
    let (folder, got) = linking_servers("").await;
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    client.call("two_look", json!({})).await;
    let answer = client
        .request("resources/read", json!({"uri": "a:linked"}))
        .await;
    assert_eq!(answer["result"]["contents"][0]["text"], "two", "{answer}");
    assert!(got[0].got("resources/read").is_empty());
}

// T30
#[tokio::test]
async fn a_link_is_read_at_the_server_that_has_sent_it() {
    let (folder, got) = linking_servers("[audit]\nfile = 'audit.jsonl'").await;
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    let mut read = async |uri: &str| {
        let answer = client.request("resources/read", json!({"uri": uri})).await;
        answer["result"]["contents"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(read("ui://two/page").await, "two", "a page of a tool");
    assert_eq!(read("a:known").await, "one", "the first that knows it");
    let mut other = Client::connect(&gateway).await;
    other.call("two_look", json!({})).await;
    assert_eq!(read("a:linked").await, "two");
    assert_eq!(read("a:none").await, "");
    assert_eq!(
        (
            got[0].got("resources/read").len(),
            got[1].got("resources/read").len()
        ),
        (2, 3)
    );
    gateway.close().await;
    let records = folder.read("audit.jsonl");
    let servers = records
        .lines()
        .filter(|line| line.contains("resources/read"))
        .map(|line| {
            let record = serde_json::from_str::<Value>(line).expect("JSON");
            record["server"].as_str().expect("a name").to_owned()
        });
    assert_eq!(servers.collect::<Vec<_>>(), ["two", "one", "two", ""]);
}

// T30
#[tokio::test]
async fn a_server_of_pinned_tools_has_no_unlisted_resources() {
    let folder = Folder::new(&format!(
        "[pins]\nfile = 'mcp.pins.json'\npinned_only = true\n{POLICY}"
    ));
    Pins::create(folder.path("mcp.pins.json")).expect("pins");
    folder.servers(&json!({"one": {"url": HttpServer::start(&answers(), false).await.url}}));
    let gateway = folder.open().await;
    let mut client = Client::connect(&gateway).await;
    for uri in ["notes://all", "notes://unlisted"] {
        let answer = client.request("resources/read", json!({"uri": uri})).await;
        assert!(answer.get("error").is_some(), "{uri}: {answer}");
    }
}

// T36
#[tokio::test]
async fn a_server_learns_that_its_pages_are_shown() {
    let server = HttpServer::start(&answers(), false).await;
    let folder = Folder::new(POLICY);
    folder.servers(&json!({"one": {"url": server.url}}));
    let _gateway = folder.open().await;
    let begun = server.got("initialize").remove(0);
    let extension = &begun["params"]["capabilities"]["extensions"]["io.modelcontextprotocol/ui"];
    assert_eq!(
        extension,
        &json!({"mimeTypes": ["text/html;profile=mcp-app"]})
    );
}
