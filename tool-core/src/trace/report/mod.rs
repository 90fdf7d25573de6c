//! Reports: the tree of a collector's spans, for the terminal, as JSON and as an HTML page.

pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod text;
pub(crate) mod tree;
