//! A governed call, from its arrival to its response. [`call`] has its steps in their order; begin there.
//!
//! | file | what it does |
//! |---|---|
//! | [`entry`], [`background`], [`observed`] | takes a call in: layers, answers in the background, spans |
//! | [`checks`] | the mode, the depth, the cost of the callers, and the turn among other calls |
//! | [`admit`], [`refund`], [`meter`] | counts the call, and checks loops, budgets and caps |
//! | [`confirm`], [`granted`] | asks a person, redeems the approval, and lets calls run that were approved in advance |
//! | [`passage`], [`permit`] | circuit breakers, and limits that all sessions share |
//! | [`retries`], [`start`], [`governed_tool`], [`deadline`], [`blocking`] | runs the tool, lists it and ends it |
//! | [`record`], [`empty`] | counts the response, and carries out its intents |
//! | [`journal`] | records the start and the end, and answers a call that has run before |
//! | [`without_tool`] | answers calls that reach no tool |
//! | [`durable_call`] | makes a call as a step of an engine, which may run the step again |
//! | [`step`] | makes the calls of one step of a model |
//! | [`hooks`] | runs the hooks of the host |
//! | [`run_context`] | serves what a running tool asks of its session |
//! | [`governed_call`] | what all of them read |

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
#[cfg(feature = "tower")]
pub(crate) mod passing_call;
pub(crate) mod permit;
pub(crate) mod record;
pub(crate) mod refund;
pub(crate) mod retries;
pub(crate) mod run_context;
pub(crate) mod start;
pub(crate) mod step;
pub(crate) mod without_tool;
