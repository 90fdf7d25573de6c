//! The builder that turns a document into tools, and the toolset of these.

use crate::document::{Document, Operation};
use crate::names::Names;
use crate::plan::{description, plan, tool_name};
use crate::refusal::{OpenApiError, RefusalReason, RefusedOperation};
use crate::request::Call;
use crate::schemas::{Definitions, SchemaSet};
use crate::security::{credentials, scheme_names};
use crate::server::{check_base, server, variable_names};
use reqwest::{Method, Url};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use tool_adapters_http::debug_only;
use tool_adapters_http::egress::normalised_host;
use tool_core::text::truncate;
use tool_core::tool::{AccessToken, ToolAnnotations};
use tool_core::{Category, FunctionTool, RawTool, RunContext, Tool, ToolContext, Toolset};

/// Maximum number of tools of a document.
const MAX_TOOLS: usize = 10_000;

/// Maximum size of the schemas of all tools in bytes, as JSON.
const MAX_SCHEMAS: usize = 256 << 20;

/// A builder that turns an OpenAPI document of version 3.0 or 3.1 into tools.
///
/// ```
/// use tool_adapters::openapi::OpenApi;
/// use tool_core::ToolContext;
///
/// let document = r#"{
///     "openapi": "3.1.0",
///     "servers": [{"url": "https://pets.example/v1"}],
///     "paths": {"/pets/{id}": {"get": {
///         "operationId": "getPet",
///         "summary": "Find a pet.",
///         "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]
///     }}}
/// }"#;
/// let pets = OpenApi::from_json(document)?.allow_host("pets.example").toolset("pets")?;
/// assert!(pets.refused().is_empty());
/// let tools = ToolContext::builder().with(pets).build()?;
/// assert!(tools.has_tool("getPet"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a document has no tools before `toolset`"]
pub struct OpenApi {
    document: Document,
    base_url: Option<String>,
    variables: BTreeMap<String, String>,
    credentials: BTreeMap<String, AccessToken>,
    may_miss_credentials: bool,
    hosts: Vec<String>,
    only: Option<BTreeSet<String>>,
    filter: Option<Box<Filter>>,
    prefix: Option<String>,
    map: Option<Box<MapTool>>,
}

type Filter = dyn Fn(&Operation<'_>) -> bool + Send + Sync;
type MapTool = dyn Fn(FunctionTool) -> FunctionTool + Send + Sync;

impl OpenApi {
    /// Reads a document from JSON text of at most 64 MiB.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON, too large, or not a document of version 3.0 or
    /// 3.1.
    pub fn from_json(text: &str) -> Result<Self, OpenApiError> {
        Document::parse(text).map(Self::new)
    }

    /// Reads a document from text of at most 64 MiB, in JSON or in YAML. Values that YAML repeats
    /// by aliases count as often as they are repeated.
    ///
    /// ```
    /// use tool_adapters::openapi::OpenApi;
    ///
    /// let api = OpenApi::from_text("openapi: 3.1.0\npaths: {}")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the text is neither, too large, or not a document of version 3.0 or 3.1.
    pub fn from_text(text: &str) -> Result<Self, OpenApiError> {
        Document::parse_any(text).map(Self::new)
    }

    /// Reads a document from a value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value nests too deep, or is not a document of version 3.0 or 3.1.
    pub fn from_value(document: Value) -> Result<Self, OpenApiError> {
        Document::new(document).map(Self::new)
    }

    fn new(document: Document) -> Self {
        Self {
            document,
            base_url: None,
            variables: BTreeMap::new(),
            credentials: BTreeMap::new(),
            may_miss_credentials: false,
            hosts: Vec::new(),
            only: None,
            filter: None,
            prefix: None,
            map: None,
        }
    }

    /// Sets the URL in place of the document's servers, and allows its host. Operations with
    /// servers of their own keep these. A document whose server is relative needs it.
    pub fn base_url(self, url: impl Into<String>) -> Self {
        Self {
            base_url: Some(url.into()),
            ..self
        }
    }

    /// Sets a variable of the servers' URLs. Defaults to the document's value.
    pub fn server_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Allows requests to a host that the document names as a server, on every port. No other host
    /// is allowed by default, except that of [`base_url`](Self::base_url).
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Sets the credential of a security scheme, by its name in the document: the key of an
    /// `apiKey`, `user:password` for HTTP basic, and the token of a bearer, of OAuth 2 and of
    /// OpenID Connect. It goes to allowed hosts only, and the model never sees it.
    ///
    /// ```
    /// use tool_adapters::openapi::OpenApi;
    /// use tool_core::Secret;
    ///
    /// # fn api(document: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let api = OpenApi::from_json(document)?.credential("api_key", Secret::from(std::env::var("PETS_KEY")?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn credential(
        mut self,
        scheme: impl Into<String>,
        credential: impl Into<AccessToken>,
    ) -> Self {
        self.credentials.insert(scheme.into(), credential.into());
        self
    }

    /// Offers operations whose credentials are missing too. Their requests have no credential, such
    /// as for a gateway that adds it.
    pub fn allow_missing_credentials(self) -> Self {
        Self {
            may_miss_credentials: true,
            ..self
        }
    }

    /// Keeps only the operations with these ids: their `operationId`, or `GET /path`.
    pub fn only(mut self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only
            .get_or_insert_default()
            .extend(operations.into_iter().map(Into::into));
        self
    }

    /// Keeps only the operations for which a function returns true.
    ///
    /// ```
    /// use tool_adapters::openapi::OpenApi;
    ///
    /// # fn api(document: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let api = OpenApi::from_json(document)?.filter(|operation| {
    ///     operation.method() == "GET" && operation.tags().any(|tag| tag == "pets") && !operation.is_deprecated()
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(self, keeps: impl Fn(&Operation<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self {
            filter: Some(Box::new(keeps)),
            ..self
        }
    }

    /// Sets a prefix for the tools' names, followed by `_`.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: Some(prefix.into()),
            ..self
        }
    }

    /// Sets a function that changes each tool, such as to require confirmation.
    ///
    /// ```
    /// use tool_adapters::openapi::OpenApi;
    /// use tool_core::tool::Confirm;
    ///
    /// # fn api(document: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let api = OpenApi::from_json(document)?.map_tools(|tool| match tool.definition().flags().destructive {
    ///     Some(true) => tool.confirm(Confirm::Always),
    ///     _ => tool,
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_tools(
        self,
        map: impl Fn(FunctionTool) -> FunctionTool + Send + Sync + 'static,
    ) -> Self {
        Self {
            map: Some(Box::new(map)),
            ..self
        }
    }

    /// Returns the hosts of the document's servers, with the variables that are set. They are not
    /// allowed yet.
    pub fn hosts(&self) -> BTreeSet<String> {
        let operations = self.document.operations();
        let servers = operations.iter().filter_map(|operation| {
            server(
                &self.document,
                operation,
                self.parsed_base().ok().flatten().as_ref(),
                &self.variables,
            )
            .ok()
        });
        servers
            .filter_map(|server| server.url.host_str().map(str::to_owned))
            .collect()
    }

    /// Turns the operations into a toolset with this id. Each operation is a tool or is [refused](OpenApiToolset::refused).
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is invalid, or names an operation, a scheme or a variable that
    /// the document does not have.
    pub fn toolset(self, id: impl Into<String>) -> Result<OpenApiToolset, OpenApiError> {
        let (base_url, hosts) = self.check()?;
        let info = |key: &str| {
            self.document
                .root()
                .get("info")?
                .get(key)?
                .as_str()
                .map(str::to_owned)
        };
        let mut toolset = OpenApiToolset {
            id: id.into(),
            title: info("title")
                .map(|title| truncate(title.trim(), 100))
                .filter(|title| !title.is_empty()),
            offered: Vec::new(),
            refused: Vec::new(),
        };
        let mut names = Names::default();
        let mut definitions = Definitions::new(&self.document);
        let mut size = 0;
        for operation in self.document.operations() {
            if !self.is_selected(&operation) {
                continue;
            }
            let tool = if size > MAX_SCHEMAS || toolset.offered.len() == MAX_TOOLS {
                let limit = format!(
                    "the document has more than {MAX_TOOLS} tools or {MAX_SCHEMAS} bytes of schemas"
                );
                Err(RefusalReason::TooLarge(format!(
                    "{limit}; choose with `only` or `filter`"
                )))
            } else {
                self.tool(
                    &operation,
                    base_url.as_ref(),
                    &hosts,
                    &mut names,
                    &mut definitions,
                    &mut size,
                )
            };
            match tool {
                Ok(tool) => toolset.offered.push(OfferedOperation {
                    method: operation.method().to_owned(),
                    path: operation.path().to_owned(),
                    tool,
                }),
                Err(reason) => toolset.refused.push(RefusedOperation {
                    method: operation.method().to_owned(),
                    path: operation.path().to_owned(),
                    id: operation.id().map(str::to_owned),
                    reason,
                }),
            }
        }
        Ok(toolset)
    }

    fn tool<'a>(
        &'a self,
        operation: &Operation<'a>,
        base_url: Option<&Url>,
        hosts: &Arc<BTreeSet<String>>,
        names: &mut Names,
        definitions: &mut Definitions<'a>,
        size: &mut usize,
    ) -> Result<FunctionTool, RefusalReason> {
        if let Some(reason) = &operation.broken {
            return Err(reason.clone());
        }
        if !operation.body.is_object() {
            return Err(RefusalReason::Malformed(
                "expected the operation to be an object".to_owned(),
            ));
        }
        let server = server(&self.document, operation, base_url, &self.variables)?;
        let host = server
            .url
            .host_str()
            .unwrap_or_default()
            .trim_end_matches('.')
            .to_owned();
        if !hosts.contains(&host) {
            return Err(RefusalReason::Host(host));
        }
        let credentials = credentials(
            &self.document,
            operation,
            &self.credentials,
            self.may_miss_credentials,
        )?;
        if !credentials.is_empty()
            && server.url.scheme() == "http"
            && !server.is_programs
            && !is_loopback(&host)
        {
            return Err(RefusalReason::Unencrypted(host));
        }
        let placements = credentials
            .iter()
            .map(|credential| credential.placement.clone())
            .collect::<Vec<_>>();
        let mut schemas = SchemaSet::new(definitions);
        let planned = plan(&self.document, operation, &placements, &mut schemas);
        // Work for refused operations counts too.
        *size += schemas.size;
        let (plan, arguments) = planned?;
        let is_retrieval = matches!(
            operation.method,
            Method::GET | Method::HEAD | Method::OPTIONS
        );
        let is_idempotent =
            is_retrieval || matches!(operation.method, Method::PUT | Method::DELETE);
        let call = Call {
            plan,
            server: server.url,
            credentials,
            hosts: Arc::clone(hosts),
            is_idempotent,
        };
        let name = tool_name(operation, self.prefix.as_deref(), names);
        let raw = RawTool {
            name: name.clone(),
            description: description(operation),
            parameters: arguments.schema,
        };
        let handler =
            async |call: &Call, arguments: Value, ctx: &RunContext| call.call(arguments, ctx).await;
        let annotations = ToolAnnotations {
            idempotent: is_idempotent,
            destructive: (operation.method == Method::DELETE).then_some(true),
            open_world: Some(true),
            ..ToolAnnotations::default()
        };
        let category = if is_retrieval {
            Category::Retrieval
        } else {
            Category::Action
        };
        let tool = FunctionTool::raw_output_with(raw, call, handler)
            .validate(true)
            .annotates_formats();
        let mut tool = tool.category(category).flags(annotations);
        if let Some(definitions) = &arguments.definitions {
            tool = tool.definitions(definitions);
        }
        if let Some(map) = &self.map {
            tool = map(tool);
        }
        // Registered alone first, so that an invalid tool does not keep the others out.
        let registered = ToolContext::builder().with(tool.clone()).build();
        registered.map(|_| tool).map_err(|errors| {
            names.release(&name);
            let problems = errors
                .iter()
                .map(|error| error.message.as_str())
                .collect::<Vec<_>>()
                .join("; ");
            RefusalReason::Schema(truncate(&problems, 500))
        })
    }

    fn is_selected(&self, operation: &Operation<'_>) -> bool {
        let is_named =
            |only: &BTreeSet<String>| names_of(operation).any(|name| only.contains(&name));
        self.only.as_ref().is_none_or(is_named)
            && self.filter.as_ref().is_none_or(|keeps| keeps(operation))
    }

    fn parsed_base(&self) -> Result<Option<Url>, String> {
        let Some(text) = &self.base_url else {
            return Ok(None);
        };
        // The text may contain a password.
        let url = Url::parse(text)
            .map_err(|error| format!("expected `base_url` to be a URL: {error}"))?;
        check_base(&url).map_err(|problem| format!("`base_url` {problem}"))?;
        Ok(Some(url))
    }

    /// Checks the settings, and returns the base URL and the allowed hosts.
    fn check(&self) -> Result<(Option<Url>, Arc<BTreeSet<String>>), OpenApiError> {
        let mut problems = Vec::new();
        let base_url = self.parsed_base().unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        let mut hosts = BTreeSet::new();
        for host in &self.hosts {
            match normalised_host(host) {
                Some(host) => _ = hosts.insert(host),
                None => problems.push(format!(
                    "expected the name of a host, got `{}`",
                    host.escape_debug()
                )),
            }
        }
        hosts.extend(
            base_url
                .as_ref()
                .and_then(Url::host_str)
                .map(|host| host.trim_end_matches('.').to_owned()),
        );
        let operations = self.document.operations();
        let known = operations.iter().flat_map(names_of).collect::<HashSet<_>>();
        let unknown = self
            .only
            .iter()
            .flatten()
            .filter(|name| !known.contains(*name));
        problems.extend(
            unknown.map(|name| format!("the document has no operation `{}`", name.escape_debug())),
        );
        let schemes = scheme_names(&self.document).collect::<HashSet<_>>();
        let unknown = self
            .credentials
            .keys()
            .filter(|name| !schemes.contains(name.as_str()));
        problems.extend(unknown.map(|name| {
            format!(
                "the document has no security scheme `{}`",
                name.escape_debug()
            )
        }));
        let variables = variable_names(&self.document);
        let unknown = self
            .variables
            .keys()
            .filter(|name| !variables.contains(&name.as_str()));
        problems.extend(unknown.map(|name| {
            format!(
                "the document's servers have no variable `{}`",
                name.escape_debug()
            )
        }));
        if problems.is_empty() {
            Ok((base_url, Arc::new(hosts)))
        } else {
            Err(OpenApiError::Settings { problems })
        }
    }
}

debug_only!(OpenApi, |this| base_url: this.base_url.is_some(), hosts: this.hosts);

/// Returns the names by which [`OpenApi::only`] knows an operation.
fn names_of<'a>(operation: &Operation<'a>) -> impl Iterator<Item = String> + use<'a> {
    let by_path = format!("{} {}", operation.method, operation.path);
    operation
        .id()
        .map(str::to_owned)
        .into_iter()
        .chain([by_path])
}

fn is_loopback(host: &str) -> bool {
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The tools of a document.
pub struct OpenApiToolset {
    id: String,
    title: Option<String>,
    offered: Vec<OfferedOperation>,
    refused: Vec<RefusedOperation>,
}

/// An operation that is a tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OfferedOperation {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, as the document writes it.
    pub path: String,
    /// The tool.
    pub tool: FunctionTool,
}

impl OpenApiToolset {
    /// Returns the operations that are tools, in the order of the document.
    pub fn offered(&self) -> &[OfferedOperation] {
        &self.offered
    }

    /// Returns the operations that are no tools, in the order of the document.
    pub fn refused(&self) -> &[RefusedOperation] {
        &self.refused
    }
}

impl Toolset for OpenApiToolset {
    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.offered
            .iter()
            .map(|operation| Tool::Function(operation.tool.clone()))
            .collect()
    }
}

debug_only!(OpenApiToolset, |this| id: this.id, tools: this.offered.len(), refused: this.refused.len());
