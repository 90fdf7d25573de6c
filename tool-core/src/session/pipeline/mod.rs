//! The way of a governed call: admit, confirm, start, record, answer. Begin with [`call`], which is
//! its table of contents.
//!
//! | step | file |
//! |---|---|
//! | enter: layers, answers in the background, spans | [`entry`], [`background`], [`observed`] |
//! | check the mode, the depth and the turn among other calls | [`checks`] |
//! | admit: count the call, and check loops, budgets and caps | [`admit`], [`refund`], [`meter`] |
//! | confirm: ask a person, redeem the approval, and let calls run that were approved in advance | [`confirm`], [`granted`] |
//! | pass: circuit breakers, and limits that all sessions share | [`passage`], [`permit`] |
//! | start: run the tool, list and end it | [`retries`], [`start`], [`governed_tool`], [`deadline`], [`blocking`] |
//! | record: count the response, and carry out its intents | [`record`], [`empty`], [`journal`] |
//! | answer calls that reach no tool | [`without_tool`] |
//!
//! All steps read [`governed_call`]. [`hooks`] runs the host's hooks, [`step`] makes the calls of
//! one step of a model, and
//! [`run_context`] serves what a running tool asks of its session.

pub(crate) mod admit;
pub(crate) mod background;
pub(crate) mod blocking;
pub(crate) mod call;
pub(crate) mod checks;
pub(crate) mod confirm;
pub(crate) mod deadline;
pub(crate) mod durable_call;
pub(crate) mod empty;
pub(crate) mod entry;
pub(crate) mod governed_call;
pub(crate) mod governed_tool;
pub(crate) mod granted;
pub(crate) mod hooks;
pub(crate) mod journal;
pub(crate) mod meter;
pub(crate) mod observed;
pub(crate) mod passage;
pub(crate) mod permit;
pub(crate) mod record;
pub(crate) mod refund;
pub(crate) mod retries;
pub(crate) mod run_context;
pub(crate) mod start;
pub(crate) mod step;
pub(crate) mod without_tool;
