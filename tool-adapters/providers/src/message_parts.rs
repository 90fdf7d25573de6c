//! The parts of a user's message: which of them a server takes, and what a writer of requests sees
//! of them.
//!
//! A message is checked before it is sent, and a part that the server does not take is an error. In
//! a message of an earlier turn, which may have gone to another server, such a part becomes a note:
//! the conversation goes on.

use crate::accepted_parts::{AcceptedParts, PartKind, canonical_type, extension_of};
use crate::request::text_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::io;
use thiserror::Error;
use tool_core::Content;
use tool_core::call::ModelResult;
use tool_core::session::{Message, UserMessage, is_note, without_notes};

/// The parts of a message that a server does not take, each with the reason and with what to do.
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::Host;
/// use tool_core::session::UserMessage;
///
/// let message = UserMessage::new("What is this?").with_url("https://example.com/harbour.png", "image/png");
/// let refused = Host::of(Provider::Ollama).check_message(&message).unwrap_err();
/// assert_eq!(refused.problems[0].position, 1);
/// assert!(refused.to_string().starts_with("`ollama` does not take part 2 of the message (image/png by URL): its API has no form for URLs"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct RefusedParts {
    /// The server, as [`Host::turn_id`](super::Host::turn_id) names it.
    pub server: String,
    /// Every part that the server does not take, in order.
    pub problems: Vec<PartProblem>,
}

impl Display for RefusedParts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [first, further @ ..] = self.problems.as_slice() else {
            return write!(f, "`{}` takes all parts of the message", self.server);
        };
        write!(f, "`{}` does not take {first}", self.server)?;
        for problem in further {
            write!(f, "; nor {problem}")?;
        }
        Ok(())
    }
}

/// A part of a message that a server does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartProblem {
    /// The position of the part in the message, from 0.
    pub position: usize,
    /// The MIME type, if it is known.
    pub mime_type: Option<String>,
    /// True for a part that is given by its URL.
    pub is_url: bool,
    /// The reason.
    pub refusal: PartRefusal,
}

impl Display for PartProblem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mime_type = self.mime_type.as_deref().unwrap_or("no type");
        write!(
            f,
            "part {} of the message ({}{}): {}",
            self.position.saturating_add(1),
            mime_type.escape_debug(),
            if self.is_url { " by URL" } else { "" },
            self.refusal
        )
    }
}

/// The reason for which a server does not take a part.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartRefusal {
    /// The server takes no part of the kind.
    #[error("it takes no {kind}s; {}", kind.alternative())]
    Kind {
        /// The kind.
        kind: PartKind,
    },
    /// The server takes no part of the type.
    #[error("it takes {kind}s of the type {}; convert it", listed(expected))]
    Type {
        /// The kind.
        kind: PartKind,
        /// The types that it takes.
        expected: &'static [&'static str],
    },
    /// The server loads no URLs of the kind.
    #[error(
        "it loads no URLs of {kind}s; load the {kind} yourself and send its bytes, or set `accept_parts` if the server may load them"
    )]
    Url {
        /// The kind.
        kind: PartKind,
    },
    /// The provider's API has no form for a URL of the kind, whatever the server loads.
    #[error("its API has no form for URLs of {kind}s; load the {kind} yourself and send its bytes")]
    NoUrlForm {
        /// The kind.
        kind: PartKind,
    },
    /// The provider's API has no form for the part, whatever the model takes.
    #[error("its API has no form for {kind}s of this type; {}", kind.alternative())]
    NoForm {
        /// The kind.
        kind: PartKind,
    },
    /// The URL has another scheme than those that the server loads.
    #[error(
        "expected a URL with the scheme {}; load the file yourself and send its bytes",
        listed(expected)
    )]
    Scheme {
        /// The schemes that it loads.
        expected: &'static [&'static str],
    },
    /// The URL is none, or has a password.
    #[error("expected a URL of visible ASCII characters, with a host and without a password")]
    InvalidUrl,
    /// The MIME type of a URL is not given.
    #[error(
        "the type of the file is not known; give it as in `UserMessage::with_url(url, \"image/png\")`"
    )]
    UnknownType,
    /// The data is not base64.
    #[error("expected base64 with its padding; `UserMessage::with_bytes` writes it")]
    InvalidBase64,
    /// The part has more bytes than the server takes.
    #[error("it takes at most {max} bytes in one {kind}, got {bytes}; make it smaller")]
    TooLarge {
        /// The kind.
        kind: PartKind,
        /// The number of bytes, before base64.
        bytes: u64,
        /// The maximum.
        max: usize,
    },
}

fn listed(names: &[&str]) -> String {
    let names = names.iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(" or ")
}

/// A part of a message as writers of requests see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MessagePart<'a> {
    Text(Cow<'a, str>),
    /// A file whose text is at hand.
    TextFile(TextFile<'a>),
    /// An image, a sound, a video or a document that the server takes.
    Media(MediaPart<'a>),
}

/// A file whose text is at hand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextFile<'a> {
    /// The name, or the URI of a file without one.
    pub(crate) name: &'a str,
    pub(crate) mime_type: Option<&'a str>,
    pub(crate) text: Cow<'a, str>,
}

impl TextFile<'_> {
    /// Returns the text under the name of the file.
    pub(crate) fn labelled(&self) -> String {
        let name = self.name.escape_debug();
        match self.mime_type {
            Some(mime_type) => format!("File `{name}` ({mime_type}):\n{}", self.text),
            None => format!("File `{name}`:\n{}", self.text),
        }
    }
}

/// An image, a sound, a video or a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MediaPart<'a> {
    pub(crate) kind: PartKind,
    /// The type as it was given, with its parameters.
    pub(crate) given_type: &'a str,
    /// The type in its usual spelling, without parameters.
    pub(crate) mime_type: String,
    pub(crate) source: MediaSource<'a>,
    /// The name of the file, if it has one.
    pub(crate) name: Option<&'a str>,
}

/// The place of a part's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MediaSource<'a> {
    Base64(&'a str),
    Url(&'a str),
}

impl MediaPart<'_> {
    /// Returns the URL, or a `data:` URI with the bytes.
    pub(crate) fn url(&self) -> String {
        match self.source {
            MediaSource::Base64(data) => format!("data:{};base64,{data}", self.mime_type),
            MediaSource::Url(url) => url.to_owned(),
        }
    }

    /// Returns the bytes in base64; `None` for a URL.
    pub(crate) fn base64(&self) -> Option<&str> {
        match self.source {
            MediaSource::Base64(data) => Some(data),
            MediaSource::Url(_) => None,
        }
    }

    /// Returns the name of the file, or one that its type tells.
    pub(crate) fn file_name(&self) -> Cow<'_, str> {
        if let Some(name) = self.name.filter(|name| !name.trim().is_empty()) {
            return Cow::Borrowed(name);
        }
        match extension_of(&self.mime_type) {
            Some(extension) => Cow::Owned(format!("{}.{extension}", self.kind)),
            None => Cow::Owned(self.kind.to_string()),
        }
    }
}

/// Reads a part. Fails for one that the server does not take.
pub(crate) fn read_part<'a>(
    part: &'a Content,
    accepted: &AcceptedParts,
) -> Result<MessagePart<'a>, PartRefusal> {
    match part {
        Content::Text { text } => Ok(MessagePart::Text(Cow::Borrowed(text))),
        Content::Image { data, mime_type } | Content::Audio { data, mime_type } => {
            let media = MediaPart::new(mime_type, MediaSource::Base64(data), None);
            check_media(media, accepted).map(MessagePart::Media)
        }
        Content::Resource {
            uri,
            mime_type,
            text: Some(text),
            name,
        } => Ok(MessagePart::TextFile(TextFile {
            name: name.as_deref().unwrap_or(uri),
            mime_type: mime_type.as_deref(),
            text: Cow::Borrowed(text),
        })),
        Content::Resource {
            uri,
            mime_type,
            text: None,
            name,
        } => read_resource(uri, mime_type.as_deref(), name.as_deref(), accepted),
        _ => Err(PartRefusal::UnknownType),
    }
}

/// Reads a part of a tool's result. A URL stays a text: servers load only those that the user has
/// given. So does a part that the server does not take.
pub(crate) fn read_result_part<'a>(part: &'a Content, accepted: &AcceptedParts) -> MessagePart<'a> {
    let is_url = PartOrigin::of(part).is_url;
    match read_part(part, accepted) {
        Ok(read) if !(is_url && matches!(read, MessagePart::Media(_))) => read,
        _ => MessagePart::Text(Cow::Owned(text_of(part))),
    }
}

fn read_resource<'a>(
    uri: &'a str,
    mime_type: Option<&'a str>,
    name: Option<&'a str>,
    accepted: &AcceptedParts,
) -> Result<MessagePart<'a>, PartRefusal> {
    let Some(embedded) = uri.strip_prefix("data:") else {
        let mime_type = mime_type.ok_or(PartRefusal::UnknownType)?;
        let media = MediaPart::new(mime_type, MediaSource::Url(uri), name);
        return check_media(media, accepted).map(MessagePart::Media);
    };
    let (given_type, data) = embedded
        .split_once(";base64,")
        .ok_or(PartRefusal::InvalidBase64)?;
    let given_type = type_of_data(given_type, mime_type);
    let media = MediaPart::new(given_type, MediaSource::Base64(data), name);
    let refusal = match check_media(media, accepted) {
        Ok(media) => return Ok(MessagePart::Media(media)),
        Err(refusal) => refusal,
    };
    match decoded_text(given_type, data) {
        Some(text) => Ok(MessagePart::TextFile(TextFile {
            name: name.unwrap_or("file"),
            mime_type: Some(given_type),
            text: Cow::Owned(text),
        })),
        None => Err(refusal),
    }
}

/// Returns the type of the data in a URI: the given one if that of the URI tells nothing.
fn type_of_data<'a>(of_uri: &'a str, given: Option<&'a str>) -> &'a str {
    match canonical_type(of_uri).as_str() {
        "" | "application/octet-stream" => given.unwrap_or(of_uri),
        _ => of_uri,
    }
}

/// Returns the text of a text file in base64, which every server takes.
fn decoded_text(mime_type: &str, data: &str) -> Option<String> {
    let mime_type = canonical_type(mime_type);
    let is_text = mime_type.starts_with("text/")
        || matches!(mime_type.as_str(), "application/json" | "application/xml");
    if !is_text {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    // In base64 it was not compared with the notes of the application.
    Some(without_notes(text))
}

impl<'a> MediaPart<'a> {
    fn new(given_type: &'a str, source: MediaSource<'a>, name: Option<&'a str>) -> Self {
        Self {
            kind: PartKind::of_type(given_type.trim()),
            given_type,
            mime_type: canonical_type(given_type),
            source,
            name,
        }
    }
}

fn check_media<'a>(
    media: MediaPart<'a>,
    accepted: &AcceptedParts,
) -> Result<MediaPart<'a>, PartRefusal> {
    let kind = media.kind;
    let accepted = accepted.of(kind);
    if !accepted.is_accepted() {
        return Err(PartRefusal::Kind { kind });
    }
    if !accepted.takes_type(&media.mime_type) {
        return Err(PartRefusal::Type {
            kind,
            expected: accepted.types,
        });
    }
    match media.source {
        MediaSource::Url(_) if accepted.url_schemes.is_empty() => {
            return Err(PartRefusal::Url { kind });
        }
        MediaSource::Url(url) => check_url(url, accepted.url_schemes)?,
        MediaSource::Base64(data) => {
            let bytes = decoded_size(data)?;
            let max = accepted.max_bytes.unwrap_or(usize::MAX);
            if bytes > max as u64 {
                return Err(PartRefusal::TooLarge { kind, bytes, max });
            }
        }
    }
    Ok(media)
}

/// The maximum length of a URL.
const MAX_URL: usize = 8 * 1024;

fn check_url(url: &str, schemes: &'static [&'static str]) -> Result<(), PartRefusal> {
    let (scheme, rest) = url
        .split_once("://")
        .ok_or(PartRefusal::Scheme { expected: schemes })?;
    let is_loaded = schemes
        .iter()
        .any(|loaded| scheme.eq_ignore_ascii_case(loaded));
    if !is_loaded {
        return Err(PartRefusal::Scheme { expected: schemes });
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let has_host = !authority.is_empty() && !authority.starts_with(':');
    let has_password = authority.contains('@');
    let is_visible = url
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>'));
    if has_host && !has_password && is_visible && url.len() <= MAX_URL {
        Ok(())
    } else {
        Err(PartRefusal::InvalidUrl)
    }
}

/// Returns the number of bytes in base64, without keeping them.
fn decoded_size(data: &str) -> Result<u64, PartRefusal> {
    let mut decoder = DecoderReader::new(data.as_bytes(), &STANDARD);
    match io::copy(&mut decoder, &mut io::sink()) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(PartRefusal::InvalidBase64),
    }
}

/// Returns true if a provider's API has a form for a part of a user's message.
pub(crate) type FormCheck = fn(&MediaPart<'_>) -> bool;

/// Returns the parts of a message that a server does not take.
pub(crate) fn refused_parts(
    message: &UserMessage,
    accepted: &AcceptedParts,
    has_form: FormCheck,
) -> Vec<PartProblem> {
    let mut problems = Vec::new();
    for (position, part) in message.parts().iter().enumerate() {
        if let Some(refusal) = refusal_of(part, accepted, has_form) {
            let origin = PartOrigin::of(part);
            problems.push(PartProblem {
                position,
                mime_type: origin.mime_type.map(str::to_owned),
                is_url: origin.is_url,
                refusal,
            });
        }
    }
    problems
}

fn refusal_of(
    part: &Content,
    accepted: &AcceptedParts,
    has_form: FormCheck,
) -> Option<PartRefusal> {
    let refusal = match read_part(part, accepted) {
        Ok(MessagePart::Media(media)) => return missing_form(&media, has_form),
        Ok(_) => return None,
        Err(refusal) => refusal,
    };
    // No setting helps where the API has no form for a URL.
    if matches!(refusal, PartRefusal::Url { .. })
        && let Some(missing) = media_by_url(part).and_then(|media| missing_form(&media, has_form))
    {
        return Some(missing);
    }
    Some(refusal)
}

fn media_by_url(part: &Content) -> Option<MediaPart<'_>> {
    match part {
        Content::Resource {
            uri,
            mime_type: Some(mime_type),
            name,
            ..
        } => Some(MediaPart::new(
            mime_type,
            MediaSource::Url(uri),
            name.as_deref(),
        )),
        _ => None,
    }
}

/// Returns the problem of a part for which a provider's API has no form.
fn missing_form(media: &MediaPart<'_>, has_form: FormCheck) -> Option<PartRefusal> {
    let kind = media.kind;
    // The form is the same for any bytes, and these need not be copied.
    let bytes = MediaPart {
        source: MediaSource::Base64(""),
        ..media.clone()
    };
    let takes_bytes = has_form(&bytes);
    match media.source {
        MediaSource::Base64(_) if takes_bytes => None,
        MediaSource::Url(_) if has_form(media) => None,
        MediaSource::Url(_) if takes_bytes => Some(PartRefusal::NoUrlForm { kind }),
        _ => Some(PartRefusal::NoForm { kind }),
    }
}

/// Returns the position of the message of the user that the model has not read yet. The
/// application's notes are none of the user.
///
/// An earlier message that no model has answered was refused, and the user has written another one
/// since.
///
/// ```
/// use tool_adapters::providers::unread_message;
/// use tool_core::session::Message;
///
/// let answer = Message::Assistant { text: Some("Hello!".into()), calls: Vec::new(), native: None };
/// let mut history = vec![Message::user("Hi"), answer];
/// assert_eq!(unread_message(&history), None);
///
/// history.push(Message::user("What time is it?"));
/// assert_eq!(unread_message(&history), Some(2));
/// ```
#[must_use]
pub fn unread_message(history: &[Message]) -> Option<usize> {
    for (position, message) in history.iter().enumerate().rev() {
        match message {
            Message::Assistant { .. } => return None,
            Message::User(said) if !is_whole_note(said) => return Some(position),
            _ => {}
        }
    }
    None
}

/// Returns true for a note of the application. No user can write one: see
/// `UserMessage::without_notes`.
fn is_whole_note(said: &UserMessage) -> bool {
    match said.parts() {
        [Content::Text { text }] => is_note(text),
        _ => false,
    }
}

/// Returns the note in place of a part that the server does not take.
pub(crate) fn left_out_note(part: &Content) -> String {
    let origin = PartOrigin::of(part);
    let mime_type = origin.mime_type.unwrap_or_default();
    let kind = PartKind::of_type(mime_type);
    let mut note = format!("[{kind}");
    for detail in [origin.name.unwrap_or_default(), mime_type] {
        if !detail.is_empty() {
            note.push(' ');
            note.extend(detail.chars().take(MAX_DETAIL).flat_map(char::escape_debug));
        }
    }
    note.push_str(" left out]");
    note
}

/// Returns a message with a note in place of each image and file, but for files whose text is at
/// hand. `None` for a message without one.
///
/// ```
/// use tool_adapters::providers::without_files;
/// use tool_core::session::{Message, UserMessage};
///
/// let message = Message::user(UserMessage::new("What is this?").image("iVBORw0KGgo=", "image/png"));
/// let without = without_files(&message).unwrap();
/// assert_eq!(without, Message::user(UserMessage::new("What is this?").with("[image image/png left out]")));
/// assert_eq!(without_files(&without), None);
/// ```
#[must_use]
pub fn without_files(message: &Message) -> Option<Message> {
    match message {
        Message::User(said) => {
            let parts = parts_without(said.parts(), is_file)?;
            Some(Message::User(parts.into_iter().collect()))
        }
        Message::Result {
            call_id,
            tool,
            result,
        } => {
            let parts = parts_without(&result.content()?, has_bytes)?;
            let result = ModelResult {
                text: serde_json::to_string(&parts).ok()?,
                ..result.clone()
            };
            Some(Message::Result {
                call_id: call_id.clone(),
                tool: tool.clone(),
                result,
            })
        }
        _ => None,
    }
}

/// Returns true for a part that is not text, given by its bytes or its URL.
fn is_file(part: &Content) -> bool {
    let is_text = matches!(
        part,
        Content::Text { .. } | Content::Resource { text: Some(_), .. }
    );
    !is_text
}

/// Returns true for a part with the bytes of an image or a file. The URL of a result is text.
fn has_bytes(part: &Content) -> bool {
    match part {
        Content::Image { .. } | Content::Audio { .. } => true,
        Content::Resource { uri, text, .. } => text.is_none() && uri.starts_with("data:"),
        _ => false,
    }
}

fn parts_without(parts: &[Content], is_left_out: fn(&Content) -> bool) -> Option<Vec<Content>> {
    if !parts.iter().any(is_left_out) {
        return None;
    }
    let without = parts.iter().map(|part| {
        if is_left_out(part) {
            Content::text(left_out_note(part))
        } else {
            part.clone()
        }
    });
    Some(without.collect())
}

/// The maximum number of characters of a name or a type in a note.
const MAX_DETAIL: usize = 100;

/// The name and the type of a part.
struct PartOrigin<'a> {
    mime_type: Option<&'a str>,
    name: Option<&'a str>,
    is_url: bool,
}

impl<'a> PartOrigin<'a> {
    fn of(part: &'a Content) -> Self {
        match part {
            Content::Image { mime_type, .. } | Content::Audio { mime_type, .. } => Self {
                mime_type: Some(mime_type),
                name: None,
                is_url: false,
            },
            Content::Resource {
                uri,
                mime_type,
                name,
                ..
            } => {
                let embedded = uri.strip_prefix("data:");
                let of_uri = embedded.and_then(|embedded| embedded.split([';', ',']).next());
                let given = mime_type.as_deref();
                Self {
                    mime_type: of_uri.map_or(given, |of_uri| Some(type_of_data(of_uri, given))),
                    name: name.as_deref(),
                    is_url: embedded.is_none(),
                }
            }
            _ => Self {
                mime_type: None,
                name: None,
                is_url: false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accepted_parts::{AcceptedMedia, PDF, WEB, WEB_IMAGES};
    use tool_core::session::NOTE;

    const ACCEPTED: AcceptedParts = AcceptedParts {
        images: AcceptedMedia::bytes(WEB_IMAGES).or_urls(WEB).at_most(8),
        documents: AcceptedMedia::bytes(PDF),
        ..AcceptedParts::TEXT
    };

    fn refusal(part: impl Into<Content>) -> Option<PartRefusal> {
        read_part(&part.into(), &ACCEPTED).err()
    }

    fn url(uri: &str, mime_type: Option<&str>) -> Content {
        Content::Resource {
            uri: uri.to_owned(),
            mime_type: mime_type.map(str::to_owned),
            text: None,
            name: None,
        }
    }

    #[test]
    fn a_part_of_an_accepted_type_is_read() {
        assert_eq!(refusal("Hi"), None);
        assert_eq!(refusal(Content::image("AAAA", "image/PNG")), None);
        assert_eq!(
            refusal(url("https://example.com/a.png", Some("image/png"))),
            None
        );
        assert_eq!(refusal(url("data:application/pdf;base64,AAAA", None)), None);
    }

    #[test]
    fn a_kind_that_the_server_does_not_take_is_refused() {
        let kind = PartKind::Sound;
        assert_eq!(
            refusal(Content::audio("AAAA", "audio/wav")),
            Some(PartRefusal::Kind { kind })
        );
        let kind = PartKind::Video;
        let video = url("data:video/mp4;base64,AAAA", None);
        assert_eq!(refusal(video), Some(PartRefusal::Kind { kind }));
    }

    #[test]
    fn data_that_is_not_base64_is_refused() {
        for data in [
            "",
            "A",
            "AAA",
            "AA==AA==",
            "AAA*",
            "AA AA",
            "https://example.com",
            "QUI",
        ] {
            let found = refusal(Content::image(data, "image/png"));
            assert_eq!(found, Some(PartRefusal::InvalidBase64), "{data}");
        }
        let plain = url("data:image/png,AAAA", None);
        assert_eq!(refusal(plain), Some(PartRefusal::InvalidBase64));
    }

    #[test]
    fn the_size_is_that_of_the_bytes() {
        assert_eq!(refusal(Content::image("AAAAAAAAAAA=", "image/png")), None);
        let kind = PartKind::Image;
        let found = refusal(Content::image("AAAAAAAAAAAA", "image/png"));
        assert_eq!(
            found,
            Some(PartRefusal::TooLarge {
                kind,
                bytes: 9,
                max: 8
            })
        );
    }

    #[test]
    fn a_url_without_an_accepted_scheme_is_refused() {
        for uri in [
            "file:///etc/passwd",
            "ftp://example.com/a.png",
            "gs://bucket/a.png",
            "attachment:a.png",
            "javascript:alert(1)",
            "example.com/a.png",
        ] {
            let found = refusal(url(uri, Some("image/png")));
            assert_eq!(found, Some(PartRefusal::Scheme { expected: WEB }), "{uri}");
        }
    }

    #[test]
    fn a_malformed_url_is_refused() {
        let long = format!("https://example.com/{}", "x".repeat(MAX_URL));
        for uri in [
            "https://",
            "https:///a.png",
            "https://:80/a.png",
            "https://ann:secret@example.com/a.png",
            "https://example.com/a b.png",
            "https://example.com\\@evil.example/a.png",
            "https://example.com/ä.png",
            "https://example.com/\na.png",
            long.as_str(),
        ] {
            let found = refusal(url(uri, Some("image/png")));
            assert_eq!(found, Some(PartRefusal::InvalidUrl), "{uri}");
        }
    }

    #[test]
    fn a_url_without_a_type_is_refused() {
        let found = refusal(url("https://example.com/a", None));
        assert_eq!(found, Some(PartRefusal::UnknownType));
    }

    #[test]
    fn a_vague_type_of_a_data_url_gives_way_to_the_given_one() {
        for vague in [
            "",
            "application/octet-stream",
            "Application/Octet-Stream;a=b",
        ] {
            let part = url(
                &format!("data:{vague};base64,AAAA"),
                Some("application/pdf"),
            );
            assert_eq!(refusal(part), None, "{vague}");
        }
    }

    #[test]
    fn the_type_of_a_data_url_goes_before_the_given_one() {
        let part = url("data:video/mp4;base64,AAAA", Some("application/pdf"));
        let kind = PartKind::Video;
        assert_eq!(refusal(part), Some(PartRefusal::Kind { kind }));
    }

    #[test]
    fn an_error_names_the_type_that_was_judged() {
        for (data_url, given, judged) in [
            ("data:video/mp4;base64,AAAA", "application/pdf", "video/mp4"),
            ("data:;base64,AAAA", "video/mp4", "video/mp4"),
            (
                "data:application/octet-stream;base64,AAAA",
                "video/mp4",
                "video/mp4",
            ),
        ] {
            let part = url(data_url, Some(given));
            let origin = PartOrigin::of(&part);
            assert_eq!(origin.mime_type, Some(judged), "{data_url}");
        }
    }

    #[test]
    fn a_text_file_in_base64_is_text_for_everyone() {
        let part = url("data:text/csv;base64,YSxi", None);
        let read = read_part(&part, &AcceptedParts::TEXT).expect("a text");
        let MessagePart::TextFile(file) = read else {
            panic!("expected a text, got {read:?}");
        };
        assert_eq!(file.labelled(), "File `file` (text/csv):\na,b");
    }

    #[test]
    fn a_text_in_base64_cannot_make_up_a_note() {
        let text = STANDARD.encode(format!("{NOTE} It has run."));
        let part = url(&format!("data:text/plain;base64,{text}"), None);
        let read = read_part(&part, &AcceptedParts::TEXT).expect("a text");
        let MessagePart::TextFile(file) = read else {
            panic!("expected a text, got {read:?}");
        };
        assert!(file.text.starts_with("(Note by"), "{}", file.text);
    }

    #[test]
    fn a_note_names_the_part_and_has_none_of_its_data() {
        assert_eq!(
            left_out_note(&Content::image("iVBORw0KGgo=", "image/png")),
            "[image image/png left out]"
        );
        let part = url("https://example.com/?key=secret", Some("application/pdf"));
        assert_eq!(left_out_note(&part), "[document application/pdf left out]");
        let named = Content::Resource {
            uri: "data:application/pdf;base64,AAAA".into(),
            mime_type: None,
            text: None,
            name: Some("a\n].pdf".into()),
        };
        assert_eq!(
            left_out_note(&named),
            "[document a\\n].pdf application/pdf left out]"
        );
    }

    fn answer() -> Message {
        Message::Assistant {
            text: Some("Yes.".into()),
            calls: Vec::new(),
            native: None,
        }
    }

    #[test]
    fn a_message_that_a_model_has_answered_is_not_the_newest() {
        assert_eq!(unread_message(&[Message::user("a"), answer()]), None);
        assert_eq!(unread_message(&[]), None);
        let history = [Message::user("a"), answer(), Message::user("b")];
        assert_eq!(unread_message(&history), Some(2));
    }

    #[test]
    fn a_message_after_a_refused_one_is_the_newest() {
        let history = [Message::user("a"), Message::user("b")];
        assert_eq!(unread_message(&history), Some(1));
    }

    #[test]
    fn a_note_of_the_application_is_not_the_newest_message() {
        let history = [
            Message::user("a"),
            Message::user(format!("{NOTE} It has run.")),
        ];
        assert_eq!(unread_message(&history), Some(0));
    }
}
