//! What a model reads of a response.

use crate::call::MASKED;
use crate::call::error::ErrorKind;
use crate::call::output::{Content, OutputKind};
use crate::call::response::ToolResponse;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// In which form results go to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ResultForm {
    /// The data as JSON, or the error's message.
    #[default]
    Plain,
    /// The whole envelope, without what only the host may see.
    Envelope,
}

/// What a model reads of a response, before a provider's protocol wraps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelResult {
    /// The text: JSON, an error's message, or nothing.
    pub text: String,
    /// Whether the call failed. Protocols that can, flag it.
    pub is_error: bool,
    /// Whether the model is to go on. A stop wants no reply.
    pub reply: bool,
    /// Whether the text is an array of parts of [`Content`]. Protocols that can, show them as what they are.
    #[serde(default)]
    pub parts: bool,
}

impl ModelResult {
    /// The parts that the text tells, for protocols that can show images and the like; `None` where it is plain.
    pub fn content(&self) -> Option<Vec<Content>> {
        if self.parts { serde_json::from_str(&self.text).ok() } else { None }
    }
}

impl ToolResponse {
    /// What the model reads of this response. L18
    ///
    /// In the plain form an error gives its message, and an internal one no more than that it happened; `()` and a stop
    /// give an empty text; all else is compact JSON: a text keeps its quotes, and parts of [`Content`](super::Content)
    /// are an array (a protocol that can show them finds out by [`ToolResponse::form`]).
    ///
    /// In neither form does the model see a [`Confirmation`](super::Confirmation): who holds its token may approve.
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
    /// assert_eq!((&*result.text, result.is_error, result.reply), (r#""hello Ada""#, false, true));
    /// # Ok(())
    /// # }
    /// ```
    pub fn for_model(&self, form: ResultForm) -> ModelResult {
        let text = match form {
            ResultForm::Plain => self.plain_text(),
            ResultForm::Envelope => self.presentable().to_json(),
        };
        let parts = form == ResultForm::Plain && self.is_ok() && self.form() == OutputKind::Content;
        ModelResult { text, is_error: !self.is_ok(), reply: !(self.is_ok() && self.form() == OutputKind::Stop), parts }
    }

    fn plain_text(&self) -> String {
        match (&self.body, self.form()) {
            (Err(error), _) if error.kind == ErrorKind::Internal => MASKED.to_owned(),
            (Err(error), _) => error.message.clone(),
            (Ok(_), OutputKind::Unit | OutputKind::Stop) => String::new(),
            (Ok(data), OutputKind::Data | OutputKind::Content) => data.clone(),
        }
    }

    /// The response without what is not for the model. R-C1
    fn presentable(&self) -> Cow<'_, Self> {
        let confirmed = self.meta().confirmation().is_some();
        // Ours are masked already; one that was read from JSON may not be.
        let internal = self.error().is_some_and(|error| error.kind == ErrorKind::Internal && error.message != MASKED);
        if !confirmed && !internal {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        if let Some(rare) = &mut shown.slim.rare {
            rare.confirmation = None;
        }
        if let (true, Err(error)) = (internal, &mut shown.body) {
            MASKED.clone_into(&mut error.message);
        }
        Cow::Owned(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::error::ErrorBody;
    use crate::call::intent::Intent;
    use crate::call::meta::Confirmation;
    use crate::call::meta::Slim;
    use serde_json::Value;
    use serde_json::json;
    use std::time::Duration;

    fn ok(data: &str, form: OutputKind) -> ToolResponse {
        let slim = Slim { tool: "t".into(), call_id: Some("c".into()), duration: Duration::ZERO, rare: None };
        ToolResponse { body: Ok(data.to_owned()), form, slim }
    }

    fn failed(kind: ErrorKind, message: &str) -> ToolResponse {
        let error = ErrorBody { kind, message: message.into(), retryable: false, partial_side_effects: false };
        ToolResponse { body: Err(Box::new(error)), ..ok("", OutputKind::Data) }
    }

    fn plain(response: &ToolResponse) -> (String, bool, bool) {
        let ModelResult { text, is_error, reply, .. } = response.for_model(ResultForm::default());
        (text, is_error, reply)
    }

    fn envelope(response: &ToolResponse) -> Value {
        serde_json::from_str(&response.for_model(ResultForm::Envelope).text).expect("an envelope")
    }

    // L18
    #[test]
    fn an_error_gives_its_message_flagged_as_an_error() {
        let response = failed(ErrorKind::Conflict, "the slot is taken");
        assert_eq!(plain(&response), ("the slot is taken".into(), true, true));
    }

    // L18
    #[test]
    fn a_stop_gives_an_empty_text_and_wants_no_reply() {
        assert_eq!(plain(&ok("null", OutputKind::Stop)), (String::new(), false, false));
    }

    // L18
    #[test]
    fn an_internal_error_tells_only_that_it_happened() {
        for text in [MASKED, "password=hunter2"] {
            let response = failed(ErrorKind::Internal, text);
            assert_eq!(plain(&response), ("An internal error occurred".into(), true, true));
            assert_eq!(envelope(&response)["error"]["message"], json!(MASKED));
        }
    }

    // L18
    #[test]
    fn unit_gives_an_empty_text_and_wants_a_reply() {
        assert_eq!(plain(&ok("null", OutputKind::Unit)), (String::new(), false, true));
    }

    // L18
    #[test]
    fn all_else_is_json_a_text_too() {
        for (data, form) in [
            (r#""hello""#, OutputKind::Data),
            ("null", OutputKind::Data),
            (r#"{"a":[1,2.50]}"#, OutputKind::Data),
            (r#"[{"type":"text","text":"a"}]"#, OutputKind::Content),
        ] {
            assert_eq!(plain(&ok(data, form)), (data.into(), false, true));
        }
    }

    // L18
    #[test]
    fn parts_of_content_are_told_as_what_they_are() {
        let shown = ok(r#"[{"type":"text","text":"a"}]"#, OutputKind::Content);
        assert_eq!(shown.for_model(ResultForm::Plain).content(), Some(vec![Content::text("a")]));
        assert_eq!(shown.for_model(ResultForm::Envelope).content(), None);
        assert_eq!(ok("[1]", OutputKind::Data).for_model(ResultForm::Plain).content(), None);
    }

    // L18
    #[test]
    fn the_envelope_form_sends_the_whole_envelope() {
        let mut response = ok("[1]", OutputKind::Data);
        response.rare().intents.push(Intent::SuppressAudio);
        response.rare().warnings.push("slow".into());
        assert_eq!(envelope(&response), serde_json::to_value(&response).expect("serialises"));
        let stop = ok("null", OutputKind::Stop).for_model(ResultForm::Envelope);
        assert!(!stop.reply && !stop.is_error && stop.text.contains(r#""ok":true"#), "{stop:?}");
        assert!(failed(ErrorKind::Timeout, "late").for_model(ResultForm::Envelope).is_error);
    }

    // R-C1
    #[test]
    fn what_an_approval_is_asked_for_never_reaches_the_model() {
        let mut response = failed(ErrorKind::ConfirmationRequired, "a person has to agree");
        response.rare().warnings.push("slow".into());
        response.rare().confirmation = Some(Confirmation {
            token: "canary-token".into(),
            summary: "canary-summary".into(),
            expires_at: "2000-01-01T00:00:00Z".into(),
        });
        for form in [ResultForm::Plain, ResultForm::Envelope] {
            let text = response.for_model(form).text;
            assert!(!text.contains("canary") && !text.contains("2000-01-01"), "{text}");
        }
        assert_eq!(envelope(&response)["meta"]["warnings"], json!(["slow"]));
        assert!(response.meta().confirmation().is_some(), "the host keeps it");
    }
}
