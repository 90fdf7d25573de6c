//! The options of a tool: what `#[tool(..)]` and the setters of a raw tool set.

use crate::arguments::{Coercions, JsonRepair};
use crate::call::approval_reason::ApprovalNeed;
use crate::call::mode::Modes;
use crate::text::camel_case;
use crate::time::whole_milliseconds;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The purpose of a tool. The runtime's limits and the providers' annotations depend on it.
///
/// ```
/// use tool_core::{Category, Policy};
///
/// // At most one call of an action in a turn.
/// let policy = Policy::text().category_budget(Category::Action, Some(1));
/// assert_eq!(policy.limits().category(Category::Action), Some(1));
/// assert_eq!(Category::Retrieval.as_str(), "retrieval");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// The tool reads data. It is read-only and idempotent.
    Retrieval,
    /// The tool changes something outside the program.
    Action,
    /// The tool computes something, or serves the conversation itself.
    #[default]
    Utility,
}

impl Category {
    /// Returns the category's name in the attribute and in the manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retrieval => "retrieval",
            Self::Action => "action",
            Self::Utility => "utility",
        }
    }
}

/// The treatment of a call that arrives while another call of the same tool runs.
///
/// ```
/// use tool_core::tool::OnDuplicate;
/// use tool_core::{ToolContext, tool};
///
/// /// Call a taxi.
/// #[tool(category = "action", on_duplicate = "reject")]
/// async fn call_taxi(street: String) -> String {
///     format!("a taxi to {street} is on its way")
/// }
///
/// let tools = ToolContext::builder().with(call_taxi).build()?;
/// let taxi = tools.function_tool("call_taxi").expect("a tool");
/// assert_eq!(taxi.definition().on_duplicate(), OnDuplicate::Reject);
/// assert_eq!(taxi.on_duplicate(OnDuplicate::Replace).definition().on_duplicate(), OnDuplicate::Replace);
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDuplicate {
    /// Both calls run.
    #[default]
    Allow,
    /// The new call fails with CONFLICT.
    Reject,
    /// The running call is cancelled.
    Replace,
    /// The model has to confirm the new call, by the parameter `confirm_duplicate`, which the tool
    /// gets. A raw tool has the parameters of its schema alone, so a context with one does not build.
    Confirm,
}

impl OnDuplicate {
    /// Returns the treatment's name in the attribute and in the manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Reject => "reject",
            Self::Replace => "replace",
            Self::Confirm => "confirm",
        }
    }
}

/// The calls that count as duplicates of one another.
///
/// ```
/// use tool_core::tool::DuplicateScope;
/// use tool_core::{ToolContext, tool};
///
/// /// Export a report. Several reports may be exported at the same time, each of them once.
/// #[tool(category = "action", on_duplicate = "reject", duplicate_scope = "name_and_args")]
/// async fn export(report: String) -> String {
///     format!("{report} is exported")
/// }
///
/// let tools = ToolContext::builder().with(export).build()?;
/// let definition = tools.function_tool("export").expect("a tool").definition();
/// assert_eq!(definition.duplicate_scope(), DuplicateScope::NameAndArgs);
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateScope {
    /// All calls of the tool.
    #[default]
    Name,
    /// Calls of the tool with equal arguments.
    NameAndArgs,
}

/// The condition under which a person has to approve a call.
///
/// ```
/// use tool_core::tool::Confirm;
/// use tool_core::{ToolContext, tool};
///
/// fn is_large(args: &RefundArgs) -> bool {
///     args.cents > 10_000
/// }
///
/// /// Refund an order.
/// #[tool(category = "action", confirm = is_large, args = RefundArgs)]
/// fn refund(cents: u32) -> String {
///     format!("refunded {cents} cents")
/// }
///
/// let tools = ToolContext::builder().with(refund).build()?;
/// let refund = tools.function_tool("refund").expect("a tool");
/// let Confirm::When(asks) = refund.definition().confirm() else { panic!("expected a function") };
/// assert!(asks(r#"{"cents": 90000}"#).is_needed() && !asks(r#"{"cents": 900}"#).is_needed());
///
/// // The host asks each time, also for a tool of another crate or server.
/// let strict = refund.confirm(Confirm::Always);
/// assert!(matches!(strict.definition().confirm(), Confirm::Always));
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub enum Confirm {
    /// No call needs approval.
    #[default]
    Never,
    /// Every call needs approval.
    Always,
    /// The function decides by the arguments' JSON text, and may say why. Arguments that do not
    /// decode need approval.
    When(fn(&str) -> ApprovalNeed),
}

impl Confirm {
    /// Returns the name in manifests and on the command line: `never`, `always` or `conditional`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Always => "always",
            Self::When(_) => "conditional",
        }
    }

    /// Returns a label for people, beside a tool's other options: `confirm` or
    /// `confirm on a condition`. Returns `None` for a tool whose calls need no approval.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Never => None,
            Self::Always => Some("confirm"),
            Self::When(_) => Some("confirm on a condition"),
        }
    }
}

/// The yes-or-no options of a tool.
///
/// ```
/// use tool_core::{ToolContext, tool};
///
/// /// Delete all notes.
/// #[tool(category = "action", destructive, idempotent)]
/// fn delete_notes() {}
///
/// let tools = ToolContext::builder().with(delete_notes).build()?;
/// let flags = tools.definitions().next().expect("a tool").flags();
/// assert!(flags.destructive == Some(true) && flags.idempotent && flags.open_world.is_none());
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a separate option of the attribute
pub struct ToolAnnotations {
    /// A repeated call with the same arguments has no further effect.
    pub idempotent: bool,
    /// The tool may delete or overwrite data. `None` if that is not known.
    pub destructive: Option<bool>,
    /// The tool reaches systems outside the program's own data. `None` if that is not known.
    pub open_world: Option<bool>,
    /// The tool is hidden from the reply that an agent generates when it enters a conversation.
    pub ignore_on_enter: bool,
    /// The model may cancel a running call.
    pub cancellable: bool,
    /// A call runs alone: neither beside other calls of the tool nor beside calls of other tools.
    pub sequential: bool,
    /// The tool blocks its thread, so a session runs it on a bounded thread pool.
    pub blocking: bool,
    /// A person approves each call that needs approval on its own, so that no grant covers it.
    pub ask_each_time: bool,
}

impl ToolAnnotations {
    /// Returns the names of the options that are on, as `#[tool(..)]` spells them.
    ///
    /// ```
    /// use tool_core::tool::ToolAnnotations;
    ///
    /// let flags = ToolAnnotations { open_world: Some(true), blocking: true, ..ToolAnnotations::default() };
    /// assert_eq!(flags.names().collect::<Vec<_>>(), ["open_world", "blocking"]);
    /// ```
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        // Every list of options shows what is added here.
        let named = [
            ("idempotent", self.idempotent),
            ("destructive", self.destructive == Some(true)),
            ("open_world", self.open_world == Some(true)),
            ("ignore_on_enter", self.ignore_on_enter),
            ("cancellable", self.cancellable),
            ("sequential", self.sequential),
            ("blocking", self.blocking),
            ("ask_each_time", self.ask_each_time),
        ];
        let on = named.into_iter().filter(|(_, is_on)| *is_on);
        on.map(|(name, _)| name)
    }
}

/// Passes every option with a value to `$callback!`, with one entry for each: its getter's
/// documentation, its name, its type and its default; its setter's documentation, its argument and
/// what it sets.
///
/// From this table come the fields of [`ToolOptions`], the `const` setters of `ToolSpec`, the methods of `FunctionTool`, which
/// all tools have, and the getters of `ToolDefinition`. [`ToolOptions::set`] lists the options for people and for JSON.
macro_rules! for_each_option {
    ($callback:ident) => {
        $callback! {
            /// Returns the tool's purpose.
            get category: Category = Category::Utility;
            /// Sets the purpose of the tool. Defaults to [`Category::Utility`].
            set(category: Category) => category;

            /// Returns the modes in which the tool may be called.
            get modes: Modes = Modes::BOTH;
            /// Sets the modes in which the tool may be called. Defaults to both.
            set(modes: Modes) => modes;

            /// Returns the condition under which a person has to approve a call. If there are
            /// several, it is the strictest of them.
            get confirm: Confirm = Confirm::Never;
            /// Sets when a person has to approve a call. Defaults to never.
            set(confirm: Confirm) => confirm;

            /// Returns the maximum duration of a call, where it is set.
            get timeout: Option<Duration> = None;
            /// Sets the maximum duration of a call. A session enforces it. A context with a tool whose
            /// duration is 0 does not build.
            set(timeout: Duration) => Some(timeout);

            /// Returns the treatment of a call while another call of the tool runs.
            get on_duplicate: OnDuplicate = OnDuplicate::Allow;
            /// Sets the treatment of a call while another call of the tool runs. Defaults to
            /// running both.
            set(treatment: OnDuplicate) => treatment;

            /// Returns the calls that count as duplicates.
            get duplicate_scope: DuplicateScope = DuplicateScope::Name;
            /// Sets the calls that count as duplicates. Defaults to all calls of the tool.
            set(scope: DuplicateScope) => scope;

            /// Returns the maximum length of a result in Unicode scalars, where it is set.
            get max_output: Option<usize> = None;
            /// Sets the maximum length of a result in characters (Unicode scalars). A longer result
            /// is cut.
            set(characters: usize) => Some(characters);

            /// Returns the maximum number of calls in a turn, where it is set.
            get max_calls: Option<u32> = None;
            /// Sets the maximum number of calls in a turn. A context with a tool whose number is 0 does
            /// not build.
            set(calls: u32) => Some(calls);

            /// Returns the number of times that a session starts a call again which has failed in
            /// passing, where it is set.
            get retries: Option<u32> = None;
            /// Sets how often a session starts a call again which has failed with `TRANSIENT`,
            /// `RATE_LIMIT` or `TIMEOUT`, within the deadline of the call. It waits before each
            /// retry, longer each time, and as long as the error asks
            /// ([`ToolError::retry_after`](crate::ToolError::retry_after)). Only a retrieval or an
            /// idempotent tool may have retries; a context with another one does not build.
            set(times: u32) => Some(times);
        }
    };
}

/// Passes the setter of every yes-or-no option to `$setters!`: its documentation, its name and its
/// assignment.
macro_rules! for_each_flag {
    ($setters:ident) => {
        $setters! {
            /// Marks that a repeated call with the same arguments has no further effect.
            idempotent() => annotations.idempotent = true;
            /// Marks that the tool may delete or overwrite data.
            destructive() => annotations.destructive = Some(true);
            /// Marks that the tool reaches systems outside the program's own data.
            open_world() => annotations.open_world = Some(true);
            /// Hides the tool from the reply that an agent generates when it enters a conversation.
            ignore_on_enter() => annotations.ignore_on_enter = true;
            /// Allows the model to cancel a running call.
            cancellable() => annotations.cancellable = true;
            /// Makes a call run alone, beside no other call.
            sequential() => annotations.sequential = true;
            /// Marks that the tool blocks its thread. A session runs it on a bounded thread pool.
            blocking() => annotations.blocking = true;
            /// Makes a person approve each call that needs approval on its own: no
            /// [grant](crate::session::CallGrant) covers calls of the tool.
            ask_each_time() => annotations.ask_each_time = true;
        }
    };
}

pub(crate) use {for_each_flag, for_each_option};

/// Defines [`ToolOptions`].
macro_rules! option_fields {
    ($(
        $(#[$get:meta])* get $name:ident: $type:ty = $default:expr;
        $(#[$set:meta])* set($argument:ident: $given:ty) => $value:expr;
    )*) => {
        /// All options of a tool. The macros' specs and the definitions of all tools hold one.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct ToolOptions {
            pub(crate) annotations: ToolAnnotations,
            $(pub(crate) $name: $type,)*
        }

        impl ToolOptions {
            pub(crate) const DEFAULT: Self = Self {
                annotations: ToolAnnotations {
                    idempotent: false,
                    destructive: None,
                    open_world: None,
                    ignore_on_enter: false,
                    cancellable: false,
                    sequential: false,
                    blocking: false,
                    ask_each_time: false,
                },
                $($name: $default,)*
            };
        }
    };
}

for_each_option!(option_fields);

/// An option of a tool whose value is not the default, as the manifest, the command line, the
/// inspector and the gateway show it.
///
/// ```
/// use tool_core::{ToolContext, tool};
///
/// /// Search the base.
/// #[tool(max_calls = 3)]
/// fn search(query: &str) -> String {
///     query.to_owned()
/// }
///
/// let tools = ToolContext::builder().with(search).build()?;
/// let option = tools.definitions().next().expect("a tool").set_options().remove(0);
/// assert_eq!((option.name, option.json_name.as_str()), ("max_calls", "maxCalls"));
/// assert_eq!(option.with_unit(), "3 a turn");
/// assert_eq!(option.words, "at most 3 calls a turn");
/// # Ok::<(), tool_core::RegistryErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SetOption {
    /// The name, as `#[tool(..)]` spells it.
    pub name: &'static str,
    /// The name of the member in JSON, with the unit of a time.
    pub json_name: String,
    /// The value in JSON.
    pub json: Value,
    /// The value for people, without its unit.
    pub value: String,
    /// The unit of the value, if its name does not say so.
    pub unit: &'static str,
    /// The option in words.
    pub words: String,
}

impl SetOption {
    /// Creates an option whose value is a time. In JSON it is a number of milliseconds, and its name
    /// says so.
    fn time(name: &'static str, time: Duration) -> Self {
        let shown = name.replace('_', " ");
        Self {
            name,
            json_name: camel_case(name) + "Ms",
            json: whole_milliseconds(time).into(),
            value: format!("{time:?}"),
            unit: "",
            words: format!("{shown} {time:?}"),
        }
    }

    /// Creates an option whose value is a number.
    fn number(
        name: &'static str,
        number: impl Copy + ToString + Into<Value>,
        unit: &'static str,
        words: String,
    ) -> Self {
        Self {
            name,
            json_name: camel_case(name),
            json: number.into(),
            value: number.to_string(),
            unit,
            words,
        }
    }

    /// Returns the value and its unit: `3 a turn`.
    pub fn with_unit(&self) -> String {
        match self.unit {
            "" => self.value.clone(),
            unit => format!("{} {unit}", self.value),
        }
    }
}

impl ToolOptions {
    /// Lists the options that are not at their defaults, in the order in which people read them.
    /// The yes-or-no options, the category, the modes and the approval are shown by every list in a
    /// way of its own.
    pub(crate) fn set(&self) -> Vec<SetOption> {
        // Every field is named, so that a new option cannot be forgotten here.
        let Self {
            annotations: _,
            category: _,
            modes: _,
            confirm: _,
            timeout,
            on_duplicate,
            duplicate_scope,
            max_calls,
            max_output,
            retries,
        } = *self;
        let on_duplicate = Some(on_duplicate).filter(|treatment| *treatment != OnDuplicate::Allow);

        let all = [
            timeout.map(|time| SetOption::time("timeout", time)),
            on_duplicate.map(|treatment| SetOption {
                name: "on_duplicate",
                json_name: camel_case("on_duplicate"),
                json: treatment.as_str().into(),
                value: treatment.as_str().to_owned(),
                unit: match duplicate_scope {
                    DuplicateScope::Name => "",
                    DuplicateScope::NameAndArgs => "(equal arguments)",
                },
                words: format!("{} duplicates", treatment.as_str()),
            }),
            max_calls.map(|calls| {
                let words = match calls {
                    1 => "at most 1 call a turn".to_owned(),
                    _ => format!("at most {calls} calls a turn"),
                };
                SetOption::number("max_calls", calls, "a turn", words)
            }),
            max_output.map(|characters| {
                let words = format!("at most {characters} characters");
                SetOption::number("max_output", characters, "characters", words)
            }),
            retries.map(|times| {
                let words = match times {
                    1 => "1 retry".to_owned(),
                    _ => format!("{times} retries"),
                };
                SetOption::number("retries", times, "", words)
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// Returns true for a tool that is marked idempotent, and for every retrieval.
    #[inline]
    pub(crate) fn is_idempotent(&self) -> bool {
        self.annotations.idempotent || self.category == Category::Retrieval
    }

    /// Returns the coercions of a context that the tool allows: a text that is not JSON is repaired
    /// only if its effects are those that the context names.
    pub(crate) fn allowed(&self, mut coercions: Coercions) -> Coercions {
        let is_guarded =
            self.annotations.destructive == Some(true) || !matches!(self.confirm, Confirm::Never);
        let is_allowed = match coercions.repair {
            JsonRepair::Off => false,
            JsonRepair::ReadOnly => self.category == Category::Retrieval && !is_guarded,
            JsonRepair::ExceptActions => self.category != Category::Action && !is_guarded,
            JsonRepair::All => true,
        };
        if !is_allowed {
            coercions.repair = JsonRepair::Off;
        }
        coercions
    }
}
