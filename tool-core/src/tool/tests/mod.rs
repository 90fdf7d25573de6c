//! Tests.

#[cfg(test)]
mod configure;
#[cfg(test)]
mod guide;
