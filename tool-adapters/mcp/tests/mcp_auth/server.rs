//! Access tokens at the server.

use crate::issuer::{Issuer, Key, now};
use crate::support::{call, post, protected, refusal, send, serve, server};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tool_adapters::mcp::{AccessClaims, OAuthResource};
use tool_core::{FunctionTool, RawTool, RunContext, ToolContext, ToolError};

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    match value {
        Value::Null => _ = claims.as_object_mut().expect("an object").remove(name),
        value => claims[name] = value,
    }
    claims
}

async fn status(url: &str, token: &str) -> u16 {
    send(call(url, "add").bearer_auth(token))
        .await
        .status()
        .as_u16()
}

#[tokio::test]
async fn a_request_without_a_token_learns_where_to_get_one() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let (code, challenge) = refusal(call(&url, "add")).await;
    let origin = url.strip_suffix("/mcp").expect("a path");
    let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
    assert_eq!(
        (code, challenge),
        (
            401,
            format!("Bearer resource_metadata=\"{metadata}\", scope=\"read\"")
        )
    );
    let document = reqwest::get(metadata)
        .await
        .expect("an answer")
        .text()
        .await
        .expect("text");
    let expected = json!({
        "resource": url,
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["read", "write"],
    });
    assert_eq!(
        serde_json::from_str::<Value>(&document).expect("JSON"),
        expected
    );
}

#[tokio::test]
async fn tokens_of_each_algorithm_are_accepted() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let rsa = [
        Algorithm::RS256,
        Algorithm::RS384,
        Algorithm::RS512,
        Algorithm::PS256,
        Algorithm::PS384,
        Algorithm::PS512,
    ];
    let keys = rsa
        .map(Key::rsa)
        .into_iter()
        .chain([Key::ec(), Key::ed("ed", 7)])
        .collect::<Vec<_>>();
    issuer.behaviour().keys = vec![
        Key::rsa(Algorithm::RS256).public(),
        Key::ec().public(),
        issuer.key.public(),
    ];
    for key in keys {
        let answer = send(call(&url, "add").bearer_auth(key.sign(&issuer.claims(&url)))).await;
        let (code, text) = (answer.status(), answer.text().await.expect("text"));
        assert!(
            code.is_success() && text.contains("\"result\":3"),
            "{:?}: {text}",
            key.algorithm
        );
    }
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some("at+jwt".to_owned());
    let without_id = encode(&header, &issuer.claims(&url), &issuer.key.private).expect("a token");
    assert_eq!(
        status(&url, &without_id).await,
        200,
        "a token without a key id"
    );
    let listed = with(
        issuer.claims(&url),
        "aud",
        json!(["https://other.example", url]),
    );
    assert_eq!(
        status(&url, &issuer.key.sign(&listed)).await,
        200,
        "a list of audiences"
    );
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    issuer.behaviour().keys = vec![issuer.key.public(), Key::rsa(Algorithm::RS256).public()];
    let good = issuer.token(&url);
    assert_eq!(status(&url, &good).await, 200);
    let [head, body, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };
    let encoded = |value: &Value| BASE64.encode(value.to_string());
    let mut forged = Vec::new();
    // Without a signature, and with the public key as a shared secret.
    for algorithm in [
        "none", "None", "NONE", "HS256", "HS384", "HS512", "ES512", "",
    ] {
        let header = encoded(&json!({"alg": algorithm, "typ": "JWT", "kid": "ed"}));
        forged.extend([
            format!("{header}.{body}."),
            format!("{header}.{body}.{signature}"),
        ]);
    }
    let public = issuer.key.public();
    let bytes = BASE64
        .decode(public["x"].as_str().expect("a key"))
        .expect("base64");
    for secret in [bytes, public.to_string().into_bytes(), Vec::new()] {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("ed".to_owned());
        forged.push(
            encode(
                &header,
                &issuer.claims(&url),
                &EncodingKey::from_secret(&secret),
            )
            .expect("a token"),
        );
    }
    // With a key of the attacker, also one that the header brings along.
    let own = Key::ed("ed", 8);
    forged.push(own.sign(&issuer.claims(&url)));
    forged.push(Key::ed("other", 8).sign(&issuer.claims(&url)));
    let mut header = Header::new(Algorithm::EdDSA);
    header.jwk = serde_json::from_value(own.public()).ok();
    header.jku = Some("http://127.0.0.1:9/jwks".to_owned());
    forged.push(encode(&header, &issuer.claims(&url), &own.private).expect("a token"));
    // With each character of the signature changed, and of the claims.
    for at in 0..signature.len() - 1 {
        let letter = if signature.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        let changed = format!("{}{letter}{}", &signature[..at], &signature[at + 1..]);
        forged.push(format!("{head}.{body}.{changed}"));
    }
    for (name, value) in [
        ("sub", json!("root")),
        ("scope", json!("read write")),
        ("exp", json!(now() + 99_999)),
    ] {
        forged.push(format!(
            "{head}.{}.{signature}",
            encoded(&with(issuer.claims(&url), name, value))
        ));
    }
    forged.extend(["", "x", ".", "..", "a.b", "a.b.c.d", "\u{e4}"].map(str::to_owned));
    forged.extend([
        format!("{good}.x"),
        format!("{head}.{body}"),
        format!("{good} x"),
        "a".repeat(20_000),
    ]);
    let mut header = Header::new(Algorithm::EdDSA);
    (header.kid, header.crit) = (Some("ed".to_owned()), Some(vec!["exp".to_owned()]));
    forged.push(encode(&header, &issuer.claims(&url), &issuer.key.private).expect("a token"));
    // Signed by the issuer, for something else or in another way.
    for (member, value) in [
        ("typ", json!("logout+jwt")),
        ("typ", json!("dpop+jwt")),
        ("typ", json!(1)),
        ("zip", json!("DEF")),
        ("b64", json!(false)),
    ] {
        let header = with(
            json!({"alg": "EdDSA", "typ": "JWT", "kid": "ed"}),
            member,
            value,
        );
        let signed = format!("{}.{body}", encoded(&header));
        let signature =
            jsonwebtoken::crypto::sign(signed.as_bytes(), &issuer.key.private, Algorithm::EdDSA);
        forged.push(format!("{signed}.{}", signature.expect("signed")));
    }
    for token in &forged {
        let Ok(value) =
            reqwest::header::HeaderValue::from_bytes(format!("Bearer {token}").as_bytes())
        else {
            continue;
        };
        let (code, challenge) = refusal(call(&url, "add").header("authorization", value)).await;
        assert!(
            code == 401 && challenge.contains("error=\"invalid_token\""),
            "{token}: {code} {challenge}"
        );
    }
    assert!(forged.len() > 100, "{}", forged.len());
    assert_eq!(status(&url, &good).await, 200);
}

// T28
#[tokio::test]
async fn tokens_for_others_are_refused() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let claims = issuer.claims(&url);
    let origin = url.strip_suffix("/mcp").expect("a path");
    let mut refused = 0;
    for (name, values) in [
        (
            "aud",
            vec![
                json!(null),
                json!("client-1"),
                json!(origin),
                json!(format!("{url}/")),
                json!([]),
                json!(""),
                json!({}),
                json!([origin, "x"]),
            ],
        ),
        (
            "iss",
            vec![
                json!(null),
                json!("https://evil.example"),
                json!(format!("{}/", issuer.url)),
                json!([issuer.url]),
                json!(""),
            ],
        ),
        (
            "exp",
            vec![
                json!(null),
                json!(now() - 31),
                json!(0),
                json!("never"),
                json!(-1),
            ],
        ),
        ("nbf", vec![json!(now() + 60), json!("later")]),
        ("sub", vec![json!(null), json!(""), json!(" "), json!(7)]),
        ("cnf", vec![json!({"jkt": "x"}), json!({"x5t#S256": "x"})]),
    ] {
        for value in values {
            let token = issuer.key.sign(&with(claims.clone(), name, value.clone()));
            let (code, challenge) = refusal(call(&url, "add").bearer_auth(&token)).await;
            assert!(
                code == 401 && challenge.contains("error=\"invalid_token\""),
                "{name} {value}: {code}"
            );
            refused += 1;
        }
    }
    assert_eq!(refused, 26);
    for (name, value) in [("exp", json!(now() - 5)), ("nbf", json!(now() + 5))] {
        assert_eq!(
            status(&url, &issuer.key.sign(&with(claims.clone(), name, value))).await,
            200,
            "the leeway of {name}"
        );
    }
}

#[tokio::test]
async fn a_token_is_sent_in_one_header_only() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let token = issuer.token(&url);
    let body = "{\"access_token\": 1}";
    for request in [
        call(&format!("{url}?access_token={token}"), "add"),
        call(&url, "add").header("authorization", format!("Basic {token}")),
        call(&url, "add").header("authorization", token.clone()),
        call(&url, "add")
            .bearer_auth(&token)
            .header("authorization", "Bearer x"),
        call(&url, "add").bearer_auth(&token).bearer_auth(&token),
        call(&url, "add")
            .header("x-access-token", token.clone())
            .body(body),
        call(&url, "add").header("cookie", format!("access_token={token}")),
    ] {
        assert_eq!(refusal(request).await.0, 401);
    }
    assert_eq!(
        send(call(&url, "add").header("authorization", format!("bearer {token}")))
            .await
            .status(),
        200
    );
}

#[tokio::test]
async fn missing_scopes_are_named() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let token = |scope: &str| {
        issuer
            .key
            .sign(&with(issuer.claims(&url), "scope", json!(scope)))
    };
    let (code, challenge) = refusal(call(&url, "add").bearer_auth(token("reader"))).await;
    assert!(
        code == 403 && challenge.contains("scope=\"read\""),
        "{code} {challenge}"
    );
    let (code, challenge) = refusal(call(&url, "delete").bearer_auth(token("read"))).await;
    assert_eq!(code, 403);
    for part in [
        "error=\"insufficient_scope\"",
        "scope=\"read write\"",
        "resource_metadata=\"http",
    ] {
        assert!(challenge.contains(part), "{challenge}");
    }
    assert_eq!(
        send(call(&url, "delete").bearer_auth(token("read write")))
            .await
            .status(),
        200
    );
    assert_eq!(
        send(call(&url, "add").bearer_auth(token("read")))
            .await
            .status(),
        200
    );
}

#[tokio::test]
async fn a_batch_needs_the_scopes_of_all_its_calls() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    let token = issuer.token(&url);
    let begin = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin});
    let opened = send(post(&url, &begin).bearer_auth(&token)).await;
    let session = opened
        .headers()
        .get("mcp-session-id")
        .expect("a session")
        .clone();
    let call = |id: i64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let add = call(1, "add", json!({"a": 1, "b": 2}));
    for (batch, expected) in [
        (json!([add, call(2, "delete", json!({}))]), 403),
        (json!([add]), 200),
    ] {
        let request = post(&url, &batch)
            .bearer_auth(&token)
            .header("mcp-session-id", session.clone());
        assert_eq!(send(request).await.status().as_u16(), expected, "{batch}");
    }
}

#[tokio::test]
async fn unknown_key_ids_fetch_keys_a_few_times_only() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    assert_eq!(status(&url, &issuer.token(&url)).await, 200);
    // The issuer changes its key, and tokens of the new one are good at once.
    let next = Key::ed("next", 9);
    issuer.behaviour().keys.push(next.public());
    assert_eq!(status(&url, &next.sign(&issuer.claims(&url))).await, 200);
    assert_eq!(issuer.requests("/jwks").len(), 2);
    for id in 0..500 {
        assert_eq!(
            status(
                &url,
                &Key::ed(&format!("unknown-{id}"), 8).sign(&issuer.claims(&url))
            )
            .await,
            401
        );
    }
    assert_eq!(issuer.requests("/jwks").len(), 4, "four in a minute");
    assert_eq!(status(&url, &issuer.token(&url)).await, 200);
}

#[tokio::test]
async fn an_issuer_that_is_down_is_no_refusal() {
    let issuer = Issuer::start().await;
    let url = protected(&issuer).await;
    issuer.behaviour().is_down = true;
    let answer = send(call(&url, "add").bearer_auth(issuer.token(&url))).await;
    assert_eq!(
        (
            answer.status(),
            answer.headers().get("retry-after").is_some()
        ),
        (StatusCode::SERVICE_UNAVAILABLE, true)
    );
    issuer.behaviour().is_down = false;
    assert_eq!(status(&url, &issuer.token(&url)).await, 200);
    issuer.behaviour().is_down = true;
    assert_eq!(
        status(&url, &issuer.token(&url)).await,
        200,
        "the keys are kept"
    );
}

#[tokio::test]
async fn keys_of_another_issuer_are_not_used() {
    for metadata in [
        json!({"issuer": "https://evil.example"}),
        json!({"jwks_uri": "http://192.0.2.1/jwks"}),
        json!({"jwks_uri": "ftp://127.0.0.1/jwks"}),
        json!({"jwks_uri": null}),
    ] {
        let issuer = Issuer::start().await;
        issuer.behaviour().metadata = metadata.clone();
        let url = protected(&issuer).await;
        assert_eq!(status(&url, &issuer.token(&url)).await, 503, "{metadata}");
    }
}

#[tokio::test]
async fn a_session_belongs_to_the_subject_of_its_token() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let (first, second) = (issuer.url.clone(), other.url.clone());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let url = serve(|server, resource| {
        server
            .oauth(resource.issuer(first).issuer(second))
            .session(move |builder, client| {
                note.lock()
                    .expect("no panic")
                    .push(client.principal.clone());
                builder
            })
    })
    .await;
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin});
    let opened = send(post(&url, &begin).bearer_auth(issuer.token(&url))).await;
    let session = opened
        .headers()
        .get("mcp-session-id")
        .expect("a session")
        .clone();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let bob = issuer
        .key
        .sign(&with(issuer.claims(&url), "sub", json!("bob")));
    let again = issuer
        .key
        .sign(&with(issuer.claims(&url), "jti", json!("another token")));
    for (token, expected) in [(again, 200), (bob, 404), (other.token(&url), 404)] {
        let request = post(&url, &list)
            .bearer_auth(token)
            .header("mcp-session-id", session.clone());
        assert_eq!(send(request).await.status().as_u16(), expected);
    }
    assert_eq!(
        *seen.lock().expect("no panic"),
        [Some(format!("{} alice", issuer.url))]
    );
}

// T28
#[tokio::test]
async fn the_program_sees_claims_and_no_token() {
    let issuer = Issuer::start().await;
    let (trusted, seen) = (issuer.url.clone(), Arc::new(Mutex::new(Vec::new())));
    let note = Arc::clone(&seen);
    let url = serve(|server, resource| {
        server
            .oauth(resource.issuer(trusted))
            .principal(move |parts| {
                let claims = parts.extensions.get::<Arc<AccessClaims>>()?;
                note.lock().expect("no panic").push((
                    format!("{parts:?}"),
                    claims.scopes().to_vec(),
                    claims.client_id().map(str::to_owned),
                ));
                claims.claim("tenant")?.as_str().map(str::to_owned)
            })
    })
    .await;
    let token = issuer.key.sign(&with(
        with(issuer.claims(&url), "tenant", json!("acme")),
        "azp",
        json!("c-1"),
    ));
    assert_eq!(status(&url, &token).await, 200);
    assert_eq!(
        status(&url, &issuer.token(&url)).await,
        401,
        "a token without a tenant"
    );
    let seen = seen.lock().expect("no panic");
    assert!(
        seen.iter().all(|(parts, ..)| !parts.contains(&token)
            && !parts.to_lowercase().contains("authorization"))
    );
    assert_eq!(
        (&seen[0].1, &seen[0].2),
        (&vec!["read".to_owned()], &Some("c-1".to_owned()))
    );
}

#[tokio::test]
async fn opaque_tokens_are_introspected() {
    let issuer = Issuer::start().await;
    let trusted = issuer.url.clone();
    let url = serve(|server, resource| {
        server.oauth(
            resource
                .introspected_issuer(trusted, "resource", "hunter2")
                .scopes(["read"]),
        )
    })
    .await;
    issuer.behaviour().metadata = json!({"introspected_audience": url});
    assert_eq!(status(&url, "opaque-token").await, 200);
    assert_eq!(status(&url, "another-token").await, 401);
    issuer.behaviour().metadata = json!({"introspected_audience": "https://other.example"});
    assert_eq!(
        status(&url, "opaque-token").await,
        401,
        "a token for another resource"
    );
    issuer.behaviour().is_down = true;
    assert_eq!(status(&url, "opaque-token").await, 503);
    let kept = issuer.requests("/introspect");
    assert!(
        kept.len() == 4 && kept.iter().all(|kept| !kept.target.contains("token")),
        "{kept:?}"
    );
}

/// Serves with opaque tokens of an issuer.
async fn introspecting(issuer: &Issuer) -> String {
    let trusted = issuer.url.clone();
    serve(|server, resource| {
        server.oauth(resource.introspected_issuer(trusted, "resource", "hunter2"))
    })
    .await
}

#[tokio::test]
async fn an_issuer_without_keys_is_asked_about_tokens() {
    for keys in [json!(null), json!("http://127.0.0.1:9/jwks")] {
        let issuer = Issuer::start().await;
        let url = introspecting(&issuer).await;
        issuer.behaviour().metadata = json!({"introspected_audience": url, "jwks_uri": keys});
        assert_eq!(status(&url, "opaque-token").await, 200, "{keys}");
    }
}

#[tokio::test]
async fn a_token_waits_while_others_are_introspected() {
    let issuer = Issuer::start().await;
    let url = introspecting(&issuer).await;
    let places = Arc::new(Semaphore::new(0));
    issuer.behaviour().metadata = json!({"introspected_audience": url});
    issuer.behaviour().introspecting = Some(Arc::clone(&places));
    let spawn = |token: String| {
        let url = url.clone();
        tokio::spawn(async move { status(&url, &token).await })
    };
    let others = (0..16)
        .map(|at| spawn(format!("forged-{at}")))
        .collect::<Vec<_>>();
    while issuer.requests("/introspect").len() < 16 {
        tokio::task::yield_now().await;
    }
    let good = spawn("opaque-token".to_owned());
    let is_refused = async {
        while !good.is_finished() {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        timeout(Duration::from_millis(200), is_refused)
            .await
            .is_err()
    );
    places.add_permits(17);
    assert_eq!(good.await.expect("no panic"), 200);
    for other in others {
        assert_eq!(other.await.expect("no panic"), 401);
    }
}

// T26
#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let issuer = Issuer::start().await;
    let trusted = issuer.url.clone();
    let url =
        serve(|server, resource| server.oauth(resource.issuer(trusted).leeway(Duration::ZERO)))
            .await;
    let token = |seconds: u64| {
        let claims = json!({"iss": issuer.url, "aud": url, "sub": "alice", "exp": now() + seconds});
        issuer.key.sign(&claims)
    };
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
    }});
    let opened = send(post(&url, &begin).bearer_auth(token(60))).await;
    let session = opened
        .headers()
        .get("mcp-session-id")
        .expect("a session")
        .clone();
    let stream = reqwest::Client::new()
        .get(&url)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", session)
        .bearer_auth(token(2));
    let stream = send(stream).await;
    assert_eq!(stream.status(), 200);
    let ended = timeout(Duration::from_secs(30), stream.text()).await;
    ended.expect("it ends").expect("its end is whole");
}

#[tokio::test]
async fn a_jwt_without_keys_of_its_issuer_is_no_refusal() {
    let issuer = Issuer::start().await;
    let url = introspecting(&issuer).await;
    issuer.behaviour().metadata = json!({"introspected_audience": url, "jwks_uri": null});
    assert_eq!(status(&url, &issuer.token(&url)).await, 503);
}

#[tokio::test]
async fn scopes_of_a_tool_of_the_session_alone_are_needed() {
    let issuer = Issuer::start().await;
    let trusted = issuer.url.clone();
    let declared = RawTool {
        name: "files/delete".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let delete = async |_: Value, _: &RunContext| Ok::<_, ToolError>(json!("deleted"));
    let tools = ToolContext::builder().with(FunctionTool::raw(declared, delete));
    let tools = tools.build().expect("tools");
    let url = serve(|server, resource| {
        let resource = resource
            .issuer(trusted)
            .tool_scopes("files/delete", ["write"]);
        server
            .oauth(resource)
            .session(move |builder, _| builder.tools(tools.clone()))
    })
    .await;
    let delete = call(&url, "files_delete").bearer_auth(issuer.token(&url));
    let (code, challenge) = refusal(delete).await;
    assert_eq!(code, 403);
    assert!(challenge.contains("scope=\"write\""), "{challenge}");
}

#[tokio::test]
async fn anonymous_requests_are_served_where_that_is_allowed() {
    let issuer = Issuer::start().await;
    let trusted = issuer.url.clone();
    let url = serve(|server, resource| {
        server
            .oauth(resource.issuer(trusted).tool_scopes("delete", ["write"]))
            .allow_anonymous(true)
    })
    .await;
    assert_eq!(send(call(&url, "add")).await.status(), 200);
    assert_eq!(
        refusal(call(&url, "delete")).await.0,
        401,
        "a tool that needs a scope"
    );
    assert_eq!(status(&url, "forged").await, 401, "a bad token is not none");
}

#[tokio::test]
async fn unsound_settings_serve_nothing() {
    let sound = || OAuthResource::new("https://mcp.example/mcp").issuer("https://login.example");
    let token = "0123456789abcdef0123";
    for (server, problem) in [
        (
            server().oauth(OAuthResource::new("https://mcp.example/mcp")),
            "`OAuthResource::issuer`",
        ),
        (
            server().oauth(
                OAuthResource::new("http://mcp.example/mcp").issuer("https://login.example"),
            ),
            "https",
        ),
        (
            server().oauth(OAuthResource::new("mcp").issuer("https://login.example")),
            "not a URL",
        ),
        (
            server().oauth(sound().issuer("http://login.example")),
            "the issuer",
        ),
        (server().oauth(sound().scopes(["a\"b"])), "scope"),
        (server().oauth(sound()).bearer_token(token), "got both"),
        (
            server().oauth(
                sound()
                    .introspected_issuer("https://a.example", "resource", "hunter2")
                    .introspected_issuer("https://b.example", "resource", "hunter2"),
            ),
            "expected one `OAuthResource::introspected_issuer`, got 2",
        ),
    ] {
        let error = server
            .bind(([127, 0, 0, 1], 0).into())
            .await
            .expect_err(problem);
        assert!(error.to_string().contains(problem), "{error}");
    }
    server()
        .oauth(sound())
        .bind(([127, 0, 0, 1], 0).into())
        .await
        .expect("sound");
    let url = serve(|server, _| server.oauth(OAuthResource::new("mcp"))).await;
    assert_eq!(
        status(&url, "any").await,
        401,
        "a router serves no request either"
    );
}
