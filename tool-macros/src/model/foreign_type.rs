//! Types of other crates, for which schemars has a feature. A type is recognised by its name, for the message alone.

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

/// Returns the feature of schemars for the first type of another crate in the tokens. A path with its crate comes before a
/// bare name.
pub(crate) fn schemars_feature(ty: impl ToTokens) -> Option<&'static str> {
    let mut words = Vec::new();
    collect(ty.into_token_stream(), &mut words);
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
    fn a_type_of_another_crate_is_known_by_its_name() {
        assert_eq!(schemars_feature(quote!(Option<Vec<Uuid>>)), Some("uuid1"));
        assert_eq!(schemars_feature(quote!([NaiveDate; 2])), Some("chrono04"));
        assert_eq!(schemars_feature(quote!(DateTime<Utc>)), Some("chrono04"));
        assert_eq!(schemars_feature(quote!(HashMap<String, String>)), None);
    }

    #[test]
    fn a_path_with_the_crate_decides() {
        assert_eq!(schemars_feature(quote!(jiff::civil::DateTime)), Some("jiff02"));
        assert_eq!(schemars_feature(quote!(jiff::Timestamp)), Some("jiff02"));
        assert_eq!(schemars_feature(quote!(Timestamp)), None);
    }
}
