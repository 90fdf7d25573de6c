//! Tests of the workspace. The library contains only the README, so that its examples are doc tests.
#![doc = include_str!("../../README.md")]
