//! What the macros put around the bodies of tools and agents. S2

use super::current::current;
use super::in_span::InSpan;
use super::kind::SpanKind;
use super::record::End;
use super::span::{Opening, is_wanted, open};
use crate::name::Name;

/// The fn of a tool, as its body knows itself.
#[derive(Clone, Copy)]
pub struct Site {
    name: &'static str,
    id: u32,
}

impl Site {
    /// `path`: the Rust path of the fn, which dispatch knows it by.
    #[must_use]
    pub const fn new(name: &'static str, path: &'static str) -> Self {
        Self { name, id: id_of(path) }
    }

    fn opening(self) -> Opening<'static> {
        Opening { kind: SpanKind::Tool, name: Name::Static(self.name), site: 0, call_id: None }
    }

    /// Whether dispatch has opened the span of this very call already.
    fn is_dispatched(self) -> bool {
        current().is_some_and(|scope| scope.claim(self.id))
    }
}

/// A number for a path, never 0: FNV-1a.
pub(crate) const fn id_of(path: &str) -> u32 {
    let bytes = path.as_bytes();
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        #[allow(clippy::indexing_slicing)] // within bounds, and const
        let byte = bytes[at];
        hash = (hash ^ byte as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    if hash == 0 { 1 } else { hash }
}

/// The body of a sync tool.
#[inline]
pub fn in_tool<T>(site: Site, body: impl FnOnce() -> T, ends: fn(&T) -> End) -> T {
    if !is_wanted() || site.is_dispatched() {
        return body();
    }
    match open(site.opening()) {
        Some(span) => span.run(body, ends),
        None => body(),
    }
}

/// The body of an async tool.
#[inline]
pub async fn in_tool_async<F: Future>(site: Site, body: F, ends: fn(&F::Output) -> End) -> F::Output {
    if !is_wanted() || site.is_dispatched() {
        return body.await;
    }
    match open(site.opening()) {
        Some(span) => InSpan::open(span, body, ends).await,
        None => body.await,
    }
}
