//! Parts of a result that are not plain JSON data.

use serde::{Deserialize, Serialize};

/// A part of a result, for models that take more than text. A tool returns one, or a `Vec` of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Base64.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
    },
    /// Sound.
    Audio {
        /// Base64.
        data: String,
        /// Such as `audio/wav`.
        mime_type: String,
    },
    /// Something that stands elsewhere.
    Resource {
        /// Where.
        uri: String,
        /// Such as `text/markdown`, where it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its text, where it is at hand.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// An image in base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: data.into(), mime_type: mime_type.into() }
    }

    /// Sound in base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: data.into(), mime_type: mime_type.into() }
    }

    /// Something that stands elsewhere.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource { uri: uri.into(), mime_type: None, text: None }
    }
}
