//! Tools: function tools, provider tools and toolsets, their definitions and options, and their
//! calls; prompts and resources.

pub(crate) mod action;
pub(crate) mod bare_call;
pub(crate) mod call_settings;
pub(crate) mod completion;
pub(crate) mod conditions;
pub(crate) mod configure;
pub(crate) mod confirm_function;
pub(crate) mod default_json;
pub(crate) mod definition;
pub(crate) mod derived_toolset;
pub(crate) mod docs;
pub(crate) mod driver;
pub(crate) mod function;
pub(crate) mod guarded_tool;
pub(crate) mod guide;
pub(crate) mod instance;
pub(crate) mod invocation;
#[doc(hidden)]
pub mod locals;
pub(crate) mod missing_tool;
pub(crate) mod options;
pub(crate) mod panic_guard;
pub(crate) mod prompt;
pub(crate) mod provider;
pub(crate) mod published;
pub(crate) mod raw;
pub(crate) mod registration;
pub(crate) mod resource;
pub(crate) mod response_builder;
pub(crate) mod returns;
pub(crate) mod spans;
pub(crate) mod spec;
pub(crate) mod start;
pub(crate) mod text_method;
pub(crate) mod thread_time;
pub(crate) mod toolset;
pub(crate) mod typed_value;
pub(crate) mod uri_template;
pub(crate) mod wrap;
pub(crate) mod wrap_all;

#[cfg(test)]
mod tests;

pub use crate::arguments::shared_schema::{SharedDefinition, SharedDefinitions};
pub use crate::tool::action::{Action, ActionParameter, ParameterType};
pub use crate::tool::completion::{Completion, CompletionRequest, CompletionTarget, TextArguments};
#[cfg(feature = "session")]
pub use crate::tool::configure::BoundSettings;
pub use crate::tool::configure::{
    AccessToken, Auth, BasicAuth, Configure, ConfigureError, Configured, OAuth2, Secret,
    SecretDocument, TokenSource, ToolsetFactory, ToolsetMetadata,
};
pub use crate::tool::definition::{SourceLocation, ToolDefinition};
pub use crate::tool::derived_toolset::{MappedToolset, ToolsetExt, merge_toolsets};
pub use crate::tool::function::FunctionTool;
pub use crate::tool::guide::{Guide, GuideExample};
pub use crate::tool::invocation::LifecycleFuture;
pub use crate::tool::options::{
    Category, Confirm, DuplicateScope, OnDuplicate, SetOption, ToolAnnotations,
};
pub use crate::tool::prompt::{
    Prompt, PromptArgument, PromptDefinition, PromptHandler, PromptMessage,
};
pub use crate::tool::provider::{ProviderId, ProviderTool};
pub use crate::tool::raw::{RawHandler, RawStateHandler, RawTool};
pub use crate::tool::resource::{
    Resource, ResourceAnnotations, ResourceContents, ResourceData, ResourceDefinition,
    ResourceHandler, ResourceRequest,
};
pub use crate::tool::toolset::{IntoPrompt, IntoResource, IntoTool, Tool, ToolKind, Toolset};
pub use crate::tool::uri_template::{UriTemplate, UriTemplateError};
pub use crate::tool::wrap::{Callable, Wrapped};

// What the compiler names in messages about generated code. It prints the shortest path that leads
// through no hidden module.
#[doc(hidden)]
pub use crate::arguments::limits::{
    Chosen, Counted, Formatted, Long, Patterned, Ranged, has_format, has_items, has_length,
    in_range, is_one_of, matches_pattern,
};
#[doc(hidden)]
pub use crate::arguments::tool_parameter::{
    ForeignParameter, ForeignSchema, ToolParameter, schemars_features::*,
};
#[doc(hidden)]
pub use crate::schema::parameter::AnswerType;
#[doc(hidden)]
pub use crate::tool::confirm_function::{DecidesByArguments, IsNoConfirmFunction};
#[doc(hidden)]
pub use crate::tool::default_json::{IsUnpublished, PublishedDefault};
#[doc(hidden)]
pub use crate::tool::invocation::context;
#[doc(hidden)]
pub use crate::tool::registration::MainToolsetBlock;
#[doc(hidden)]
pub use crate::tool::returns::{
    AnswersWith, Conversion, FailsWith, IsData, IsStream, IsUnknown, Returned,
};
#[doc(hidden)]
pub use crate::tool::start::{done, start};
#[doc(hidden)]
pub use crate::tool::text_method::{
    IntoPromptMessages, IntoResourceContents, prompt_result, resource_result,
};
