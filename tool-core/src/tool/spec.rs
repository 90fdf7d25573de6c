//! Constant specs that the macros write: one per tool and one per toolset.

use crate::arguments::fields::ArgumentStruct;
use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::mode::Modes;
use crate::tool::completion::{Completion, CompletionRequest};
use crate::tool::configure::credentials::Auth;
use crate::tool::definition::{OutputSchema, SourceLocation, ToolDescriptor};
use crate::tool::invocation::{HandlerResult, Invocation, LifecycleFuture};
use crate::tool::options::{
    Category, Confirm, DuplicateScope, OnDuplicate, ToolOptions, for_each_flag, for_each_option,
};
use crate::tool::prompt::Prompt;
use crate::tool::resource::Resource;
use serde_json::Value;
use std::any::TypeId;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The wrapper of a tool: it decodes the arguments, calls the method and converts its result.
pub type Wrapper<T> = for<'a> fn(&'a T, Invocation<'a>) -> HandlerResult<'a>;

/// The index of a parameter, and a function that computes its default from the instance.
pub type InstanceDefault<T> = (usize, fn(&T) -> Value);

/// The wrapper of a `#[setup]` or `#[close]` method.
pub type Lifecycle<T> = for<'a> fn(&'a T) -> LifecycleFuture<'a>;

/// The future of a completion.
pub type CompletionFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Completion, ToolError>> + Send + 'a>>;

/// The function that completes an argument.
pub type Completer<T> = for<'a> fn(&'a T, CompletionRequest) -> CompletionFuture<'a>;

/// The spec of a tool. `T` is the toolset's type, or `()` for a free function.
#[must_use]
pub struct ToolSpec<T: 'static> {
    pub(crate) tool: ToolDescriptor,
    pub(crate) call: Wrapper<T>,
    pub(crate) defaults: &'static [InstanceDefault<T>],
    pub(crate) confirm: Option<fn(&T) -> bool>,
    pub(crate) visible: Option<fn(&RunContext) -> bool>,
}

/// Returns the time that an option is set to.
pub const fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

const UNKNOWN_SOURCE: SourceLocation = SourceLocation { file: "", line: 0 };

impl SourceLocation {
    /// The line in the file of the caller's caller.
    #[track_caller]
    const fn in_callers_file(line: u32) -> Self {
        let file = Location::caller().file();
        Self { file, line }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) => $($field:ident).+ = $value:expr;)*) => {
        $($(#[$doc])*
        pub const fn $name(mut self $(, $argument: $type)*) -> Self {
            self.$($field).+ = $value;
            self
        })*
    };
}

macro_rules! option_setters {
    ($(
        $(#[$get:meta])* get $name:ident: $type:ty = $default:expr;
        $(#[$set:meta])* set($argument:ident: $given:ty) => $value:expr;
    )*) => {
        setters! {
            $($(#[$set])* $name($argument: $given) => tool.options.$name = $value;)*
        }
    };
}

macro_rules! flag_setters {
    ($($(#[$doc:meta])* $name:ident() => $($field:ident).+ = $value:expr;)*) => {
        setters! {
            $($(#[$doc])* $name() => tool.options.$($field).+ = $value;)*
        }
    };
}

impl<T: 'static> ToolSpec<T> {
    /// Creates a tool with everything else at its default.
    pub const fn new(name: &'static str, call: Wrapper<T>) -> Self {
        let tool = ToolDescriptor {
            name,
            description: "",
            parameters: &[],
            source: UNKNOWN_SOURCE,
            path: "",
            title: None,
            guide: None,
            returns: None,
            options: ToolOptions::DEFAULT,
            output: None,
            uses_context: false,
        };
        Self {
            tool,
            call,
            defaults: &[],
            confirm: None,
            visible: None,
        }
    }

    /// Sets the parameters.
    ///
    /// # Panics
    ///
    /// Panics for more than 128 parameters. In generated code this is a compile error.
    pub const fn parameters<'de, A: ArgumentStruct<'de>>(mut self) -> Self {
        assert!(
            A::PARAMETERS.len() <= 128,
            "a tool takes at most 128 parameters"
        );
        self.tool.parameters = A::PARAMETERS;
        self
    }

    /// Sets the line in the caller's file and the Rust path.
    #[track_caller]
    pub const fn at(mut self, line: u32, path: &'static str) -> Self {
        self.tool.source = SourceLocation::in_callers_file(line);
        self.tool.path = path;
        self
    }

    for_each_option!(option_setters);
    for_each_flag!(flag_setters);

    setters! {
        /// Sets the description for the model.
        description(description: &'static str) => tool.description = description;
        /// Sets the title for people.
        title(title: &'static str) => tool.title = Some(title);
        /// Sets the guide's text.
        guide(text: &'static str) => tool.guide = Some(text);
        /// Sets the text of the `# Returns` section.
        returns(text: &'static str) => tool.returns = Some(text);
        /// Sets the function that generates the result's schema.
        output(schema: OutputSchema) => tool.output = Some(schema);
        /// Marks that the tool takes the run context.
        uses_context() => tool.uses_context = true;
        /// Sets the defaults that the instance decides.
        instance_defaults(defaults: &'static [InstanceDefault<T>]) => defaults = defaults;
        /// Sets the function that decides which runs see the tool.
        dynamic(visible: fn(&RunContext) -> bool) => visible = Some(visible);
        /// Sets the function by which the instance decides whether a person has to approve each
        /// call.
        instance_confirm(confirm: fn(&T) -> bool) => confirm = Some(confirm);
    }
}

/// The spec of a prompt: a method whose arguments are texts.
#[must_use]
pub struct PromptSpec<T: 'static> {
    pub(crate) method: ToolSpec<T>,
    pub(crate) completers: &'static [(&'static str, Completer<T>)],
    /// Binds the method to its instance, under the prefix of its toolset. A program without prompts
    /// has no code for this.
    pub(crate) bind: fn(&Self, &Arc<T>, Option<&str>) -> Prompt,
}

impl<T: 'static> PromptSpec<T> {
    setters! {
        /// Sets the functions that complete arguments.
        complete(completers: &'static [(&'static str, Completer<T>)]) => completers = completers;
    }
}

/// The spec of a resource: a method whose arguments are the variables of a URI.
#[must_use]
pub struct ResourceSpec<T: 'static> {
    pub(crate) method: ToolSpec<T>,
    pub(crate) uri: &'static str,
    pub(crate) mime_type: Option<&'static str>,
    pub(crate) completers: &'static [(&'static str, Completer<T>)],
    /// Binds the method to its instance. A program without resources has no code for this.
    pub(crate) bind: fn(&Self, &Arc<T>) -> Resource,
}

impl<T: 'static> ResourceSpec<T> {
    setters! {
        /// Sets the MIME type.
        mime_type(mime_type: &'static str) => mime_type = Some(mime_type);
        /// Sets the functions that complete variables.
        complete(completers: &'static [(&'static str, Completer<T>)]) => completers = completers;
    }
}

/// A macro's description of a toolset, without its type.
#[derive(Clone, Copy)]
pub struct ToolsetDescriptor {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) source: SourceLocation,
    pub(crate) title: Option<&'static str>,
    pub(crate) prefix: Option<&'static str>,
    pub(crate) auth: Option<fn() -> Auth>,
    pub(crate) discover: bool,
}

/// The spec of a toolset.
#[must_use]
pub struct ToolsetSpec<T: 'static> {
    pub(crate) toolset: ToolsetDescriptor,
    pub(crate) methods: PartSpec<T>,
    pub(crate) parts: &'static [fn() -> &'static PartSpec<T>],
    pub(crate) setup: Option<Lifecycle<T>>,
    pub(crate) close: Option<Lifecycle<T>>,
}

impl<T: 'static> ToolsetSpec<T> {
    /// Creates a toolset with everything else at its default.
    pub const fn new(name: &'static str) -> Self {
        let toolset = ToolsetDescriptor {
            name,
            description: "",
            source: UNKNOWN_SOURCE,
            title: None,
            prefix: None,
            auth: None,
            discover: true,
        };
        Self {
            toolset,
            methods: PartSpec::new(),
            parts: &[],
            setup: None,
            close: None,
        }
    }

    /// Sets the line in the caller's file.
    #[track_caller]
    pub const fn at(mut self, line: u32) -> Self {
        self.toolset.source = SourceLocation::in_callers_file(line);
        self
    }

    setters! {
        /// Sets the description for the model.
        description(description: &'static str) => toolset.description = description;
        /// Sets the title for people.
        title(title: &'static str) => toolset.title = Some(title);
        /// Sets the prefix of the tools' names, without the underscore that follows it.
        prefix(prefix: &'static str) => toolset.prefix = Some(prefix);
        /// Sets the authentication.
        auth(auth: fn() -> Auth) => toolset.auth = Some(auth);
        /// Excludes the toolset from discovery.
        no_discovery() => toolset.discover = false;
        /// Adds the tools of named parts.
        parts(parts: &'static [fn() -> &'static PartSpec<T>]) => parts = parts;
        /// Sets the prompts.
        prompts(prompts: &'static [PromptSpec<T>]) => methods.prompts = prompts;
        /// Sets the resources.
        resources(resources: &'static [ResourceSpec<T>]) => methods.resources = resources;
    }

    /// Sets the `#[setup]` method.
    ///
    /// # Panics
    ///
    /// Panics in the constant of the toolset, and so refuses to compile, if a build has two.
    pub const fn setup(mut self, setup: Lifecycle<T>) -> Self {
        assert!(
            self.setup.is_none(),
            "this build has two `#[setup]` methods, whose `#[cfg(..)]` must exclude each other"
        );
        self.setup = Some(setup);
        self
    }

    /// Sets the `#[close]` method.
    ///
    /// # Panics
    ///
    /// Panics in the constant of the toolset, and so refuses to compile, if a build has two.
    pub const fn close(mut self, close: Lifecycle<T>) -> Self {
        assert!(
            self.close.is_none(),
            "this build has two `#[close]` methods, whose `#[cfg(..)]` must exclude each other"
        );
        self.close = Some(close);
        self
    }
}

/// The tools, prompts and resources of a block.
#[must_use]
pub struct PartSpec<T: 'static> {
    pub(crate) tools: &'static [ToolSpec<T>],
    pub(crate) prompts: &'static [PromptSpec<T>],
    pub(crate) resources: &'static [ResourceSpec<T>],
    pub(crate) source: SourceLocation,
    pub(crate) path: &'static str,
}

impl<T: 'static> PartSpec<T> {
    /// Creates a part without tools.
    #[allow(
        clippy::new_without_default,
        reason = "generated code calls it in a constant"
    )]
    pub const fn new() -> Self {
        Self {
            tools: &[],
            prompts: &[],
            resources: &[],
            source: UNKNOWN_SOURCE,
            path: "",
        }
    }

    /// Sets the line in the caller's file and the Rust path.
    #[track_caller]
    pub const fn at(mut self, line: u32, path: &'static str) -> Self {
        self.source = SourceLocation::in_callers_file(line);
        self.path = path;
        self
    }

    setters! {
        /// Sets the tools.
        tools(tools: &'static [ToolSpec<T>]) => tools = tools;
        /// Sets the prompts.
        prompts(prompts: &'static [PromptSpec<T>]) => prompts = prompts;
        /// Sets the resources.
        resources(resources: &'static [ResourceSpec<T>]) => resources = resources;
    }
}

/// The registered type of a toolset, before there is a value of it.
#[derive(Clone, Copy)]
pub(crate) struct LinkedToolset {
    pub(crate) id: fn() -> TypeId,
    pub(crate) toolset: ToolsetDescriptor,
    pub(crate) tools: fn() -> Vec<&'static ToolDescriptor>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic = "this build has two `#[setup]` methods"]
    fn a_build_has_one_setup_method() {
        let once = ToolsetSpec::<()>::new("a").setup(|()| Box::pin(async { Ok(()) }));
        let _ = once.setup(|()| Box::pin(async { Ok(()) }));
    }
}
