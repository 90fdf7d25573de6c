//! How a parameter's type is stored in the argument struct, and lent to the method.

use syn::{Error, GenericArgument, Path, PathArguments, Result, Type};

use crate::tokens::{borrows, compact};

/// What the method takes, and so what is stored for it.
#[derive(Clone, Copy)]
pub(crate) enum Lend<'a> {
    /// Stored and handed over as it is.
    Owned(&'a Type),
    /// `&str`
    Str,
    /// `Option<&str>`
    OptionStr,
    /// `&[T]`
    Slice(&'a Type),
    /// `Option<&[T]>`
    OptionSlice(&'a Type),
    /// `&T`
    Ref(&'a Type),
    /// `Option<&T>`
    OptionRef(&'a Type),
    /// `Cow<'_, str>`
    Cow,
    /// `Option<Cow<'_, str>>`
    OptionCow,
    /// `&[&str]`
    StrSlice,
    /// `Vec<&str>`
    StrVec,
}

impl<'a> Lend<'a> {
    pub(crate) fn of(ty: &'a Type) -> Result<Self> {
        let lend = match ungrouped(ty) {
            Type::Reference(reference) => {
                if reference.mutability.is_some() {
                    let message = "tool parameters cannot be `&mut`\nhelp: take the value itself and declare it `mut`";
                    return Err(Error::new_spanned(ty, message));
                }
                if reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static") {
                    let message = "nothing in a call lives as long as `'static`\nhelp: drop the lifetime; the value is lent for the call";
                    return Err(Error::new_spanned(ty, message));
                }
                Self::of_referent(&reference.elem)
            }
            Type::Path(path) if path.qself.is_none() => Self::of_path(ty, &path.path),
            Type::ImplTrait(_) => {
                let message = "tool parameters cannot be `impl Trait`\nhelp: name the type, so that it has one schema";
                return Err(Error::new_spanned(ty, message));
            }
            Type::TraitObject(_) | Type::Ptr(_) | Type::Never(_) => return Err(unusable(ty)),
            _ => Some(Self::Owned(ty)),
        };
        lend.filter(|lend| lend.stored().is_none_or(|stored| !borrows(stored))).ok_or_else(|| unlendable(ty))
    }

    fn of_referent(elem: &'a Type) -> Option<Self> {
        match ungrouped(elem) {
            Type::Slice(slice) if is_ref_str(&slice.elem) => Some(Self::StrSlice),
            Type::Slice(slice) => Some(Self::Slice(&slice.elem)),
            Type::TraitObject(_) | Type::ImplTrait(_) => None,
            other if is_str(other) => Some(Self::Str),
            other => Some(Self::Ref(other)),
        }
    }

    fn of_path(ty: &'a Type, path: &'a Path) -> Option<Self> {
        if is_cow_str(path) {
            return Some(Self::Cow);
        }
        if let Some(inner) = argument_of(path, "Vec").filter(|inner| is_ref_str(inner)) {
            return Some(inner).map(|_| Self::StrVec);
        }
        match argument_of(path, "Option").map(ungrouped) {
            Some(Type::Reference(reference)) if reference.mutability.is_none() => {
                match Self::of_referent(&reference.elem)? {
                    Self::Str => Some(Self::OptionStr),
                    Self::Slice(elem) => Some(Self::OptionSlice(elem)),
                    Self::Ref(elem) => Some(Self::OptionRef(elem)),
                    _ => None,
                }
            }
            Some(Type::Path(inner)) if is_cow_str(&inner.path) => Some(Self::OptionCow),
            _ => Some(Self::Owned(ty)),
        }
    }

    /// The user's type that is stored, where one is.
    pub(crate) fn stored(self) -> Option<&'a Type> {
        match self {
            Self::Owned(ty) | Self::Slice(ty) | Self::OptionSlice(ty) | Self::Ref(ty) | Self::OptionRef(ty) => Some(ty),
            _ => None,
        }
    }

    /// Whether the method is handed a borrow of the struct.
    pub(crate) fn borrows_args(self) -> bool {
        !matches!(self, Self::Owned(_) | Self::Cow | Self::OptionCow)
    }

    /// Whether the struct borrows from the argument text for it.
    pub(crate) fn borrows_text(self) -> bool {
        self.stored().is_none()
    }
}

/// The type inside the invisible groups of `macro_rules!` and any parentheses.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        other => other,
    }
}

/// The `T` of `name<T>`, by the last segment of the path.
pub(crate) fn argument_of<'a>(path: &'a Path, name: &str) -> Option<&'a Type> {
    let segment = path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn is_str(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "str"))
}

fn is_ref_str(ty: &Type) -> bool {
    matches!(ungrouped(ty), Type::Reference(reference) if reference.mutability.is_none() && is_str(&reference.elem))
}

fn is_cow_str(path: &Path) -> bool {
    let is_static = path.segments.last().is_some_and(|segment| crate::tokens::mentions(&segment.arguments, "static"));
    argument_of(path, "Cow").is_some_and(is_str) && !is_static
}

fn unusable(ty: &Type) -> Error {
    let shown = compact(ty);
    let message = format!(
        "`{shown}` cannot be a tool parameter\nhelp: parameters are decoded from JSON: take a type that implements `Deserialize` and `JsonSchema`"
    );
    Error::new_spanned(ty, message)
}

fn unlendable(ty: &Type) -> Error {
    let shown = compact(ty);
    let message = format!(
        "`{shown}` cannot be lent from a call\nhelp: own it; `&str`, `&[T]`, `&T`, `Option` of these, `&[&str]` and `Cow<str>` are lent\nhelp: if it is injected, mark it `#[context]`"
    );
    Error::new_spanned(ty, message)
}
