//! The response of a call: its data or error, and the model's view of it.

use crate::call::content::Content;
use crate::call::error::{ErrorBody, MASKED, ToolError};
use crate::call::intent::Intent;
use crate::call::meta::{BaseMeta, OptionalMeta, OutputKind, ResponseMeta};
use crate::call::output::ToolOutput;
use crate::call::tool_call::ToolCall;
use crate::text::truncate;
use crate::time::CallInstant;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The response to a call: data, or an error that the model can act on. Every call has exactly one.
///
/// Its JSON, the envelope, is `{"ok":true,"data":..,"intents":[..],"meta":{..}}` or
/// `{"ok":false,"error":{"type","message","retryable","partialSideEffects"},"meta":{..}}`. Two
/// responses are equal if their data (as text), kind, error and metadata are equal.
///
/// ```
/// use tool_core::{ErrorKind, RunContext, ToolContext, ToolResponse, tool};
///
/// /// Divide two numbers.
/// #[tool]
/// fn divide(a: f64, b: f64) -> Result<f64, String> {
///     if b == 0.0 { Err("b is 0".into()) } else { Ok(a / b) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolContext::builder().with(divide).build()?;
/// let ctx = RunContext::detached();
/// let response = tools.call("divide", r#"{"a": 1, "b": 4}"#, &ctx).await;
/// assert!(response.is_ok());
/// assert_eq!(response.data_json(), Some("0.25"));
///
/// let response = tools.call("divide", r#"{"a": 1, "b": 0}"#, &ctx).await;
/// let error = response.error().expect("a failure");
/// assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Permanent, "b is 0"));
///
/// // The envelope.
/// let json = serde_json::to_string(&response)?;
/// assert!(json.starts_with(r#"{"ok":false,"error":{"type":"PERMANENT","message":"b is 0""#));
/// assert_eq!(serde_json::from_str::<ToolResponse>(&json)?.error(), response.error());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResponse {
    /// The data as compact JSON, or the error.
    pub(crate) result: Result<Cow<'static, str>, Box<ErrorBody>>,
    pub(crate) kind: OutputKind,
    pub(crate) meta: BaseMeta,
}

/// The reason why a response has no data of the requested type. See [`ToolResponse::data`].
///
/// ```
/// use tool_core::call::DataError;
/// use tool_core::{ErrorKind, RunContext, ToolContext, tool};
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// let tools = ToolContext::builder().with(add).build()?;
/// let response = tools.call("add", r#"{"a": 1}"#, &RunContext::detached()).await;
/// match response.data::<i64>() {
///     Ok(sum) => println!("{sum}"),
///     Err(DataError::Failed(error)) => assert_eq!(error.kind, ErrorKind::Validation),
///     Err(other) => eprintln!("{other}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The call failed, so there is no data.
    #[error("the call failed: {}: {}", .0.kind, .0.message)]
    Failed(ErrorBody),
    /// The data does not decode as the requested type.
    #[error("failed to decode the data of `{tool}` as `{expected}`")]
    Decode {
        /// The tool's name.
        tool: String,
        /// The Rust type that was requested.
        expected: &'static str,
        /// The error of the decoder.
        source: serde_json::Error,
    },
}

impl ToolResponse {
    /// Returns true if the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// Returns the data as compact JSON; `None` for an error.
    pub fn data_json(&self) -> Option<&str> {
        self.result.as_deref().ok()
    }

    /// Decodes the data into `T`. A [`Content`](super::Content) result decodes into `Vec<Content>`.
    ///
    /// # Errors
    ///
    /// [`DataError::Failed`] if the call failed, and [`DataError::Decode`] if the data has another shape.
    ///
    /// ```
    /// use tool_core::{RunContext, ToolContext, tool};
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let tools = ToolContext::builder().with(add).build()?;
    /// let sum: i64 = tools.call("add", r#"{"a": 1, "b": 2}"#, &RunContext::detached()).await.data()?;
    /// assert_eq!(sum, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn data<T: for<'de> Deserialize<'de>>(&self) -> Result<T, DataError> {
        let text = self
            .result
            .as_ref()
            .map_err(|error| DataError::Failed((**error).clone()))?;
        serde_json::from_str(text).map_err(|source| DataError::Decode {
            tool: self.meta.tool.to_string(),
            expected: std::any::type_name::<T>(),
            source,
        })
    }

    /// Returns the data as compact JSON, without a copy.
    ///
    /// # Errors
    ///
    /// The error of a call that failed.
    pub fn into_data(self) -> Result<String, ErrorBody> {
        self.result.map(Cow::into_owned).map_err(|error| *error)
    }

    /// Returns the text that the model reads, without a copy if there is nothing to unescape. This
    /// is the
    /// [`ModelResult::text`] of the plain form.
    pub fn into_text(self) -> String {
        match self {
            other if other.has_content() => other.plain_text().0,
            Self {
                result: Err(error), ..
            } if error.is_masked() => error.message,
            Self {
                result: Ok(data),
                kind: OutputKind::Data | OutputKind::Content,
                ..
            } if !data.starts_with('"') => data.into_owned(),
            Self {
                result: Ok(data),
                kind: OutputKind::Data,
                ..
            } if !data.contains('\\') => {
                let mut data = data.into_owned();
                data.pop();
                data.remove(0);
                data
            }
            other => other.plain_text().0,
        }
    }

    /// Returns the error; `None` for a success.
    pub fn error(&self) -> Option<&ErrorBody> {
        self.result.as_ref().err().map(AsRef::as_ref)
    }

    /// Returns the intents of the call, in order.
    pub fn intents(&self) -> &[Intent] {
        self.meta
            .optional
            .as_ref()
            .map_or(&[], |optional| &optional.intents)
    }

    /// Returns the result in the form in which another server has sent it, as JSON, for a server
    /// that passes it on.
    #[doc(hidden)]
    pub fn original(&self) -> Option<&str> {
        Some(self.meta.optional.as_ref()?.original.as_ref()?.text())
    }

    /// Returns the metadata of the call.
    pub fn meta(&self) -> ResponseMeta<'_> {
        ResponseMeta {
            meta: &self.meta,
            kind: self.kind,
            data: self.result.as_deref().unwrap_or_default(),
        }
    }

    /// Returns the kind of the result.
    pub fn kind(&self) -> OutputKind {
        self.kind
    }

    /// Creates a success for a call that the runtime answers instead of the tool.
    pub(crate) fn of_call(call: &ToolCall, output: ToolOutput, began: CallInstant) -> Self {
        match output.data {
            Ok(data) => {
                let tool = call.name().into();
                let call_id = Some(Arc::clone(call.shared_id()));
                let meta = BaseMeta {
                    tool,
                    call_id,
                    duration: began.elapsed(),
                    optional: None,
                };
                Self {
                    result: Ok(data),
                    kind: output.kind,
                    meta,
                }
            }
            Err(error) => Self::refused(call, error, began),
        }
    }

    /// Creates an error for a call that never reached its tool.
    #[cold]
    pub(crate) fn refused(call: &ToolCall, error: ToolError, began: CallInstant) -> Self {
        Self::unhandled(
            call.name(),
            Some(Arc::clone(call.shared_id())),
            error,
            began,
        )
    }

    /// Creates an error for a call by a name that may be the model's invention.
    #[cold]
    pub(crate) fn unhandled(
        name: &str,
        call_id: Option<Arc<str>>,
        error: ToolError,
        began: CallInstant,
    ) -> Self {
        let tool = shorten_name(name);
        let error = error.into_body(&tool, true);
        let meta = BaseMeta {
            tool: tool.into(),
            call_id,
            duration: began.elapsed(),
            optional: None,
        };
        Self {
            result: Err(Box::new(error)),
            kind: OutputKind::Data,
            meta,
        }
    }

    /// Creates the error of a call that needs a session and has none.
    #[cold]
    pub(crate) fn outside_session(call: &ToolCall) -> Self {
        let message = "there is no open session to make this call in";
        Self::refused(
            call,
            ToolError::session_inactive(message),
            CallInstant::now(),
        )
    }

    /// Removes the intents, which were carried out for another call.
    pub(crate) fn drop_intents(&mut self) {
        if let Some(optional) = &mut self.meta.optional {
            optional.intents.clear();
        }
    }

    /// Returns true for a call that did not run because another process is running it.
    pub(crate) fn runs_elsewhere(&self) -> bool {
        let optional = self.meta.optional.as_deref();
        optional.is_some_and(|optional| optional.runs_elsewhere)
    }

    /// Returns true for the first update of a call that goes on in the background.
    fn goes_on(&self) -> bool {
        let optional = self.meta.optional.as_deref();
        optional.is_some_and(|optional| optional.goes_on)
    }

    pub(crate) fn optional_meta(&mut self) -> &mut OptionalMeta {
        self.meta.optional.get_or_insert_default()
    }
}

/// The form in which results are sent to the model.
///
/// ```
/// use tool_core::call::ResultForm;
/// use tool_core::{RunContext, ToolContext, tool};
///
/// # /// Add two numbers.
/// # #[tool]
/// # fn add(a: i64, b: i64) -> i64 {
/// #     a + b
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_core::RegistryErrors> {
/// # let tools = ToolContext::builder().with(add).build()?;
/// let response = tools.call("add", r#"{"a": 1, "b": 2}"#, &RunContext::detached()).await;
/// assert_eq!(response.for_model(ResultForm::Plain).text, "3");
/// assert!(response.for_model(ResultForm::Envelope).text.starts_with(r#"{"ok":true,"data":3"#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ResultForm {
    /// The text or the data as JSON, or the error's message.
    #[default]
    Plain,
    /// The whole envelope, without the members that only the host may see.
    Envelope,
}

/// The text of a response for the model, before a provider's protocol wraps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent properties of a result, each with its own member"
)]
pub struct ModelResult {
    /// A text result, JSON, an error's message, or an empty text.
    pub text: String,
    /// True if the call failed. Protocols that have a flag for it set that flag.
    pub is_error: bool,
    /// True if the model should reply. A stop sets it to false.
    pub reply: bool,
    /// True if the text is an array of [`Content`] parts. Protocols that support such parts send
    /// them as parts.
    #[serde(default)]
    pub parts: bool,
    /// True if the text is not JSON: a text result, an error's message, or an empty text.
    #[serde(default)]
    pub is_text: bool,
    /// True if the text is the first update of a call that went on in the background. Its end follows
    /// in a note.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

impl ModelResult {
    /// Decodes the content parts in the text; `None` if the text is plain.
    pub fn content(&self) -> Option<Vec<Content>> {
        if self.parts {
            serde_json::from_str(&self.text).ok()
        } else {
            None
        }
    }
}

impl ToolResponse {
    /// Returns the text that the model reads.
    ///
    /// The plain form of an error is its message, and that of an internal error is
    /// `An internal error occurred`. The plain form of `()` and of a stop is empty. A text is given
    /// as it is, without JSON's quotes, and so is any value that serialises as a text. Everything
    /// else is compact JSON. [`Content`](super::Content) parts are an array, with
    /// [`ModelResult::parts`] set.
    ///
    /// Neither form contains the [`Confirmation`](super::Confirmation), because its token approves
    /// the call.
    ///
    /// ```
    /// use tool_core::call::ResultForm;
    /// use tool_core::{RunContext, ToolContext, tool};
    ///
    /// /// Say hello.
    /// #[tool]
    /// fn greet(name: String) -> String {
    ///     format!("hello {name}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let tools = ToolContext::builder().with(greet).build()?;
    /// let response = tools.call("greet", r#"{"name": "Ada"}"#, &RunContext::detached()).await;
    /// let result = response.for_model(ResultForm::Plain);
    /// assert_eq!((&*result.text, result.is_error, result.reply), ("hello Ada", false, true));
    /// # Ok(())
    /// # }
    /// ```
    pub fn for_model(&self, form: ResultForm) -> ModelResult {
        let (text, is_text) = match form {
            ResultForm::Plain => self.plain_text(),
            ResultForm::Envelope => (self.without_host_members().to_json(), false),
        };
        let is_error = !self.is_ok();
        let kind = self.kind();
        let is_parts = kind == OutputKind::Content || (self.has_content() && !is_text);
        let parts = form == ResultForm::Plain && !is_error && is_parts;
        ModelResult {
            text,
            is_error,
            reply: is_error || kind != OutputKind::Stop,
            parts,
            is_text,
            goes_on: self.goes_on(),
        }
    }

    fn has_content(&self) -> bool {
        self.meta
            .optional
            .as_ref()
            .is_some_and(|optional| !optional.content.is_empty())
    }

    /// Returns the number of bytes of the data and of the content parts.
    pub(crate) fn result_bytes(&self) -> usize {
        let data = self.data_json().map_or(0, str::len);
        let parts = self.meta.optional.iter();
        let parts = parts.flat_map(|optional| &*optional.content);
        data + parts.map(Content::bytes).sum::<usize>()
    }

    /// Returns the plain form, and true where it is not JSON.
    fn plain_text(&self) -> (String, bool) {
        match self
            .meta
            .optional
            .as_ref()
            .map(|optional| &*optional.content)
        {
            Some([Content::Text { text }]) => return (text.clone(), true),
            Some(parts @ [_, ..]) => {
                return (serde_json::to_string(parts).unwrap_or_default(), false);
            }
            _ => {}
        }
        match (&self.result, self.kind()) {
            (Err(error), _) if error.is_masked() => (error.message.clone(), true),
            (Err(_), _) => (MASKED.to_owned(), true),
            (Ok(_), OutputKind::Unit | OutputKind::Stop) => (String::new(), true),
            (Ok(data), OutputKind::Data | OutputKind::Content) => {
                let text = Some(data)
                    .filter(|data| data.starts_with('"'))
                    .and_then(|data| serde_json::from_str(data).ok());
                text.map_or_else(|| (data.to_string(), false), |text| (text, true))
            }
        }
    }

    fn without_host_members(&self) -> Cow<'_, Self> {
        let confirmation = self.meta().confirmations().next().is_some();
        let unmasked = self.error().is_some_and(|error| !error.is_masked());
        if !confirmation && !unmasked {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        if let Some(optional) = &mut shown.meta.optional {
            optional.take_confirmations();
        }
        if let (true, Err(error)) = (unmasked, &mut shown.result) {
            MASKED.clone_into(&mut error.message);
        }
        Cow::Owned(shown)
    }
}

/// Makes a name that a model invented fit for display: control characters are escaped, and a long
/// name is cut.
pub(crate) fn shorten_name(name: &str) -> String {
    truncate(&name.escape_debug().to_string(), 128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::approval_reason::{ApprovalReason, ApprovalSource};
    use crate::call::error::ErrorKind;
    use crate::call::meta::{Confirmation, PendingOutcome};
    use serde_json::Value;
    use serde_json::json;
    use std::time::Duration;

    fn ok(data: &str, kind: OutputKind) -> ToolResponse {
        let meta = BaseMeta {
            tool: "t".into(),
            call_id: Some("c".into()),
            duration: Duration::ZERO,
            optional: None,
        };
        ToolResponse {
            result: Ok(data.to_owned().into()),
            kind,
            meta,
        }
    }

    fn failed(kind: ErrorKind, message: &str) -> ToolResponse {
        let error = ErrorBody {
            kind,
            message: message.into(),
            retryable: false,
            partial_side_effects: false,
        };
        ToolResponse {
            result: Err(Box::new(error)),
            ..ok("", OutputKind::Data)
        }
    }

    fn plain(response: &ToolResponse) -> (String, bool, bool) {
        let ModelResult {
            text,
            is_error,
            reply,
            ..
        } = response.for_model(ResultForm::default());
        (text, is_error, reply)
    }

    fn envelope(response: &ToolResponse) -> Value {
        serde_json::from_str(&response.for_model(ResultForm::Envelope).text).expect("an envelope")
    }

    #[test]
    fn an_error_gives_its_message_flagged_as_an_error() {
        let response = failed(ErrorKind::Conflict, "the slot is taken");
        assert_eq!(plain(&response), ("the slot is taken".into(), true, true));
    }

    #[test]
    fn a_stop_gives_an_empty_text_and_wants_no_reply() {
        assert_eq!(
            plain(&ok("null", OutputKind::Stop)),
            (String::new(), false, false)
        );
    }

    #[test]
    fn an_internal_error_is_masked() {
        for text in [MASKED, "password=hunter2"] {
            let response = failed(ErrorKind::Internal, text);
            assert_eq!(
                plain(&response),
                ("An internal error occurred".into(), true, true)
            );
            assert_eq!(envelope(&response)["error"]["message"], json!(MASKED));
        }
    }

    #[test]
    fn unit_gives_an_empty_text_and_wants_a_reply() {
        assert_eq!(
            plain(&ok("null", OutputKind::Unit)),
            (String::new(), false, true)
        );
    }

    #[test]
    fn a_text_is_given_without_quotes() {
        for text in ["hello", "", "a \"b\"\n\u{1f600}", "{\"a\":1}", "null"] {
            let result =
                ok(&json!(text).to_string(), OutputKind::Data).for_model(ResultForm::Plain);
            assert_eq!(
                (&*result.text, result.is_text, result.is_error, result.reply),
                (text, true, false, true)
            );
        }
    }

    #[test]
    fn text_is_given_away_as_the_model_reads_it() {
        let texts = ["", "hello", "a \"b\"\n\u{1f600}", "{\"a\":1}", "\u{e9}"];
        let mut responses: Vec<_> = texts
            .map(|text| ok(&json!(text).to_string(), OutputKind::Data))
            .into();
        responses.extend([
            ok(r#"{"a":[1,2.50]}"#, OutputKind::Data),
            ok("null", OutputKind::Data),
        ]);
        responses.extend([
            ok("[]", OutputKind::Content),
            ok("null", OutputKind::Unit),
            ok("null", OutputKind::Stop),
        ]);
        responses.extend([
            failed(ErrorKind::Conflict, "taken"),
            failed(ErrorKind::Internal, "password=hunter2"),
        ]);
        for response in responses {
            let read = response.for_model(ResultForm::Plain).text;
            assert_eq!(response.into_text(), read);
        }
    }

    #[test]
    fn data_and_text_are_given_away_without_a_copy() {
        let response = ok(r#"{"a":1}"#, OutputKind::Data);
        let address = response.data_json().map(str::as_ptr);
        assert_eq!(Some(response.into_data().expect("data").as_ptr()), address);
        let response = ok(r#"{"a":1}"#, OutputKind::Data);
        let address = response.data_json().map(str::as_ptr);
        assert_eq!(Some(response.into_text().as_ptr()), address);
    }

    #[test]
    fn data_of_a_failure_is_its_error() {
        let error = failed(ErrorKind::Conflict, "taken")
            .into_data()
            .expect_err("failed");
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Conflict, "taken")
        );
    }

    #[test]
    fn all_else_is_json() {
        for (data, form) in [
            ("null", OutputKind::Data),
            (r#"{"a":[1,2.50]}"#, OutputKind::Data),
            (r#"[{"type":"text","text":"a"}]"#, OutputKind::Content),
        ] {
            assert_eq!(plain(&ok(data, form)), (data.into(), false, true));
        }
    }

    #[test]
    fn content_decodes_into_its_parts() {
        let shown = ok(r#"[{"type":"text","text":"a"}]"#, OutputKind::Content);
        assert_eq!(
            shown.for_model(ResultForm::Plain).content(),
            Some(vec![Content::text("a")])
        );
        assert_eq!(shown.for_model(ResultForm::Envelope).content(), None);
        assert_eq!(
            ok("[1]", OutputKind::Data)
                .for_model(ResultForm::Plain)
                .content(),
            None
        );
    }

    #[test]
    fn the_envelope_form_sends_the_whole_envelope() {
        let mut response = ok("[1]", OutputKind::Data);
        response.optional_meta().intents.push(Intent::SuppressAudio);
        response.optional_meta().warnings.push("slow".into());
        assert_eq!(
            envelope(&response),
            serde_json::to_value(&response).expect("serialises")
        );
        let stop = ok("null", OutputKind::Stop).for_model(ResultForm::Envelope);
        assert!(
            !stop.reply && !stop.is_error && stop.text.contains(r#""ok":true"#),
            "{stop:?}"
        );
        assert!(
            failed(ErrorKind::Timeout, "late")
                .for_model(ResultForm::Envelope)
                .is_error
        );
    }

    #[test]
    fn a_confirmation_never_reaches_the_model() {
        let mut response = failed(ErrorKind::ConfirmationRequired, "a person has to agree");
        response.optional_meta().warnings.push("slow".into());
        response.optional_meta().confirmation = Some(Confirmation {
            token: "canary-token".into(),
            tool: "canary-tool".into(),
            summary: "canary-summary".into(),
            arguments: vec!["canary-argument".into()],
            reasons: vec![ApprovalReason::new(ApprovalSource::Hook, "canary-reason")],
            digest: "canary-digest".into(),
            expires_at: "2000-01-01T00:00:00Z".into(),
            outcome: PendingOutcome::default(),
        });
        for form in [ResultForm::Plain, ResultForm::Envelope] {
            let text = response.for_model(form).text;
            assert!(
                !text.contains("canary") && !text.contains("2000-01-01"),
                "{text}"
            );
        }
        assert_eq!(envelope(&response)["meta"]["warnings"], json!(["slow"]));
        assert!(
            response.meta().confirmation().is_some(),
            "the host keeps it"
        );
    }
}
