//! Random numbers, and shares of pauses.

use tool_core::session::StoreError;

/// Draws a number that no other draw has.
pub(crate) fn random_number() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|_| StoreError::new("the operating system gave no random bytes"))?;
    Ok(u128::from_ne_bytes(bytes))
}

/// Returns a share from 0 to 1, so that processes do not come back all at once after a pause. Without
/// random bytes it is a half.
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(crate) fn random_share() -> f64 {
    let mut byte = [128];
    _ = getrandom::fill(&mut byte);
    f64::from(byte[0]) / 255.0
}
