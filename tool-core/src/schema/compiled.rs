//! A schema compiled into nodes: its keywords by their meaning, its references resolved, its
//! patterns ready.
//!
//! A schema is refused if its checking could not be bounded: if it leads back to itself at one
//! value, is nested too deep, or has patterns that are too large.

use crate::schema::branches::BranchIndex;
use crate::schema::constraints::ASSERTED_FORMATS;
use crate::schema::drafts::to_draft_2020_12;
use crate::schema::leaf::LeafChecks;
use crate::schema::meta;
use crate::schema::node::{Choice, Keyword, Node, NodeId, OneOfValues, Properties};
use crate::schema::references::References;
use crate::schema::type_set::TypeSet;
use crate::schema::walk;
use crate::schema::walk::address;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The number of schemas that may apply to one value by leading to one another.
const MAX_DEPTH_AT_ONE_VALUE: usize = 100;

/// The number of references that lead from a branch to its properties.
const MEMBER_DEPTH: usize = 8;

/// A schema that is ready to check values.
pub(crate) struct CompiledSchema {
    /// The schema as one of draft 2020-12. It does not move: the nodes are found by the addresses
    /// in it.
    root: Arc<Value>,
    nodes: Vec<Node>,
    ids: FxHashMap<usize, NodeId>,
    /// The indexes of choices with many branches.
    indexes: Vec<BranchIndex>,
}

/// The meaning of `format` to a compiled schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Formats {
    /// A text that does not have its format is refused.
    Asserted,
    /// A format only describes the text, as draft 2020-12 has it by default.
    Annotated,
}

impl CompiledSchema {
    /// Compiles a schema of any draft. Returns every reason why it cannot be checked.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        Self::of_shared(&Arc::new(schema.clone()), Formats::Asserted)
    }

    /// Compiles a schema of any draft. One of draft 2020-12 is shared with the compiled form, not
    /// copied.
    pub(crate) fn of_shared(schema: &Arc<Value>, formats: Formats) -> Result<Self, String> {
        let problems = meta::problems(schema);
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        let upgraded = to_draft_2020_12(schema);
        let root = if upgraded == **schema {
            Arc::clone(schema)
        } else {
            Arc::new(upgraded)
        };
        let mut compiler = Compiler::new(References::of(&root), formats);
        compiler.node(&root, &root);
        while let Some((schema, resource)) = compiler.queue.pop() {
            compiler.compile(schema, resource);
        }
        let Compiler {
            mut nodes,
            ids,
            mut problems,
            leaves,
            ..
        } = compiler;
        problems.extend(leaves.problem());
        problems.extend(unbounded(&nodes));
        if !problems.is_empty() {
            problems.dedup();
            return Err(problems.join("; "));
        }
        let indexes = add_indexes(&mut nodes);
        Ok(Self {
            root,
            nodes,
            ids,
            indexes,
        })
    }

    /// Returns the schema as one of draft 2020-12.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        at(&self.nodes, id)
    }

    /// Returns the index of a choice of many branches.
    pub(crate) fn index(&self, choice: &Choice) -> Option<&BranchIndex> {
        self.indexes.get(choice.index?)
    }

    /// Returns the node of a subschema of [`root`](Self::root). A subschema that nothing leads to
    /// has none.
    pub(crate) fn id(&self, schema: &Value) -> Option<NodeId> {
        self.ids.get(&address(schema)).copied()
    }

    /// Returns the name of a property under which two branches of one `anyOf` contain it again. A
    /// type with such variants and no tag is decoded once for each variant at each level, which is
    /// exponential in the depth of the arguments.
    pub(crate) fn repeated_choice(&self) -> Option<&str> {
        let choices = self.nodes.iter().enumerate().flat_map(|(at, node)| {
            node.keywords
                .iter()
                .filter_map(move |keyword| match keyword {
                    Keyword::AnyOf(choice) => Some((at, choice)),
                    _ => None,
                })
        });
        choices.into_iter().find_map(|(at, choice)| {
            let mut labels = FxHashSet::default();
            choice.branches.iter().find_map(|branch| {
                let own: FxHashMap<_, _> =
                    self.members(*branch, MEMBER_DEPTH).into_iter().collect();
                let back = own
                    .into_iter()
                    .filter(|(_, child)| self.leads_to(*child, at));
                back.map(|(label, _)| label)
                    .find(|label| !labels.insert(*label))
            })
        })
    }

    /// Returns the subschemas of the properties and the items of a node, by name.
    fn members<'s>(&'s self, id: NodeId, depth: usize) -> Vec<(&'s str, NodeId)> {
        let Some(depth) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let of_keyword = |keyword: &'s Keyword| -> Vec<(&'s str, NodeId)> {
            match keyword {
                Keyword::Properties(Properties { named, rest, .. }) => {
                    let named = named.iter().map(|(name, id)| (name.as_str(), *id));
                    named.chain(rest.map(|id| ("*", id))).collect()
                }
                Keyword::Items { first, rest } => first
                    .iter()
                    .copied()
                    .chain(*rest)
                    .map(|id| ("[]", id))
                    .collect(),
                Keyword::Reference(id) => self.members(*id, depth),
                Keyword::AllOf(all) => all.iter().flat_map(|id| self.members(*id, depth)).collect(),
                _ => Vec::new(),
            }
        };
        self.node(id).keywords.iter().flat_map(of_keyword).collect()
    }

    /// Returns true if a node is inside another one, at any depth.
    fn leads_to(&self, from: NodeId, to: usize) -> bool {
        let mut visited = FxHashSet::default();
        let mut left = vec![from];
        while let Some(id) = left.pop() {
            if id.0 as usize == to {
                return true;
            }
            if visited.insert(id) {
                left.extend(self.members(id, 1).into_iter().map(|(_, id)| id));
                left.extend(
                    self.node(id)
                        .keywords
                        .iter()
                        .flat_map(Keyword::at_the_same_value),
                );
            }
        }
        false
    }

    /// Returns the subschemas by their nodes.
    pub(crate) fn schemas(&self) -> FxHashMap<NodeId, &Value> {
        let mut schemas = FxHashMap::default();
        let mut left = vec![self.root()];
        while let Some(value) = left.pop() {
            schemas.extend(self.id(value).map(|id| (id, value)));
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(members) => left.extend(members.values()),
                _ => {}
            }
        }
        schemas
    }
}

fn at(nodes: &[Node], id: NodeId) -> &Node {
    static EMPTY: Node = Node {
        keywords: Vec::new(),
        cost: 0,
        is_shared: false,
        is_compound: false,
    };
    nodes.get(id.0 as usize).unwrap_or(&EMPTY)
}

struct Compiler<'a> {
    references: References<'a>,
    nodes: Vec<Node>,
    ids: FxHashMap<usize, NodeId>,
    /// The subschemas that have a node without keywords yet, with the resources that their
    /// references start from.
    queue: Vec<(&'a Value, &'a Value)>,
    leaves: LeafChecks,
    formats: Formats,
    problems: Vec<String>,
}

impl<'a> Compiler<'a> {
    fn new(references: References<'a>, formats: Formats) -> Self {
        Self {
            references,
            nodes: Vec::new(),
            ids: FxHashMap::default(),
            queue: Vec::new(),
            leaves: LeafChecks::default(),
            formats,
            problems: Vec::new(),
        }
    }

    /// Returns the node of a subschema, which is compiled later if it is new.
    fn node(&mut self, schema: &'a Value, resource: &'a Value) -> NodeId {
        if let Some(id) = self.ids.get(&address(schema)) {
            if let Some(node) = self.nodes.get_mut(id.0 as usize) {
                node.is_shared = true;
            }
            return *id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.ids.insert(address(schema), id);
        self.nodes.push(Node {
            keywords: Vec::new(),
            cost: 1,
            is_shared: false,
            is_compound: false,
        });
        self.queue.push((schema, resource));
        id
    }

    fn compile(&mut self, schema: &'a Value, resource: &'a Value) {
        let keywords = match schema {
            Value::Bool(false) => vec![Keyword::Never],
            Value::Object(map) => {
                let resource = if map.contains_key("$id") {
                    schema
                } else {
                    resource
                };
                let mut keywords = self.assertions(map);
                keywords.extend(self.of_members(map, resource));
                keywords.extend(self.at_the_same_value(map, resource));
                keywords
            }
            _ => Vec::new(),
        };
        let node = self
            .ids
            .get(&address(schema))
            .and_then(|id| self.nodes.get_mut(id.0 as usize));
        if let Some(node) = node {
            node.cost = 1 + keywords.iter().map(Keyword::cost).sum::<usize>();
            node.is_compound = keywords.iter().any(Keyword::has_subschemas);
            node.keywords = keywords;
        }
    }

    /// Compiles the keywords without subschemas.
    fn assertions(&mut self, map: &'a Map<String, Value>) -> Vec<Keyword> {
        let mut keywords = Vec::new();
        for (name, value) in map {
            let count = count(value);
            let number = value.as_number().cloned();
            keywords.extend(match name.as_str() {
                "type" => Some(Keyword::Type(TypeSet::of_schema(map))),
                "enum" => value
                    .as_array()
                    .map(|values| Keyword::Enum(OneOfValues::new(values))),
                "const" => Some(Keyword::Const(value.clone())),
                "minimum" => number.map(Keyword::Minimum),
                "maximum" => number.map(Keyword::Maximum),
                "exclusiveMinimum" => number.map(Keyword::ExclusiveMinimum),
                "exclusiveMaximum" => number.map(Keyword::ExclusiveMaximum),
                "minLength" => count.map(Keyword::MinLength),
                "maxLength" => count.map(Keyword::MaxLength),
                "minItems" => count.map(Keyword::MinItems),
                "maxItems" => count.map(Keyword::MaxItems),
                "minProperties" => count.map(Keyword::MinProperties),
                "maxProperties" => count.map(Keyword::MaxProperties),
                "uniqueItems" => (*value == true).then_some(Keyword::UniqueItems),
                "required" => value
                    .as_array()
                    .map(|names| Keyword::Required(texts(names))),
                "dependentRequired" => value.as_object().map(|all| {
                    let names = |value: &Value| {
                        value
                            .as_array()
                            .map(|names| texts(names))
                            .unwrap_or_default()
                    };
                    Keyword::DependentRequired(
                        all.iter()
                            .map(|(name, value)| (name.clone(), names(value)))
                            .collect(),
                    )
                }),
                "pattern" => self.leaf("pattern", value),
                "multipleOf" => self.leaf("multipleOf", value),
                "format" if self.asserts_format(value) => self.leaf("format", value),
                _ => None,
            });
        }
        keywords
    }

    fn asserts_format(&self, name: &Value) -> bool {
        let is_known = name
            .as_str()
            .is_some_and(|name| ASSERTED_FORMATS.contains(&name));
        is_known && self.formats == Formats::Asserted
    }

    fn leaf(&mut self, keyword: &'static str, value: &Value) -> Option<Keyword> {
        match self.leaves.get(keyword, value) {
            Ok(check) => Some(Keyword::Leaf(keyword, check)),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// Compiles the keywords for items and properties.
    fn of_members(&mut self, map: &'a Map<String, Value>, resource: &'a Value) -> Vec<Keyword> {
        let mut keywords = Vec::new();
        let first = self.list(map, "prefixItems", resource);
        let rest = self.one(map, "items", resource);
        if !first.is_empty() || rest.is_some() {
            keywords.push(Keyword::Items { first, rest });
        }
        if let Some(item) = self.one(map, "contains", resource) {
            let bound = |keyword: &str| map.get(keyword).and_then(count);
            let min = bound("minContains").unwrap_or(1);
            let max = bound("maxContains").unwrap_or(u64::MAX);
            keywords.push(Keyword::Contains { item, min, max });
        }
        let named = self
            .named(map, "properties", resource)
            .into_iter()
            .collect::<FxHashMap<_, _>>();
        let rest = self.one(map, "additionalProperties", resource);
        let mut patterns = Vec::new();
        for (pattern, id) in self.named(map, "patternProperties", resource) {
            match self.leaves.get("pattern", &pattern.into()) {
                Ok(check) => patterns.push((check, id)),
                Err(problem) => self.problems.push(problem),
            }
        }
        if !named.is_empty() || rest.is_some() || !patterns.is_empty() {
            keywords.push(Keyword::Properties(Properties {
                named,
                patterns,
                rest,
            }));
        }
        keywords.extend(
            self.one(map, "propertyNames", resource)
                .map(Keyword::PropertyNames),
        );
        keywords
    }

    /// Compiles the keywords whose subschemas check the same value.
    fn at_the_same_value(
        &mut self,
        map: &'a Map<String, Value>,
        resource: &'a Value,
    ) -> Vec<Keyword> {
        let mut keywords = Vec::new();
        for keyword in ["$ref", "$dynamicRef"] {
            let Some(reference) = map.get(keyword).and_then(Value::as_str) else {
                continue;
            };
            let is_ambiguous = keyword == "$dynamicRef" && self.references.is_ambiguous(reference);
            match self
                .references
                .resolve(reference, resource)
                .filter(|_| !is_ambiguous)
            {
                Some((target, resource)) => {
                    keywords.push(Keyword::Reference(self.node(target, resource)));
                }
                None => self.problems.push(format!(
                    "the reference `{}` has no single target in the schema",
                    reference.escape_debug()
                )),
            }
        }
        let all = self.list(map, "allOf", resource);
        keywords.extend((!all.is_empty()).then_some(Keyword::AllOf(all)));
        for (keyword, choice) in [
            ("anyOf", Keyword::AnyOf as fn(Choice) -> Keyword),
            ("oneOf", Keyword::OneOf),
        ] {
            if map.contains_key(keyword) {
                keywords.push(choice(Choice {
                    branches: self.list(map, keyword, resource),
                    index: None,
                }));
            }
        }
        keywords.extend(self.one(map, "not", resource).map(Keyword::Not));
        if let Some(condition) = self.one(map, "if", resource) {
            let then = self.one(map, "then", resource);
            let otherwise = self.one(map, "else", resource);
            keywords.push(Keyword::If {
                condition,
                then,
                otherwise,
            });
        }
        let dependent = self.named(map, "dependentSchemas", resource);
        keywords.extend((!dependent.is_empty()).then_some(Keyword::DependentSchemas(dependent)));
        keywords.extend(
            self.one(map, "unevaluatedItems", resource)
                .map(Keyword::UnevaluatedItems),
        );
        keywords.extend(
            self.one(map, "unevaluatedProperties", resource)
                .map(Keyword::UnevaluatedProperties),
        );
        keywords
    }

    fn one(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        resource: &'a Value,
    ) -> Option<NodeId> {
        map.get(keyword)
            .filter(|schema| walk::is_schema(schema))
            .map(|schema| self.node(schema, resource))
    }

    fn list(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        resource: &'a Value,
    ) -> Vec<NodeId> {
        walk::branches(map, keyword)
            .map(|schema| self.node(schema, resource))
            .collect()
    }

    fn named(
        &mut self,
        map: &'a Map<String, Value>,
        keyword: &str,
        resource: &'a Value,
    ) -> Vec<(String, NodeId)> {
        let named = map
            .get(keyword)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        named
            .map(|(name, schema)| (name.clone(), self.node(schema, resource)))
            .collect()
    }
}

/// Returns the reason why the nodes may lead to one another without an end, or too often, at one
/// value.
fn unbounded(nodes: &[Node]) -> Option<String> {
    let targets = |node: &Node| {
        node.keywords
            .iter()
            .flat_map(Keyword::at_the_same_value)
            .collect::<Vec<_>>()
    };
    let mut sources = vec![0_usize; nodes.len()];
    nodes.iter().flat_map(targets).for_each(|id| {
        sources
            .get_mut(id.0 as usize)
            .into_iter()
            .for_each(|n| *n += 1);
    });
    let mut depths = vec![0_usize; nodes.len()];
    let mut ready: Vec<usize> = (0..nodes.len())
        .filter(|at| sources.get(*at) == Some(&0))
        .collect();
    let mut finished = 0;
    while let Some(at) = ready.pop() {
        finished += 1;
        let depth = depths.get(at).map_or(0, |depth| depth + 1);
        for target in nodes.get(at).map(targets).unwrap_or_default() {
            let target = target.0 as usize;
            let (Some(left), Some(deepest)) = (sources.get_mut(target), depths.get_mut(target))
            else {
                continue;
            };
            (*left, *deepest) = (*left - 1, depth.max(*deepest));
            if *left == 0 {
                ready.push(target);
            }
        }
    }
    if finished < nodes.len() {
        return Some("it leads back to itself at one value without an end".to_owned());
    }
    let deepest = depths.into_iter().max().unwrap_or(0);
    (deepest > MAX_DEPTH_AT_ONE_VALUE).then(|| {
        format!("{deepest} schemas lead to one another at one value, expected at most {MAX_DEPTH_AT_ONE_VALUE}")
    })
}

/// Adds an index to each choice of many branches, and returns the indexes.
fn add_indexes(nodes: &mut [Node]) -> Vec<BranchIndex> {
    /// The number of branches that are tried one after the other.
    const FEW: usize = 8;
    let mut branches = Vec::new();
    for keyword in nodes.iter_mut().flat_map(|node| &mut node.keywords) {
        if let Keyword::AnyOf(choice) | Keyword::OneOf(choice) = keyword
            && choice.branches.len() > FEW
        {
            choice.index = Some(branches.len());
            branches.push(choice.branches.clone());
        }
    }
    branches
        .iter()
        .map(|branches| BranchIndex::new(branches, &|id| at(nodes, id)))
        .collect()
}

fn count(value: &Value) -> Option<u64> {
    let whole = crate::json::number::exact(value.as_number()?)?;
    u64::try_from(whole).ok()
}

fn texts(values: &[Value]) -> Vec<String> {
    values
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
