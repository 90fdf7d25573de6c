//! The kinds of the names in a type. They decide about messages only: the traits of the type decide
//! what it can do.

use syn::{GenericArgument, Ident, Path, PathArguments, Type};

use super::passing::ungrouped_type;

/// A feature of schemars that implements its trait for types of a crate.
struct SchemarsFeature {
    name: &'static str,
    /// The crate as it is written in paths.
    krate: &'static str,
    /// The types that have a schema with the feature. Other types of the crate have none.
    types: &'static [&'static str],
}

const FEATURES: &[SchemarsFeature] = &[
    SchemarsFeature {
        name: "arrayvec07",
        krate: "arrayvec",
        types: &["ArrayString", "ArrayVec"],
    },
    SchemarsFeature {
        name: "bigdecimal04",
        krate: "bigdecimal",
        types: &["BigDecimal"],
    },
    SchemarsFeature {
        name: "bytes1",
        krate: "bytes",
        types: &["Bytes", "BytesMut"],
    },
    SchemarsFeature {
        name: "chrono04",
        krate: "chrono",
        types: &[
            "DateTime",
            "Duration",
            "NaiveDate",
            "NaiveDateTime",
            "NaiveTime",
            "TimeDelta",
            "Weekday",
        ],
    },
    SchemarsFeature {
        name: "either1",
        krate: "either",
        types: &["Either"],
    },
    SchemarsFeature {
        name: "indexmap2",
        krate: "indexmap",
        types: &["IndexMap", "IndexSet"],
    },
    SchemarsFeature {
        name: "jiff02",
        krate: "jiff",
        types: &[
            "Date",
            "DateTime",
            "SignedDuration",
            "Span",
            "Time",
            "Timestamp",
            "Zoned",
        ],
    },
    // The documentation of jiff imports the module and writes `civil::Date`.
    SchemarsFeature {
        name: "jiff02",
        krate: "civil",
        types: &["Date", "DateTime", "Time"],
    },
    SchemarsFeature {
        name: "rust_decimal1",
        krate: "rust_decimal",
        types: &["Decimal"],
    },
    SchemarsFeature {
        name: "semver1",
        krate: "semver",
        types: &["Version"],
    },
    SchemarsFeature {
        name: "smallvec1",
        krate: "smallvec",
        types: &["SmallVec"],
    },
    SchemarsFeature {
        name: "smol_str03",
        krate: "smol_str",
        types: &["SmolStr"],
    },
    SchemarsFeature {
        name: "url2",
        krate: "url",
        types: &["Url"],
    },
    SchemarsFeature {
        name: "uuid1",
        krate: "uuid",
        types: &["Uuid"],
    },
];

/// The names that types of several crates have. Without its crate, such a name says nothing.
const AMBIGUOUS: &[&str] = &["Date", "Duration", "Time", "Timestamp"];

/// The names of types that are parameters everywhere, and the elements of sets and the keys of
/// maps.
const KEYS: &[&str] = &[
    "bool", "char", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize", "String",
];

/// The names of further types that are parameters if their arguments are.
const PLAIN: &[&str] = &[
    "f32",
    "f64",
    "Option",
    "Vec",
    "Box",
    "VecDeque",
    "Timestamp",
    "Value",
];

/// The names of sets and maps, which are parameters if their first argument can be a key.
const KEYED: &[&str] = &["HashMap", "BTreeMap", "HashSet", "BTreeSet"];

/// The names in the paths to these types.
const MODULES: &[&str] = &[
    "std",
    "core",
    "alloc",
    "string",
    "option",
    "vec",
    "boxed",
    "collections",
    "tool_core",
    "serde_json",
];

/// The kinds that the names in a type say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeNames {
    /// All are names of well-known types that are parameters. If they are not what they say, the
    /// compiler still refuses them, with a longer message.
    Plain,
    /// One is that of a type in another crate, for which schemars has this feature.
    Foreign(&'static str),
    Other,
}

impl TypeNames {
    pub(crate) fn of(ty: &Type) -> Self {
        if is_plain(ty) {
            return Self::Plain;
        }
        schemars_feature(ty).map_or(Self::Other, Self::Foreign)
    }
}

/// Returns whether the names say that the type is a parameter. Those of an array and a tuple do
/// not, as serde and schemars implement their traits for some lengths only.
fn is_plain(ty: &Type) -> bool {
    let Type::Path(typed) = ungrouped_type(ty) else {
        return false;
    };
    let segments = &typed.path.segments;
    let Some(last) = segments.last() else {
        return false;
    };
    if !segments
        .iter()
        .rev()
        .skip(1)
        .all(|module| is_one_of(&module.ident, MODULES))
    {
        return false;
    }
    let arguments = inner_types(ty);
    if is_one_of(&last.ident, KEYED) {
        return arguments.first().is_some_and(|key| is_key(key))
            && arguments.into_iter().all(is_plain);
    }
    let is_known = is_one_of(&last.ident, KEYS) || is_one_of(&last.ident, PLAIN);
    is_known && arguments.into_iter().all(is_plain)
}

/// Returns whether the name says that the type can be compared and hashed, which floats and most
/// collections cannot.
fn is_key(ty: &Type) -> bool {
    let Type::Path(typed) = ungrouped_type(ty) else {
        return false;
    };
    typed
        .path
        .segments
        .last()
        .is_some_and(|last| is_one_of(&last.ident, KEYS))
}

fn is_one_of(ident: &Ident, names: &[&str]) -> bool {
    names.iter().any(|name| ident == name)
}

/// Returns the feature of schemars for the first type of another crate.
fn schemars_feature(ty: &Type) -> Option<&'static str> {
    let own = match ungrouped_type(ty) {
        Type::Path(typed) => feature_of_path(&typed.path),
        _ => None,
    };
    own.or_else(|| inner_types(ty).into_iter().find_map(schemars_feature))
}

fn feature_of_path(path: &Path) -> Option<&'static str> {
    let ident = &path.segments.last()?.ident;
    let names_crate = |feature: &&SchemarsFeature| {
        path.segments
            .iter()
            .any(|segment| segment.ident == feature.krate)
    };
    let has_type = |feature: &&SchemarsFeature| is_one_of(ident, feature.types);
    let found = match FEATURES.iter().find(names_crate) {
        Some(feature) => Some(feature).filter(has_type),
        None if is_one_of(ident, AMBIGUOUS) => None,
        None => FEATURES.iter().find(has_type),
    };
    found.map(|feature| feature.name)
}

/// Returns the types of which the type is made.
fn inner_types(ty: &Type) -> Vec<&Type> {
    match ungrouped_type(ty) {
        Type::Array(array) => vec![&*array.elem],
        Type::Slice(slice) => vec![&*slice.elem],
        Type::Reference(reference) => vec![&*reference.elem],
        Type::Tuple(tuple) => tuple.elems.iter().collect(),
        Type::Path(typed) => type_arguments(&typed.path),
        _ => Vec::new(),
    }
}

fn type_arguments(path: &Path) -> Vec<&Type> {
    let Some(last) = path.segments.last() else {
        return Vec::new();
    };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn a_type_of_well_known_names_is_plain() {
        assert_eq!(
            TypeNames::of(&parse_quote!(Option<Vec<(f64)>>)),
            TypeNames::Plain
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(std::collections::HashMap<String, tool_core::Timestamp>)),
            TypeNames::Plain
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(Vec<BTreeMap<u8, BTreeSet<char>>>)),
            TypeNames::Plain
        );
        assert_eq!(TypeNames::of(&parse_quote!(Vec<City>)), TypeNames::Other);
        assert_eq!(
            TypeNames::of(&parse_quote!(<Vec<City> as IntoIterator>::Item)),
            TypeNames::Other
        );
    }

    #[test]
    fn names_do_not_say_whether_an_array_or_a_tuple_is_a_parameter() {
        assert_eq!(TypeNames::of(&parse_quote!([u8; 64])), TypeNames::Other);
        assert_eq!(
            TypeNames::of(&parse_quote!(Option<Box<[u8; 64]>>)),
            TypeNames::Other
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(Vec<(u8, String)>)),
            TypeNames::Other
        );
    }

    #[test]
    fn floats_and_collections_are_not_known_as_keys() {
        assert_eq!(TypeNames::of(&parse_quote!(HashSet<f64>)), TypeNames::Other);
        assert_eq!(
            TypeNames::of(&parse_quote!(Option<Vec<BTreeMap<f64, String>>>)),
            TypeNames::Other
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(HashMap<String, BTreeSet<f32>>)),
            TypeNames::Other
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(HashSet<Vec<f64>>)),
            TypeNames::Other
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(HashSet<HashSet<String>>)),
            TypeNames::Other
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(BTreeSet<serde_json::Value>)),
            TypeNames::Other
        );
    }

    #[test]
    fn a_type_of_another_crate_is_known_by_its_name() {
        assert_eq!(
            TypeNames::of(&parse_quote!(Option<Vec<Uuid>>)),
            TypeNames::Foreign("uuid1")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(HashMap<String, (u8, &[Url])>)),
            TypeNames::Foreign("url2")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!([NaiveDate; 2])),
            TypeNames::Foreign("chrono04")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(DateTime<Utc>)),
            TypeNames::Foreign("chrono04")
        );
        assert_eq!(TypeNames::of(&parse_quote!(Date)), TypeNames::Other);
        assert_eq!(TypeNames::of(&parse_quote!(Duration)), TypeNames::Other);
    }

    #[test]
    fn a_path_with_the_crate_decides() {
        assert_eq!(
            TypeNames::of(&parse_quote!(jiff::civil::DateTime)),
            TypeNames::Foreign("jiff02")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(civil::DateTime)),
            TypeNames::Foreign("jiff02")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(tool_core::jiff::Timestamp)),
            TypeNames::Foreign("jiff02")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(chrono::DateTime<chrono::Utc>)),
            TypeNames::Foreign("chrono04")
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(chrono::Duration)),
            TypeNames::Foreign("chrono04")
        );
    }

    #[test]
    fn a_type_without_a_schema_in_its_crate_has_no_feature() {
        assert_eq!(
            TypeNames::of(&parse_quote!(chrono::Month)),
            TypeNames::Other
        );
        assert_eq!(
            TypeNames::of(&parse_quote!(Option<jiff::tz::TimeZone>)),
            TypeNames::Other
        );
        assert_eq!(TypeNames::of(&parse_quote!(jiff::Uuid)), TypeNames::Other);
    }
}
