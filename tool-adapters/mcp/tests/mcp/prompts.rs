//! Prompts, resources and completion of a server.

#![allow(
    clippy::unused_self,
    clippy::unused_async,
    reason = "the forms of methods are what is tested"
)]

use super::support::{LineClient, server, stateless, until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tool_adapters::mcp::{ResourceUpdate, Server};
use tool_core::session::{Hook, HookFuture, HookedRequest};
use tool_core::text::hex;
use tool_core::tool::{
    CompletionRequest, PromptMessage, Resource, ResourceContents, ResourceDefinition,
    ResourceRequest,
};
use tool_core::{
    Content, FunctionTool, RawTool, RunContext, Runtime, ToolContext, ToolError, tool_type, toolset,
};

/// The tone of a text.
#[tool_type]
enum Tone {
    Formal,
    Friendly,
}

struct Letters;

#[toolset(discover = false)]
impl Letters {
    /// Write a letter.
    #[prompt(title = "Letter")]
    fn letter(
        &self,
        /// The reader
        #[arg(complete = Self::readers)]
        to: &str,
        tone: Option<Tone>,
        #[arg(default = 1, range(1..=3))] pages: u8,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        let tone = tone.map_or("plain", |tone| {
            if matches!(tone, Tone::Formal) {
                "formal"
            } else {
                "friendly"
            }
        });
        if to.is_empty() {
            return Err(ToolError::internal("canary-of-an-error"));
        }
        Ok(vec![
            PromptMessage::user(format!("{tone} letter to {to}, {pages} pages")),
            PromptMessage::assistant("Dear"),
        ])
    }

    async fn readers(&self, request: &CompletionRequest) -> Result<Vec<String>, ToolError> {
        if request.value == "!" {
            return Err(ToolError::permanent("no reader is called so"));
        }
        Ok((0..150)
            .map(|number| format!("{}{number}", request.value))
            .collect())
    }

    /// The address book.
    #[resource(uri = "letters://book", mime = "text/csv", title = "Addresses")]
    fn book(&self) -> &'static str {
        "Ada,London"
    }

    /// A stamp.
    #[resource(uri = "letters://stamps/{name}")]
    fn stamp(&self, name: &str) -> Result<Content, ToolError> {
        if name == "none" {
            Err(ToolError::not_found("no such stamp"))
        } else {
            Ok(Content::image("aGk=", "image/png"))
        }
    }
}

pub(crate) fn letters() -> Server {
    Server::from_tools(ToolContext::builder().with(Letters).build().expect("sound"))
        .expect("a server")
}

async fn initialized(server: &Server) -> LineClient {
    LineClient::initialized(server, json!({})).await
}

#[tokio::test]
async fn declares_only_what_the_tools_need() {
    let capabilities = async |server: &Server| {
        let mut client = LineClient::connect(server);
        let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.request(json!(0), "initialize", begin).await["result"]["capabilities"].clone()
    };
    assert_eq!(
        capabilities(&server()).await,
        json!({"logging": {}, "tools": {}})
    );
    let all = json!({
        "logging": {}, "tools": {}, "completions": {}, "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true}
    });
    assert_eq!(capabilities(&letters()).await, all);
}

#[tokio::test]
async fn lists_prompts_with_their_arguments() {
    let mut client = initialized(&letters()).await;
    let listed = client.request(json!(1), "prompts/list", json!({})).await;
    let expected = json!({"prompts": [{
        "name": "letter", "title": "Letter", "description": "Write a letter.",
        "arguments": [
            {"name": "to", "description": "The reader", "required": true},
            {"name": "tone", "required": false}, {"name": "pages", "required": false}
        ]
    }]});
    assert_eq!(listed["result"], expected);
}

#[tokio::test]
async fn gets_a_prompt_with_texts_as_values_of_types() {
    let mut client = initialized(&letters()).await;
    let params =
        json!({"name": "letter", "arguments": {"to": "Ada", "tone": "Formal", "pages": "2"}});
    let got = client.request(json!(1), "prompts/get", params).await;
    let expected = json!({"description": "Write a letter.", "messages": [
        {"role": "user", "content": {"type": "text", "text": "formal letter to Ada, 2 pages"}},
        {"role": "assistant", "content": {"type": "text", "text": "Dear"}}
    ]});
    assert_eq!(got["result"], expected);
}

#[tokio::test]
async fn refused_prompts_are_errors_of_the_protocol() {
    let mut client = initialized(&letters()).await;
    let cases = [
        (json!({"name": "x"}), -32602, "there is no prompt `x`"),
        (
            json!({"name": "letter"}),
            -32602,
            "expected the arguments `to`, got none of these",
        ),
        (
            json!({"name": "letter", "arguments": {"to": "A", "pages": "7"}}),
            -32602,
            "/pages",
        ),
        (
            json!({"name": "letter", "arguments": {"to": "A", "tone": "rude"}}),
            -32602,
            "/tone",
        ),
        (
            json!({"name": "letter", "arguments": {"to": 7}}),
            -32602,
            "an object of strings",
        ),
        (
            json!({"name": "letter", "arguments": {"to": ""}}),
            -32603,
            "An internal error occurred",
        ),
    ];
    for (params, code, message) in cases {
        let answer = client.request(json!(1), "prompts/get", params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains(message)),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn lists_resources_and_templates_apart() {
    let mut client = initialized(&letters()).await;
    let listed = client.request(json!(1), "resources/list", json!({})).await;
    let book = json!({
        "uri": "letters://book", "name": "book", "title": "Addresses", "description": "The address book.",
        "mimeType": "text/csv"
    });
    assert_eq!(listed["result"], json!({"resources": [book]}));
    let listed = client
        .request(json!(2), "resources/templates/list", json!({}))
        .await;
    let stamp = json!({"uriTemplate": "letters://stamps/{name}", "name": "stamp", "description": "A stamp."});
    assert_eq!(listed["result"], json!({"resourceTemplates": [stamp]}));
}

#[tokio::test]
async fn reads_texts_and_bytes() {
    let mut client = initialized(&letters()).await;
    let read = client
        .request(json!(1), "resources/read", json!({"uri": "letters://book"}))
        .await;
    let text = json!({"uri": "letters://book", "mimeType": "text/csv", "text": "Ada,London"});
    assert_eq!(read["result"], json!({"contents": [text]}));
    let read = client
        .request(
            json!(2),
            "resources/read",
            json!({"uri": "letters://stamps/queen"}),
        )
        .await;
    let blob = json!({"uri": "letters://stamps/queen", "mimeType": "image/png", "blob": "aGk="});
    assert_eq!(read["result"], json!({"contents": [blob]}));
}

#[tokio::test]
async fn unknown_resource_has_the_code_of_its_revision() {
    for uri in ["letters://none", "letters://stamps/none", "nothing"] {
        let mut client = initialized(&letters()).await;
        let answer = client
            .request(json!(1), "resources/read", json!({"uri": uri}))
            .await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["uri"]),
            (&json!(-32002), &json!(uri))
        );
        let mut client = LineClient::connect(&letters());
        let params = json!({"uri": uri, "_meta": stateless(&json!({}))});
        let answer = client.request(json!(1), "resources/read", params).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["uri"]),
            (&json!(-32602), &json!(uri))
        );
    }
}

#[tokio::test]
async fn completes_by_functions_and_by_types() {
    let mut client = initialized(&letters()).await;
    let mut complete = async |argument: &str, value: &str| {
        let reference = json!({"type": "ref/prompt", "name": "letter"});
        let params = json!({"ref": reference, "argument": {"name": argument, "value": value}});
        client
            .request(json!(1), "completion/complete", params)
            .await
    };
    let readers = &complete("to", "Bo").await["result"]["completion"];
    assert_eq!(
        (&readers["total"], &readers["hasMore"]),
        (&json!(150), &json!(true))
    );
    assert_eq!(
        (
            readers["values"].as_array().map(Vec::len),
            &readers["values"][3]
        ),
        (Some(100), &json!("Bo3"))
    );
    let tones = complete("tone", "f").await;
    let expected = json!({"values": ["Formal", "Friendly"], "total": 2, "hasMore": false});
    assert_eq!(tones["result"]["completion"], expected);
    assert_eq!(
        complete("pages", "").await["result"]["completion"]["values"],
        json!([])
    );
    assert_eq!(
        complete("to", "!").await["error"]["message"],
        "no reader is called so"
    );
    assert_eq!(complete("x", "").await["error"]["code"], -32602);
}

#[tokio::test]
async fn malformed_requests_are_invalid_parameters() {
    let mut client = initialized(&letters()).await;
    let cases = [
        ("prompts/get", json!({})),
        ("prompts/list", json!({"cursor": 7})),
        ("prompts/list", json!({"cursor": "7"})),
        ("resources/list", json!({"cursor": "x"})),
        ("resources/templates/list", json!({"cursor": "-1"})),
        ("resources/read", json!({"uri": 7})),
        ("resources/subscribe", json!({})),
        (
            "completion/complete",
            json!({"argument": {"name": "to", "value": ""}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/x"}, "argument": {"name": "to", "value": ""}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "letter"}, "argument": {"name": "to"}}),
        ),
    ];
    for (method, params) in cases {
        let answer = client.request(json!(1), method, params.clone()).await;
        assert_eq!(
            answer["error"]["code"], -32602,
            "{method} {params}: {answer}"
        );
    }
}

#[tokio::test]
async fn lists_many_resources_in_pages() {
    let mut builder = ToolContext::builder();
    for at in 0..2_500 {
        let definition = ResourceDefinition::new(&format!("n://{at}"), "n").expect("a URI");
        builder = builder.with_resource(Resource::new(
            definition,
            async |_: ResourceRequest, _: RunContext| Ok(vec![ResourceContents::text("")]),
        ));
    }
    let server = Server::from_tools(builder.build().expect("sound")).expect("a server");
    let (mut client, mut seen, mut params) = (initialized(&server).await, 0, json!({}));
    loop {
        let page = client.request(json!(1), "resources/list", params).await;
        seen += page["result"]["resources"].as_array().map_or(0, Vec::len);
        match &page["result"]["nextCursor"] {
            Value::Null => break,
            cursor => params = json!({"cursor": cursor}),
        }
    }
    assert_eq!(seen, 2_500);
}

fn guided() -> ToolContext {
    async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(arguments)
    }
    let declared = RawTool {
        name: "a/b".to_owned(),
        description: "Echo.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    let tool = FunctionTool::raw(declared, echo).guide("# Echo\n\nRepeats all.\n");
    ToolContext::builder().with(tool).build().expect("sound")
}

#[tokio::test]
async fn guides_are_prompts_and_skills() {
    let server = Server::from_tools(guided()).expect("a server");
    let mut client = initialized(&server).await;
    let prompts = client.request(json!(1), "prompts/list", json!({})).await;
    let prompt =
        json!({"name": "a/b_guide", "title": "Guide of a/b", "description": "Repeats all."});
    assert_eq!(prompts["result"]["prompts"], json!([prompt]));
    let got = client
        .request(json!(2), "prompts/get", json!({"name": "a/b_guide"}))
        .await;
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "# Echo\n\nRepeats all.\n"
    );

    let resources = client.request(json!(3), "resources/list", json!({})).await;
    let (uri, file) = (
        "skill://a-b/SKILL.md",
        "---\nname: \"a-b\"\ndescription: \"Repeats all.\"\n---\n\n# Echo\n\nRepeats all.\n",
    );
    let resource = json!({
        "uri": uri, "name": "a-b", "title": "Guide of a/b", "description": "Repeats all.", "mimeType": "text/markdown",
        "size": file.len()
    });
    assert_eq!(resources["result"]["resources"], json!([resource]));
    let read = client
        .request(json!(4), "resources/read", json!({"uri": uri}))
        .await;
    assert_eq!(
        read["result"]["contents"],
        json!([{"uri": uri, "mimeType": "text/markdown", "text": file}])
    );

    let digest = format!("sha256:{}", hex(&Sha256::digest(file)));
    let skill = json!({
        "uri": uri, "frontmatter": {"name": "a-b", "description": "Repeats all."},
        "resources": [{"uri": uri, "digest": digest, "size": file.len()}]
    });
    let skills = client.request(json!(5), "skills/list", json!({})).await;
    assert_eq!(skills["result"], json!({"skills": [skill]}));
    let got = client
        .request(json!(6), "skills/get", json!({"uri": uri}))
        .await;
    assert_eq!(got["result"], json!({"skill": skill}));
    for uri in [json!("skill://b/SKILL.md"), json!("x"), json!(7)] {
        let unknown = client
            .request(json!(7), "skills/get", json!({"uri": uri}))
            .await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
}

#[tokio::test]
async fn tools_with_like_names_have_skills_of_their_own() {
    async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(arguments)
    }
    let mut builder = ToolContext::builder();
    for name in ["a_b", "a-b", "a-b-2"] {
        let declared = RawTool {
            name: name.to_owned(),
            description: "Echo.".to_owned(),
            parameters: json!({"type": "object"}),
        };
        builder =
            builder.with(FunctionTool::raw(declared, echo).guide(&format!("# {name}\n\nEcho.\n")));
    }
    let server = Server::from_tools(builder.build().expect("sound")).expect("a server");
    let mut client = initialized(&server).await;
    let skills =
        client.request(json!(1), "skills/list", json!({})).await["result"]["skills"].clone();
    let names = skills
        .as_array()
        .expect("skills")
        .iter()
        .map(|skill| skill["frontmatter"]["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["a-b", "a-b-2", "a-b-2-2"]);
    for (skill, name) in skills
        .as_array()
        .expect("skills")
        .iter()
        .zip(["a_b", "a-b", "a-b-2"])
    {
        let read = client
            .request(json!(2), "resources/read", json!({"uri": skill["uri"]}))
            .await;
        let text = read["result"]["contents"][0]["text"]
            .as_str()
            .expect("a text");
        assert!(text.ends_with(&format!("# {name}\n\nEcho.\n")), "{text}");
    }
}

#[tokio::test]
async fn guides_can_be_turned_off() {
    let server = Server::from_tools(guided())
        .expect("a server")
        .guides(false);
    let mut client = initialized(&server).await;
    for method in [
        "prompts/list",
        "resources/list",
        "resources/read",
        "prompts/get",
        "skills/list",
        "skills/get",
    ] {
        let answer = client
            .request(
                json!(1),
                method,
                json!({"uri": "skill://a-b/SKILL.md", "name": "a/b_guide"}),
            )
            .await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}

#[tokio::test]
async fn subscribed_client_gets_updates_of_its_resources() {
    let server = letters();
    let (mut client, changes) = (initialized(&server).await, server.changes());
    let answer = client
        .request(
            json!(1),
            "resources/subscribe",
            json!({"uri": "letters://nothing"}),
        )
        .await;
    assert_eq!(answer["error"]["data"]["uri"], "letters://nothing");
    client
        .request(
            json!(2),
            "resources/subscribe",
            json!({"uri": "letters://book"}),
        )
        .await;
    client
        .request(
            json!(3),
            "resources/subscribe",
            json!({"uri": "letters://stamps/a"}),
        )
        .await;
    client
        .request(
            json!(4),
            "resources/unsubscribe",
            json!({"uri": "letters://book"}),
        )
        .await;
    changes.resource_updated("letters://book");
    changes.resource_updated("letters://stamps/b");
    changes.resource_updated("letters://stamps/a");
    changes.prompts_changed();
    changes.resources_changed();
    let update = client.receive().await;
    assert_eq!(
        (&update["method"], &update["params"]["uri"]),
        (
            &json!("notifications/resources/updated"),
            &json!("letters://stamps/a")
        )
    );
    assert_eq!(
        client.receive().await["method"],
        "notifications/prompts/list_changed"
    );
    assert_eq!(
        client.receive().await["method"],
        "notifications/resources/list_changed"
    );
}

#[tokio::test]
async fn slow_client_does_not_hold_up_reports() {
    let server = letters();
    let (mut client, changes) = (initialized(&server).await, server.changes());
    client
        .request(
            json!(1),
            "resources/subscribe",
            json!({"uri": "letters://book"}),
        )
        .await;
    for at in 0..100_000 {
        changes.resource_updated("letters://book");
        if at % 1_000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // It has missed some, and is told that all has changed.
    let mut received = 0;
    while client.receive().await["method"] != "notifications/resources/list_changed" {
        received += 1;
    }
    assert!(received < 5_000, "{received}");
}

#[tokio::test]
async fn subscriptions_of_a_session_are_bounded() {
    let mut client = initialized(&letters()).await;
    for number in 0..256 {
        let uri = format!("letters://stamps/{number}");
        assert_eq!(
            client
                .request(json!(1), "resources/subscribe", json!({"uri": uri}))
                .await["result"],
            json!({})
        );
    }
    let again = client
        .request(
            json!(1),
            "resources/subscribe",
            json!({"uri": "letters://stamps/0"}),
        )
        .await;
    assert_eq!(again["result"], json!({}));
    let more = client
        .request(
            json!(1),
            "resources/subscribe",
            json!({"uri": "letters://book"}),
        )
        .await;
    assert_eq!(more["error"]["code"], -32600, "{more}");
}

/// Opens a stream of changes and returns its acknowledgment.
async fn listen(client: &mut LineClient, id: i32, filter: Value) -> Value {
    let params = json!({"notifications": filter, "_meta": stateless(&json!({}))});
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})).await;
    client.receive().await
}

#[tokio::test]
async fn stream_of_changes_carries_what_was_asked_for() {
    let server = letters();
    let (mut client, changes) = (LineClient::connect(&server), server.changes());
    let filter = json!({"promptsListChanged": true, "toolsListChanged": true, "resourceSubscriptions": ["letters://book"]});
    let acknowledged = listen(&mut client, 1, filter).await;
    assert_eq!(
        acknowledged["method"], "notifications/subscriptions/acknowledged",
        "{acknowledged}"
    );
    let accepted = json!({"promptsListChanged": true, "resourceSubscriptions": ["letters://book"]});
    assert_eq!(acknowledged["params"]["notifications"], accepted);
    // The stream is open once it has been acknowledged, and listens a moment later.
    until(async || {
        changes.resources_changed();
        changes.resource_updated("letters://stamps/a");
        changes.prompts_changed();
        let received = client.receive().await;
        assert_eq!(
            received["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            1
        );
        received["method"] == "notifications/prompts/list_changed"
    })
    .await;
}

// T26
#[tokio::test]
async fn a_stream_accepts_only_resources_that_are_known() {
    let mut client = LineClient::connect(&letters());
    let long = format!("letters://stamps/{}", "a".repeat(3_000));
    let uris = ["letters://none", "letters://stamps/a", &long];
    let acknowledged = listen(&mut client, 1, json!({"resourceSubscriptions": uris})).await;
    let accepted = json!({"resourceSubscriptions": ["letters://stamps/a"]});
    assert_eq!(acknowledged["params"]["notifications"], accepted);
}

/// Refuses the requests for stamps.
struct WithoutStamps;

impl Hook for WithoutStamps {
    fn around_request<'a>(
        &'a self,
        request: &'a HookedRequest<'a>,
        next: HookFuture<'a, Result<(), ToolError>>,
    ) -> HookFuture<'a, Result<(), ToolError>> {
        if request.name.starts_with("letters://stamps") {
            return Box::pin(async { Err(ToolError::auth("not that")) });
        }
        next
    }
}

// T26
#[tokio::test]
async fn a_refused_resource_leaves_the_rest_of_a_stream() {
    let tools = ToolContext::builder().with(Letters).build().expect("tools");
    let runtime = Runtime::builder(tools).hook(WithoutStamps).build();
    let server = Server::new(runtime.expect("a runtime"));
    let mut client = LineClient::connect(&server);
    let uris = ["letters://stamps/a", "letters://book"];
    let filter = json!({"promptsListChanged": true, "resourceSubscriptions": uris});
    listen(&mut client, 1, filter).await;
    let changes = server.changes();
    // The stream is open once it has been acknowledged, and listens a moment later.
    until(async || {
        changes.resource_updated("letters://stamps/a");
        changes.resource_updated("letters://book");
        changes.prompts_changed();
        let uris = updated(&mut client).await;
        assert!(!uris.contains(&json!("letters://stamps/a")), "{uris:?}");
        uris.contains(&json!("letters://book"))
    })
    .await;
}

#[tokio::test]
async fn the_length_of_a_subscribed_uri_is_bounded() {
    let mut client = initialized(&letters()).await;
    for (length, is_known) in [(1_000, true), (3_000, false)] {
        let uri = format!("letters://stamps/{}", "a".repeat(length));
        let answer = client
            .request(json!(1), "resources/subscribe", json!({"uri": uri}))
            .await;
        assert_eq!(answer.get("error").is_none(), is_known, "{answer}");
    }
}

/// Returns a resource that is hidden if `hides` is true.
fn noted(uri: &str, hides: bool) -> Resource {
    let definition = ResourceDefinition::new(uri, "note").expect("a resource");
    let read = async |_: ResourceRequest, _: RunContext| Ok(vec![ResourceContents::text("a note")]);
    Resource::new(definition, read).dynamic(move |_| !hides)
}

/// Returns the URIs of the updates that come before a change of the prompts.
async fn updated(client: &mut LineClient) -> Vec<Value> {
    let mut uris = Vec::new();
    loop {
        let received = client.receive().await;
        match received["method"].as_str() {
            Some("notifications/resources/updated") => uris.push(received["params"]["uri"].clone()),
            Some("notifications/prompts/list_changed") => return uris,
            _ => {}
        }
    }
}

// T26
#[tokio::test]
async fn a_stream_carries_no_update_of_a_hidden_resource() {
    let tools = ToolContext::builder()
        .with(Letters)
        .with_resource(noted("notes://hidden", true));
    let server = Server::from_tools(tools.build().expect("tools")).expect("a server");
    let mut client = LineClient::connect(&server);
    let uris = ["notes://hidden", "letters://book"];
    let filter = json!({"promptsListChanged": true, "resourceSubscriptions": uris});
    listen(&mut client, 1, filter).await;
    let changes = server.changes();
    // The stream is open once it has been acknowledged, and listens a moment later.
    until(async || {
        changes.resource_updated("notes://hidden");
        changes.resource_updated("letters://book");
        changes.prompts_changed();
        let uris = updated(&mut client).await;
        assert!(!uris.contains(&json!("notes://hidden")), "{uris:?}");
        uris.contains(&json!("letters://book"))
    })
    .await;
}

// T26
#[tokio::test]
async fn a_resource_hidden_after_its_subscription_sends_nothing() {
    let tools = |hides: bool| {
        let builder = ToolContext::builder().with(Letters);
        builder
            .with_resource(noted("notes://7", hides))
            .build()
            .expect("tools")
    };
    let runtime = Runtime::builder(tools(false)).build().expect("a runtime");
    let server = Server::new(runtime.clone());
    let mut client = initialized(&server).await;
    for uri in ["notes://7", "letters://book"] {
        client
            .request(json!(1), "resources/subscribe", json!({"uri": uri}))
            .await;
    }
    runtime.update_tools(tools(true)).expect("updated");
    server.refresh().await;
    let changes = server.changes();
    changes.resource_updated("notes://7");
    changes.resource_updated("letters://book");
    changes.prompts_changed();
    assert_eq!(updated(&mut client).await, ["letters://book"]);
}

#[tokio::test]
async fn a_refresh_holds_before_all_sessions_are_renewed() {
    let none = ToolContext::builder().build().expect("tools");
    let runtime = Runtime::builder(none).build().expect("a runtime");
    let server = Server::new(runtime.clone()).all_features();
    let mut client = initialized(&server).await;
    let tools = ToolContext::builder().with(Letters).build();
    runtime
        .update_tools(tools.expect("tools"))
        .expect("updated");
    // Its future renews the sessions that make no request, and does not run.
    let renewing = server.refresh();
    let listed = client.request(json!(1), "prompts/list", json!({})).await;
    drop(renewing);
    assert_eq!(
        listed["result"]["prompts"].as_array().map(Vec::len),
        Some(1)
    );
}

#[tokio::test]
async fn stream_of_changes_carries_changed_tools() {
    let server = letters().announce_tool_changes(true);
    let mut client = LineClient::connect(&server);
    let acknowledged = listen(&mut client, 1, json!({"toolsListChanged": true})).await;
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    // The stream is open once it has been acknowledged, and listens a moment later.
    let changed = async {
        loop {
            server.refresh().await;
            tokio::task::yield_now().await;
        }
    };
    let received = tokio::select! {
        received = client.receive() => received,
        () = changed => unreachable!("it changes for ever"),
    };
    assert_eq!(
        received["method"], "notifications/tools/list_changed",
        "{received}"
    );
}

#[tokio::test]
async fn stream_of_changes_carries_parts_of_resources() {
    let server = letters();
    let mut client = LineClient::connect(&server);
    let changes = server.changes();
    listen(
        &mut client,
        1,
        json!({"resourceSubscriptions": ["letters://book"]}),
    )
    .await;
    // The stream is open once it has been acknowledged, and listens a moment later.
    let reporting = async {
        loop {
            changes.updated([ResourceUpdate::of_part(
                "letters://book",
                "letters://book/1",
            )]);
            tokio::task::yield_now().await;
        }
    };
    let two_parts = async {
        let mut parts = 0;
        while parts < 2 {
            let received = client.receive().await;
            let params = &received["params"];
            assert_eq!(
                params["_meta"]["io.modelcontextprotocol/subscriptionId"], 1,
                "{received}"
            );
            // A client that was too slow is told of the resource.
            parts += i32::from(params["uri"] == "letters://book/1");
        }
    };
    tokio::select! {
        () = two_parts => {}
        () = reporting => unreachable!("it changes for ever"),
    }
}

#[tokio::test]
async fn streams_of_a_client_are_bounded() {
    let mut client = LineClient::connect(&letters());
    for id in 0..8 {
        let answer = listen(&mut client, id, json!({"promptsListChanged": true})).await;
        assert_eq!(
            answer["method"], "notifications/subscriptions/acknowledged",
            "{answer}"
        );
    }
    let mut answer = listen(&mut client, 8, json!({"promptsListChanged": true})).await;
    if answer["method"] == "notifications/subscriptions/acknowledged" {
        answer = client.receive().await;
    }
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(8), &json!(-32600)),
        "{answer}"
    );
}

#[tokio::test]
async fn lists_have_caching_hints_from_2026_on() {
    let methods = [
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "letters://book"})),
    ];
    for (method, mut params) in methods {
        let mut client = initialized(&letters()).await;
        let result = client.request(json!(1), method, params.clone()).await["result"].clone();
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&Value::Null, &Value::Null),
            "{method}"
        );
        params["_meta"] = stateless(&json!({}));
        let mut client = LineClient::connect(&letters());
        let result = client.request(json!(1), method, params).await["result"].clone();
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(60_000), &json!("private")),
            "{method}"
        );
    }
}
