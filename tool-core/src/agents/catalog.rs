//! The toolsets that agents may have, by name.

use crate::configure::ToolsetFactory;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Catalog(BTreeMap<String, Arc<dyn ToolsetFactory>>);

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
