//! A value of a type that a model or a person gives. It is read as the only argument of a tool, by
//! the same reader.

use crate::arguments::Problem;
use crate::arguments::fields::{ArgumentSource as _, filled};
use crate::call::{RunContext, ToolError, ToolOutput, ToolResponse};
use crate::schema::parameter::{AnswerType, Parameter};
use crate::tool::FunctionTool;
use crate::tool::invocation::{Execution, HandlerResult, Invocation};
use crate::tool::spec::ToolSpec;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// A check of a value. Its error is the problem, in words that its giver understands.
pub(crate) type Validator<T> = Box<dyn Fn(&T) -> Result<(), String> + Send + Sync>;

/// The name of the argument.
pub(crate) const ANSWER: &str = "answer";

/// The instance behind a tool that takes a value. It keeps the value of the last call that was
/// valid.
pub(crate) struct ValueSlot<T> {
    validators: Arc<Vec<Validator<T>>>,
    value: Mutex<Option<T>>,
}

impl<T: AnswerType + Send + 'static> ValueSlot<T> {
    const PARAMETERS: &'static [Parameter] = &[Parameter::new::<T>(ANSWER, "")];

    pub(crate) fn new(validators: Arc<Vec<Validator<T>>>) -> Arc<Self> {
        Arc::new(Self {
            validators,
            value: Mutex::new(None),
        })
    }

    /// Returns a tool that fills the slot.
    pub(crate) fn tool(
        self: &Arc<Self>,
        name: &'static str,
        description: &'static str,
    ) -> FunctionTool {
        let mut spec = ToolSpec::new(name, Self::take_in).description(description);
        spec.tool.parameters = Self::PARAMETERS;
        FunctionTool::bind(&spec, self, None)
    }

    pub(crate) fn take(&self) -> Option<T> {
        self.value.lock().take()
    }

    fn take_in<'a>(&'a self, mut call: Invocation<'a>) -> HandlerResult<'a> {
        let mut value = None::<T>;
        call.decode([&mut value])?;
        let value = filled(value);
        let problems = self
            .validators
            .iter()
            .filter_map(|check| check(&value).err())
            .collect::<Vec<_>>();
        if !problems.is_empty() {
            return Ok(Execution::Done(Err(ToolError::permanent(
                problems.join("\n"),
            ))));
        }
        *self.value.lock() = Some(value);
        Ok(Execution::Done(Ok(ToolOutput::unit())))
    }
}

/// Gives a value to a tool, as the text of its arguments. Returns the response, and the problems of
/// the value.
pub(crate) async fn read(tool: &FunctionTool, arguments: &str) -> (ToolResponse, Vec<String>) {
    let response = tool.call(arguments, &RunContext::detached()).await;
    let problems = match (response.meta().problems(), response.error()) {
        (_, None) => Vec::new(),
        // Those that the checks have found.
        ([], Some(error)) => error.message.lines().map(str::to_owned).collect(),
        (problems, _) => problems.iter().map(Problem::to_string).collect(),
    };
    (response, problems)
}

/// Returns the arguments of a value's JSON.
pub(crate) fn arguments_of(value: &str) -> String {
    format!(r#"{{"{ANSWER}":{value}}}"#)
}

/// Returns the JSON of the value in arguments, or the arguments where they are not what the tool
/// wants.
pub(crate) fn value_in(arguments: &str) -> &str {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct AnswerArguments<'a> {
        #[serde(borrow)]
        answer: &'a RawValue,
    }

    serde_json::from_str::<AnswerArguments<'_>>(arguments)
        .map_or(arguments, |found| found.answer.get())
}
