//! The images, sounds and documents that Mistral takes, which its server with Chat Completions
//! takes too.

use crate::accepted_parts::{AcceptedMedia, AcceptedParts, MEGABYTE, PDF, WEB, WEB_IMAGES};

/// docs.mistral.ai, "Vision": at most 10 MB an image; "Documents" and "Audio".
pub(crate) const ACCEPTED: AcceptedParts = AcceptedParts {
    images: AcceptedMedia::bytes(WEB_IMAGES)
        .or_urls(WEB)
        .at_most(10 * MEGABYTE),
    sounds: AcceptedMedia::bytes(&[
        "audio/wav",
        "audio/mpeg",
        "audio/mp4",
        "audio/flac",
        "audio/ogg",
    ])
    .or_urls(WEB),
    videos: AcceptedMedia::NONE,
    documents: AcceptedMedia::bytes(PDF).or_urls(WEB),
};
