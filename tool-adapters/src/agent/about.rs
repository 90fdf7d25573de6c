//! Which model it is, for spans and price tables.

use crate::observe::default_biller;
use crate::{Provider, prices};
use tool_core::session::ModelInfo;

/// Under the name that price tables have for who is paid: whose `address` it is, or else whose protocol. Many speak as
/// `OpenAI` does, and at an address that nobody knows the model's name has to tell.
pub(crate) fn about(provider: Provider, model: &str, address: &str) -> ModelInfo {
    let paid = prices::biller(address).or_else(|| default_biller(provider));
    ModelInfo { model: model.to_owned().into(), provider: paid.map(Into::into) }
}
