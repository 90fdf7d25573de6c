//! One callable, or a container of them. S4

// A tag is there for its methods to be found by.
#![allow(clippy::unused_self)]

use super::Label;
use crate::__private::Probe;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

/// How `wrap_all!` goes through a value.
pub trait Shape {
    /// What is wrapped.
    type Item;
    /// What says so.
    type Each: Copy;

    /// What is wrapped, as a type.
    fn __tool_item(&self) -> Probe<Self::Item> {
        Probe::new()
    }

    /// How to go through it.
    fn __tool_each(&self) -> Self::Each;
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $each:ident: <$($param:ident),*> $value:ty, $item:ident, [$($depth:tt)*];)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $each;

        impl<$($param),*> Shape for $($depth)* Probe<$value> {
            type Item = $item;
            type Each = $each;

            fn __tool_each(&self) -> $each {
                $each
            }
        }
    )*};
}

shapes! {
    /// A list.
    InVec: <F> Vec<F>, F, [&];
    /// A map, whose keys are the names.
    InHashMap: <K, F, S> HashMap<K, F, S>, F, [&];
    /// A map, whose keys are the names.
    InBTreeMap: <K, F> BTreeMap<K, F>, F, [&];
    /// A callable alone.
    One: <F> F, F, [];
}

/// A list of fixed length.
#[derive(Clone, Copy)]
pub struct InArray;

impl<F, const N: usize> Shape for &Probe<[F; N]> {
    type Item = F;
    type Each = InArray;

    fn __tool_each(&self) -> InArray {
        InArray
    }
}

impl InVec {
    /// A list again.
    pub fn map<F, W>(self, all: Vec<F>, mut wrap: impl FnMut(F, Label) -> W) -> Vec<W> {
        all.into_iter().map(|one| wrap(one, Label::default())).collect()
    }
}

impl InArray {
    /// A list of the same length again.
    pub fn map<F, W, const N: usize>(self, all: [F; N], mut wrap: impl FnMut(F, Label) -> W) -> [W; N] {
        all.map(|one| wrap(one, Label::default()))
    }
}

impl InHashMap {
    /// A map with the same keys again.
    pub fn map<K, F, S, W>(self, all: HashMap<K, F, S>, mut wrap: impl FnMut(F, Label) -> W) -> HashMap<K, W, S>
    where
        K: AsRef<str> + Eq + Hash,
        S: BuildHasher + Default,
    {
        let named = |(key, one): (K, F)| {
            let name = Label::named(key.as_ref().to_owned());
            (key, wrap(one, name))
        };
        all.into_iter().map(named).collect()
    }
}

impl InBTreeMap {
    /// A map with the same keys again.
    pub fn map<K: AsRef<str> + Ord, F, W>(
        self,
        all: BTreeMap<K, F>,
        mut wrap: impl FnMut(F, Label) -> W,
    ) -> BTreeMap<K, W> {
        let named = |(key, one): (K, F)| {
            let name = Label::named(key.as_ref().to_owned());
            (key, wrap(one, name))
        };
        all.into_iter().map(named).collect()
    }
}

impl One {
    /// It alone again.
    pub fn map<F, W>(self, one: F, wrap: impl FnOnce(F, Label) -> W) -> W {
        wrap(one, Label::default())
    }
}
