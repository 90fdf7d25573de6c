//! Recordings of conversations with a server, and their replay.
//!
//! A [`Recording`] stands between an [`HttpModel`](super::HttpModel) and the network. It writes each
//! request and its answer to a file, without keys, or it answers requests from that file.

mod capture;
mod differences;
mod error;
mod file;
mod recorder;
mod replay;
mod secrets;

pub use error::RecordingError;
pub use recorder::Recording;

pub(crate) use recorder::SendError;
