//! Declarations: names, forms, budgets of a request.

mod golden;
mod mixing;
mod names;
mod output;
mod request;
mod support;
