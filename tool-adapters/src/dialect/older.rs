//! What older drafts said in other words.

use super::node::Own;
use super::walk::Walk;
use crate::report::ChangeKind;
use crate::schema::{Place, join};
use serde_json::{Map, Value};

impl<'a> Walk<'a> {
    /// A keyword of an older draft under its present name.
    pub(super) fn moved(&mut self, own: &Own<'a>, keyword: &'a str, new: &str, written: &mut Map<String, Value>) {
        let Some(value) = own.map.get(keyword) else { return };
        self.log.add(&own.pointer, keyword, ChangeKind::Rewritten, format!("`{new}`, as today's draft has it"));
        let inner = self.inner(own, keyword, value);
        written.insert(new.to_owned(), inner);
    }

    pub(super) fn old_exclusive(
        &mut self,
        own: &Own<'a>,
        keyword: &str,
        value: &Value,
        written: &mut Map<String, Value>,
    ) {
        let inclusive = if keyword == "exclusiveMinimum" { "minimum" } else { "maximum" };
        self.log.add(&own.pointer, keyword, ChangeKind::Rewritten, "a number, as today's draft has it");
        if *value == Value::Bool(true)
            && let Some(bound) = own.map.get(inclusive).filter(|bound| bound.is_number())
        {
            written.insert(keyword.to_owned(), bound.clone());
        }
    }

    pub(super) fn dependencies(&mut self, own: &Own<'a>, value: &'a Value, written: &mut Map<String, Value>) {
        let detail = "`dependentRequired` and `dependentSchemas`, as today's draft has it";
        self.log.add(&own.pointer, "dependencies", ChangeKind::Rewritten, detail);
        let under = join(&own.pointer, "dependencies");
        let (mut required, mut schemas) = (Map::new(), Map::new());
        for (name, dependency) in value.as_object().into_iter().flatten() {
            match dependency {
                Value::Array(_) => drop(required.insert(name.clone(), dependency.clone())),
                schema => {
                    let place = Place { schema, pointer: join(&under, name) };
                    schemas.insert(name.clone(), self.whole(place));
                }
            }
        }
        for (keyword, map) in [("dependentRequired", required), ("dependentSchemas", schemas)] {
            if !map.is_empty() {
                written.insert(keyword.to_owned(), Value::Object(map));
            }
        }
    }
}
