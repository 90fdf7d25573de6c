//! The constant descriptions that the macros write: one per tool, one per toolset.

use crate::call::error::ToolError;
use crate::call::mode::Modes;
use crate::schema::parameter::Parameter;
use crate::tool::auth::Auth;
use crate::tool::invocation::{Call, Started};
use crate::tool::options::{Category, Confirm, DuplicateScope, OnDuplicate, ToolAnnotations};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use std::pin::Pin;

/// The wrapper of a tool: decodes, calls the method, answers.
pub type Wrapper<T> = for<'a> fn(&'a T, Call<'a>) -> Started<'a>;

/// The schema of a tool's result, where its type tells one.
pub type OutputSchema = fn(&mut SchemaGenerator) -> Option<Schema>;

/// The index of a parameter, and its default as the instance has it.
pub type InstanceDefault<T> = (usize, fn(&T) -> Value);

/// What `#[setup]` and `#[close]` become.
pub type Lifecycle<T> = for<'a> fn(&'a T) -> Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// Where in the source something stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// As `file!()` gives it.
    pub file: &'static str,
    /// Counted from 1.
    pub line: u32,
    /// The Rust path.
    pub path: &'static str,
}

/// What is known of a tool whatever the type of its toolset. Apart, so that what reads it is compiled once and not once
/// for each toolset.
#[derive(Clone, Copy)]
pub struct ToolFacts {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) place: Place,
    pub(crate) title: Option<&'static str>,
    pub(crate) category: Category,
    pub(crate) modes: Modes,
    pub(crate) confirm: Confirm,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) flags: ToolAnnotations,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) duplicate_scope: DuplicateScope,
    pub(crate) max_output: Option<usize>,
    pub(crate) max_calls: Option<u32>,
    pub(crate) guide: Option<&'static str>,
    pub(crate) returns: Option<&'static str>,
    pub(crate) output: Option<OutputSchema>,
    pub(crate) uses_context: bool,
}

/// A tool, as the macro describes it. `T` is the toolset's type, or `()` for a free fn.
pub struct ToolSpec<T: 'static> {
    pub(crate) facts: ToolFacts,
    pub(crate) call: Wrapper<T>,
    pub(crate) defaults: &'static [InstanceDefault<T>],
}

impl<T: 'static> Clone for ToolSpec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for ToolSpec<T> {}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) => $($field:ident).+ = $value:expr;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub const fn $name(mut self $(, $argument: $type)*) -> Self {
            self.$($field).+ = $value;
            self
        })*
    };
}

impl<T: 'static> ToolSpec<T> {
    /// A tool with every option at its default.
    #[must_use]
    pub const fn new(
        name: &'static str,
        description: &'static str,
        call: Wrapper<T>,
        parameters: &'static [Parameter],
    ) -> Self {
        assert!(parameters.len() <= 128, "a tool takes at most 128 parameters");
        let facts = ToolFacts {
            name,
            description,
            parameters,
            place: Place { file: "", line: 0, path: "" },
            title: None,
            category: Category::Utility,
            modes: Modes::BOTH,
            confirm: Confirm::Never,
            timeout_ms: None,
            flags: ToolAnnotations {
                idempotent: false,
                destructive: false,
                open_world: false,
                ignore_on_enter: false,
                cancellable: false,
                sequential: false,
                blocking: false,
            },
            on_duplicate: OnDuplicate::Allow,
            duplicate_scope: DuplicateScope::Name,
            max_output: None,
            max_calls: None,
            guide: None,
            returns: None,
            output: None,
            uses_context: false,
        };
        Self { facts, call, defaults: &[] }
    }

    setters! {
        /// Where it stands.
        at(file: &'static str, line: u32, path: &'static str) => facts.place = Place { file, line, path };
        /// `title = ".."`
        title(title: &'static str) => facts.title = Some(title);
        /// `category = ".."`
        category(category: Category) => facts.category = category;
        /// `modes(..)`
        modes(modes: Modes) => facts.modes = modes;
        /// `confirm`
        confirm(confirm: Confirm) => facts.confirm = confirm;
        /// `timeout = ".."`
        timeout_ms(milliseconds: u64) => facts.timeout_ms = Some(milliseconds);
        /// `idempotent`
        idempotent() => facts.flags.idempotent = true;
        /// `destructive`
        destructive() => facts.flags.destructive = true;
        /// `open_world`
        open_world() => facts.flags.open_world = true;
        /// `ignore_on_enter`
        ignore_on_enter() => facts.flags.ignore_on_enter = true;
        /// `cancellable`
        cancellable() => facts.flags.cancellable = true;
        /// `on_duplicate = ".."`
        on_duplicate(what: OnDuplicate) => facts.on_duplicate = what;
        /// `duplicate_scope = ".."`
        duplicate_scope(scope: DuplicateScope) => facts.duplicate_scope = scope;
        /// `sequential`
        sequential() => facts.flags.sequential = true;
        /// `blocking`
        blocking() => facts.flags.blocking = true;
        /// `max_output = ..`, in Unicode scalars
        max_output(scalars: usize) => facts.max_output = Some(scalars);
        /// `max_calls = ..`, a turn
        max_calls(calls: u32) => facts.max_calls = Some(calls);
        /// `guide = ".."`, the file's text
        guide(text: &'static str) => facts.guide = Some(text);
        /// The `# Returns` section
        returns(text: &'static str) => facts.returns = Some(text);
        /// The result's schema
        output(schema: OutputSchema) => facts.output = Some(schema);
        /// It takes the run context
        uses_context() => facts.uses_context = true;
        /// Defaults that the instance decides: the parameter's index and the expression over `self`.
        instance_defaults(defaults: &'static [InstanceDefault<T>]) => defaults = defaults;
    }
}

/// What is known of a toolset whatever its type.
#[derive(Clone, Copy)]
pub struct ToolsetFacts {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) place: Place,
    pub(crate) title: Option<&'static str>,
    pub(crate) prefix: Option<&'static str>,
    pub(crate) auth: Option<fn() -> Auth>,
    pub(crate) discover: bool,
}

/// A toolset, as the macro describes it.
pub struct ToolsetSpec<T: 'static> {
    pub(crate) facts: ToolsetFacts,
    pub(crate) tools: &'static [ToolSpec<T>],
    pub(crate) parts: &'static [fn() -> &'static [ToolSpec<T>]],
    pub(crate) setup: Option<Lifecycle<T>>,
    pub(crate) close: Option<Lifecycle<T>>,
}

impl<T: 'static> ToolsetSpec<T> {
    /// A toolset with every option at its default.
    #[must_use]
    pub const fn new(name: &'static str, description: &'static str, tools: &'static [ToolSpec<T>]) -> Self {
        let place = Place { file: "", line: 0, path: "" };
        let facts = ToolsetFacts { name, description, place, title: None, prefix: None, auth: None, discover: true };
        Self { facts, tools, parts: &[], setup: None, close: None }
    }

    setters! {
        /// Where it stands.
        at(file: &'static str, line: u32, path: &'static str) => facts.place = Place { file, line, path };
        /// `title = ".."`
        title(title: &'static str) => facts.title = Some(title);
        /// `prefix` or `prefix = ".."`, without the underscore that follows it
        prefix(prefix: &'static str) => facts.prefix = Some(prefix);
        /// `auth = ..`
        auth(auth: fn() -> Auth) => facts.auth = Some(auth);
        /// `discover = false`
        no_discovery() => facts.discover = false;
        /// `parts(..)`
        parts(parts: &'static [fn() -> &'static [ToolSpec<T>]]) => parts = parts;
        /// `#[setup]`
        setup(setup: Lifecycle<T>) => setup = Some(setup);
        /// `#[close]`
        close(close: Lifecycle<T>) => close = Some(close);
    }
}

/// A type whose methods are tools: what `#[toolset]` implements.
pub trait MainToolsetBlock: Send + Sync + Sized + 'static {
    /// The description.
    const TOOLSET: ToolsetSpec<Self>;
}
