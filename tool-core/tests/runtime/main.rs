//! What the runtime promises, seen as a user sees it: through the public API alone.

mod support;
mod support_b;

mod budgets;
mod cancel;
mod confirm;
mod context;
mod deadlines;
mod duplicates;
mod errors;
mod hooks;
mod instructions;
mod intents;
mod journal;
mod layers;
mod loops;
mod modes;
mod nesting;
mod sessions;
mod steps;
mod updates;
