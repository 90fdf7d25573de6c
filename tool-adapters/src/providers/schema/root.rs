//! The root as one object.

use crate::providers::report::{ChangeKind, Refusal};
use crate::providers::schema::containers::ObjectShape;
use crate::providers::schema::node::{FlatNode, KeywordFilter, KeywordSet, SchemaNode, SchemaUnion};
use crate::providers::schema::projector::Projector;
use crate::providers::schema::rules::TypeSet;
use crate::providers::schema::words::{DroppedKeyword, can_describe};
use serde_json::Value;

/// The root as one object.
pub(crate) struct MergedRoot<'a> {
    pub(crate) shape: ObjectShape<'a>,
    pub(crate) own: Vec<KeywordSet<'a>>,
    /// The unions that become part of the description.
    pub(crate) dropped: Vec<DroppedKeyword<'a>>,
}

impl<'a> Projector<'a> {
    /// Merges all schemas of a node into one object, which accepts every object that a branch of a union accepts. Returns
    /// `None` if no object is accepted.
    pub(crate) fn merged(&mut self, node: SchemaNode<'a>, patterns: bool) -> Option<MergedRoot<'a>> {
        let floor = self.active.len();
        self.depth += 1;
        let merged = if self.is_exhausted() {
            Some(MergedRoot { shape: ObjectShape::default(), own: Vec::new(), dropped: Vec::new() })
        } else {
            self.gather(node).and_then(|gathered| self.merge(gathered, patterns))
        };
        self.depth -= 1;
        self.active.truncate(floor);
        merged
    }

    fn merge(&mut self, gathered: FlatNode<'a>, patterns: bool) -> Option<MergedRoot<'a>> {
        let FlatNode { own, types, unions } = gathered;
        if !types.overlaps(TypeSet::OBJECT) || !own.iter().all(accepts_objects) {
            return None;
        }
        let shapes = own.iter().enumerate().map(|(at, own)| ObjectShape::of(own, patterns && at == 0));
        let mut shape = shapes.fold(ObjectShape::default(), ObjectShape::and);
        let mut dropped = Vec::new();
        for union in unions {
            dropped.extend(self.report_merged(&union, &own));
            shape = shape.and(self.any(union)?);
        }
        Some(MergedRoot { shape, own, dropped })
    }

    fn any(&mut self, union: SchemaUnion<'a>) -> Option<ObjectShape<'a>> {
        let mut shapes = Vec::new();
        for node in union.nodes {
            let Some(merged) = self.merged(node, false) else { continue };
            for own in &merged.own {
                self.report_unmerged(own);
            }
            shapes.push(merged.shape);
        }
        (!shapes.is_empty()).then(|| ObjectShape::any(&shapes))
    }

    fn report_merged(&mut self, union: &SchemaUnion<'a>, own: &[KeywordSet<'a>]) -> Option<DroppedKeyword<'a>> {
        let (keyword, pointer) = union.place.as_ref()?;
        let detail = "the branches are merged into one object that accepts what any of them does";
        self.log.add(pointer, keyword, ChangeKind::Weakened, detail);
        let holder = own.iter().find(|own| own.pointer == *pointer)?;
        let dropped = (*keyword, holder.map.get(*keyword)?);
        can_describe(dropped).then_some(dropped)
    }

    /// Reports the keywords of a branch besides its properties: they hold in that branch only.
    fn report_unmerged(&mut self, own: &KeywordSet<'a>) {
        for (keyword, _) in own.reading(KeywordFilter::Assertions).keywords().filter(|(keyword, _)| !is_merged(keyword))
        {
            self.log.add(&own.pointer, keyword, ChangeKind::Dropped, "it holds in one branch of a merged union only");
        }
    }

    /// Reports a root with another `type` than `object`.
    pub(crate) fn report_root_type(&mut self) {
        let kind = self.document.root().get("type");
        if kind.is_some_and(|kind| kind != "object") {
            self.log.add("", "type", ChangeKind::Rewritten, "arguments are an object");
        }
    }
}

fn accepts_objects(own: &KeywordSet<'_>) -> bool {
    let typed = own.get("type").and_then(TypeSet::of_keyword).is_none_or(|types| types.overlaps(TypeSet::OBJECT));
    let listed = own.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(Value::is_object));
    typed && listed && own.get("const").is_none_or(Value::is_object)
}

/// Returns true for a keyword that merging takes into account.
pub(crate) fn is_merged(keyword: &str) -> bool {
    matches!(
        keyword,
        "type" | "properties" | "required" | "additionalProperties" | "$ref" | "allOf" | "anyOf" | "oneOf"
    )
}

/// Returns the reason for which nothing is written of a schema.
pub(crate) fn refusal_of_root(schema: &Value) -> Refusal {
    if TypeSet::of_schema(schema).overlaps(TypeSet::OBJECT) {
        Refusal::Unsatisfiable { pointer: String::new() }
    } else {
        Refusal::NoObject
    }
}
