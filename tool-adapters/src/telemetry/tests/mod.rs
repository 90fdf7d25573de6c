//! Tests.

#[cfg(test)]
mod observer;
