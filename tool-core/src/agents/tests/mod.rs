//! Tests.

#[cfg(test)]
mod grant;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod rotation;
