//! The requests that the host allows a server, and the refusal of others.

use crate::client::budget::SamplingBudget;
use memchr::memmem;
use rmcp::model::{
    ClientCapabilities, ElicitationCapability, ErrorCode, ErrorData, ExtensionCapabilities,
    FormElicitationCapability, JsonObject, RootsCapabilities, SamplingCapability,
    UrlElicitationCapability,
};
use serde_json::{Value, json};
use std::slice;
use tool_core::call::Root;

/// The requests that the host allows a server.
#[derive(Default)]
pub(crate) struct ServerRights {
    /// Questions with forms.
    pub(crate) forms: bool,
    /// Questions that the user answers on a page of the server.
    pub(crate) urls: bool,
    /// The questions of a session.
    pub(crate) questions: Option<u32>,
    pub(crate) sampling: Option<SamplingBudget>,
    /// The folders that the server learns.
    pub(crate) roots: Option<Vec<Root>>,
    /// The folders are those of the session.
    pub(crate) session_roots: bool,
}

/// The questions of a session, unless the host sets another number.
pub(crate) const MAX_QUESTIONS: u32 = 100;

pub(crate) const ELICIT: &str = "elicitation/create";
pub(crate) const SAMPLE: &str = "sampling/createMessage";
pub(crate) const ROOTS: &str = "roots/list";

impl ServerRights {
    /// Returns the capabilities that the client declares.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.forms || self.urls {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = self.forms.then(FormElicitationCapability::default);
            elicitation.url = self.urls.then(UrlElicitationCapability::default);
            capabilities.elicitation = Some(elicitation);
        }
        capabilities.sampling = self.sampling.map(|_| SamplingCapability::default());
        capabilities.roots =
            (self.session_roots || self.roots.is_some()).then(RootsCapabilities::default);
        capabilities
    }

    /// Returns true if a call answers requests of this method.
    pub(crate) fn relays(&self, method: &str) -> bool {
        match method {
            ELICIT => self.forms || self.urls,
            SAMPLE => self.sampling.is_some(),
            ROOTS => self.session_roots,
            _ => false,
        }
    }

    /// Returns true if a call may be answered with a request.
    pub(crate) fn any(&self) -> bool {
        [ELICIT, SAMPLE, ROOTS]
            .iter()
            .any(|method| self.relays(method))
            || self.roots.is_some()
    }

    /// Returns the answer to `roots/list` that needs no call.
    pub(crate) fn list_roots(&self) -> Option<Value> {
        self.roots.as_deref().map(written_roots)
    }
}

/// Returns the extension of clients that show the pages of servers (MCP Apps), with the kind of
/// page that they show.
pub(crate) fn pages_extension() -> ExtensionCapabilities {
    let settings =
        JsonObject::from_iter([("mimeTypes".to_owned(), json!(["text/html;profile=mcp-app"]))]);
    ExtensionCapabilities::from([("io.modelcontextprotocol/ui".to_owned(), settings)])
}

/// The metadata of a question that has its mode, if that is unknown.
pub(crate) const UNKNOWN_MODE: &str = "tool-adapters/mode";

/// Returns a message with the unknown modes of its questions in their metadata, if there are any.
/// rmcp drops such a mode, and takes the question for a form. The message may be a request, a
/// batch, or an answer that requires input.
pub(crate) fn with_unknown_modes(text: &[u8]) -> Option<Value> {
    memmem::find(text, b"\"mode\"").and_then(|_| memmem::find(text, b"elicitation"))?;
    let mut message = serde_json::from_slice::<Value>(text).ok()?;
    let messages = match &mut message {
        Value::Array(messages) => messages.as_mut_slice(),
        message => slice::from_mut(message),
    };
    let mut count = 0;
    for message in messages {
        count += usize::from(note_unknown_mode(message).is_some());
        let required = message
            .pointer_mut("/result/inputRequests")
            .and_then(Value::as_object_mut);
        count += required
            .into_iter()
            .flat_map(|all| all.values_mut())
            .filter_map(note_unknown_mode)
            .count();
    }
    (count > 0).then_some(message)
}

fn note_unknown_mode(request: &mut Value) -> Option<()> {
    let params = request.get_mut("params")?.as_object_mut()?;
    let is_unknown = |mode: &Value| !mode.is_null() && mode != "form" && mode != "url";
    let mode = params.get("mode").filter(|mode| is_unknown(mode))?.clone();
    params
        .entry("_meta")
        .or_insert_with(|| json!({}))
        .as_object_mut()?
        .insert(UNKNOWN_MODE.to_owned(), mode);
    Some(())
}

pub(crate) fn written_roots(roots: &[Root]) -> Value {
    let written = |root: &Root| match &root.name {
        Some(name) => json!({"uri": root.uri, "name": name}),
        None => json!({"uri": root.uri}),
    };
    json!({"roots": roots.iter().map(written).collect::<Vec<_>>()})
}

/// Returns the error of a request that the host does not allow.
pub(crate) fn refused(method: &str) -> ErrorData {
    let text = match method {
        ELICIT => "the client does not allow this server to ask its user",
        SAMPLE => "the client does not allow this server to ask its model",
        ROOTS => "the client has no roots for this server",
        _ => "the client answers pings only",
    };
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

pub(crate) fn invalid(text: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(text.into(), None)
}
