//! What a tool context can be given.

use super::{FunctionTool, ProviderTool, Tool, Toolset};
use crate::__private::Registration;
use std::any::{TypeId, type_name};
use std::sync::Arc;

/// Anything that `ToolContext::builder().with(..)` takes: a toolset value, a `#[tool]` fn by its name, a provider tool, a
/// tool.
///
/// A fn may have up to 16 parameters here; one with more is found by `discover`. The marker `M` tells the kinds apart; it
/// is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "`with` takes a value of a type with `#[toolset]`, the name of a fn with `#[tool]`, a `FunctionTool`, a `Tool`, or an `Arc` of a toolset"
)]
pub trait IntoTool<M> {
    /// The tool, or what is wrong with it.
    fn into_tool(self) -> Result<Tool, String>;
}

/// Marks a toolset given by value.
pub struct ByValue;
/// Marks a toolset that is shared.
pub struct ByArc;
/// Marks a provider tool given by value.
pub struct AsProvider;
/// Marks what is a tool already.
pub struct AsIs;

impl<T: Toolset> IntoTool<ByValue> for T {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(Arc::new(self)))
    }
}

impl<T: ProviderTool> IntoTool<AsProvider> for T {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Provider(Arc::new(self)))
    }
}

impl<T: Toolset> IntoTool<ByArc> for Arc<T> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(self))
    }
}

impl IntoTool<AsIs> for Arc<dyn Toolset> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Toolset(self))
    }
}

impl IntoTool<AsIs> for Arc<dyn ProviderTool> {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Provider(self))
    }
}

impl IntoTool<AsIs> for Tool {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(self)
    }
}

impl IntoTool<AsIs> for FunctionTool {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Function(self))
    }
}

impl IntoTool<AsIs> for &FunctionTool {
    fn into_tool(self) -> Result<Tool, String> {
        Ok(Tool::Function(self.clone()))
    }
}

/// A fn is found by the type of its own item, so that `#[tool]` leaks no handle beside it.
macro_rules! fns {
    ($(($($argument:ident)*))*) => {
        $(impl<F, $($argument,)* R> IntoTool<fn($($argument),*) -> R> for F
        where
            F: Fn($($argument),*) -> R + 'static,
        {
            fn into_tool(self) -> Result<Tool, String> {
                Registration::function_of(TypeId::of::<F>()).map(Tool::Function).ok_or_else(|| {
                    format!("`{}` is not a tool: put `#[tool]` on it", type_name::<F>())
                })
            }
        })*
    };
}

fns! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E G) (A B C D E G H) (A B C D E G H I) (A B C D E G H I J)
    (A B C D E G H I J K) (A B C D E G H I J K L) (A B C D E G H I J K L N) (A B C D E G H I J K L N O)
    (A B C D E G H I J K L N O P) (A B C D E G H I J K L N O P Q) (A B C D E G H I J K L N O P Q S)
}
