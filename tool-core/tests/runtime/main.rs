//! The runtime through its public API. The comments above the tests name rules of `docs/rules.md`.
#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

mod support;
mod support_b;
mod support_deep;
mod support_log;

mod approvals;
mod audit;
mod background;
mod background_ends;
mod budgets;
mod cancel;
mod caps;
mod changed_arguments;
mod circuits;
mod confirm;
mod context;
mod deadlines;
mod deep_values;
mod drain;
mod duplicates;
mod empties;
mod errors;
mod grants;
mod handles;
mod hooks;
mod hostile_calls;
mod hostile_ends;
mod hostile_hooks;
mod hostile_journal;
mod hostile_layers;
mod hostile_predicates;
mod hostile_store;
mod instructions;
mod intents;
mod journal;
mod layers;
mod loops;
mod many_attempts;
mod metrics;
mod metrics_content;
mod metrics_context;
mod metrics_logs;
mod metrics_session;
mod modes;
mod nesting;
mod opening;
mod owners;
mod prompts;
mod questions;
mod reasons;
mod refused_again;
mod repeated_steps;
mod requests;
mod retries;
mod search;
mod sessions;
mod shared_calls;
mod shared_journal;
mod shared_limits;
mod steps;
mod streams;
mod thread_time;
mod timer;
mod toolsets;
mod updates;
