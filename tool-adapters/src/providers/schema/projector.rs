//! The state of a projection.

use crate::providers::report::{ChangeKind, ChangeLog, Refusal};
use crate::providers::schema::document::{SchemaDocument, for_each_subschema};
use crate::providers::schema::references::Definitions;
use crate::providers::schema::rules::{PropertyNames, SchemaRules};
use serde_json::Value;

/// The maximum depth of nested schemas.
pub(crate) const MAX_DEPTH: usize = 64;
/// The number of schemas that a projection may always write. References multiply: `a` refers to `b` twice, `b` to `c`
/// twice, and so on.
const MIN_BUDGET: usize = 2_000;
/// The number of schemas that a projection may write besides, for each schema of the document.
const BUDGET_PER_SCHEMA: usize = 4;

/// Projects one schema.
pub(crate) struct Projector<'a> {
    pub(crate) rules: SchemaRules,
    pub(crate) document: SchemaDocument<'a>,
    pub(crate) log: ChangeLog,
    pub(crate) definitions: Definitions<'a>,
    /// The targets of the references that led to the current schema.
    pub(crate) active: Vec<&'a Value>,
    pub(crate) depth: usize,
    /// The number of schemas visited so far.
    pub(crate) nodes: usize,
    /// The maximum number of schemas. Counted when first needed.
    budget: Option<usize>,
    pub(crate) refusal: Option<Refusal>,
    /// True if a schema was weakened: an inverting keyword around it would then accept less.
    pub(crate) inexact: bool,
    /// True if an inverting keyword was kept: `not`, `oneOf` and their like.
    pub(crate) has_inverting: bool,
    /// True if inverting keywords are dropped.
    pub(crate) drops_inverting: bool,
}

impl<'a> Projector<'a> {
    pub(crate) fn new(rules: &SchemaRules, root: &'a Value, drops_inverting: bool) -> Self {
        Self {
            rules: *rules,
            document: SchemaDocument::new(root),
            log: ChangeLog::default(),
            definitions: Definitions::default(),
            active: Vec::new(),
            depth: 0,
            nodes: 0,
            budget: None,
            refusal: None,
            inexact: false,
            has_inverting: false,
            drops_inverting,
        }
    }

    /// Returns true if the projection is too deep or too large to go on.
    pub(crate) fn is_exhausted(&mut self) -> bool {
        self.depth >= MAX_DEPTH || self.nodes > MIN_BUDGET && self.nodes > self.budget()
    }

    fn budget(&mut self) -> usize {
        let root = self.document.root();
        *self.budget.get_or_insert_with(|| MIN_BUDGET + BUDGET_PER_SCHEMA * count_schemas(root))
    }

    /// Refuses the schema if the provider does not accept the name of a property.
    pub(crate) fn check_name(&mut self, pointer: &str, name: &str) {
        if let Some(PropertyNames { accepts, pattern }) = self.rules.property_names
            && !accepts(name)
            && self.refusal.is_none()
        {
            let (pointer, name) = (pointer.to_owned(), name.to_owned());
            self.refusal = Some(Refusal::PropertyName { pointer, name, allowed: pattern });
        }
    }

    /// Reports a schema of which only the type is kept.
    pub(crate) fn report_exhausted(&mut self, pointer: &str) {
        let reason = if self.depth >= MAX_DEPTH { "too deep" } else { "too large, with the schemas it refers to" };
        self.log.add(pointer, "type", ChangeKind::Weakened, format!("the schema is {reason}: only its type is kept"));
        self.inexact = true;
    }
}

fn count_schemas(root: &Value) -> usize {
    let mut count = 0;
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        count += 1;
        if let Value::Object(map) = schema {
            for_each_subschema(map, "", &mut |child| open.push(child.place.schema));
        }
    }
    count
}
