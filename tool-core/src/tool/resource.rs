//! Resources: texts and bytes that a client reads by their URI.

use crate::call::content::Content;
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::original::OriginalPart;
use crate::call::sampling::Role;
use crate::text::escape_invisible;
use crate::tool::completion::{Completion, CompletionRequest, TextArguments, no_completion};
use crate::tool::invocation::{RequiredSetup, Visible};
use crate::tool::published::{Published, Serves};
use crate::tool::uri_template::{UriTemplate, UriTemplateError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Hints about a resource for clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceAnnotations {
    /// For whom it is; empty where that is not said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// The importance, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f32>,
    /// The time of the last change, in ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The definition of a resource, or of all resources whose URIs match a template.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceDefinition {
    /// The URI, or the template.
    pub uri: UriTemplate,
    /// The name, for programs.
    pub name: String,
    /// The title for people.
    pub title: Option<String>,
    /// The description; may be empty.
    pub description: String,
    /// The MIME type of all contents that do not say their own.
    pub mime_type: Option<String>,
    /// The size in bytes, where it is known. A template has none.
    pub size: Option<u64>,
    /// Hints for clients.
    pub annotations: Option<ResourceAnnotations>,
    /// The variables of the template that the handler completes.
    pub completes: Vec<String>,
    /// The declaration as another server has sent it.
    #[doc(hidden)]
    pub declared: Option<Arc<Map<String, Value>>>,
}

impl ResourceDefinition {
    /// Creates a definition.
    ///
    /// # Errors
    ///
    /// `uri` is neither a URI nor a [`UriTemplate`].
    pub fn new(uri: &str, name: impl Into<String>) -> Result<Self, UriTemplateError> {
        Ok(Self::of(uri.parse()?, name))
    }

    pub(crate) fn of(uri: UriTemplate, name: impl Into<String>) -> Self {
        Self {
            uri,
            name: name.into(),
            title: None,
            description: String::new(),
            mime_type: None,
            size: None,
            annotations: None,
            completes: Vec::new(),
            declared: None,
        }
    }

    /// Sets the title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Sets the hints for clients.
    #[must_use]
    pub fn annotations(mut self, annotations: ResourceAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Declares that the handler completes a variable of the template.
    #[must_use]
    pub fn completes(mut self, variable: impl Into<String>) -> Self {
        self.completes.push(variable.into());
        self
    }

    /// Returns true for a template with variables.
    pub fn is_template(&self) -> bool {
        !self.uri.is_fixed()
    }
}

/// The contents of a resource, or of one of several that a URI stands for. In JSON as the Model
/// Context Protocol has it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// The URI. If it is empty, the contents get the URI that was read.
    pub uri: String,
    /// The MIME type. Where there is none, the contents get that of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The data.
    #[serde(flatten)]
    pub data: ResourceData,
    /// The contents as another server has sent them.
    #[doc(hidden)]
    #[serde(skip)]
    pub original: Option<OriginalPart>,
}

impl PartialEq for ResourceContents {
    fn eq(&self, other: &Self) -> bool {
        self.uri == other.uri && self.mime_type == other.mime_type && self.data == other.data
    }
}

impl Eq for ResourceContents {}

#[expect(
    clippy::missing_fields_in_debug,
    reason = "what another server has sent says the same"
)]
impl fmt::Debug for ResourceContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ResourceContents");
        shown
            .field("uri", &self.uri)
            .field("mime_type", &self.mime_type)
            .field("data", &self.data)
            .finish()
    }
}

/// The data of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceData {
    /// A text.
    Text(String),
    /// Bytes. In JSON they are a text in base64.
    Blob(#[serde(with = "in_base64")] Vec<u8>),
}

mod in_base64 {
    use super::{Engine, STANDARD};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        STANDARD.decode(&*text).map_err(D::Error::custom)
    }
}

impl ResourceContents {
    /// Creates contents of a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            uri: String::new(),
            mime_type: None,
            data: ResourceData::Text(text.into()),
            original: None,
        }
    }

    /// Creates contents of bytes.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            uri: String::new(),
            mime_type: None,
            data: ResourceData::Blob(bytes.into()),
            original: None,
        }
    }

    /// Sets the URI.
    #[must_use]
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = uri.into();
        self
    }

    /// Sets the MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Returns the text, unless the data are bytes.
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            ResourceData::Text(text) => Some(text),
            ResourceData::Blob(_) => None,
        }
    }

    /// Returns the number of bytes of the data.
    pub(crate) fn bytes(&self) -> usize {
        let data = match &self.data {
            ResourceData::Text(text) => text.len(),
            ResourceData::Blob(bytes) => bytes.len(),
        };
        data + self
            .original
            .as_ref()
            .map_or(0, |original| original.further_bytes)
    }
}

impl TryFrom<Content> for ResourceContents {
    type Error = ToolError;

    /// Converts a part of a result. Data in base64 become bytes.
    fn try_from(content: Content) -> Result<Self, ToolError> {
        let decode = |data: &str| {
            let bytes = STANDARD.decode(data);
            bytes
                .map_err(|error| ToolError::internal(format!("the content is not base64: {error}")))
        };
        match content {
            Content::Text { text } => Ok(Self::text(text)),
            Content::Image { data, mime_type } | Content::Audio { data, mime_type } => {
                Ok(Self::blob(decode(&data)?).mime_type(mime_type))
            }
            Content::Resource {
                uri,
                mime_type,
                text: Some(text),
                ..
            } => Ok(Self {
                uri,
                mime_type,
                ..Self::text(text)
            }),
            Content::Resource {
                uri,
                mime_type,
                text: None,
                ..
            } => match uri.split_once(";base64,") {
                Some((kind, data)) if kind.starts_with("data:") => Ok(Self {
                    mime_type,
                    ..Self::blob(decode(data)?)
                }),
                _ => Err(ToolError::internal(
                    "the content is a link; return its text or bytes",
                )),
            },
        }
    }
}

/// A request to read a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceRequest {
    /// The URI.
    pub uri: String,
    /// The decoded values of the template's variables. They are as untrusted as the arguments of a
    /// call: a value may contain slashes and `..`.
    pub variables: TextArguments,
}

/// The handler of a resource: reads it, and completes the variables of its template.
///
/// A function from a [`ResourceRequest`] and a [`RunContext`] to a future of the contents
/// implements it, without completion.
pub trait ResourceHandler: Send + Sync + 'static {
    /// Reads the resource.
    ///
    /// # Errors
    ///
    /// The error that the client reads. The text of an internal error goes to the log only.
    fn read<'a>(
        &'a self,
        request: ResourceRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>>;

    /// Completes a variable that the definition [`completes`](ResourceDefinition::completes).
    /// Defaults to no values.
    ///
    /// # Errors
    ///
    /// The error that the client reads.
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Completion, ToolError>> {
        let _ = (request, ctx);
        no_completion()
    }
}

impl<F, A> ResourceHandler for F
where
    F: Fn(ResourceRequest, RunContext) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Vec<ResourceContents>, ToolError>> + Send + 'static,
{
    fn read<'a>(
        &'a self,
        request: ResourceRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(self(request, ctx.clone()))
    }
}

/// A resource that a client reads by its URI, or all resources whose URIs match a template. Cheap
/// to clone.
///
/// `#[resource]` makes one of a method. [`new`](Self::new) makes one at run time.
///
/// ```
/// use tool_core::tool::{Resource, ResourceContents, ResourceDefinition, ResourceRequest};
/// use tool_core::{RunContext, ToolContext};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let definition = ResourceDefinition::new("notes://{id}", "notes")?.mime_type("text/markdown");
/// let notes = Resource::new(definition, async |request: ResourceRequest, _ctx: RunContext| {
///     Ok(vec![ResourceContents::text(format!("# Note {}", request.variables["id"]))])
/// });
/// let tools = ToolContext::builder().with_resource(notes).build()?;
///
/// let contents = tools.read_resource("notes://7", &RunContext::detached()).await?;
/// assert_eq!(contents, [ResourceContents::text("# Note 7").uri("notes://7").mime_type("text/markdown")]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Resource(pub(crate) Published<ResourceDefinition, dyn ResourceHandler>);

impl Resource {
    /// Creates a resource, or all resources of a template.
    pub fn new(definition: ResourceDefinition, handler: impl ResourceHandler) -> Self {
        Self(Published::new(definition, Arc::new(handler)))
    }

    /// Returns the definition.
    pub fn definition(&self) -> &ResourceDefinition {
        &self.0.definition
    }

    /// Returns the URI, or the text of the template.
    pub fn uri(&self) -> &str {
        self.0.definition.uri.as_str()
    }

    /// Hides the resource from runs for which `visible` returns false. It is called for each
    /// listing and each use.
    pub fn dynamic(&self, visible: impl Fn(&RunContext) -> bool + Send + Sync + 'static) -> Self {
        self.visible_where(Arc::new(visible))
    }

    /// Restricts a template to the URIs for which `serves` returns true, both as the client writes
    /// them and with their escapes decoded. A context has no resource under the others.
    ///
    /// ```
    /// # use tool_core::tool::{Resource, ResourceContents, ResourceDefinition, ResourceRequest};
    /// # use tool_core::{RunContext, ToolContext};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let definition = ResourceDefinition::new("files:///{+path}", "files")?;
    /// let files = Resource::new(definition, async |request: ResourceRequest, _ctx: RunContext| {
    ///     Ok(vec![ResourceContents::text(std::fs::read_to_string(&request.variables["path"]).unwrap_or_default())])
    /// });
    /// let files = files.only(|uri| !uri.contains("secret"));
    /// let tools = ToolContext::builder().with_resource(files).build()?;
    /// assert!(tools.resource("files:///notes/a.md").is_some());
    /// assert!(tools.resource("files:///%73ecret").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn only(&self, serves: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let mut only = self.0.clone();
        only.serves = Some(Arc::new(serves));
        Self(only)
    }

    /// Creates the resources of all URIs that no other resource has. They are in no list.
    #[doc(hidden)]
    pub fn unlisted(handler: impl ResourceHandler) -> Self {
        Self::new(
            ResourceDefinition::of(UriTemplate::any(), "unlisted"),
            handler,
        )
    }

    /// Returns true if a list has the resource.
    #[doc(hidden)]
    pub fn is_listed(&self) -> bool {
        !self.0.definition.uri.is_any()
    }

    /// Returns true if the template serves a URI that matches it.
    pub(crate) fn serves(&self, uri: &str) -> bool {
        let is_served = |serves: &Arc<Serves>| {
            serves(uri) && serves(&percent_decode_str(uri).decode_utf8_lossy())
        };
        self.0.serves.as_ref().is_none_or(is_served)
    }

    /// Returns true if the run of `ctx` sees the resource.
    pub fn visible_in(&self, ctx: &RunContext) -> bool {
        self.0.visible_in(self.uri(), ctx)
    }

    pub(crate) fn visible_where(&self, visible: Arc<Visible>) -> Self {
        Self(self.0.clone().visible_where(visible))
    }

    pub(crate) fn after_setup(self, setup: Option<&Arc<dyn RequiredSetup>>) -> Self {
        Self(self.0.after_setup(setup))
    }

    /// Reads the resource, and fills in what its contents do not say.
    pub(crate) async fn read(
        &self,
        uri: &str,
        variables: TextArguments,
        ctx: &RunContext,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        let request = ResourceRequest {
            uri: uri.to_owned(),
            variables,
        };
        let mut contents = self
            .0
            .run(self.uri(), |handler| handler.read(request, ctx))
            .await?;
        for part in &mut contents {
            if part.uri.is_empty() {
                uri.clone_into(&mut part.uri);
            }
            part.mime_type = part
                .mime_type
                .take()
                .or_else(|| self.definition().mime_type.clone());
        }
        Ok(contents)
    }

    /// Completes a variable.
    pub(crate) async fn complete(
        &self,
        request: CompletionRequest,
        ctx: &RunContext,
    ) -> Result<Completion, ToolError> {
        if !self
            .definition()
            .uri
            .variables()
            .any(|known| known == request.argument)
        {
            let variable = escape_invisible(&request.argument);
            let uri = self.uri().escape_debug();
            return Err(ToolError::validation(format!(
                "resource `{uri}` has no variable `{variable}`"
            )));
        }
        if !self.definition().completes.contains(&request.argument) {
            return Ok(Completion::default());
        }
        let argument = request.argument.clone();
        let mut values = request.values();
        let mut completion = self
            .0
            .run(self.uri(), |handler| handler.complete(request, ctx))
            .await?;
        if self.0.serves.is_some() {
            completion.retain(|value| {
                values.insert(argument.clone(), value.to_owned());
                self.serves(&self.definition().uri.expand(&values))
            });
        }
        Ok(completion.bounded())
    }
}

impl PartialEq for Resource {
    /// Compares by identity and URI.
    fn eq(&self, other: &Self) -> bool {
        self.uri() == other.uri() && self.0.same(&other.0)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resource").field(self.definition()).finish()
    }
}
