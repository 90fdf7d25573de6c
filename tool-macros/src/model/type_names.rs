//! The kinds of the names in a type. They decide about messages only: the traits of the type decide what it can do.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

/// A feature of schemars that implements its trait for the types of a crate.
struct SchemarsFeature {
    name: &'static str,
    /// The crate as it is written in paths.
    krate: &'static str,
    /// The types whose names are used without the crate.
    types: &'static [&'static str],
}

const FEATURES: &[SchemarsFeature] = &[
    SchemarsFeature { name: "arrayvec07", krate: "arrayvec", types: &["ArrayString", "ArrayVec"] },
    SchemarsFeature { name: "bigdecimal04", krate: "bigdecimal", types: &["BigDecimal"] },
    SchemarsFeature { name: "bytes1", krate: "bytes", types: &["Bytes", "BytesMut"] },
    SchemarsFeature {
        name: "chrono04",
        krate: "chrono",
        types: &["DateTime", "NaiveDate", "NaiveDateTime", "NaiveTime", "TimeDelta", "Weekday"],
    },
    SchemarsFeature { name: "either1", krate: "either", types: &["Either"] },
    SchemarsFeature { name: "indexmap2", krate: "indexmap", types: &["IndexMap", "IndexSet"] },
    // `Timestamp` is that of tool-core.
    SchemarsFeature { name: "jiff02", krate: "jiff", types: &["SignedDuration", "Span", "Zoned"] },
    SchemarsFeature { name: "rust_decimal1", krate: "rust_decimal", types: &["Decimal"] },
    SchemarsFeature { name: "semver1", krate: "semver", types: &["Version"] },
    SchemarsFeature { name: "smallvec1", krate: "smallvec", types: &["SmallVec"] },
    SchemarsFeature { name: "smol_str03", krate: "smol_str", types: &["SmolStr"] },
    SchemarsFeature { name: "url2", krate: "url", types: &["Url"] },
    SchemarsFeature { name: "uuid1", krate: "uuid", types: &["Uuid"] },
];

/// The names of types that are parameters everywhere, and of the paths to them.
const PLAIN: &[&str] = &[
    "bool",
    "char",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "String",
    "Option",
    "Vec",
    "Box",
    "HashMap",
    "BTreeMap",
    "HashSet",
    "BTreeSet",
    "VecDeque",
    "Timestamp",
    "Value",
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
    /// All are names of well-known types. If they are not what they say, the compiler still refuses them, with a longer message.
    Plain,
    /// One is that of a type in another crate, for which schemars has this feature.
    Foreign(&'static str),
    Other,
}

impl TypeNames {
    pub(crate) fn of(ty: impl ToTokens) -> Self {
        let mut words = Vec::new();
        collect(ty.into_token_stream(), &mut words);
        if words.iter().all(|word| PLAIN.contains(&word.as_str())) {
            return Self::Plain;
        }
        schemars_feature(&words).map_or(Self::Other, Self::Foreign)
    }
}

/// Returns the feature of schemars for the first type of another crate. A path with its crate comes before a bare name.
fn schemars_feature(words: &[String]) -> Option<&'static str> {
    let by = |is: fn(&SchemarsFeature, &str) -> bool| {
        let mut found = words.iter().filter_map(|word| FEATURES.iter().find(|feature| is(feature, word)));
        found.next().map(|feature| feature.name)
    };
    by(|feature, word| feature.krate == word).or_else(|| by(|feature, word| feature.types.contains(&word)))
}

fn collect(tokens: TokenStream, words: &mut Vec<String>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => collect(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    #[test]
    fn a_type_of_well_known_names_is_plain() {
        assert_eq!(TypeNames::of(quote!(Option<Vec<(String, [u8; 2])>>)), TypeNames::Plain);
        assert_eq!(TypeNames::of(quote!(std::collections::HashMap<String, tool_core::Timestamp>)), TypeNames::Plain);
        assert_eq!(TypeNames::of(quote!(Vec<City>)), TypeNames::Other);
    }

    #[test]
    fn a_type_of_another_crate_is_known_by_its_name() {
        assert_eq!(TypeNames::of(quote!(Option<Vec<Uuid>>)), TypeNames::Foreign("uuid1"));
        assert_eq!(TypeNames::of(quote!([NaiveDate; 2])), TypeNames::Foreign("chrono04"));
        assert_eq!(TypeNames::of(quote!(DateTime<Utc>)), TypeNames::Foreign("chrono04"));
    }

    #[test]
    fn a_path_with_the_crate_decides() {
        assert_eq!(TypeNames::of(quote!(jiff::civil::DateTime)), TypeNames::Foreign("jiff02"));
        assert_eq!(TypeNames::of(quote!(jiff::Timestamp)), TypeNames::Foreign("jiff02"));
    }
}
