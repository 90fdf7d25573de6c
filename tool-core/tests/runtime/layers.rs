//! Layers of a service around every call.
