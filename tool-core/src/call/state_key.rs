//! Keys of the values that tools keep in a session's state.

use crate::call::error::ToolError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::marker::PhantomData;

/// The name of a value in a session's state, and its type.
///
/// Tools read the value with [`RunContext::get_state`](crate::RunContext::get_state) and set it
/// with
/// [`set_state`](crate::RunContext::set_state). The host reads it with
/// [`SessionState::get`](crate::session::SessionState::get).
///
/// ```
/// use tool_core::call::StateKey;
/// use tool_core::{RunContext, ToolError, tool};
///
/// const CART: StateKey<Vec<String>> = StateKey::new("shop.cart");
///
/// /// Put something into the cart.
/// #[tool(sequential)]
/// fn add_to_cart(ctx: &RunContext, item: String) -> Result<usize, ToolError> {
///     let mut cart = ctx.get_state(CART)?.unwrap_or_default();
///     cart.push(item);
///     ctx.set_state(CART, &cart)?;
///     Ok(cart.len())
/// }
/// ```
pub struct StateKey<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> StateKey<T> {
    /// Creates a key. The name needs a namespace, for example `shop.cart`, as it is also the name
    /// of a custom
    /// [`Intent`](crate::Intent).
    ///
    /// # Panics
    ///
    /// Panics if the name has less than two parts that are separated by dots. In a `const` this is
    /// a compile error.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        assert!(
            has_namespace(name.as_bytes()),
            "the name of a state key needs a namespace, such as `shop.cart`"
        );
        Self {
            name,
            value: PhantomData,
        }
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// Returns true for at least two parts, none of them empty.
const fn has_namespace(name: &[u8]) -> bool {
    let mut at = 0;
    let mut parts = 1;
    let mut length = 0;
    while at < name.len() {
        if name[at] != b'.' {
            length += 1;
        } else if length == 0 {
            return false;
        } else {
            (parts, length) = (parts + 1, 0);
        }
        at += 1;
    }
    parts > 1 && length > 0
}

impl<T: DeserializeOwned> StateKey<T> {
    /// Reads the value of the key. A null counts as none.
    pub(crate) fn read(self, value: Option<&Value>) -> Result<Option<T>, ToolError> {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        T::deserialize(value).map(Some).map_err(|error| {
            ToolError::internal(format!(
                "failed to read `{}` from the session's state: {error}",
                self.name
            ))
        })
    }
}

impl<T: Serialize> StateKey<T> {
    /// Serialises a value for the key.
    pub(crate) fn write(self, value: &T) -> Result<Value, ToolError> {
        serde_json::to_value(value).map_err(|error| {
            ToolError::internal(format!(
                "failed to write `{}` to the session's state: {error}",
                self.name
            ))
        })
    }
}

impl<T> Clone for StateKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StateKey<T> {}

impl<T> fmt::Debug for StateKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StateKey").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Intent;

    #[test]
    fn names_are_those_of_custom_intents() {
        for name in [
            "shop.cart",
            "a.b.c",
            "shop",
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "\u{e9}.\u{e9}",
        ] {
            assert_eq!(
                has_namespace(name.as_bytes()),
                Intent::custom(name, Value::Null).is_ok(),
                "{name}"
            );
        }
    }
}
