//! Tests of the observer.

mod observer;
