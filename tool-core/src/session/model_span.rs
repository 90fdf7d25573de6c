//! The span of a request to a model.

use crate::call::ToolError;
use crate::session::model::{Model, ModelRequest};
use crate::session::model_step::ModelStep;
use crate::tool::spans;
use crate::trace::{self, span};

/// Asks a model, in a span that records its usage. `agent` is the name of the agent that speaks.
pub(crate) async fn ask<M: Model>(
    model: &mut M,
    request: ModelRequest<'_>,
    agent: Option<&str>,
) -> Result<ModelStep, ToolError> {
    if !span::is_wanted() {
        return model.step(request).await;
    }
    let info = model.about();
    let asking = async {
        if let Some(agent) = agent {
            trace::attribute("gen_ai.agent.name", agent.to_owned());
        }
        if let Some(provider) = &info.provider {
            trace::attribute("gen_ai.provider.name", &**provider);
        }
        let step = model.step(request).await?;
        let answered_by = step.answered_by.as_ref();
        if let Some(provider) = answered_by.and_then(|info| info.provider.as_deref()) {
            trace::attribute("gen_ai.provider.name", provider);
        }
        trace::record(step.model_usage(&info));
        Ok(step)
    };
    Box::pin(spans::in_model_span(info.model.clone(), asking)).await
}
