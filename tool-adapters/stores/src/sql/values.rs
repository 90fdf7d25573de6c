//! Values as an SQL database has them.

use crate::sql::{Param, SqlError, SqlRow};
use std::borrow::Cow;
use tool_core::session::StoreError;

/// An id as the database has it: PostgreSQL cannot store zero bytes.
pub(crate) fn stored_id(id: &str) -> Cow<'_, str> {
    if id.contains(['%', '\0']) {
        Cow::Owned(id.replace('%', "%25").replace('\0', "%00"))
    } else {
        Cow::Borrowed(id)
    }
}

/// An id as the store was given it.
#[cfg(feature = "postgres")]
pub(crate) fn original_id(stored: &str) -> String {
    stored.replace("%00", "\0").replace("%25", "%")
}

/// A text as a parameter.
pub(crate) fn text(text: &str) -> Param<'_> {
    Param::Text(Some(text))
}

/// Reads a number that is not negative.
pub(crate) fn unsigned(row: &impl SqlRow, column: usize) -> Result<u64, StoreError> {
    let number = row.number(column).map_err(SqlError::from)?;
    u64::try_from(number).map_err(|_| StoreError::new("the database holds a negative number"))
}
