//! Declarations: names, forms, budgets of a request.

pub(crate) mod deferred;
pub(crate) mod golden;
pub(crate) mod mixing;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod properties;
pub(crate) mod request;
pub(crate) mod support;
