//! Tests.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod manifest;
