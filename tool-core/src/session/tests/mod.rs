//! Tests.

#[cfg(test)]
mod agent_loop;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod empty;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod journal_response;
#[cfg(test)]
mod json_form;
#[cfg(test)]
mod length;
#[cfg(loom)]
pub(crate) mod loom;
#[cfg(test)]
pub(crate) mod memory_journal;
