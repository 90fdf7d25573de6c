//! Which model it is, for spans and price tables.

use crate::Provider;
use crate::observe::default_biller;
use tool_core::runtime::AboutModel;

/// Under the names that price tables have for those who run models. `at_home`: whether it is reached at the provider's
/// own address. Many speak as `OpenAI` does, and elsewhere the model's name has to tell who is paid.
pub(crate) fn about(provider: Provider, model: &str, at_home: bool) -> AboutModel {
    let is_openai = matches!(provider, Provider::OpenAiChat | Provider::OpenAiResponses);
    let paid = default_biller(provider).or((is_openai && at_home).then_some("openai"));
    AboutModel { model: model.to_owned().into(), provider: paid.map(Into::into) }
}
