//! Tests.

#[cfg(test)]
mod book;
#[cfg(test)]
pub(crate) mod declare;
#[cfg(test)]
pub(crate) mod faults;
#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod lint;
#[cfg(test)]
mod prompt_cache;
#[cfg(test)]
mod provider_tools;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod search;
#[cfg(test)]
mod settings;
#[cfg(test)]
pub(crate) mod streams;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod user_parts;
