//! Messages of the user with images, sounds, videos and documents, and results with images. A message with all of them
//! is in each provider's form in `golden/requests`.

use crate::Provider;
use crate::accepted_parts::{AcceptedMedia, AcceptedParts, PartKind, canonical_type, extension_of};
use crate::declarations::DeclareOptions;
use crate::declare::declare_tools;
use crate::hosts::Host;
use crate::protocol::protocol;
use crate::request::Request;
use crate::spec::Endpoint;
use crate::tests::fixtures::assistant;
use serde_json::{Map, Value, json};
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::session::{Message, ToolChoice, UserMessage};

const DATA: &str = "aW1hZ2UgZGF0YQ==";

/// Returns the providers that take messages.
fn providers() -> impl Iterator<Item = Provider> {
    let has_messages =
        |provider: &Provider| !matches!(provider.spec().endpoint, Endpoint::ToolServer);
    Provider::ALL.into_iter().filter(has_messages)
}

/// Writes a history for a server, as a request or as the messages that begin a live session.
fn written(provider: Provider, host: &Host, history: &[Message]) -> Value {
    let declarations = declare_tools(provider, &[], &[], DeclareOptions::default());
    let request = Request {
        model: "some-model",
        instructions: "",
        history,
        declarations: &declarations,
        tool_choice: ToolChoice::Auto,
        stream: false,
        max_tokens: None,
        extra: &Map::new(),
    };
    if let Endpoint::WebSocket(live) = provider.spec().endpoint {
        return live
            .messages
            .history(&request, host.accepted_parts())
            .into();
    }
    let mut protocol = protocol(provider);
    protocol.host(host.clone());
    let mut body = protocol.request(&request);
    ["messages", "contents", "input"]
        .iter()
        .find_map(|name| body.get_mut(*name).map(Value::take))
        .expect("a history")
}

fn file(uri: &str, mime_type: &str, name: Option<&str>) -> Content {
    Content::Resource {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text: None,
        name: name.map(str::to_owned),
    }
}

fn embedded(mime_type: &str, name: Option<&str>) -> Content {
    file(&format!("data:{mime_type};base64,{DATA}"), mime_type, name)
}

/// Returns a part of a MIME type from bytes.
fn from_bytes(mime_type: &str) -> Content {
    match PartKind::of_type(mime_type) {
        PartKind::Image => Content::image(DATA, mime_type),
        PartKind::Sound => Content::audio(DATA, mime_type),
        _ => embedded(mime_type, None),
    }
}

fn all_parts() -> UserMessage {
    let guests = Content::Resource {
        uri: "attachment:guests.csv".into(),
        mime_type: Some("text/csv".into()),
        text: Some("name,seats\nAda,4".into()),
        name: Some("guests.csv".into()),
    };
    UserMessage::new("What is new?")
        .image(DATA, "image/png")
        .with_url("https://example.com/harbour.jpg", "image/jpeg")
        .audio(DATA, "audio/wav")
        .audio(DATA, "audio/pcm;rate=24000")
        .with(embedded("video/mp4", None))
        .with(embedded("application/pdf", Some("floor plan (2).pdf")))
        .with_url("https://example.com/menu.pdf", "application/pdf")
        .with(guests)
        .with("Compare them.")
}

/// Returns a message with all parts in the form of a provider; `None` for one that takes no messages.
pub(crate) fn form(provider: Provider) -> Option<Value> {
    let history = |host: &Host| written(provider, host, &[Message::User(all_parts())]);
    let host = Host::of(provider);
    match provider.spec().endpoint {
        Endpoint::Http(_) => Some(history(&host)),
        Endpoint::WebSocket(live) => {
            let sent = live.messages.user(&all_parts(), host.accepted_parts());
            Some(json!({"history": history(&host), "in a session": sent.messages}))
        }
        Endpoint::ToolServer => None,
    }
}

/// Returns a cell of the book's table.
fn cell(media: &AcceptedMedia) -> String {
    if !media.is_accepted() {
        return "–".to_owned();
    }
    let name = |mime_type: &&str| match extension_of(mime_type) {
        Some(extension) => extension.to_owned(),
        None if mime_type.ends_with('*') => format!("`{mime_type}`"),
        None => mime_type.rsplit('/').next().unwrap_or_default().to_owned(),
    };
    let types = media.types.iter().map(name).collect::<Vec<_>>();
    let mut facts = vec![types.join(", ")];
    if let Some(max) = media.max_bytes {
        let hundredths = u32::try_from(max / 10_000).expect("a size");
        facts.push(format!("{} MB", f64::from(hundredths) / 100.0));
    }
    if !media.url_schemes.is_empty() {
        let schemes = media.url_schemes.iter().map(|scheme| format!("`{scheme}`"));
        facts.push(schemes.collect::<Vec<_>>().join(", "));
    }
    facts.join("; ")
}

/// Returns the cells of a provider in the book's table of files.
pub(crate) fn book_cells(provider: Provider) -> Option<Vec<String>> {
    if matches!(provider.spec().endpoint, Endpoint::ToolServer) {
        return None;
    }
    let accepted = &provider.spec().accepted;
    let cells = PartKind::ALL.map(|kind| cell(accepted.of(kind)));
    Some(cells.to_vec())
}

/// Returns each part that a provider's rules accept.
fn accepted_parts(accepted: &AcceptedParts) -> Vec<Content> {
    let mut parts = Vec::new();
    for kind in PartKind::ALL {
        let media = accepted.of(kind);
        for mime_type in media.types {
            let mime_type = mime_type.replace('*', "x-any");
            parts.push(from_bytes(&mime_type));
            for scheme in media.url_schemes {
                let url = format!("{scheme}://example.com/{DATA}");
                parts.push(file(&url, &mime_type, None));
            }
        }
    }
    parts
}

// M14
#[test]
fn every_part_of_the_rules_has_a_form() {
    for provider in providers() {
        let host = Host::of(provider);
        for part in accepted_parts(host.accepted_parts()) {
            let message = UserMessage::from(part);
            assert_eq!(host.check_message(&message), Ok(()), "{provider}");
            let text = written(provider, &host, &[Message::User(message.clone())]).to_string();
            assert!(text.contains(DATA), "{provider}: {message:?} in {text}");
            assert!(!text.contains("left out"), "{provider}: {text}");
        }
    }
}

// M14
#[test]
fn a_part_that_is_not_accepted_is_a_note() {
    let hosts = providers().map(|provider| {
        (
            provider,
            Host::of(provider).accept_parts(AcceptedParts::TEXT),
        )
    });
    for (provider, host) in hosts {
        let message = UserMessage::from([
            from_bytes("image/png"),
            from_bytes("audio/wav"),
            from_bytes("video/mp4"),
            from_bytes("application/pdf"),
            file("https://example.com/secret", "image/png", None),
        ]);
        let text = written(provider, &host, &[Message::User(message)]).to_string();
        for note in [
            "[image image/png left out]",
            "[sound audio/wav left out]",
            "[video video/mp4 left out]",
            "[document application/pdf left out]",
        ] {
            assert!(text.contains(note), "{provider}: {text}");
        }
        assert!(
            !text.contains(DATA) && !text.contains("secret"),
            "{provider}: {text}"
        );
    }
}

/// Returns a step whose tool has shown these parts.
fn shown_by_tool(parts: &[Content]) -> Vec<Message> {
    let result = ModelResult {
        text: serde_json::to_string(parts).expect("JSON"),
        is_error: false,
        reply: true,
        parts: true,
        is_text: false,
        goes_on: false,
    };
    vec![
        Message::user("Look."),
        assistant("", &[("call_1", "{}")], None),
        Message::Result {
            call_id: "call_1".into(),
            tool: "look".into(),
            result,
        },
    ]
}

// M14
#[test]
fn an_image_of_a_result_reaches_every_model_that_sees() {
    let sees = |provider: &Provider| !provider.spec().accepted.images.types.is_empty();
    for provider in providers().filter(sees) {
        let host = Host::of(provider);
        let history = shown_by_tool(&[Content::text("A map."), from_bytes("image/png")]);
        let text = written(provider, &host, &history).to_string();
        assert!(
            text.contains(DATA) && text.contains("A map."),
            "{provider}: {text}"
        );
    }
}

// M14
#[test]
fn an_image_of_a_result_is_a_text_for_other_models() {
    for provider in providers() {
        let host = Host::of(provider).accept_parts(AcceptedParts::TEXT);
        let history = shown_by_tool(&[Content::text("A map."), from_bytes("image/png")]);
        let text = written(provider, &host, &history).to_string();
        assert!(!text.contains(DATA), "{provider}: {text}");
        assert!(
            text.contains("[image (image/png) left out"),
            "{provider}: {text}"
        );
    }
}

// M14
#[test]
fn a_url_of_a_result_is_never_loaded() {
    for provider in providers() {
        let url = "https://evil.example/?stolen=secret";
        let history = shown_by_tool(&[file(url, "image/png", None)]);
        let text = written(provider, &Host::of(provider), &history).to_string();
        let shown = format!("[resource {url} (image/png)]");
        assert!(text.contains(&shown), "{provider}: {text}");
    }
}

fn chat(host: &str, history: &[Message]) -> Value {
    written(
        Provider::OpenAiChat,
        &Host::at(Provider::OpenAiChat, host),
        history,
    )
}

// M14
#[test]
fn images_of_results_follow_all_results_of_a_step() {
    let mut history = vec![
        Message::user("Look."),
        assistant("", &[("1", "{}"), ("2", "{}")], None),
    ];
    for id in ["1", "2"] {
        let mut result = shown_by_tool(&[from_bytes("image/png")])
            .pop()
            .expect("a result");
        if let Message::Result { call_id, .. } = &mut result {
            id.clone_into(call_id);
        }
        history.push(result);
    }
    history.push(Message::user("And?"));
    let messages = chat("", &history);
    let messages = messages.as_array().expect("messages");
    let roles = messages.iter().map(|message| &message["role"]);
    let expected = ["user", "assistant", "tool", "tool", "user", "user"];
    assert_eq!(roles.collect::<Vec<_>>(), expected);
    let kinds = messages[4]["content"].as_array().expect("parts");
    let kinds = kinds.iter().map(|part| &part["type"]).collect::<Vec<_>>();
    assert_eq!(kinds, ["text", "image_url", "text", "image_url"]);
}

// M14
#[test]
fn mistrals_model_speaks_between_results_and_images() {
    let history = shown_by_tool(&[from_bytes("image/png")]);
    for host in ["https://api.mistral.ai/v1", ""] {
        let messages = if host.is_empty() {
            written(Provider::Mistral, &Host::of(Provider::Mistral), &history)
        } else {
            chat(host, &history)
        };
        let messages = messages.as_array().expect("messages");
        let roles = messages.iter().map(|message| &message["role"]);
        let expected = ["user", "assistant", "tool", "assistant", "user"];
        assert_eq!(roles.collect::<Vec<_>>(), expected);
    }
}

// M14
#[test]
fn messages_in_a_row_are_joined_where_they_have_to_alternate() {
    let said = |part: Content| Message::User(UserMessage::from(part));
    let history = [
        Message::user("a"),
        said(from_bytes("image/png")),
        Message::user("b"),
    ];
    let messages = chat("https://api.perplexity.ai", &history);
    let expected = json!([{"role": "user", "content": [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{DATA}")}},
        {"type": "text", "text": "b"},
    ]}]);
    assert_eq!(messages, expected);
}

// M14
#[test]
fn texts_alone_stay_one_text() {
    let message = UserMessage::new("a").with("b").with(" ");
    let messages = chat("", &[Message::User(message)]);
    assert_eq!(messages, json!([{"role": "user", "content": "a\nb"}]));
}

// M14
#[test]
fn bedrocks_documents_have_names_of_their_own_and_a_text() {
    let plan = || embedded("application/pdf", Some("Floor_plan: 2026!.pdf"));
    let history = [
        Message::User(UserMessage::from([plan(), embedded("text/csv", None)])),
        assistant("Two.", &[], None),
        Message::User(UserMessage::from(plan())),
    ];
    let messages = written(Provider::Bedrock, &Host::of(Provider::Bedrock), &history);
    let documents = |at: usize| {
        let blocks = messages[at]["content"].as_array().expect("blocks");
        let names = blocks
            .iter()
            .filter_map(|block| block.pointer("/document/name"));
        names.cloned().collect::<Vec<_>>()
    };
    assert_eq!(documents(0), ["Floor plan 2026", "document"]);
    assert_eq!(documents(2), ["Floor plan 2026 (2)"]);
    for at in [0, 2] {
        assert!(
            messages[at].to_string().contains("See the document."),
            "{messages}"
        );
    }
}

// M14
#[test]
fn an_error_names_every_part_the_server_and_what_to_do() {
    let message = all_parts();
    let error = Host::of(Provider::Bedrock).check_message(&message);
    let error = error.expect_err("URLs are refused").to_string();
    assert_eq!(
        error,
        "`bedrock` does not take part 3 of the message (image/jpeg by URL): its API has no form for URLs of images; load the image \
         yourself and send its bytes; nor part 5 of the message (audio/pcm;rate=24000): \
         it takes sounds of the type `audio/wav` or `audio/mpeg` or `audio/aac` or `audio/ogg` or `audio/opus` or `audio/flac` or \
         `audio/mp4` or `audio/webm`; convert it; nor part 8 of the message (application/pdf by URL): its API has no form \
         for URLs of documents; load the document yourself and send its bytes"
    );
}

// M14
#[test]
fn a_server_that_is_not_known_is_given_no_urls() {
    let message = UserMessage::default().with_url("https://example.com/a.png", "image/png");
    for (url, is_loaded) in [
        ("", true),
        ("https://api.openai.com/v1", true),
        ("https://openrouter.ai/api/v1", true),
        ("http://127.0.0.1:8000/v1", false),
        ("https://gateway.example/v1", false),
        ("https://api.openai.com.evil.example/v1", false),
    ] {
        let host = Host::at(Provider::OpenAiChat, url);
        assert_eq!(host.check_message(&message).is_ok(), is_loaded, "{url}");
    }
    let gateway = Host::at(Provider::OpenAiChat, "https://gateway.example/v1");
    let gateway = gateway.like(Provider::OpenAiChat, "https://openrouter.ai/api/v1");
    assert_eq!(gateway.check_message(&message), Ok(()));
}

// M14
#[test]
fn a_server_of_text_models_takes_text_only() {
    let host = Host::at(Provider::OpenAiChat, "https://api.deepseek.com");
    assert_eq!(*host.accepted_parts(), AcceptedParts::TEXT);
    let message = UserMessage::from(from_bytes("image/png"));
    let error = host
        .check_message(&message)
        .expect_err("text only")
        .to_string();
    assert!(
        error.starts_with("`openai-chat@api.deepseek.com` does not take"),
        "{error}"
    );
}

// M14
#[test]
fn mistrals_server_takes_what_mistral_takes() {
    let host = Host::at(Provider::OpenAiChat, "https://api.mistral.ai/v1");
    let mistral = Host::of(Provider::Mistral);
    assert_eq!(host.accepted_parts(), mistral.accepted_parts());
}

// M14
#[test]
fn an_older_part_does_not_stop_a_conversation() {
    let sound = || Message::User(UserMessage::from(from_bytes("audio/wav")));
    let host = Host::of(Provider::Anthropic);
    let newest = [Message::user("Hi"), assistant("Yes?", &[], None), sound()];
    assert!(host.check_history(&newest).is_err());

    // The refused message stays in the history, and the user writes another one.
    let after = [sound(), Message::user("Never mind.")];
    assert_eq!(host.check_history(&after), Ok(()));
    let text = written(Provider::Anthropic, &host, &after).to_string();
    assert!(text.contains("[sound audio/wav left out]"), "{text}");

    // Another model has heard it.
    let answered = [sound(), assistant("A bell.", &[], None)];
    assert_eq!(host.check_history(&answered), Ok(()));
}

/// Every kind, from bytes and by URL.
const ALL_KINDS: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(&["image/png"]).or_urls(&["https"]),
    sounds: AcceptedMedia::bytes(&["audio/wav"]).or_urls(&["https"]),
    videos: AcceptedMedia::bytes(&["video/mp4"]).or_urls(&["https"]),
    documents: AcceptedMedia::bytes(&["application/pdf", "application/zip"]).or_urls(&["https"]),
};

/// Returns what a provider gets of a message: in a request, or during a live session.
fn sent(provider: Provider, host: &Host, message: &UserMessage) -> Value {
    match provider.spec().endpoint {
        Endpoint::WebSocket(live) => {
            let sent = live.messages.user(message, host.accepted_parts());
            sent.messages.into()
        }
        _ => written(provider, host, &[Message::User(message.clone())]),
    }
}

// M14
#[test]
fn a_part_that_is_not_refused_is_in_the_request() {
    for provider in providers() {
        let host = Host::of(provider).accept_parts(ALL_KINDS);
        for part in accepted_parts(&ALL_KINDS) {
            let message = UserMessage::from(part);
            let text = sent(provider, &host, &message).to_string();
            let is_sent = text.contains(DATA);
            let is_taken = host.check_message(&message).is_ok();
            assert_eq!(is_taken, is_sent, "{provider}: {message:?} in {text}");
        }
    }
}

// M14
#[test]
fn a_setting_is_advised_only_where_it_helps() {
    for provider in providers() {
        let host = Host::of(provider);
        for part in accepted_parts(&ALL_KINDS) {
            let message = UserMessage::from(part);
            let Err(refused) = host.check_message(&message) else {
                continue;
            };
            let is_advised = refused.to_string().contains("accept_parts");
            let wider = host.clone().accept_parts(ALL_KINDS);
            let helps = wider.check_message(&message).is_ok();
            assert!(helps || !is_advised, "{provider}: {refused}");
        }
    }
}

// M14
#[test]
fn a_part_without_a_form_is_refused_by_its_reason() {
    let refusal = |provider, part| {
        let host = Host::of(provider).accept_parts(ALL_KINDS);
        let refused = host.check_message(&UserMessage::from(part));
        refused.expect_err("has no form").to_string()
    };
    let by_url = refusal(
        Provider::Bedrock,
        file("https://example.com/a.png", "image/png", None),
    );
    assert!(by_url.ends_with("send its bytes"), "{by_url}");
    let video = refusal(Provider::OpenAiChat, from_bytes("video/mp4"));
    assert!(video.contains("no form for videos"), "{video}");
}

/// The extensions of the files that users send.
const EXTENSIONS: &[&str] = &[
    "png", "jpg", "gif", "webp", "bmp", "heic", "heif", "wav", "mp3", "ogg", "flac", "aac", "aiff",
    "m4a", "weba", "opus", "mp4", "mov", "webm", "mkv", "flv", "wmv", "3gp", "mpeg", "mpg", "avi",
    "pdf", "docx", "xlsx", "pptx", "doc", "xls", "ppt", "odt", "ods", "odp", "rtf",
];

// M14
#[test]
fn every_accepted_type_has_an_extension() {
    let uploaded = |extension: &&str| {
        let name = format!("a.{extension}");
        let message = UserMessage::default()
            .with_upload(name, b"\xfe\xfe\x01")
            .ok()?;
        let parts = serde_json::to_value(message.parts()).expect("JSON");
        Some(canonical_type(parts[0]["mimeType"].as_str()?))
    };
    let known = EXTENSIONS.iter().filter_map(uploaded).collect::<Vec<_>>();
    // Texts are known by their bytes, as is Opus in its Ogg file. Samples of sound have no file.
    let has_no_extension = |mime_type: &str| {
        let is_text = matches!(
            mime_type,
            "application/json" | "application/xml" | "application/rtf"
        );
        let is_sound = matches!(mime_type, "audio/opus" | "audio/pcm");
        mime_type.starts_with("text/") || is_text || is_sound
    };
    for provider in providers() {
        let accepted = &provider.spec().accepted;
        let types = PartKind::ALL
            .into_iter()
            .flat_map(|kind| accepted.of(kind).types);
        for mime_type in types.filter(|mime_type| !has_no_extension(mime_type)) {
            assert!(
                known.iter().any(|known| known == mime_type),
                "{provider}: {mime_type}"
            );
        }
    }
}
