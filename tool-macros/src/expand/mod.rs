//! The step from model to tokens. Each function shows what it "expands to"; `__tool` is
//! `tool_core::__private`.

pub(crate) mod arguments;
pub(crate) mod body;
pub(crate) mod decode;
pub(crate) mod expansion;
pub(crate) mod items;
pub(crate) mod parameters;
pub(crate) mod scope;
pub(crate) mod spec;
pub(crate) mod value;
pub(crate) mod wrapper;
