//! Tests of the whole workspace. The library itself holds only the README, so that its examples are doc tests.
#![doc = include_str!("../../README.md")]
