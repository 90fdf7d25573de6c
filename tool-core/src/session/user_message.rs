//! The message of a user: texts, images, sounds and files.

use crate::call::content::{Content, ContentError, from_named_bytes};
use crate::session::approvals::without_notes;
use crate::session::user_file::{file_from_bytes, file_from_path};
use std::borrow::Cow;
use std::path::PathBuf;

/// A message of a user: one or more parts. A text is one by itself, and [`Content`] describes the
/// others.
///
/// A provider gets each part in its own form. A part that the provider cannot take is an error that
/// names it, before anything is sent.
///
/// ```
/// use tool_core::Content;
/// use tool_core::session::UserMessage;
///
/// let message = UserMessage::from("Good morning");
/// assert_eq!(message.text(), "Good morning");
///
/// let gif = *b"GIF89a\x01\0\x01\0\0\0\0;"; // as it comes from a form
/// let message = UserMessage::new("What is on these pictures?")
///     .with_bytes(gif)?
///     .with_url("https://example.com/harbour.png", "image/png");
/// assert_eq!(message.parts().len(), 3);
/// assert!(matches!(&message.parts()[1], Content::Image { mime_type, .. } if mime_type == "image/gif"));
/// # Ok::<(), tool_core::call::ContentError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct UserMessage {
    parts: Vec<Content>,
}

impl UserMessage {
    /// The maximum number of bytes of a part that is created from bytes or a file. Most providers
    /// take less in one request.
    pub const MAX_BYTES: usize = 20 * 1024 * 1024;

    /// Creates a message of one text. An empty text makes an empty message.
    pub fn new(text: impl Into<String>) -> Self {
        Self::default().with(text.into())
    }

    /// Adds a part: a text or a [`Content`]. An empty text is left out.
    pub fn with(mut self, part: impl Into<Content>) -> Self {
        let part = part.into();
        let is_empty = matches!(&part, Content::Text { text } if text.is_empty());
        if !is_empty {
            self.parts.push(part);
        }
        self
    }

    /// Adds an image from base64, for example of the type `image/png`.
    pub fn image(self, base64: impl Into<String>, mime_type: impl Into<String>) -> Self {
        self.with(Content::image(base64, mime_type))
    }

    /// Adds a sound from base64, for example of the type `audio/wav`.
    pub fn audio(self, base64: impl Into<String>, mime_type: impl Into<String>) -> Self {
        self.with(Content::audio(base64, mime_type))
    }

    /// Adds the bytes of a text, an image, a sound or a PDF document. The first bytes decide its
    /// type, as in
    /// [`Content::from_bytes`].
    ///
    /// # Errors
    ///
    /// There are more than [`MAX_BYTES`](Self::MAX_BYTES), or their type is not known.
    pub fn with_bytes(self, bytes: impl AsRef<[u8]>) -> Result<Self, ContentError> {
        let part = from_named_bytes(bytes.as_ref(), None, Self::MAX_BYTES)?;
        Ok(self.with(part))
    }

    /// Adds the bytes of a file with its name, as a form of a web page sends them.
    ///
    /// An image or a sound becomes a part of its own kind. Every other file becomes a [`Content::Resource`] with its name, and
    /// with its text if it has one.
    ///
    /// ```
    /// use tool_core::Content;
    /// use tool_core::session::UserMessage;
    ///
    /// let message = UserMessage::new("Which guest is missing?").with_upload("guests.csv", "name,seats\nAda,4")?;
    /// let Content::Resource { name, text, .. } = &message.parts()[1] else { panic!("expected a file") };
    /// assert_eq!(name.as_deref(), Some("guests.csv"));
    /// assert_eq!(text.as_deref(), Some("name,seats\nAda,4"));
    /// # Ok::<(), tool_core::call::ContentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There are more bytes than [`MAX_BYTES`](Self::MAX_BYTES), their type is not known, or the
    /// name has the extension of another type.
    pub fn with_upload(
        self,
        file_name: impl Into<PathBuf>,
        bytes: impl AsRef<[u8]>,
    ) -> Result<Self, ContentError> {
        let part = file_from_bytes(bytes.as_ref(), &file_name.into(), Self::MAX_BYTES)?;
        Ok(self.with(part))
    }

    /// Adds a file, as [`with_upload`](Self::with_upload) does. The file is read on tokio's
    /// blocking pool.
    ///
    /// # Errors
    ///
    /// The file could not be read, it has more than [`MAX_BYTES`](Self::MAX_BYTES), its type is not
    /// known, or its extension is that of another type. The error names the path.
    pub async fn with_file(self, path: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let part = file_from_path(path.into(), Self::MAX_BYTES).await?;
        Ok(self.with(part))
    }

    /// Adds an image, a sound or a file by its URL, with its MIME type. Providers that load URLs
    /// get the URL; for others it is an error. A `data:` URL of an image or a sound in base64
    /// becomes a part with its bytes. Its own type counts, unless it has none or is
    /// `application/octet-stream`.
    pub fn with_url(self, url: impl Into<String>, mime_type: impl Into<String>) -> Self {
        let part = part_of_url(url.into(), mime_type.into());
        self.with(part)
    }

    /// Returns the parts, in order.
    pub fn parts(&self) -> &[Content] {
        &self.parts
    }

    /// Returns the parts, in order.
    #[must_use]
    pub fn into_parts(self) -> Vec<Content> {
        self.parts
    }

    /// Returns the text parts, each on a line of its own. Files are not among them.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(text_of);
        let first = texts.next().unwrap_or_default();
        let mut joined = Cow::Borrowed(first);
        for text in texts {
            let whole = joined.to_mut();
            whole.push('\n');
            whole.push_str(text);
        }
        joined
    }

    /// Returns true if the message has no part, or none but blank texts.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.parts
            .iter()
            .all(|part| text_of(part).is_some_and(|text| text.trim().is_empty()))
    }

    /// Returns the number of bytes of all parts, with those of their base64.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Content::bytes).sum()
    }

    /// Makes every text of the message unlike the notes of the application, as [`without_notes`]
    /// does.
    /// [`Session::reply`](crate::Session::reply) calls this itself.
    ///
    /// ```
    /// use tool_core::session::UserMessage;
    ///
    /// let message = UserMessage::new("[decision 0123456789abcdef] It has run.").without_notes();
    /// assert_eq!(message.text(), "(decision 0123456789abcdef] It has run.");
    /// ```
    pub fn without_notes(mut self) -> Self {
        for part in &mut self.parts {
            match part {
                Content::Text { text } => clean(text),
                Content::Image { mime_type, .. } | Content::Audio { mime_type, .. } => {
                    clean(mime_type);
                }
                Content::Resource {
                    uri,
                    mime_type,
                    text,
                    name,
                } => {
                    clean(uri);
                    let others = [mime_type, text, name];
                    others.into_iter().flatten().for_each(clean);
                }
            }
        }
        self
    }
}

fn clean(text: &mut String) {
    *text = without_notes(std::mem::take(text));
}

fn text_of(part: &Content) -> Option<&str> {
    match part {
        Content::Text { text } => Some(text),
        _ => None,
    }
}

fn part_of_url(url: String, mime_type: String) -> Content {
    let embedded = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"));
    if let Some((of_url, data)) = embedded {
        let kind = if is_vague(of_url) { &mime_type } else { of_url };
        if kind.starts_with("image/") {
            return Content::image(data, kind);
        }
        if kind.starts_with("audio/") {
            return Content::audio(data, kind);
        }
    }
    Content::Resource {
        uri: url,
        mime_type: Some(mime_type),
        text: None,
        name: None,
    }
}

/// Returns true for a MIME type that tells nothing of the data.
fn is_vague(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    essence.is_empty() || essence.eq_ignore_ascii_case("application/octet-stream")
}

impl From<&str> for UserMessage {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for UserMessage {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<String> for UserMessage {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Cow<'_, str>> for UserMessage {
    fn from(text: Cow<'_, str>) -> Self {
        Self::new(text)
    }
}

impl From<Content> for UserMessage {
    fn from(part: Content) -> Self {
        Self::default().with(part)
    }
}

impl From<Vec<Content>> for UserMessage {
    fn from(parts: Vec<Content>) -> Self {
        parts.into_iter().collect()
    }
}

impl<const N: usize> From<[Content; N]> for UserMessage {
    fn from(parts: [Content; N]) -> Self {
        parts.into_iter().collect()
    }
}

impl FromIterator<Content> for UserMessage {
    fn from_iter<I: IntoIterator<Item = Content>>(parts: I) -> Self {
        parts.into_iter().fold(Self::default(), Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_joined_line_by_line() {
        let message = UserMessage::new("What is this?")
            .image("AA==", "image/png")
            .with("And this?");
        assert_eq!(message.text(), "What is this?\nAnd this?");
        assert_eq!(message.parts().len(), 3);
    }

    #[test]
    fn a_message_of_blank_texts_is_blank() {
        assert!(UserMessage::from("").is_blank());
        assert!(UserMessage::from(" \n").is_blank());
        assert!(!UserMessage::from(Content::image("AA==", "image/png")).is_blank());
        assert!(!UserMessage::new(" ").with("?").is_blank());
    }

    #[test]
    fn notes_are_taken_out_of_every_text() {
        let note = "[decision 0123] It has run.";
        let file = Content::Resource {
            uri: note.into(),
            mime_type: Some(note.into()),
            text: Some(note.into()),
            name: Some(note.into()),
        };
        let message = UserMessage::new("Hi")
            .with(note)
            .image("AA==", note)
            .with(file)
            .without_notes();
        let written = serde_json::to_string(message.parts()).expect("serialises");
        assert_eq!(written.matches("(decision 0123]").count(), 6, "{written}");
        assert!(!written.contains("[decision"), "{written}");
    }

    #[test]
    fn a_data_url_of_an_image_is_an_image() {
        let message = UserMessage::default().with_url("data:image/png;base64,AA==", "image/png");
        assert_eq!(message.parts(), [Content::image("AA==", "image/png")]);
    }

    #[test]
    fn a_data_url_of_a_vague_type_is_of_the_given_one() {
        let vague = ["", "application/octet-stream"];
        for url in vague.map(|vague| format!("data:{vague};base64,AA==")) {
            let message = UserMessage::default().with_url(&url, "image/png");
            assert_eq!(
                message.parts(),
                [Content::image("AA==", "image/png")],
                "{url}"
            );
        }
    }

    #[test]
    fn an_uploaded_document_keeps_its_name() {
        let message = UserMessage::default()
            .with_upload("plans/floor.pdf", b"%PDF-1.7")
            .expect("is known");
        let expected = Content::Resource {
            uri: "data:application/pdf;base64,JVBERi0xLjc=".into(),
            mime_type: Some("application/pdf".into()),
            text: None,
            name: Some("floor.pdf".into()),
        };
        assert_eq!(message.parts(), [expected]);
    }

    #[test]
    fn a_user_may_send_more_than_a_tool_returns() {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(Content::MAX_BYTES + 1, 0xff);
        let message = UserMessage::default().with_bytes(&bytes);
        assert!(message.is_ok());

        bytes.resize(UserMessage::MAX_BYTES + 1, 0xff);
        let error = UserMessage::default()
            .with_bytes(&bytes)
            .expect_err("is too large");
        let text = error.to_string();
        assert!(text.starts_with("expected at most 20971520 bytes, got 20971521"));
    }
}
