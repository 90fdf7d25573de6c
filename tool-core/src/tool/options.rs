//! The options of a tool: what `#[tool(..)]` and the setters of a raw tool set.

use crate::arguments::{Coercions, JsonRepair};
use crate::call::mode::Modes;
use serde::{Deserialize, Serialize};
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
    /// The model has to confirm the new call.
    Confirm,
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
/// assert!(asks(r#"{"cents": 90000}"#) && !asks(r#"{"cents": 900}"#));
///
/// // A tool of another crate or server asks each time.
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
    /// The function decides by the arguments' JSON text. Arguments that do not decode need approval.
    When(fn(&str) -> bool),
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

    /// Returns a label for people, beside a tool's other options: `confirm` or `confirm by arguments`. Returns `None` for a tool
    /// whose calls need no approval.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Never => None,
            Self::Always => Some("confirm"),
            Self::When(_) => Some("confirm by arguments"),
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
        // A new option of tools is added here, and every list of options shows it.
        let named = [
            ("idempotent", self.idempotent),
            ("destructive", self.destructive == Some(true)),
            ("open_world", self.open_world == Some(true)),
            ("ignore_on_enter", self.ignore_on_enter),
            ("cancellable", self.cancellable),
            ("sequential", self.sequential),
            ("blocking", self.blocking),
        ];
        let on = named.into_iter().filter(|(_, is_on)| *is_on);
        on.map(|(name, _)| name)
    }
}

/// All options of a tool. The macros' specs and the definitions of all tools hold one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolOptions {
    pub(crate) category: Category,
    pub(crate) modes: Modes,
    pub(crate) confirm: Confirm,
    pub(crate) timeout: Option<Duration>,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) duplicate_scope: DuplicateScope,
    pub(crate) max_output: Option<usize>,
    pub(crate) max_calls: Option<u32>,
}

impl ToolOptions {
    pub(crate) const DEFAULT: Self = Self {
        category: Category::Utility,
        modes: Modes::BOTH,
        confirm: Confirm::Never,
        timeout: None,
        annotations: ToolAnnotations {
            idempotent: false,
            destructive: None,
            open_world: None,
            ignore_on_enter: false,
            cancellable: false,
            sequential: false,
            blocking: false,
        },
        on_duplicate: OnDuplicate::Allow,
        duplicate_scope: DuplicateScope::Name,
        max_output: None,
        max_calls: None,
    };

    /// Returns true for a tool that is marked idempotent, and for every retrieval.
    #[inline]
    pub(crate) fn is_idempotent(&self) -> bool {
        self.annotations.idempotent || self.category == Category::Retrieval
    }

    /// Returns the coercions of a context that the tool allows: a text that is not JSON is repaired only if its effects are
    /// those that the context names.
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

/// Passes every option to `$setters!`: the setter's documentation, name and arguments, and its assignment.
///
/// `ToolSpec` makes `const` setters of them and `FunctionTool` makes methods, so that all tools have the same options.
macro_rules! for_each_option {
    ($setters:ident) => {
        $setters! {
            /// Sets the purpose of the tool. Defaults to [`Category::Utility`].
            category(category: Category) => category = category;
            /// Sets the modes in which the tool may be called. Defaults to both.
            modes(modes: Modes) => modes = modes;
            /// Sets when a person has to approve a call. Defaults to never.
            confirm(confirm: Confirm) => confirm = confirm;
            /// Sets the maximum duration of a call. A session enforces it.
            timeout(timeout: Duration) => timeout = Some(timeout);
            /// Sets the treatment of a call while another call of the tool runs. Defaults to running both.
            on_duplicate(treatment: OnDuplicate) => on_duplicate = treatment;
            /// Sets the calls that count as duplicates. Defaults to all calls of the tool.
            duplicate_scope(scope: DuplicateScope) => duplicate_scope = scope;
            /// Sets the maximum length of a result in characters (Unicode scalars). A longer result is cut.
            max_output(characters: usize) => max_output = Some(characters);
            /// Sets the maximum number of calls in a turn.
            max_calls(calls: u32) => max_calls = Some(calls);
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
        }
    };
}

pub(crate) use for_each_option;
