//! What a projection knows while it walks a schema.

use crate::providers::report::{ChangeKind, Refusal};
use crate::providers::schema::Log;
use crate::providers::schema::document::{Document, Place, for_each_child};
use crate::providers::schema::node::Own;
use crate::providers::schema::references::Definitions;
use crate::providers::schema::rules::{Names, Rules};
use serde_json::{Map, Value};
use tool_core::schema::join_pointer as join;

/// The deepest that schemas are written inside each other.
pub(crate) const DEEPEST: usize = 64;
/// Schemas that may be written in any case; beyond, as many as a few times those of the document.
const AT_LEAST: usize = 2_000;
const TIMES: usize = 4;

pub(crate) struct Walk<'a> {
    pub(crate) rules: &'static Rules,
    pub(crate) document: Document<'a>,
    pub(crate) log: Log,
    pub(crate) definitions: Definitions<'a>,
    /// What references on the way here led to.
    pub(crate) active: Vec<&'a Value>,
    pub(crate) depth: usize,
    /// Schemas looked at so far. References fan out: `a` twice `b`, `b` twice `c` ...
    pub(crate) nodes: usize,
    budget: Option<usize>,
    pub(crate) refused: Option<Refusal>,
    /// Whether something was weakened that a keyword may turn round: `not`, `oneOf` ...
    pub(crate) inexact: bool,
    /// Whether such a keyword was kept.
    pub(crate) sensitive: bool,
    /// Whether such keywords are not to be kept.
    pub(crate) careful: bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(rules: &'static Rules, root: &'a Value, careful: bool) -> Self {
        Self {
            rules,
            document: Document::new(root),
            log: Log::default(),
            definitions: Definitions::default(),
            active: Vec::new(),
            depth: 0,
            nodes: 0,
            budget: None,
            refused: None,
            inexact: false,
            sensitive: false,
            careful,
        }
    }

    /// Whether no more may be written here.
    pub(crate) fn is_spent(&mut self) -> bool {
        self.depth >= DEEPEST || self.nodes > AT_LEAST && self.nodes > self.budget()
    }

    fn budget(&mut self) -> usize {
        let root = self.document.root();
        *self.budget.get_or_insert_with(|| AT_LEAST + TIMES * count(root))
    }

    /// Holds a property's name to what the provider takes.
    pub(crate) fn check_name(&mut self, pointer: &str, name: &str) {
        if let Some(Names { takes, allowed }) = self.rules.property_names
            && !takes(name)
            && self.refused.is_none()
        {
            self.refused = Some(Refusal::PropertyName { pointer: pointer.to_owned(), name: name.to_owned(), allowed });
        }
    }

    /// Reports that a schema lost all but its type.
    pub(crate) fn report_spent(&mut self, pointer: &str) {
        let why = if self.depth >= DEEPEST { "too deep" } else { "too large, with what it refers to" };
        self.log.add(pointer, "type", ChangeKind::Weakened, format!("the schema is {why}: only its type is kept"));
        self.inexact = true;
    }
}

/// The schemas of a document.
fn count(root: &Value) -> usize {
    let mut found = 0;
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        found += 1;
        if let Value::Object(map) = schema {
            for_each_child(map, "", &mut |child| open.push(child.schema));
        }
    }
    found
}

// ---- What older drafts said in other words.

impl<'a> Walk<'a> {
    /// A keyword of an older draft under its present name.
    pub(crate) fn moved(&mut self, own: &Own<'a>, keyword: &'a str, new: &str, written: &mut Map<String, Value>) {
        let Some(value) = own.map.get(keyword) else { return };
        self.log.add(&own.pointer, keyword, ChangeKind::Rewritten, format!("`{new}`, as today's draft has it"));
        let inner = self.inner(own, keyword, value);
        written.insert(new.to_owned(), inner);
    }

    pub(crate) fn old_exclusive(
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

    pub(crate) fn dependencies(&mut self, own: &Own<'a>, value: &'a Value, written: &mut Map<String, Value>) {
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
