//! The images, sounds, videos and documents that a provider takes in a message of the user, as
//! data.
//!
//! Each provider's `SPEC` has one [`AcceptedParts`], and a server of `known_hosts` may have
//! another. The check of a message is in `message_parts`.

use std::fmt::{self, Display, Formatter};

/// The kind of a part of a message that is not text.
///
/// ```
/// use tool_adapters::providers::PartKind;
///
/// assert_eq!(PartKind::of_type("image/png"), PartKind::Image);
/// assert_eq!(PartKind::of_type("application/pdf"), PartKind::Document);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// An image.
    Image,
    /// A sound.
    Sound,
    /// A video.
    Video,
    /// A PDF document, or any other file.
    Document,
}

impl PartKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Image, Self::Sound, Self::Video, Self::Document];

    /// Returns the kind of a MIME type. Every type that is no image, sound or video is a document.
    #[must_use]
    pub fn of_type(mime_type: &str) -> Self {
        let kind = mime_type.split('/').next().unwrap_or_default();
        if kind.eq_ignore_ascii_case("image") {
            Self::Image
        } else if kind.eq_ignore_ascii_case("audio") {
            Self::Sound
        } else if kind.eq_ignore_ascii_case("video") {
            Self::Video
        } else {
            Self::Document
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Sound => "sound",
            Self::Video => "video",
            Self::Document => "document",
        }
    }

    /// Returns the advice for a part of this kind where the provider takes none.
    pub(crate) fn alternative(self) -> &'static str {
        match self {
            Self::Image => "describe it in words, or ask a model that sees images",
            Self::Sound => "send its transcript, or ask a model that hears sounds",
            Self::Video => "send single images of it, or ask a model that sees videos",
            Self::Document => "send its text, or ask a model that reads documents",
        }
    }
}

impl Display for PartKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The parts of a user's message that a provider, a server or a model takes beside text.
///
/// Every provider has its own, by its documents: see [`Host::accepted_parts`](super::Host::accepted_parts). Set other ones for a
/// model that takes less or more with [`Host::accept_parts`](super::Host::accept_parts).
///
/// ```
/// use tool_adapters::Provider;
/// use tool_adapters::providers::{AcceptedMedia, AcceptedParts, Host, PartKind};
///
/// let ollama = Host::of(Provider::Ollama);
/// assert!(ollama.accepted_parts().of(PartKind::Image).takes_type("image/png"));
/// assert!(ollama.accepted_parts().of(PartKind::Image).url_schemes.is_empty());
///
/// // A model that reads text and hears WAV.
/// let parts = AcceptedParts { sounds: AcceptedMedia::bytes(&["audio/wav"]), ..AcceptedParts::TEXT };
/// let host = ollama.accept_parts(parts);
/// assert!(!host.accepted_parts().of(PartKind::Image).is_accepted());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedParts {
    /// The images.
    pub images: AcceptedMedia,
    /// The sounds.
    pub sounds: AcceptedMedia,
    /// The videos.
    pub videos: AcceptedMedia,
    /// PDF documents and other files. A file whose text is at hand is text, which everyone takes.
    pub documents: AcceptedMedia,
}

/// The parts of one kind that a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptedMedia {
    /// The MIME types, in lower case, and `text/*` for all that begin with `text/`. Empty if the
    /// provider takes no part of the kind.
    pub types: &'static [&'static str],
    /// The schemes of the URLs that the provider loads, such as `https`. Empty if it takes bytes
    /// only.
    pub url_schemes: &'static [&'static str],
    /// The maximum number of bytes, before base64, as far as the provider's documents tell.
    pub max_bytes: Option<usize>,
}

impl AcceptedParts {
    /// Text alone.
    pub const TEXT: Self = Self {
        images: AcceptedMedia::NONE,
        sounds: AcceptedMedia::NONE,
        videos: AcceptedMedia::NONE,
        documents: AcceptedMedia::NONE,
    };

    /// Returns what is accepted of a kind.
    #[must_use]
    pub const fn of(&self, kind: PartKind) -> &AcceptedMedia {
        match kind {
            PartKind::Image => &self.images,
            PartKind::Sound => &self.sounds,
            PartKind::Video => &self.videos,
            PartKind::Document => &self.documents,
        }
    }

    /// Returns the same without URLs: bytes only.
    ///
    /// A server that you run yourself would load a URL of your users from inside your network.
    #[must_use]
    pub const fn without_urls(self) -> Self {
        Self {
            images: self.images.without_urls(),
            sounds: self.sounds.without_urls(),
            videos: self.videos.without_urls(),
            documents: self.documents.without_urls(),
        }
    }
}

impl AcceptedMedia {
    /// No part of the kind.
    pub const NONE: Self = Self::bytes(&[]);

    /// Bytes of these MIME types.
    #[must_use]
    pub const fn bytes(types: &'static [&'static str]) -> Self {
        Self {
            types,
            url_schemes: &[],
            max_bytes: None,
        }
    }

    /// Adds URLs of these schemes.
    #[must_use]
    pub const fn or_urls(self, schemes: &'static [&'static str]) -> Self {
        Self {
            url_schemes: schemes,
            ..self
        }
    }

    /// Sets the maximum number of bytes.
    #[must_use]
    pub const fn at_most(self, bytes: usize) -> Self {
        Self {
            max_bytes: Some(bytes),
            ..self
        }
    }

    const fn without_urls(self) -> Self {
        Self {
            url_schemes: &[],
            ..self
        }
    }

    /// Returns true if a part of the kind is accepted.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        !self.types.is_empty()
    }

    /// Returns true for an accepted MIME type. Other spellings of a type are the same, such as
    /// `image/jpg`.
    #[must_use]
    pub fn takes_type(&self, mime_type: &str) -> bool {
        let wanted = canonical_type(mime_type);
        self.types
            .iter()
            .any(|accepted| match accepted.strip_suffix('*') {
                Some(prefix) => wanted.starts_with(prefix),
                None => *accepted == wanted,
            })
    }
}

/// Returns a MIME type in lower case, without parameters, in its most usual spelling.
pub(crate) fn canonical_type(mime_type: &str) -> String {
    let essence = mime_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let usual = match essence.as_str() {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "audio/mp3" | "audio/x-mp3" | "audio/mpeg3" => "audio/mpeg",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/x-flac" => "audio/flac",
        "audio/m4a" | "audio/x-m4a" => "audio/mp4",
        "audio/x-aac" => "audio/aac",
        "audio/x-aiff" => "audio/aiff",
        "audio/l16" => "audio/pcm",
        "video/mov" => "video/quicktime",
        "video/avi" | "video/x-msvideo" => "video/avi",
        "video/mpg" => "video/mpeg",
        "video/x-ms-wmv" => "video/wmv",
        "video/mkv" => "video/x-matroska",
        "application/x-pdf" => "application/pdf",
        "text/x-markdown" | "text/md" => "text/markdown",
        _ => return essence,
    };
    usual.to_owned()
}

/// The types of images that nearly every provider takes.
pub(crate) const WEB_IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];

/// PDF documents.
pub(crate) const PDF: &[&str] = &["application/pdf"];

/// URLs of the web.
pub(crate) const WEB: &[&str] = &["https", "http"];

/// A million bytes, as the documents of providers count.
pub(crate) const MEGABYTE: usize = 1_000_000;

/// The extensions of the files of documents, by their types.
const EXTENSIONS: [(&str, &str); 17] = [
    ("application/pdf", "pdf"),
    ("text/csv", "csv"),
    ("application/msword", "doc"),
    (DOCX, "docx"),
    ("application/vnd.ms-excel", "xls"),
    (XLSX, "xlsx"),
    ("application/vnd.ms-powerpoint", "ppt"),
    (PPTX, "pptx"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/rtf", "rtf"),
    ("text/rtf", "rtf"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("application/json", "json"),
    ("application/xml", "xml"),
    ("text/xml", "xml"),
];

pub(crate) const DOCX: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
pub(crate) const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
pub(crate) const PPTX: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation";

/// Returns the extension of the files of a canonical type.
pub(crate) fn extension_of(mime_type: &str) -> Option<&'static str> {
    let known = EXTENSIONS.iter().find(|(known, _)| *known == mime_type);
    known.map(|(_, extension)| *extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider;

    #[test]
    fn other_spellings_of_a_type_are_the_same() {
        let images = AcceptedMedia::bytes(&["image/jpeg"]);
        for spelling in ["image/jpeg", "IMAGE/JPG", " image/jpeg ; q=1"] {
            assert!(images.takes_type(spelling), "{spelling}");
        }
        assert!(!images.takes_type("image/jpegx"));
        assert!(!images.takes_type(""));
    }

    #[test]
    fn a_star_stands_for_all_types_of_its_kind() {
        let texts = AcceptedMedia::bytes(&["text/*"]);
        assert!(texts.takes_type("text/x-rust"));
        assert!(!texts.takes_type("application/pdf"));
    }

    #[test]
    fn the_types_of_each_provider_are_of_their_kind() {
        for provider in Provider::ALL {
            let accepted = &provider.spec().accepted;
            for kind in PartKind::ALL {
                for mime_type in accepted.of(kind).types {
                    assert_eq!(
                        PartKind::of_type(mime_type),
                        kind,
                        "{provider}: {mime_type}"
                    );
                    assert_eq!(canonical_type(mime_type), *mime_type, "{provider}");
                }
            }
        }
    }
}
