//! The schemas of a value in arguments: through references, `allOf`, and the matching branch of a union.

use crate::providers::schema::document::{SchemaDocument, SchemaPlace};
use crate::providers::schema::restore;
use crate::providers::schema::restore::{DEEPEST, JsonKind, elements, kind, members, type_of};
use crate::providers::schema::types::TypeSet;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use tool_core::schema::join_pointer as join;

/// The maximum number of schemas that references and `allOf` lead to.
const FOLLOWED: usize = 64;

/// The degree to which a value matches a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaFit {
    Not,
    /// With null for absent properties.
    Strictly,
    /// Without such nulls.
    Fully,
}

/// Finds the schemas of values, with a memory of values that were matched.
pub(crate) struct SchemaMatcher<'s, 't> {
    document: SchemaDocument<'s>,
    /// By schema and value, as unions inside unions would be matched again and again.
    known: HashMap<(*const Value, *const u8), SchemaFit>,
    depth: usize,
    text: std::marker::PhantomData<&'t str>,
}

impl<'s, 't> SchemaMatcher<'s, 't> {
    pub(crate) fn new(root: &'s Value) -> Self {
        let text = std::marker::PhantomData;
        Self { document: SchemaDocument::new(root), known: HashMap::new(), depth: 0, text }
    }

    /// Returns all schemas of a value.
    pub(crate) fn schemas(&mut self, place: SchemaPlace<'s>, value: &'t RawValue) -> Vec<SchemaPlace<'s>> {
        let base = self.base(place);
        match unions_of(&base) {
            unions if unions.is_empty() => base,
            unions => self.choose(base, unions, value).0,
        }
    }

    /// Returns true for a null that stands for an absent property: the property is optional and does not accept null.
    pub(crate) fn stands_for_absent(&self, schemas: &[SchemaPlace<'s>], name: &str) -> bool {
        let mut places = named(schemas, name).peekable();
        places.peek().is_some() && !is_required(schemas, name) && !places.all(|place| self.accepts_null(&place, 0))
    }

    /// Returns a schema with the schemas that it refers to and includes.
    fn base(&self, place: SchemaPlace<'s>) -> Vec<SchemaPlace<'s>> {
        let mut all = Vec::new();
        let mut open = vec![place];
        while let Some(place) = open.pop().filter(|_| all.len() < FOLLOWED) {
            let target = place.schema.get("$ref").and_then(Value::as_str);
            open.extend(target.and_then(|reference| self.document.resolve(&place.pointer, reference)));
            open.extend(branches(&place, "allOf"));
            all.push(place);
        }
        all
    }

    /// Adds the best matching branch of each union, if one matches.
    fn choose(
        &mut self,
        base: Vec<SchemaPlace<'s>>,
        mut unions: Vec<Vec<SchemaPlace<'s>>>,
        value: &'t RawValue,
    ) -> (Vec<SchemaPlace<'s>>, SchemaFit) {
        let Some(union) = unions.pop() else {
            let fit = self.fit_all(&base, value);
            return (base, fit);
        };
        let mut best: Option<(Vec<SchemaPlace<'s>>, SchemaFit)> = None;
        for branch in union.into_iter().filter(|_| base.len() < FOLLOWED) {
            let inside = self.base(branch);
            let mut rest = unions.clone();
            rest.extend(unions_of(&inside));
            let with = base.iter().chain(&inside).cloned().collect();
            let found = self.choose(with, rest, value);
            if best.as_ref().map_or(SchemaFit::Not, |(_, fit)| *fit) < found.1 {
                best = Some(found);
            }
            if matches!(best, Some((_, SchemaFit::Fully))) {
                break;
            }
        }
        best.unwrap_or((base, SchemaFit::Not))
    }

    fn fit(&mut self, place: SchemaPlace<'s>, value: &'t RawValue) -> SchemaFit {
        let key = (std::ptr::from_ref(place.schema), value.get().as_ptr());
        if let Some(fit) = self.known.get(&key) {
            return *fit;
        }
        if self.depth >= DEEPEST {
            return SchemaFit::Not;
        }
        self.depth += 1;
        let base = self.base(place);
        let unions = unions_of(&base);
        let (_, fit) = self.choose(base, unions, value);
        self.depth -= 1;
        self.known.insert(key, fit);
        fit
    }

    fn fit_all(&mut self, schemas: &[SchemaPlace<'s>], value: &'t RawValue) -> SchemaFit {
        if !schemas.iter().all(|place| takes(place.schema, value)) {
            return SchemaFit::Not;
        }
        match kind(value) {
            JsonKind::Object => self.fit_members(schemas, value),
            JsonKind::Array => self.fit_elements(schemas, value),
            JsonKind::Scalar => SchemaFit::Fully,
        }
    }

    fn fit_members(&mut self, schemas: &[SchemaPlace<'s>], value: &'t RawValue) -> SchemaFit {
        let members = members(value);
        let given = |name: &str| members.iter().any(|(known, _)| known == name);
        if !required(schemas).all(given) {
            return SchemaFit::Not;
        }
        let mut fit = SchemaFit::Fully;
        for (name, member) in members {
            let mut places = named(schemas, &name).peekable();
            // A strict object accepts no others.
            if places.peek().is_none() {
                return SchemaFit::Not;
            }
            if member.get() == "null" && self.stands_for_absent(schemas, &name) {
                fit = fit.min(SchemaFit::Strictly);
                continue;
            }
            for place in places {
                fit = fit.min(self.fit(place, member));
            }
            if fit == SchemaFit::Not {
                return fit;
            }
        }
        fit
    }

    fn fit_elements(&mut self, schemas: &[SchemaPlace<'s>], value: &'t RawValue) -> SchemaFit {
        let mut fit = SchemaFit::Fully;
        for (at, element) in elements(value).into_iter().enumerate() {
            for place in schemas.iter().filter_map(|schema| restore::item(schema, at)) {
                fit = fit.min(self.fit(place, element));
            }
            if fit == SchemaFit::Not {
                return fit;
            }
        }
        fit
    }

    fn accepts_null(&self, place: &SchemaPlace<'s>, depth: usize) -> bool {
        if let Value::Bool(answer) = place.schema {
            return *answer;
        }
        // An endless chain of references refuses nothing.
        if depth > FOLLOWED {
            return true;
        }
        let type_takes =
            place.schema.get("type").and_then(TypeSet::of_keyword).is_none_or(|it| it.contains(TypeSet::NULL));
        let reference = place.schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| self.document.resolve(&place.pointer, reference));
        let deeper = |place: SchemaPlace<'s>| self.accepts_null(&place, depth + 1);
        let some = |keyword: &str| place.schema.get(keyword).is_none() || branches(place, keyword).any(deeper);
        type_takes
            && place.schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(&Value::Null))
            && place.schema.get("const").is_none_or(Value::is_null)
            && target.is_none_or(deeper)
            && branches(place, "allOf").all(deeper)
            && some("anyOf")
            && some("oneOf")
    }
}

/// Returns true if the type and the listed values of one schema accept the value.
fn takes(schema: &Value, value: &RawValue) -> bool {
    if *schema == Value::Bool(false) {
        return false;
    }
    let types = TypeSet::of_schema(schema);
    let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let only = schema.get("const").map(std::slice::from_ref);
    let parsed = || serde_json::from_str::<Value>(value.get()).ok();
    types.overlaps(type_of(value))
        && [listed, only]
            .into_iter()
            .flatten()
            .all(|values| parsed().is_some_and(|it| values.iter().any(|one| same(one, &it))))
}

fn same(left: &Value, right: &Value) -> bool {
    left == right || left.is_number() && left.as_f64() == right.as_f64()
}

/// Returns the schemas of a property.
pub(crate) fn named<'s>(schemas: &[SchemaPlace<'s>], name: &str) -> impl Iterator<Item = SchemaPlace<'s>> {
    schemas.iter().filter_map(move |place| {
        let schema = place.schema.get("properties")?.get(name)?;
        Some(SchemaPlace { schema, pointer: join(&join(&place.pointer, "properties"), name) })
    })
}

fn required<'s>(schemas: &[SchemaPlace<'s>]) -> impl Iterator<Item = &'s str> {
    schemas.iter().filter_map(|place| place.schema.get("required")?.as_array()).flatten().filter_map(Value::as_str)
}

fn is_required(schemas: &[SchemaPlace<'_>], name: &str) -> bool {
    required(schemas).any(|required| required == name)
}

/// Returns the unions of schemas, each as its branches. Unions that only combine required properties are left out, as they
/// do not describe values.
fn unions_of<'s>(schemas: &[SchemaPlace<'s>]) -> Vec<Vec<SchemaPlace<'s>>> {
    let all =
        schemas.iter().flat_map(|place| ["anyOf", "oneOf"].map(|keyword| branches(place, keyword).collect::<Vec<_>>()));
    let only_requires = |branch: &SchemaPlace<'s>| {
        branch.schema.as_object().is_some_and(|map| map.keys().all(|keyword| keyword == "required"))
    };
    all.filter(|union: &Vec<SchemaPlace<'s>>| !union.iter().all(only_requires)).collect()
}

fn branches<'s>(place: &SchemaPlace<'s>, keyword: &str) -> impl Iterator<Item = SchemaPlace<'s>> {
    let all = place.schema.get(keyword).and_then(Value::as_array);
    // The pointer is made only where it is needed.
    let under = all.map(|_| join(&place.pointer, keyword)).unwrap_or_default();
    let place = move |(at, schema): (usize, _)| SchemaPlace { schema, pointer: join(&under, &at.to_string()) };
    all.into_iter().flatten().enumerate().map(place)
}
