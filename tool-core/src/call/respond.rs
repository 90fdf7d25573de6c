//! From an outcome to a response.

use super::{ToolCall, report};
use crate::__private::Outcome;
use crate::arguments::{Problem, nearest};
use crate::response::{
    ErrorKind, Form, RareMeta, Slim, ToolError, ToolOutput, ToolResponse, Truncated, bound, cut, narrow,
};
use crate::run::RunContext;
use crate::tool::FunctionTool;
use std::sync::Arc;
use tokio::time::Instant;

/// Everything that a response says of its call.
#[derive(Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) tool: &'a FunctionTool,
    pub(crate) ctx: &'a RunContext,
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) began: Instant,
    /// The bytes that a result may have.
    pub(crate) output_bytes: usize,
}

impl Answer<'_> {
    #[inline]
    pub(crate) fn give(self, outcome: Outcome) -> ToolResponse {
        match outcome {
            Ok(ToolOutput { data: Ok(data), form, rare: None }) if self.fits(&data) => self.success(data, form),
            Ok(output) => self.rich(output),
            Err(error) => self.fail(error),
        }
    }

    #[inline]
    fn success(self, data: String, form: Form) -> ToolResponse {
        let mut response = ToolResponse { body: Ok(data), form, slim: self.slim() };
        self.intents(&mut response);
        response
    }

    #[inline]
    fn fits(self, data: &str) -> bool {
        let definition = self.tool.definition();
        definition.max_output().is_none_or(|limit| data.len() <= limit) && data.len() <= self.output_bytes
    }

    /// A result with more than data, or one that may be too long.
    #[cold]
    fn rich(self, output: ToolOutput) -> ToolResponse {
        let ToolOutput { data, form, rare } = output;
        let data = match data {
            Ok(data) => data,
            Err(error) => return self.fail(error),
        };
        let rare = rare.map(|rare| *rare).unwrap_or_default();
        let shorter = match &rare.truncated {
            None => self.too_long(&data),
            // Cut as it was written, at bytes that may be more scalars than `max_output` allows.
            Some(_) => self.tool.definition().max_output().and_then(|limit| narrow(&data, limit)),
        };
        let (data, truncated) = match shorter {
            Some((shorter, how)) => (shorter, Some(how)),
            None => (data, rare.truncated),
        };
        // What was cut is no list of parts any more.
        let form = if truncated.is_some() { Form::Data } else { form };
        let mut response = ToolResponse { body: Ok(data), form, slim: self.slim() };
        let meta = RareMeta {
            intents: rare.intents,
            truncated,
            warnings: rare.warnings,
            extra: rare.extra,
            empty: rare.empty,
            ..RareMeta::default()
        };
        if meta != RareMeta::default() {
            *response.rare() = meta;
        }
        self.intents(&mut response);
        response
    }

    fn too_long(self, data: &str) -> Option<(String, Truncated)> {
        let by_characters = self.tool.definition().max_output().and_then(|limit| cut(data, limit));
        by_characters.or_else(|| bound(data, self.output_bytes))
    }

    /// Intents that were emitted come before those that were returned: they were asked for earlier.
    #[inline]
    fn intents(self, response: &mut ToolResponse) {
        // A tool that takes no context runs on its caller's, whose intents are its caller's.
        if self.tool.definition().body.uses_context && self.ctx.may_have_intents() {
            self.emitted(response);
        }
    }

    #[cold]
    fn emitted(self, response: &mut ToolResponse) {
        let mut emitted = self.ctx.take_intents();
        if !emitted.is_empty() {
            let rare = response.rare();
            emitted.append(&mut rare.intents);
            rare.intents = emitted;
        }
    }

    #[cold]
    pub(crate) fn fail(self, error: ToolError) -> ToolResponse {
        let harmless = self.tool.definition().body.harmless();
        let body = self.tool.scrubbed(error).into_body(self.tool.name(), harmless);
        let mut response = ToolResponse { body: Err(Box::new(body)), form: Form::Data, slim: self.slim() };
        self.intents(&mut response);
        response
    }

    /// VALIDATION, with every problem.
    #[cold]
    pub(crate) fn refuse(self, problems: &[Problem]) -> ToolResponse {
        let mut response = self.fail(report(self.tool, problems));
        response.rare().problems = problems.to_vec();
        response
    }

    #[inline]
    fn slim(self) -> Slim {
        Slim {
            tool: self.tool.definition().name.clone(),
            call_id: self.call_id.cloned(),
            duration: self.began.elapsed(),
            rare: None,
        }
    }
}

/// How many names an answer to an unknown one lists.
const LISTED: usize = 50;

/// `NOT_FOUND`, with the nearest name and those there are. L19.
#[cold]
pub(crate) fn unknown_tool<'a>(
    name: &str,
    call_id: Option<&Arc<str>>,
    names: impl Iterator<Item = &'a str>,
    began: Instant,
) -> ToolResponse {
    let names = names.collect::<Vec<_>>();
    let shown = shorten(name);
    let meant =
        nearest(name, names.iter().copied()).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
    let listed = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let there =
        if names.is_empty() { "no tools are available".into() } else { format!("available tools: {listed}{more}") };
    let message = format!("unknown tool `{shown}`{meant}; {there}");
    let body = ToolError::new(ErrorKind::NotFound, message, false).into_body(&shown, false);
    let slim = Slim { tool: shown.into(), call_id: call_id.cloned(), duration: began.elapsed(), rare: None };
    ToolResponse { body: Err(Box::new(body)), form: Form::Data, slim }
}

/// What a call outside any session comes to, where only a session could make it.
#[cold]
pub(crate) fn outside_session(call: &ToolCall) -> ToolResponse {
    let message = "there is no open session to make this call in";
    refused(call, ToolError::session_inactive(message), Instant::now())
}

impl ToolResponse {
    /// A success that no tool has given itself.
    pub(crate) fn of_call(call: &ToolCall, output: ToolOutput, began: Instant) -> Self {
        match output.data {
            Ok(data) => {
                let (tool, call_id) = (call.name().into(), Some(Arc::clone(call.shared_id())));
                let slim = Slim { tool, call_id, duration: began.elapsed(), rare: None };
                Self { body: Ok(data), form: output.form, slim }
            }
            Err(error) => refused(call, error, began),
        }
    }
}

/// An answer to a call that no tool has seen.
#[cold]
pub(crate) fn refused(call: &ToolCall, error: ToolError, began: Instant) -> ToolResponse {
    let shown = shorten(call.name());
    let body = error.into_body(&shown, true);
    let call_id = Some(Arc::clone(call.shared_id()));
    let slim = Slim { tool: shown.into(), call_id, duration: began.elapsed(), rare: None };
    ToolResponse { body: Err(Box::new(body)), form: Form::Data, slim }
}

/// A name that a model made up, fit to be shown: no control characters, no novel.
fn shorten(name: &str) -> String {
    let escaped = name.escape_debug().to_string();
    match escaped.char_indices().nth(128) {
        None => escaped,
        Some((end, _)) => format!("{}...", &escaped[..end]),
    }
}
