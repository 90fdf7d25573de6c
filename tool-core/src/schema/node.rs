//! The nodes of a compiled schema: subschemas, and their keywords by meaning.

use crate::json::canonical::canonical;
use crate::schema::leaf::LeafCheck;
use crate::schema::type_set::TypeSet;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Number, Value};
use std::sync::Arc;

/// The place of a node in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

/// One subschema.
pub(crate) struct Node {
    /// The keywords that refuse values. Those that depend on the others come last.
    pub(crate) keywords: Vec<Keyword>,
    /// The steps that checking one value takes, without its members.
    pub(crate) cost: usize,
    /// True if several subschemas lead here, so that one value may be checked more than once.
    pub(crate) is_shared: bool,
    /// True if checking a value leads to other nodes.
    pub(crate) is_compound: bool,
}

impl Node {
    /// Returns true if the verdict on a value is worth remembering.
    pub(crate) fn is_remembered(&self) -> bool {
        self.is_shared && self.is_compound
    }
}

/// A keyword, or several that work together.
pub(crate) enum Keyword {
    /// The schema `false`.
    Never,
    Type(TypeSet),
    Enum(OneOfValues),
    Const(Value),
    Minimum(Number),
    Maximum(Number),
    ExclusiveMinimum(Number),
    ExclusiveMaximum(Number),
    /// `pattern`, `format` and `multipleOf`.
    Leaf(&'static str, Arc<LeafCheck>),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    MinProperties(u64),
    MaxProperties(u64),
    Required(Vec<String>),
    DependentRequired(Vec<(String, Vec<String>)>),
    /// `prefixItems` and `items`.
    Items {
        first: Vec<NodeId>,
        rest: Option<NodeId>,
    },
    Contains {
        item: NodeId,
        min: u64,
        max: u64,
    },
    /// `properties`, `patternProperties` and `additionalProperties`.
    Properties(Properties),
    PropertyNames(NodeId),
    Reference(NodeId),
    AllOf(Vec<NodeId>),
    AnyOf(Choice),
    OneOf(Choice),
    Not(NodeId),
    If {
        condition: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    DependentSchemas(Vec<(String, NodeId)>),
    UnevaluatedItems(NodeId),
    UnevaluatedProperties(NodeId),
}

/// The values of an `enum`.
pub(crate) struct OneOfValues {
    pub(crate) strings: FxHashSet<String>,
    pub(crate) others: Vec<Value>,
}

pub(crate) struct Properties {
    pub(crate) named: FxHashMap<String, NodeId>,
    pub(crate) patterns: Vec<(Arc<LeafCheck>, NodeId)>,
    pub(crate) rest: Option<NodeId>,
}

impl Properties {
    /// Returns true if looking up the named properties is all that so many members need, and takes
    /// fewer steps.
    pub(crate) fn are_few_beside(&self, members: usize) -> bool {
        self.patterns.is_empty() && self.rest.is_none() && self.named.len() < members
    }
}

/// The branches of `anyOf` or `oneOf`.
pub(crate) struct Choice {
    pub(crate) branches: Vec<NodeId>,
    /// The place of the index that finds the few branches that a value may match, where there are
    /// many.
    pub(crate) index: Option<usize>,
}

impl OneOfValues {
    pub(crate) fn new(values: &[Value]) -> Self {
        let (strings, others): (Vec<&Value>, Vec<&Value>) =
            values.iter().partition(|value| value.is_string());
        let strings = strings
            .into_iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        Self {
            strings,
            others: others.into_iter().cloned().collect(),
        }
    }
}

impl Keyword {
    /// Returns the steps that the keyword itself takes for one value.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Enum(values) => {
                1 + values
                    .others
                    .iter()
                    .map(|value| canonical(value).len() / 8 + 1)
                    .sum::<usize>()
            }
            Self::Const(value) => 1 + canonical(value).len() / 8,
            Self::Required(names) => 1 + names.len(),
            Self::DependentRequired(all) => {
                1 + all.iter().map(|(_, names)| 1 + names.len()).sum::<usize>()
            }
            Self::DependentSchemas(all) => 1 + all.len(),
            _ => 1,
        }
    }

    /// Returns true if a value satisfies the keyword exactly if it, and its members, satisfy each
    /// of some nodes.
    pub(crate) fn is_conjunction(&self) -> bool {
        matches!(
            self,
            Self::Reference(_)
                | Self::AllOf(_)
                | Self::If { .. }
                | Self::DependentSchemas(_)
                | Self::Items { .. }
                | Self::Properties(_)
                | Self::PropertyNames(_)
                | Self::UnevaluatedItems(_)
                | Self::UnevaluatedProperties(_)
        )
    }

    /// Returns true if a value is checked against other nodes too.
    pub(crate) fn has_subschemas(&self) -> bool {
        matches!(
            self,
            Self::Items { .. }
                | Self::Contains { .. }
                | Self::Properties(_)
                | Self::PropertyNames(_)
                | Self::UnevaluatedItems(_)
                | Self::UnevaluatedProperties(_)
        ) || !self.at_the_same_value().is_empty()
    }

    /// Returns the nodes that check the same value.
    pub(crate) fn at_the_same_value(&self) -> Vec<NodeId> {
        match self {
            Self::Reference(id) | Self::Not(id) => vec![*id],
            Self::AllOf(all) => all.clone(),
            Self::AnyOf(choice) | Self::OneOf(choice) => choice.branches.clone(),
            Self::If {
                condition,
                then,
                otherwise,
            } => std::iter::once(*condition)
                .chain(*then)
                .chain(*otherwise)
                .collect(),
            Self::DependentSchemas(all) => all.iter().map(|(_, id)| *id).collect(),
            _ => Vec::new(),
        }
    }
}
