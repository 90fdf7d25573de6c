//! The storage of a parameter in the argument struct, and its passing to the method.

use syn::{Error, GenericArgument, Path, PathArguments, PathSegment, Result, Type, TypeReference};

use crate::tokens::{borrows, compact, mentions};

/// The passing of a parameter from the argument struct to the method.
#[derive(Clone, Copy)]
pub(crate) struct ParamPassing<'a> {
    pub(crate) form: PassingForm<'a>,
    /// The form is inside an `Option`. An owned `Option` is passed as it is instead.
    pub(crate) optional: bool,
}

/// The form in which a method takes a parameter, which decides how the parameter is stored.
#[derive(Clone, Copy)]
pub(crate) enum PassingForm<'a> {
    /// Stored and passed as it is.
    Owned(&'a Type),
    /// `&T`
    Ref(&'a Type),
    /// `&[T]`
    Slice(&'a Type),
    /// `&str`
    Str,
    /// `Cow<'_, str>`
    Cow,
    /// `&[&str]`
    StrSlice,
    /// `Vec<&str>`
    StrVec,
}

impl<'a> From<PassingForm<'a>> for ParamPassing<'a> {
    fn from(form: PassingForm<'a>) -> Self {
        Self {
            form,
            optional: false,
        }
    }
}

impl<'a> ParamPassing<'a> {
    /// Chooses the passing of a parameter by its type.
    pub(crate) fn of(ty: &'a Type) -> Result<Self> {
        if let Some(reference) = static_reference(ty) {
            let message = "tool parameters cannot be `&'static`, because arguments live only as long as the call\nhelp: remove the lifetime";
            return Err(Error::new_spanned(reference, message));
        }
        let passing = match ungrouped_type(ty) {
            Type::Reference(reference) => {
                if reference.mutability.is_some() {
                    let message = "tool parameters cannot be `&mut`\nhelp: take the value itself and declare it `mut`";
                    return Err(Error::new_spanned(ty, message));
                }
                PassingForm::of_referent(&reference.elem).map(Self::from)
            }
            Type::Path(path) if path.qself.is_none() => Self::of_path(ty, &path.path),
            Type::ImplTrait(_) => {
                let message = "tool parameters cannot be `impl Trait`\nhelp: name the type, so that it has one schema";
                return Err(Error::new_spanned(ty, message));
            }
            Type::TraitObject(_) | Type::Ptr(_) | Type::Never(_) => return Err(unusable(ty)),
            Type::Slice(_) => None,
            _ => Some(PassingForm::Owned(ty).into()),
        };
        passing
            .filter(|passing| passing.form.stored().is_none_or(|stored| !borrows(stored)))
            .ok_or_else(|| not_borrowable(ty))
    }

    fn of_path(ty: &'a Type, path: &'a Path) -> Option<Self> {
        if is_str(ty) {
            return None;
        }
        if is_cow_str(path) {
            return Some(PassingForm::Cow.into());
        }
        if argument_of(path, "Vec").is_some_and(is_ref_str) {
            return Some(PassingForm::StrVec.into());
        }
        match argument_of(path, "Option").map(ungrouped_type) {
            Some(Type::Reference(reference)) if reference.mutability.is_none() => {
                let form = PassingForm::of_referent(&reference.elem)?;
                (!matches!(form, PassingForm::StrSlice)).then_some(Self {
                    form,
                    optional: true,
                })
            }
            Some(Type::Path(inner)) if is_cow_str(&inner.path) => Some(Self {
                form: PassingForm::Cow,
                optional: true,
            }),
            _ => Some(PassingForm::Owned(ty).into()),
        }
    }
}

impl<'a> PassingForm<'a> {
    fn of_referent(elem: &'a Type) -> Option<Self> {
        match ungrouped_type(elem) {
            Type::Slice(slice) if is_ref_str(&slice.elem) => Some(Self::StrSlice),
            Type::Slice(slice) => Some(Self::Slice(&slice.elem)),
            Type::TraitObject(_) | Type::ImplTrait(_) => None,
            other if owned_form(other).is_some() => None,
            other if is_str(other) => Some(Self::Str),
            other => Some(Self::Ref(other)),
        }
    }

    /// Returns the user's type that is stored, unless a text is stored.
    pub(crate) fn stored(self) -> Option<&'a Type> {
        match self {
            Self::Owned(ty) | Self::Slice(ty) | Self::Ref(ty) => Some(ty),
            Self::Str | Self::Cow | Self::StrSlice | Self::StrVec => None,
        }
    }

    /// Returns whether the method borrows from the struct.
    pub(crate) fn borrows_args(self) -> bool {
        !matches!(self, Self::Owned(_) | Self::Cow)
    }

    /// Returns whether the struct borrows from the text of the arguments.
    pub(crate) fn borrows_text(self) -> bool {
        self.stored().is_none()
    }
}

/// Finds a `&'static` in the places from which a parameter can borrow: the type itself, the content
/// of an `Option`, and the elements of a list.
fn static_reference(ty: &Type) -> Option<&TypeReference> {
    match ungrouped_type(ty) {
        Type::Reference(reference) => {
            let lifetime = reference.lifetime.as_ref();
            if lifetime.is_some_and(|lifetime| lifetime.ident == "static") {
                return Some(reference);
            }
            static_reference(&reference.elem)
        }
        Type::Slice(slice) => static_reference(&slice.elem),
        Type::Path(path) => {
            let inner =
                argument_of(&path.path, "Option").or_else(|| argument_of(&path.path, "Vec"));
            static_reference(inner?)
        }
        _ => None,
    }
}

/// The primitive types of numbers.
pub(crate) const NUMBERS: &[&str] = &[
    "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32",
    "f64",
];

/// Returns the primitive type of the numbers in a type.
pub(crate) fn number_type(ty: &Type) -> Option<&'static str> {
    NUMBERS.iter().copied().find(|name| mentions(ty, name))
}

/// Returns the type inside parentheses and the invisible groups of `macro_rules!`.
pub(crate) fn ungrouped_type(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped_type(&group.elem),
        Type::Paren(paren) => ungrouped_type(&paren.elem),
        other => other,
    }
}

/// Returns the `T` of `name<T>`, by the last segment of the path.
pub(crate) fn argument_of<'a>(path: &'a Path, name: &str) -> Option<&'a Type> {
    let segment = path
        .segments
        .last()
        .filter(|segment| segment.ident == name)?;
    arguments(segment).next()
}

/// Returns the generic arguments that are types.
fn arguments(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments
        .into_iter()
        .flatten()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
}

fn is_str(ty: &Type) -> bool {
    matches!(ungrouped_type(ty), Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "str"))
}

fn is_ref_str(ty: &Type) -> bool {
    matches!(ungrouped_type(ty), Type::Reference(reference) if reference.mutability.is_none() && is_str(&reference.elem))
}

fn is_cow_str(path: &Path) -> bool {
    let is_static = path
        .segments
        .last()
        .is_some_and(|segment| mentions(&segment.arguments, "static"));
    argument_of(path, "Cow").is_some_and(is_str) && !is_static
}

/// Returns the type to take instead of a type of the standard library without a fixed size. A
/// user's type of that name is written with its module.
fn owned_form(elem: &Type) -> Option<&'static str> {
    let Type::Path(path) = ungrouped_type(elem) else {
        return None;
    };
    let segments = path
        .path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect::<Vec<_>>();
    // Only a path has a schema.
    let forms = [
        ("path", "Path", "PathBuf"),
        ("ffi", "OsStr", "String"),
        ("ffi", "CStr", "String"),
    ];
    let (_, _, owned) = forms
        .into_iter()
        .find(|(module, name, _)| match segments.as_slice() {
            [only] => only == name,
            [.., parent, last] => parent == module && last == name,
            [] => false,
        })?;
    Some(owned)
}

/// A part of a parameter's type that has no fixed size.
struct UnsizedPart {
    name: String,
    /// The part as it is written, with its `&` or `Cow`.
    written: String,
    /// The type to take instead.
    owned: String,
}

/// Finds a text or a slice that is taken by value, or else every borrow of a type without a fixed
/// size.
fn unsized_parts(ty: &Type) -> Vec<UnsizedPart> {
    let owned = match ungrouped_type(ty) {
        Type::Slice(slice) => format!("Vec<{}>", compact(&slice.elem)),
        other if is_str(other) => "String".to_owned(),
        _ => {
            let mut borrows = Vec::new();
            unsized_borrows(ty, &mut borrows);
            return borrows;
        }
    };
    vec![UnsizedPart {
        name: compact(ty),
        written: compact(ty),
        owned,
    }]
}

fn unsized_borrows(ty: &Type, found: &mut Vec<UnsizedPart>) {
    let (borrowed, inner): (Option<&Type>, Vec<&Type>) = match ungrouped_type(ty) {
        Type::Reference(reference) => (Some(&reference.elem), vec![&reference.elem]),
        Type::Path(path) => (
            argument_of(&path.path, "Cow"),
            path.path.segments.iter().flat_map(arguments).collect(),
        ),
        Type::Slice(slice) => (None, vec![&slice.elem]),
        Type::Array(array) => (None, vec![&array.elem]),
        Type::Tuple(tuple) => (None, tuple.elems.iter().collect()),
        _ => return,
    };
    match borrowed.and_then(|elem| Some((elem, owned_form(elem)?))) {
        Some((elem, owned)) => {
            found.push(UnsizedPart {
                name: compact(elem),
                written: compact(ty),
                owned: owned.to_owned(),
            });
        }
        None => inner
            .into_iter()
            .for_each(|inner| unsized_borrows(inner, found)),
    }
}

fn unusable(ty: &Type) -> Error {
    let shown = compact(ty);
    let message = format!(
        "`{shown}` cannot be a tool parameter\nhelp: take a type that implements `Deserialize` and `JsonSchema`; parameters are decoded from JSON"
    );
    Error::new_spanned(ty, message)
}

fn not_borrowable(ty: &Type) -> Error {
    let shown = compact(ty);
    let parts = unsized_parts(ty);
    if let Some(UnsizedPart { name, .. }) = parts.first() {
        let fix = parts.iter().fold(shown.clone(), |text, part| {
            text.replace(&part.written, &part.owned)
        });
        let message = format!(
            "`{shown}` cannot be a tool parameter, because `{name}` has no fixed size\nhelp: take `{fix}`"
        );
        return Error::new_spanned(ty, message);
    }
    let message = format!(
        "`{shown}` cannot borrow from the arguments\nhelp: take an owned type; only `&str`, `&[T]`, `&T`, `Option` of these, `&[&str]`, `Vec<&str>` and `Cow<str>` can borrow\nhelp: if the run provides it, mark it `#[context]`"
    );
    Error::new_spanned(ty, message)
}
