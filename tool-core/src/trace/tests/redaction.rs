//! Redaction of keys, patterns, nested JSON and truncated text.

use crate::text;
use crate::trace::redaction::Redaction;
use proptest::prelude::*;
use serde_json::{Value, json};

fn shown(value: &Value) -> Value {
    let text = Redaction::new().json(&value.to_string());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

// T1
#[test]
fn secret_keys_are_redacted_in_any_spelling() {
    let keys = [
        "password",
        "Password",
        "PASSWD",
        "user_password",
        "newPassword",
        "password_confirmation",
        "password2",
        "secret",
        "client_secret",
        "clientSecret",
        "secrets",
        "token",
        "access-token",
        "refreshToken",
        "id token",
        "api_key",
        "apiKey",
        "X-Api-Key",
        "apikeys",
        "authorization",
        "Proxy-Authorization",
        "credential",
        "credentials",
        "private_key",
        "aws_secret_access_key",
        "cookie",
        "Set-Cookie",
        "cookies",
        "session",
        "session_id",
        "ssn",
        "card_number",
        "creditCardNumber",
        "cvv",
        "pin",
        "auth",
        "pass\u{77}ord",
        "AccountKey",
        "Ocp-Apim-Subscription-Key",
        "X-Amz-Credential",
        "X-Amz-Signature",
        "sig",
        "passphrase",
    ];
    for key in keys {
        for value in [
            json!("canary"),
            json!(["canary"]),
            json!({"a": {"b": "canary"}}),
            json!(42),
            json!(null),
        ] {
            // A number at a key in the plural is a count.
            if key.ends_with('s') && key != "pass" && value.is_number() {
                continue;
            }
            let object = json!({"before": 1, (key): value, "after": [true]});
            assert_eq!(
                shown(&object),
                json!({"before": 1, (key): "[redacted]", "after": [true]}),
                "{key}"
            );
        }
    }
}

#[test]
fn words_that_contain_secret_words_are_shown() {
    let value = json!({
        "tokenizer": "bpe", "max_tokens": 100, "author": "Ann", "compass": "north", "pinned": true, "panel": "left",
        "sessions_per_day": 3, "key": "color", "cookie_policy": "strict", "laptop": "old", "secretary": "Bob",
        "text": "the bearer of this letter, a task-force, sk-learn and basic training",
    });
    assert_eq!(shown(&value), value);
}

#[test]
fn keys_and_tokens_inside_text_are_redacted() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
    let pem = "-----BEGIN RSA PRIVATE KEY-----\ncanary\ncanary==\n-----END RSA PRIVATE KEY-----";
    let texts = [
        ("sk-canary12345678", "[redacted]"),
        ("use sk-proj-canary-1234_5678 now", "use [redacted] now"),
        ("Bearer canary.canary+/=", "Bearer [redacted]"),
        (
            "authorization: bearer canary1234, then",
            "authorization: [redacted]",
        ),
        ("Basic Y2FuYXJ5OmNhbmFyeQ==", "Basic [redacted]"),
        (jwt, "[redacted]"),
        (pem, "[redacted]"),
        ("a -----BEGIN PRIVATE KEY-----\ncanary", "a [redacted]"),
        ("ghp_canarycanarycanary", "[redacted]"),
        ("AKIAIOSFODNN7CANARY", "[redacted]"),
        (
            "https://ann:canary@example.org/x",
            "https://ann:[redacted]@example.org/x",
        ),
        (
            "https://example.org/?a=1&api_key=canary&b=2",
            "https://example.org/?a=1&api_key=[redacted]&b=2",
        ),
        ("password=canary and more", "password=[redacted] and more"),
        (
            "the password: \"ca\\\"nary\" is",
            "the password: \"[redacted]\" is",
        ),
        (
            "{\\\"password\\\": \\\"canary\\\", \\\"a\\\": 1}",
            "{\\\"password\\\": \\\"[redacted]\\\", \\\"a\\\": 1}",
        ),
        ("Cookie: a=canary; b=canary", "Cookie: [redacted]"),
        ("token: Bearer canary1234 x", "token: [redacted] x"),
        ("password=", "password="),
        ("gsk_canary12345678", "[redacted]"),
        ("with xai-canary12345678.", "with [redacted]"),
        (
            "AccountName=a;AccountKey=canary+/==;EndpointSuffix=b",
            "AccountName=a;AccountKey=[redacted];EndpointSuffix=b",
        ),
        (
            "https://blob.example/a?sv=1&sig=canary%3D&se=2",
            "https://blob.example/a?sv=1&sig=[redacted]&se=2",
        ),
        (
            "/a?X-Amz-Credential=canary%2Fs3&X-Amz-Date=1&X-Amz-Signature=canary",
            "/a?X-Amz-Credential=[redacted]&X-Amz-Date=1&X-Amz-Signature=[redacted]",
        ),
        (
            "/a?subscription-key=canary",
            "/a?subscription-key=[redacted]",
        ),
    ];
    for (text, expected) in texts {
        assert_eq!(shown(&json!([text])), json!([expected]), "{text}");
        if !text.contains('\n') {
            assert_eq!(Redaction::new().text(text), expected);
        }
        let key = shown(&json!({ (text): "x" }));
        assert!(key.get(expected).is_some(), "as a key: {key}");
    }
}

// T1
#[test]
fn values_of_options_inside_text_are_redacted() {
    let redaction = Redaction::new();
    for (text, redacted) in [
        (
            "deploy --token s3cr3t --dry-run",
            "deploy --token [redacted] --dry-run",
        ),
        (
            "deploy --token  's3cr3t word' now",
            "deploy --token  '[redacted]' now",
        ),
        (
            "deploy --api-key \"s3cr3t\"",
            "deploy --api-key \"[redacted]\"",
        ),
        ("Connect -Password s3cr3t;", "Connect -Password [redacted];"),
        (
            "mysql --user root --password s3cr3t",
            "mysql --user root --password [redacted]",
        ),
        (
            "deploy --client-secret \\\n  s3cr3t\nnext",
            "deploy --client-secret \\\n  [redacted]\nnext",
        ),
        ("deploy --token -s3cr3t", "deploy --token [redacted]"),
        ("deploy --token=s3cr3t", "deploy --token=[redacted]"),
        (
            "a --token one --secret two",
            "a --token [redacted] --secret [redacted]",
        ),
        // No values.
        ("deploy --token", "deploy --token"),
        ("deploy --token --dry-run", "deploy --token --dry-run"),
        ("deploy --token -v", "deploy --token -v"),
        ("deploy --token <TOKEN>", "deploy --token <TOKEN>"),
        ("complete --max-tokens 500", "complete --max-tokens 500"),
        ("complete --verbose yes", "complete --verbose yes"),
    ] {
        assert_eq!(
            redaction.text(text),
            text::escape_invisible(redacted),
            "{text}"
        );
        let hidden = !redacted.contains("[redacted]")
            || !redaction
                .json(&json!({"command": text}).to_string())
                .contains("s3cr3t");
        assert!(hidden, "{text}");
    }
}

// T1
#[test]
fn values_of_options_in_lists_are_redacted() {
    let old = json!({"args": ["--token", "abc", "--max-tokens", "500", "--pin", 1234, "--token", "--force", "x"]});
    let new = json!({
        "args": ["--token", "[redacted]", "--max-tokens", "500", "--pin", "[redacted]", "--token", "--force", "x"]
    });
    assert_eq!(shown(&old), new);
}

// T1
#[test]
fn values_beside_a_secret_name_are_redacted_in_any_order() {
    for name in ["name", "key", "Header"] {
        for value in [
            json!("canary"),
            json!(["canary"]),
            json!({"a": [{"b": "canary"}]}),
            json!(7),
            json!(null),
        ] {
            let text = format!(
                r#"[{{"{name}":"X-Api-Key","a":1,"value":{value}}},{{"value":{value},"a":[1],"{name}":"token"}},8]"#
            );
            let expected = format!(
                r#"[{{"{name}":"X-Api-Key","a":1,"value":"[redacted]"}},{{"value":"[redacted]","a":[1],"{name}":"token"}},8]"#
            );
            assert_eq!(Redaction::new().json(&text), expected);
        }
    }
    let redaction = Redaction::new().key("diagnosis");
    let several =
        r#"{"value":"canary","value":{"value":"x"},"name":"a","key":"diagnosis","value":"canary"}"#;
    let hidden = r#"{"value":"[redacted]","value":"[redacted]","name":"a","key":"diagnosis","value":"[redacted]"}"#;
    assert_eq!(redaction.json(several), hidden);
    // The name follows the value that is truncated.
    let late = format!(
        r#"{{"value":"canary{}","name":"Authorization"}}"#,
        "x".repeat(1_000)
    );
    assert_eq!(
        Redaction::new().json_up_to(&late, 30),
        r#"{"value":"[redacted]","name":"..."#
    );
}

#[test]
fn values_beside_other_names_are_shown() {
    let value = json!([
        {"name": "Accept", "value": "text/html"}, {"value": 100, "key": "max_tokens"}, {"key": "max_tokens", "value": 7},
        {"name": "token", "price": 3}, {"name": {"key": "token"}, "value": "shown"}, {"name": ["token"], "value": "shown"},
    ]);
    assert_eq!(shown(&value), value);
}

// T1: the arguments may be encoded twice (L28).
#[test]
fn json_inside_strings_is_redacted() {
    let inner = json!({"password": "canary", "n": [1]}).to_string();
    let twice = json!(inner).to_string();
    let redaction = Redaction::new();
    assert_eq!(
        redaction.json(&twice),
        json!(json!({"password": "[redacted]", "n": [1]}).to_string()).to_string()
    );
    let deeper = json!({"body": twice}).to_string();
    assert!(
        !redaction.json(&deeper).contains("canary"),
        "{}",
        redaction.json(&deeper)
    );
    // The inner text is broken, so it is scanned for patterns.
    assert!(
        !redaction
            .json(&json!("{\"password\": \"canary\"").to_string())
            .contains("canary")
    );
    // Nested deeper than strings are parsed.
    let deepest = (0..9).fold(inner, |text, _| json!(text).to_string());
    assert!(
        !redaction.json(&deepest).contains("canary"),
        "{}",
        redaction.json(&deepest)
    );
}

#[test]
fn text_that_is_not_json_is_replaced() {
    let redaction = Redaction::new();
    assert_eq!(
        redaction.json("{\"password\": "),
        "[13 characters that are not JSON]"
    );
    assert_eq!(
        redaction.json("höchstgeheim"),
        "[12 characters that are not JSON]"
    );
    assert_eq!(redaction.json(""), "[0 characters that are not JSON]");
    let deep = "[".repeat(100_000);
    assert_eq!(
        redaction.json(&deep),
        "[100000 characters that are not JSON]"
    );
}

#[test]
fn numbers_keep_their_spelling() {
    let text = r#"{"a":9007199254740993,"b":1.0,"c":1e40,"d":123456789012345678901234567890}"#;
    assert_eq!(Redaction::new().json(text), text);
}

// T1: redacted before truncation
#[test]
fn redaction_comes_before_truncation() {
    let text =
        json!({"a": "x".repeat(20), "password": "canary".repeat(100), "b": "é".repeat(1_000)})
            .to_string();
    let whole = Redaction::new().json(&text);
    for characters in 0..whole.chars().count() {
        let cut = Redaction::new().json_up_to(&text, characters);
        assert_eq!(cut, text::truncate(&whole, characters));
    }
    assert_eq!(
        Redaction::new().json_up_to(&text, whole.chars().count()),
        whole
    );
    // The text after the part that is shown may be broken.
    let broken = format!("[1,2,3,\"{}\", {{\"password\" \"canary\"", "x".repeat(100));
    assert_eq!(Redaction::new().json_up_to(&broken, 7), "[1,2,3,...");
}

#[test]
fn custom_keys_pointers_and_rules_are_applied() {
    let redaction = Redaction::new()
        .key("Diagnosis")
        .key("--")
        .pointer("/people/*/born")
        .pointer("/a~1b/0");
    let redaction = redaction.rule(|pointer, text| pointer == "/people/1/name" || text == "1e3");
    let text = r#"{"people":[{"name":"Ann","born":1990,"first_diagnosis":{"x":1}},{"name":"Bob"}],"a/b":[7,8],"n":1e3}"#;
    assert_eq!(
        redaction.json(text),
        r#"{"people":[{"name":"Ann","born":"[redacted]","first_diagnosis":"[redacted]"},{"name":"[redacted]"}],"a/b":["[redacted]",8],"n":"[redacted]"}"#
    );
    assert_eq!(redaction.text("diagnosis=flu"), "diagnosis=[redacted]");
    assert_ne!(redaction, Redaction::new());
    assert_eq!(redaction, redaction.clone());
    assert_eq!(
        Redaction::new().key("a").pointer("/b"),
        Redaction::new().key("A").pointer("/b")
    );
    assert!(format!("{redaction:?}").contains("diagnosis"));
    assert_eq!(
        Redaction::none().json(r#"{ "password": "x" }"#),
        r#"{"password":"x"}"#
    );
}

// T2
#[test]
fn invisible_characters_are_escaped() {
    let redaction = Redaction::new();
    let text = json!({"a\u{9b}": "\n\u{1b}[31m\u{7f}\u{202e}\u{200b}\u{e0001}"}).to_string();
    let shown = redaction.json(&text);
    assert_eq!(
        shown,
        "{\"a\\u009b\":\"\\n\\u001b[31m\\u007f\\u202e\\u200b\\udb40\\udc01\"}"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&shown).expect("sound"),
        serde_json::from_str::<Value>(&text).expect("sound")
    );
    assert_eq!(redaction.text("a\n\u{1b}b\u{9b}"), "a\\n\\u{1b}b\\u{9b}");
}

#[test]
fn broken_and_deep_json_is_replaced() {
    let texts = [
        "",
        "{",
        "[1,]",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\":}",
        "{,}",
        "01",
        "tru",
        "\"\\ud800\"",
        "1 2",
        "[}",
        "{]",
        "]",
    ];
    for text in texts {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        let replaced = format!("[{} characters that are not JSON]", text.chars().count());
        assert_eq!(Redaction::new().json(text), replaced, "{text}");
    }
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(Redaction::new().json(&nested(128)), nested(128));
    assert_eq!(
        Redaction::new().json(&nested(129)),
        "[258 characters that are not JSON]"
    );
}

#[test]
fn repeated_keys_are_all_shown_or_redacted() {
    let text = r#" {"a": [1e2, "x\n"], "a": null, "token": "canary", "token": {"b": "canary"}} "#;
    let shown = r#"{"a":[1e2,"x\n"],"a":null,"token":"[redacted]","token":"[redacted]"}"#;
    assert_eq!(Redaction::new().json(text), shown);
}

#[test]
fn a_truncated_text_is_redacted_up_to_its_end() {
    let redaction = Redaction::new();
    let text =
        r#"{"a": [1, {"password": "canary", "b": "x"}], "value": "canary", "name": "token"}"#;
    let whole = redaction.json(text);
    for (end, _) in text.char_indices() {
        let prefix = redaction.json_prefix(&text[..end]);
        assert!(!prefix.contains("canary"), "{prefix}");
        // A value whose name may follow is redacted as well.
        assert!(
            whole.starts_with(prefix.trim_end_matches("...")),
            "{prefix}"
        );
    }
    // Of a long text, only the part that may be shown is parsed.
    let long = format!(
        r#"{{"a":"shown","password":"canary{}","b":1}}"#,
        "x".repeat(1 << 20)
    );
    assert_eq!(
        redaction.json_up_to(&long, 1_000),
        r#"{"a":"shown","password":"[redacted]"..."#
    );
}

#[test]
fn the_content_of_tags_is_redacted() {
    for (text, shown) in [
        (
            "a <password>canary</password> b",
            "a <password>[redacted]</password> b",
        ),
        (
            "<soap:Password type=\"x\">canary</soap:Password>",
            "<soap:Password type=\"x\">[redacted]</soap:Password>",
        ),
        (
            "<token><![CDATA[canary]]></token> b",
            "<token>[redacted]</token> b",
        ),
        (
            "<secret><v>canary</v><w>canary</w></secret> b",
            "<secret>[redacted]</secret> b",
        ),
        ("<api-key>canary", "<api-key>[redacted]"),
        (
            "<password/> a <password></password>",
            "<password/> a <password></password>",
        ),
        (
            "if token > 5 or x<token then",
            "if token > 5 or x<token then",
        ),
    ] {
        assert_eq!(Redaction::new().text(text), shown);
    }
}

#[test]
fn a_value_on_the_next_line_is_redacted() {
    for (text, shown) in [
        ("password:\n  canary\nb", "password:\\n  [redacted]\\nb"),
        ("password:\r\n\"can ary\"", "password:\\r\\n\"[redacted]\""),
        ("token: |-\n  canary", "token: |-\\n  [redacted]"),
        ("tokens:\n- canary", "tokens:\\n- [redacted]"),
        ("secrets:\n  user: bob\n", "secrets:\\n  user: bob\\n"),
        ("PASSWORD=\nDEBUG=1", "PASSWORD=\\nDEBUG=1"),
    ] {
        assert_eq!(Redaction::new().text(text), shown);
    }
}

#[test]
fn keys_of_this_crate_are_redacted() {
    let hex = "8f3a".repeat(16);
    for text in [
        format!("2026-11:{hex}"),
        format!("TOOL_SECRETS_KEYS=2026-11:{hex},2026-12:{hex}"),
        format!("sealing_key: {hex}"),
        format!("HMAC key={hex} hmac_key={hex}").replace("HMAC key", "hmacKey"),
        format!("approve {}.{hex}", "0a".repeat(16)),
        "x-api-key: 8f3a8f3a and api_key=8f3a8f3a".to_owned(),
    ] {
        let shown = Redaction::new().text(&text);
        assert!(
            !shown.contains("8f3a8f3a") && shown.contains("[redacted]"),
            "{shown}"
        );
    }
    let digest = format!("sha256:{hex}");
    assert_eq!(Redaction::new().text(&digest), digest);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from("x-api-key")),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let words = ["password", "name", "value", "value"].map(str::to_owned);
        let key = prop_oneof!["[a-z]{0,3}", prop::sample::select(words.to_vec()), ".{0,3}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn json_without_rules_is_unchanged(value in any_json()) {
        let text = Redaction::none().json(&value.to_string());
        prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("sound"), value);
        prop_assert!(!text.contains(char::is_control));
    }

    #[test]
    fn redacting_twice_changes_nothing(value in any_json()) {
        let text = Redaction::new().json(&value.to_string());
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        prop_assert_eq!(Redaction::new().json(&text), text);
    }

    #[test]
    fn any_text_can_be_redacted(text in ".{0,200}", characters in 0..300_usize) {
        let redaction = Redaction::new();
        prop_assert!(!redaction.text(&text).contains(char::is_control));
        prop_assert!(redaction.json_up_to(&text, characters).chars().count() <= characters.max(60) + 3);
        _ = redaction.text(&format!("password={text}"));
        _ = redaction.text(&format!("\"password\": \"{text}"));
        _ = redaction.text(&format!("://{text}@"));
    }
}
