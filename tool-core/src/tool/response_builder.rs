//! The response to a call, built from its tool's result, an error or refused arguments.

use crate::arguments::problem::{self, Problem};
use crate::call::content::Content;
use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, ITEMS_BEFORE_ERROR, ToolError};
use crate::call::meta::{BaseMeta, CoercionNotes, OptionalMeta, OutputKind};
use crate::call::original::Original;
use crate::call::output::ToolOutput;
use crate::call::progress::Reporting;
use crate::call::response::ToolResponse;
use crate::call::truncation::{Truncated, truncate_again, truncate_bytes, truncate_characters};
use crate::schema::example::minimal_example;
use crate::time::{CallInstant, whole_milliseconds};
use crate::tool::call_settings::CallSettings;
use crate::tool::function::FunctionTool;
use crate::tool::guarded_tool;
use crate::tool::invocation::{
    CallGate, ClosedGate, Invocation, InvocationFrame, Rejection, ToolResult,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The data of a call that its response needs.
#[derive(Clone, Copy)]
pub(crate) struct ResponseBuilder<'a> {
    pub(crate) tool: &'a FunctionTool,
    pub(crate) ctx: &'a RunContext,
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) began: CallInstant,
    /// The maximum size of a result, before the tool's own `max_output`.
    pub(crate) output_bytes: usize,
}

impl<'a> ResponseBuilder<'a> {
    /// Creates the frame of one start of the tool. `validated` is true where the validator has
    /// accepted the text.
    #[inline]
    pub(crate) fn frame(
        self,
        text: &'a str,
        settings: &CallSettings,
        validated: bool,
        gate: Option<&'a dyn CallGate>,
        reporting: &'a dyn Reporting,
    ) -> InvocationFrame<'a> {
        let definition = self.tool.definition();
        // A character has at most four bytes, so this cuts nothing that `max_output` allows.
        let max_output = definition
            .max_output()
            .map_or(usize::MAX, |characters| characters.saturating_mul(4));
        InvocationFrame {
            text,
            ctx: self.ctx,
            reporting,
            tool: &definition.compiled,
            coercions: settings.coercions,
            validated,
            output_bytes: max_output.min(settings.output_bytes),
            nulls: AtomicU64::new(0),
            gate,
        }
    }

    /// Builds the response for the tool's result.
    #[inline]
    pub(crate) fn finish(self, result: ToolResult) -> ToolResponse {
        let ToolOutput { data, kind, meta } = match result {
            Ok(output) => output,
            Err(error) => return self.fail(error),
        };
        match (data, meta) {
            (Ok(data), None) if self.fits(&data) => self.success(data, kind),
            (data, meta) => self.success_with_meta(ToolOutput { data, kind, meta }),
        }
    }

    #[inline]
    fn fits(self, data: &str) -> bool {
        let max_output = self.tool.definition().max_output();
        max_output.is_none_or(|limit| data.len() <= limit) && data.len() <= self.output_bytes
    }

    #[inline]
    fn success(self, data: Cow<'static, str>, kind: OutputKind) -> ToolResponse {
        if self.may_have_intents() {
            return self.success_with_meta(ToolOutput {
                data: Ok(data),
                kind,
                meta: None,
            });
        }
        ToolResponse {
            result: Ok(data),
            kind,
            meta: self.meta(),
        }
    }

    /// Builds the response of a result that has metadata, or that may be too long.
    #[cold]
    fn success_with_meta(self, output: ToolOutput) -> ToolResponse {
        let ToolOutput { data, kind, meta } = output;
        let mut meta = meta.unwrap_or_default();
        let data = match data {
            Ok(data) => data,
            Err(error) => {
                let mut response = self.fail_after(meta.items_before_error.take(), error);
                if let Some(original) = self.shortened(meta.original.take()) {
                    response.optional_meta().original = Some(original);
                }
                return response;
            }
        };
        let shorter = match &meta.truncated {
            None => self.truncate(&data),
            // The serialiser cut it at a number of bytes that may still be too many characters.
            Some(_) => self
                .tool
                .definition()
                .max_output()
                .and_then(|limit| truncate_again(&data, limit)),
        };
        let data = match shorter {
            Some((shorter, truncated)) => {
                meta.truncated = Some(truncated);
                shorter.into()
            }
            None => data,
        };
        if !meta.content.is_empty() && (meta.truncated.is_some() || self.exceeds(&meta.content)) {
            meta.content.clear();
            meta.warnings.push(
                "the content parts exceed the limit of the result, so it has the data only"
                    .to_owned(),
            );
        }
        meta.original = self.shortened(meta.original.take());
        // A truncated result is an object with a marker, and no longer a list of parts.
        let kind = if meta.truncated.is_some() {
            OutputKind::Data
        } else {
            kind
        };
        let optional = (*meta != OptionalMeta::default()).then_some(meta);
        let mut response = ToolResponse {
            result: Ok(data),
            kind,
            meta: BaseMeta {
                optional,
                ..self.meta()
            },
        };
        self.add_emitted_intents(&mut response);
        response
    }

    /// Shortens a result of another server to the limits of its tool.
    fn shortened(self, original: Option<Original>) -> Option<Original> {
        let mut original = original?;
        original.shorten(self.tool.definition().max_output(), self.output_bytes);
        Some(original)
    }

    fn exceeds(self, parts: &[Content]) -> bool {
        serde_json::to_string(parts).is_ok_and(|parts| self.truncate(&parts).is_some())
    }

    fn truncate(self, data: &str) -> Option<(String, Truncated)> {
        let max_output = self.tool.definition().max_output();
        let by_characters = max_output.and_then(|limit| truncate_characters(data, limit));
        by_characters.or_else(|| truncate_bytes(data, self.output_bytes))
    }

    /// Returns true if the method may have emitted intents. A tool without a context parameter runs
    /// on its caller's context, whose intents are its caller's.
    #[inline]
    fn may_have_intents(self) -> bool {
        self.tool.definition().compiled.uses_context && self.ctx.may_have_intents()
    }

    /// Adds the emitted intents before the returned ones, because they were emitted earlier.
    fn add_emitted_intents(self, response: &mut ToolResponse) {
        if self.may_have_intents() {
            let intents = self.ctx.take_intents();
            if !intents.is_empty() {
                response.optional_meta().intents.splice(0..0, intents);
            }
        }
    }

    /// Builds the response for an error.
    #[cold]
    pub(crate) fn fail(self, error: ToolError) -> ToolResponse {
        let harmless = self.tool.definition().compiled.is_harmless();
        let delay = error.requested_delay();
        let error = self.tool.scrub(error).into_body(self.tool.name(), harmless);
        let mut response = ToolResponse {
            result: Err(Box::new(error)),
            kind: OutputKind::Data,
            meta: self.meta(),
        };
        if let Some(delay) = delay {
            response.optional_meta().retry_after = Some(whole_milliseconds(delay));
        }
        self.add_emitted_intents(&mut response);
        response
    }

    /// Builds the response for an error that came after some items of a stream. The model reads
    /// them in its message.
    #[cold]
    fn fail_after(self, items: Option<String>, error: ToolError) -> ToolResponse {
        let mut response = self.fail(error);
        let (Some(items), Err(body)) = (items, &mut response.result) else {
            return response;
        };
        let cut = self.truncate(&items);
        body.message.push_str(ITEMS_BEFORE_ERROR);
        body.message
            .push_str(cut.as_ref().map_or(&items, |(shorter, _)| shorter));
        if let Some((_, truncated)) = cut {
            response.optional_meta().truncated = Some(truncated);
        }
        response
    }

    /// Builds the response for refused arguments: VALIDATION, with every problem.
    #[cold]
    pub(crate) fn refuse(self, problems: &[Problem]) -> ToolResponse {
        let mut response = self.fail(self.validation_error(problems));
        response.optional_meta().problems =
            problems.iter().take(problem::LISTED).cloned().collect();
        response
    }

    /// Creates the error of refused arguments: every problem, and an example that is accepted.
    fn validation_error(self, problems: &[Problem]) -> ToolError {
        let definition = self.tool.definition();
        let schema = definition.parameters();
        let name = self.tool.name().escape_debug().to_string();
        // The example is built from keywords alone, so a pattern or a rule between parameters may
        // refuse it, and a type that has refused a value may refuse it too.
        let example = Some(minimal_example(schema, schema))
            .filter(|it| definition.compiled.validator().is_valid(it));
        let is_refused = problems.iter().any(Problem::is_refused);
        let example = example.filter(|it| !is_refused || self.decodes(&it.to_string()));
        ToolError::new(
            ErrorKind::Validation,
            problem::report(&name, problems, example.as_ref()),
            false,
        )
    }

    /// Returns true if arguments that the schema accepts decode into the tool's types.
    fn decodes(self, text: &str) -> bool {
        let settings = CallSettings::default();
        let frame = self.frame(text, &settings, true, Some(&ClosedGate), self.ctx);
        matches!(
            guarded_tool::start(self.tool, Invocation(&frame)),
            Err(Rejection::NotAdmitted)
        )
    }

    /// Reports the parameters whose `null` was coerced.
    #[inline]
    pub(crate) fn report_nulls(self, response: &mut ToolResponse, frame: &InvocationFrame<'_>) {
        let nulls = frame.nulls.load(Ordering::Relaxed);
        if nulls != 0 {
            self.add_null_notes(response, nulls);
        }
    }

    #[cold]
    fn add_null_notes(self, response: &mut ToolResponse, nulls: u64) {
        let parameters = self.tool.definition().compiled.rows;
        response.optional_meta().coerced = CoercionNotes::of_nulls(nulls, parameters);
    }

    /// Builds the response for a tool that did not start although the slow path has accepted its
    /// arguments.
    pub(crate) fn reject(self, rejection: Rejection) -> ToolResponse {
        match rejection {
            Rejection::Context(error) => self.fail(error),
            // The schema accepts the arguments, but a `Deserialize` implementation has stricter
            // rules.
            Rejection::Arguments(error) => {
                self.refuse(&[Problem::refused(error.path(), error.message())])
            }
            Rejection::Refused(_) => {
                self.fail(ToolError::internal("corrected arguments were refused"))
            }
            Rejection::NotAdmitted => self.fail(ToolError::internal(
                "a call without a gate was not admitted",
            )),
        }
    }

    #[inline]
    fn meta(self) -> BaseMeta {
        BaseMeta {
            tool: self.tool.definition().name.clone(),
            call_id: self.call_id.cloned(),
            duration: self.began.elapsed(),
            optional: None,
        }
    }
}
