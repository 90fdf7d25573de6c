//! Tests.

#[cfg(test)]
mod response;
