//! Mistakes are gathered, never thrown: a block reports all of its own at once.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Error, Result};

/// Every mistake found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// A mistake under exactly these tokens.
    pub(crate) fn report(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(Error::new_spanned(tokens, message));
    }

    /// A mistake under a single token.
    pub(crate) fn report_at(&mut self, span: Span, message: impl Display) {
        self.push(Error::new(span, message));
    }

    /// The value, or its error kept here.
    pub(crate) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The `compile_error!`s of all mistakes; nothing where there is none.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        self.0.map(Error::into_compile_error)
    }
}
