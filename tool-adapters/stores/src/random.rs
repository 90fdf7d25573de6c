//! Random numbers.

use tool_core::session::StoreError;

/// Draws a number that no other draw has.
pub(crate) fn random_number() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| StoreError::new("the operating system gave no random bytes"))?;
    Ok(u128::from_ne_bytes(bytes))
}
