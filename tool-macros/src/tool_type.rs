//! `#[tool_type]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Field, Fields, Item, LitBool, Path, Result, Token, parse_quote};

use crate::attr::grammar::{SETTING, TOOL_TYPE, crate_path, flag, from_call, has_value, is, value};
use crate::errors::Errors;
use crate::expand::scope::krate_path;
use crate::model::type_names::TypeNames;
use crate::tokens::{generated, located, mentions};

/// Expands `#[tool_type]`.
///
/// Expands to:
/// `#[derive(tool_core::serde::Serialize, ..)] #[serde(crate = "..")] #[schemars(crate = "..")] struct ..`
pub(crate) fn expand(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut krate = None;
    let mut is_input = false;
    TOOL_TYPE.read(
        &from_call("tool_type", args),
        &mut Vec::new(),
        &mut errors,
        |key, meta| {
            if key == "crate" {
                krate = Some(written_crate(crate_path(meta)?)?);
            } else {
                flag(meta)?;
                is_input = true;
            }
            Ok(())
        },
    );
    let mut item = match syn::parse2::<Item>(item.clone()) {
        Ok(item) => item,
        Err(error) => {
            errors.push(error);
            Item::Verbatim(item.clone())
        }
    };
    let is_derived = match &mut item {
        Item::Struct(item) => {
            refuse_settings(&mut item.attrs, "mark the fields instead", &mut errors);
            mark_settings(&mut item.fields, &mut errors);
            !refuse_repeated(&item.attrs, &mut errors)
        }
        Item::Enum(item) => {
            refuse_settings(&mut item.attrs, "mark the fields instead", &mut errors);
            for variant in &mut item.variants {
                refuse_settings(&mut variant.attrs, "mark its fields instead", &mut errors);
                mark_settings(&mut variant.fields, &mut errors);
            }
            !refuse_repeated(&item.attrs, &mut errors)
        }
        Item::Verbatim(_) => false,
        other => {
            errors.report(
                other,
                "`#[tool_type]` can only be applied to structs and enums\nhelp: wrap the type in a struct",
            );
            false
        }
    };
    let errors = errors.into_tokens();
    if !is_derived {
        return quote!(#errors #item);
    }
    let krate = krate_path(krate.as_ref());
    let foreign_schemas = foreign_schemas(&item, &krate);
    let path = krate.to_string().replace(' ', "");
    let serde = format!("{path}::serde");
    let schemars = format!("{path}::schemars");
    let span = Span::mixed_site();
    let serialize = (!is_input).then(|| quote_spanned!(span=> #krate::serde::Serialize,));
    // The derives are also beside errors, so that no other errors follow from a type that lacks its
    // traits. The schemas are asked for before the type, so that the error that names the feature
    // is printed before that of the derive.
    quote_spanned! {span=>
        #errors
        #foreign_schemas
        #[derive(#serialize #krate::serde::Deserialize, #krate::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        #item
    }
}

/// Refuses `$crate`, which the derives could not read in the text that names the crate.
fn written_crate(path: Path) -> Result<Path> {
    let begins_with_dollar = path
        .segments
        .first()
        .is_some_and(|first| first.ident == "$crate");
    if begins_with_dollar {
        let message = "`$crate` is not known to the derives of `#[tool_type]`\nhelp: write the path from the name of the crate: `crate = ::name::path`";
        return Err(Error::new_spanned(path, message));
    }
    Ok(path)
}

/// Asks for the schemas of fields whose types have the names of types in other crates. The derive
/// does not tell the feature of schemars that such a type needs.
///
/// Expands to:
/// `const _: () = <Uuid as __private::ForeignSchema<__private::schemars_features::uuid1>>::FOUND;`
fn foreign_schemas(item: &Item, krate: &TokenStream) -> TokenStream {
    let fields: Vec<ConditionalField> = match item {
        // A constant does not see the parameters of a type.
        Item::Struct(item) if item.generics.params.is_empty() => {
            ConditionalField::all(&item.fields, &[]).collect()
        }
        Item::Enum(item) if item.generics.params.is_empty() => item
            .variants
            .iter()
            .flat_map(|variant| ConditionalField::all(&variant.fields, &variant.attrs))
            .collect(),
        _ => return TokenStream::new(),
    };
    let replaces = |attr: &Attribute| {
        let words = ["schema_with", "skip", "skip_deserializing", "with"];
        (is(attr, "serde") || is(attr, "schemars"))
            && words.iter().any(|word| mentions(&attr.meta, word))
    };
    let is_asked = |found: &ConditionalField| {
        !found.field.attrs.iter().any(replaces) && !mentions(&found.field.ty, "Self")
    };
    let asked = fields.into_iter().filter(is_asked).filter_map(|found| {
        let ConditionalField { field, cfgs } = found;
        let TypeNames::Foreign(feature) = TypeNames::of(&field.ty) else { return None };
        let ty = &field.ty;
        let feature = generated(feature);
        let schema = quote_spanned!(located(ty)=> <#ty as #krate::__private::ForeignSchema<#krate::__private::schemars_features::#feature>>);
        Some(quote_spanned!(located(ty)=> #(#cfgs)* const _: () = #schema::FOUND;))
    });
    asked.collect()
}

/// A field, and the conditions under which it is compiled.
struct ConditionalField<'a> {
    field: &'a Field,
    cfgs: Vec<&'a Attribute>,
}

impl<'a> ConditionalField<'a> {
    /// Lists the fields of a struct, or of a variant with its attributes.
    fn all(
        fields: &'a Fields,
        variant: &'a [Attribute],
    ) -> impl Iterator<Item = ConditionalField<'a>> {
        fields.iter().map(move |field| {
            let attrs = variant.iter().chain(&field.attrs);
            let cfgs = attrs.filter(|attr| attr.path().is_ident("cfg")).collect();
            ConditionalField { field, cfgs }
        })
    }
}

/// Turns `#[setting(binds_secret)]` on fields into an extension of their schemas.
fn mark_settings(fields: &mut Fields, errors: &mut Errors) {
    for field in fields {
        let is_flat = |attr: &Attribute| {
            (is(attr, "serde") || is(attr, "schemars")) && mentions(&attr.meta, "flatten")
        };
        if field.attrs.iter().any(is_flat) {
            // The schema of a flattened field is merged into another one, without the mark.
            refuse_settings(
                &mut field.attrs,
                "mark the fields of its type instead, or remove `flatten`",
                errors,
            );
        }
        let mut seen = Vec::new();
        for attr in field.attrs.iter_mut().filter(|attr| is(attr, "setting")) {
            let mut binds = true;
            SETTING.read(attr, &mut seen, errors, |_, meta| {
                if has_value(meta) {
                    binds = value::<LitBool>(meta, "false")?.value;
                } else {
                    flag(meta)?;
                }
                Ok(())
            });
            *attr = parse_quote!(#[schemars(extend("x-binds-secret" = #binds))]);
        }
    }
}

/// Refuses and removes `#[setting]` where its mark would be lost.
fn refuse_settings(attrs: &mut Vec<Attribute>, help: &str, errors: &mut Errors) {
    for attr in attrs.extract_if(.., |attr| is(attr, "setting")) {
        let message = format!(
            "`#[setting]` can only be applied to fields that are not flattened\nhelp: {help}"
        );
        errors.report(attr, message);
    }
}

/// Refuses the derives that `#[tool_type]` writes. Returns true if there are any.
fn refuse_repeated(attrs: &[Attribute], errors: &mut Errors) -> bool {
    let mut is_repeated = false;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
        let parse = Punctuated::<Path, Token![,]>::parse_terminated;
        let paths = attr.parse_args_with(parse).unwrap_or_default();
        let written = ["Serialize", "Deserialize", "JsonSchema"]
            .into_iter()
            .find(|name| paths.iter().any(|path| is_repeated_derive(path, name)));
        if let Some(name) = written {
            is_repeated = true;
            errors.report(
                attr,
                format!("`#[tool_type]` derives `{name}` itself\nhelp: remove `{name}` from `#[derive(..)]`"),
            );
        }
    }
    is_repeated
}

/// Returns whether a derive is that of serde or schemars. Other crates have derives of the same
/// names.
fn is_repeated_derive(path: &Path, name: &str) -> bool {
    let mut segments = path.segments.iter().rev();
    let is_named = segments.next().is_some_and(|last| last.ident == name);
    let is_of_ours = segments
        .next()
        .is_none_or(|parent| parent.ident == "serde" || parent.ident == "schemars");
    is_named && is_of_ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::errors_in;

    #[test]
    fn derives_of_other_crates_may_have_the_same_names() {
        let other = quote!(
            #[derive(rkyv::Serialize)]
            struct Event;
        );
        let serde = quote!(
            #[derive(serde::Serialize)]
            struct Event;
        );
        assert!(errors_in(&expand(TokenStream::new(), &other)).is_empty());
        assert_eq!(errors_in(&expand(TokenStream::new(), &serde)).len(), 1);
    }
}
