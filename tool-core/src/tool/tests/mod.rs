//! Tests.

#[cfg(test)]
mod configure;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod numbers;
