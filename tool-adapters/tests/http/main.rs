//! Models over HTTP, against servers of this machine that answer as providers do, and as they should not.

mod cancel;
mod conversation;
mod errors;
mod retry;
mod scripts;
mod server;
mod stream;
mod support;
