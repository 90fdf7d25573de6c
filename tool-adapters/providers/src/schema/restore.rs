//! Arguments of a strict declaration in the form of the tool's own schema.
//!
//! Members are cut from the text, so that the rest stays as the model wrote it, with numbers of any
//! size. One pass over the text follows rules that are made of the schema once. Only a value of a
//! union is matched with its branches.

use crate::json_reader::JsonReader;
use crate::schema::document::SchemaPlace;
use crate::schema::matcher::{MIN_TRIALS, SchemaMatcher, item, named, required, unions_of};
use foldhash::HashMap;
use serde_json::{Result, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The maximum number of rules of a schema. Values beyond it are matched.
const MAX_RULES: usize = 1_000;

/// The room for a tool's name, which a call keeps behind its arguments.
const NAME_LENGTH: usize = 64;

/// The nulls of a strict declaration that stand for absent properties: those of optional properties
/// whose schemas do not accept null.
#[derive(Debug, Default)]
pub(crate) struct NullRules {
    /// The rules of a tool's schema, once a call needs them. The first is that of the arguments.
    rules: OnceLock<Vec<Arc<NullRule>>>,
}

/// The nulls in the values of one place in a schema.
#[derive(Debug)]
enum NullRule {
    /// The value decides which schemas hold. The pointers lead to all of them.
    Matched(Vec<String>),
    Plain {
        members: Members,
        items: Items,
    },
}

/// The rules of members in the order of the schema, in which most models write them.
#[derive(Debug, Default)]
struct Members {
    rules: Vec<MemberRule>,
    /// The positions of the rules by the names.
    by_name: HashMap<String, usize>,
}

/// The rules of elements. The last is that of all further ones.
type Items = Vec<Option<usize>>;

#[derive(Debug)]
struct MemberRule {
    /// The name as JSON, with a colon.
    name: String,
    /// True if null stands for an absent member.
    null_is_absent: bool,
    /// The rule of the member's value.
    inside: Option<usize>,
}

impl NullRules {
    /// Removes the nulls from arguments. A text that is not JSON stays as it is.
    pub(crate) fn restore<'a>(&self, schema: &Value, arguments: &'a str) -> Cow<'a, str> {
        if !arguments.contains("null") {
            return Cow::Borrowed(arguments);
        }
        let rules = self
            .rules
            .get_or_init(|| NullRuleCompiler::rules_of(schema));
        let cuts = Cuts {
            text: arguments,
            kept: String::new(),
            from: 0,
        };
        let mut restorer = Restorer {
            schema,
            rules,
            compiler: None,
            cuts,
        };
        let mut json = JsonReader::new(arguments);
        match restorer.read(Some(0), &mut json).and_then(|()| json.end()) {
            Ok(()) => restorer.cuts.finish(),
            Err(_) => Cow::Borrowed(arguments),
        }
    }
}

/// Finds the nulls of one text.
struct Restorer<'s, 't> {
    schema: &'s Value,
    rules: &'s [Arc<NullRule>],
    /// The compiler of the rules of values that were matched.
    compiler: Option<NullRuleCompiler<'s>>,
    cuts: Cuts<'t>,
}

impl<'t> Restorer<'_, 't> {
    /// Reads a value by its rule, which only objects and arrays need.
    #[inline]
    fn read(&mut self, rule: Option<usize>, json: &mut JsonReader<'t>) -> Result<()> {
        match rule {
            Some(rule) if matches!(json.peek(), b'{' | b'[') => self.read_container(rule, json),
            _ => json.skip(),
        }
    }

    /// Reads an object or an array. The others are read inline.
    #[inline(never)]
    fn read_container(&mut self, rule: usize, json: &mut JsonReader<'t>) -> Result<()> {
        let rules = self
            .compiler
            .as_ref()
            .map_or(self.rules, |compiler| &compiler.rules);
        let Some(rule) = rules.get(rule).map(Arc::clone) else {
            return json.skip();
        };
        match &*rule {
            NullRule::Plain { members, items } => self.read_by(members, items, json),
            NullRule::Matched(pointers) => {
                let mut after = json.clone();
                let value = after.raw()?;
                if !value.contains("null") {
                    *json = after;
                    return Ok(());
                }
                let (members, items) = self.match_rule(pointers, value);
                self.read_by(&members, &items, json)
            }
        }
    }

    fn read_by(
        &mut self,
        members: &Members,
        items: &Items,
        json: &mut JsonReader<'t>,
    ) -> Result<()> {
        if json.peek() == b'[' {
            let mut items = items.iter().chain(items.last().into_iter().cycle());
            return json.array(|json| self.read(items.next().copied().flatten(), json));
        }
        let mut object = ObjectCuts::new(json.place());
        let mut next = 0;
        json.members(|json| {
            json.peek();
            if members
                .rules
                .get(next)
                .is_none_or(|rule| json.literal(&rule.name).is_none())
            {
                next = members
                    .by_name
                    .get(&*json.name()?)
                    .copied()
                    .unwrap_or(members.rules.len());
            }
            let rule = members.rules.get(next);
            next += 1;
            json.peek();
            if rule.is_some_and(|rule| rule.null_is_absent) && json.literal("null").is_some() {
                object.cut(json, &mut self.cuts);
            } else {
                self.read(rule.and_then(|rule| rule.inside), json)?;
                object.keep(json.place());
            }
            Ok(())
        })
    }

    /// Returns the rule of a value by all of the schemas that it matches, so that nothing is cut
    /// twice.
    fn match_rule(&mut self, pointers: &[String], value: &str) -> (Members, Items) {
        let schema = self.schema;
        let rules = self.rules;
        let trials = MIN_TRIALS + self.cuts.text.len();
        let compiler = self
            .compiler
            .get_or_insert_with(|| NullRuleCompiler::new(schema, trials, rules.to_vec()));
        let places = pointers.iter().filter_map(|pointer| {
            schema.pointer(pointer).map(|schema| SchemaPlace {
                schema,
                pointer: pointer.clone(),
            })
        });
        let schemas = places
            .flat_map(|place| compiler.matcher.schemas(place, value))
            .collect::<Vec<_>>();
        (compiler.members(&schemas), compiler.items(&schemas))
    }
}

impl Members {
    fn remove_nothing(&self) -> bool {
        self.rules
            .iter()
            .all(|rule| !rule.null_is_absent && rule.inside.is_none())
    }
}

/// Makes the rules of a schema.
struct NullRuleCompiler<'s> {
    matcher: SchemaMatcher<'s>,
    rules: Vec<Arc<NullRule>>,
    /// By the schemas that hold at a place. They may lead back to themselves.
    known: HashMap<Vec<*const Value>, Option<usize>>,
}

impl<'s> NullRuleCompiler<'s> {
    fn new(schema: &'s Value, trials: usize, rules: Vec<Arc<NullRule>>) -> Self {
        Self {
            matcher: SchemaMatcher::new(schema, trials),
            rules,
            known: HashMap::default(),
        }
    }

    fn rules_of(schema: &'s Value) -> Vec<Arc<NullRule>> {
        let mut compiler = Self::new(schema, MIN_TRIALS, Vec::new());
        compiler.compile(&[SchemaPlace::root(schema)]);
        // Without trials left, nothing is known of the last properties.

        if compiler.matcher.trials > 0 {
            compiler.rules
        } else {
            vec![Arc::new(NullRule::Matched(vec![String::new()]))]
        }
    }

    /// Makes the rule of a place where schemas hold together; `None` if no null is removed there.
    fn compile(&mut self, places: &[SchemaPlace<'s>]) -> Option<usize> {
        let schemas = places
            .iter()
            .flat_map(|place| self.matcher.base(place.clone()))
            .collect::<Vec<_>>();
        let is_decided = unions_of(&schemas).is_empty();
        let has_parts = |place: &SchemaPlace<'s>| {
            ["properties", "items", "prefixItems"]
                .iter()
                .any(|keyword| place.schema.get(keyword).is_some())
        };
        if is_decided && !schemas.iter().any(has_parts) {
            return None;
        }
        let key = schemas
            .iter()
            .map(|place| std::ptr::from_ref(place.schema))
            .collect::<Vec<_>>();
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let at = self.rules.len();
        self.known.insert(key.clone(), Some(at));
        let pointers = places.iter().map(|place| place.pointer.clone()).collect();
        self.rules.push(Arc::new(NullRule::Matched(pointers)));
        if is_decided && at < MAX_RULES {
            let members = self.members(&schemas);
            let items = self.items(&schemas);
            let is_empty = members.remove_nothing() && items.iter().all(Option::is_none);
            self.known.insert(key, Some(at).filter(|_| !is_empty));
            if let Some(rule) = self.rules.get_mut(at) {
                *rule = Arc::new(NullRule::Plain { members, items });
            }
            return Some(at).filter(|_| !is_empty);
        }
        Some(at)
    }

    fn members(&mut self, schemas: &[SchemaPlace<'s>]) -> Members {
        let required = required(schemas).collect::<HashSet<_>>();
        let properties = schemas
            .iter()
            .filter_map(|place| place.schema.get("properties")?.as_object());
        let names = properties.flat_map(|properties| properties.keys());
        let mut members = Members::default();
        for name in names {
            if members.by_name.contains_key(name) {
                continue;
            }
            let null_is_absent =
                !required.contains(&**name) && self.matcher.refuses_null(schemas, name);
            let inside = self.compile(&named(schemas, name).collect::<Vec<_>>());
            members.by_name.insert(name.clone(), members.rules.len());
            let name = format!("{}:", Value::from(&**name));
            members.rules.push(MemberRule {
                name,
                null_is_absent,
                inside,
            });
        }
        members
    }

    fn items(&mut self, schemas: &[SchemaPlace<'s>]) -> Items {
        let prefixes = schemas
            .iter()
            .filter_map(|place| place.schema.get("prefixItems")?.as_array());
        let count = prefixes.map(Vec::len).max().unwrap_or(0);
        let at = |at| {
            schemas
                .iter()
                .filter_map(|schema| item(schema, at))
                .collect::<Vec<_>>()
        };
        (0..=count).map(|index| self.compile(&at(index))).collect()
    }
}

/// A text from which parts are removed, in their order.
struct Cuts<'t> {
    text: &'t str,
    /// The text before `from` without the parts.
    kept: String,
    from: usize,
}

impl<'t> Cuts<'t> {
    fn remove(&mut self, part: Range<usize>) {
        if self.from == 0 {
            self.kept = String::with_capacity(self.text.len() + NAME_LENGTH);
        }
        self.kept
            .push_str(self.text.get(self.from..part.start).unwrap_or_default());
        self.from = part.end;
    }

    fn finish(mut self) -> Cow<'t, str> {
        if self.from == 0 {
            return Cow::Borrowed(self.text);
        }
        self.kept
            .push_str(self.text.get(self.from..).unwrap_or_default());
        Cow::Owned(self.kept)
    }
}

/// The progress through the members of an object.
struct ObjectCuts {
    /// The place after the brace, or after the last member.
    from: usize,
    /// True until a member is kept.
    first: bool,
}

impl ObjectCuts {
    /// Begins at the brace of an object.
    fn new(brace: usize) -> Self {
        Self {
            from: brace + 1,
            first: true,
        }
    }

    fn keep(&mut self, end: usize) {
        (self.from, self.first) = (end, false);
    }

    /// Removes the member that ends here, with the comma before it or, for the first one, the comma
    /// after it.
    fn cut(&mut self, json: &mut JsonReader<'_>, cuts: &mut Cuts<'_>) {
        let end = json.place();
        let end = if self.first && json.peek() == b',' {
            json.place() + 1
        } else {
            end
        };
        cuts.remove(self.from..end);
        self.from = end;
    }
}

/// Removes the nulls from one call's arguments.
#[cfg(test)]
pub(crate) fn restore<'a>(schema: &Value, arguments: &'a str) -> Cow<'a, str> {
    NullRules::default().restore(schema, arguments)
}
