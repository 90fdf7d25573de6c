//! What a projection knows while it walks a schema.

use super::definitions::Definitions;
use super::log::Log;
use super::rules::{Names, Rules};
use crate::report::{ChangeKind, Refusal};
use crate::schema::{Document, for_each_child};
use serde_json::Value;

/// The deepest that schemas are written inside each other.
pub(super) const DEEPEST: usize = 64;
/// Schemas that may be written in any case; beyond, as many as a few times those of the document.
const AT_LEAST: usize = 2_000;
const TIMES: usize = 4;

pub(super) struct Walk<'a> {
    pub(super) rules: &'static Rules,
    pub(super) document: Document<'a>,
    pub(super) log: Log,
    pub(super) definitions: Definitions<'a>,
    /// What references on the way here led to.
    pub(super) active: Vec<&'a Value>,
    pub(super) depth: usize,
    /// Schemas looked at so far. References fan out: `a` twice `b`, `b` twice `c` ...
    pub(super) nodes: usize,
    budget: Option<usize>,
    pub(super) refused: Option<Refusal>,
    /// Whether something was weakened that a keyword may turn round: `not`, `oneOf` ...
    pub(super) inexact: bool,
    /// Whether such a keyword was kept.
    pub(super) sensitive: bool,
    /// Whether such keywords are not to be kept.
    pub(super) careful: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(rules: &'static Rules, root: &'a Value, careful: bool) -> Self {
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
    pub(super) fn is_spent(&mut self) -> bool {
        self.depth >= DEEPEST || self.nodes > AT_LEAST && self.nodes > self.budget()
    }

    fn budget(&mut self) -> usize {
        let root = self.document.root();
        *self.budget.get_or_insert_with(|| AT_LEAST + TIMES * count(root))
    }

    /// Holds a property's name to what the provider takes.
    pub(super) fn check_name(&mut self, pointer: &str, name: &str) {
        if let Some(Names { takes, allowed }) = self.rules.property_names
            && !takes(name)
            && self.refused.is_none()
        {
            self.refused = Some(Refusal::PropertyName { pointer: pointer.to_owned(), name: name.to_owned(), allowed });
        }
    }

    /// Reports that a schema lost all but its type.
    pub(super) fn report_spent(&mut self, pointer: &str) {
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
