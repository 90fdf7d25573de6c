//! Functions that are named like the local variables of generated code.
//!
//! A pattern that is the name of a constant means the constant. If a user's module has a constant,
//! a static or a unit struct of the name of a local variable, the pattern `__call` would be that
//! one. Generated code imports these functions into the block around it, where they come before the
//! names of the module. A pattern may take the name of a function.

macro_rules! locals {
    ($($name:ident)*) => {
        $(pub fn $name() {})*
    };
}

locals! {
    __call __this __value __args __from __f __decoded __contexts __defaults __method __text __message __request __decide
    __generator __tool_value __tool_error __tool_kind __tool_ending __tool_callable __tool_probe __tool_labels __tools
    __tool_each __tool_item __tool_wraps __tool_signature __tool_label
}
