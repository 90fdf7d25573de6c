const _: () = {
    use ::tool_core::__private as __tool;
    use __tool::locals::*;
    #[automatically_derived]
    impl<T> __tool::IntoToolError for CalendarError<T>
    where
        T: Debug,
        Self: ::core::fmt::Display,
    {
        fn into_tool_error(self) -> __tool::ToolError {
            let __message = ::std::string::ToString::to_string(&self);
            match self {
                Self::Unreachable { .. } => {
                    __tool::ToolError::transient(__message).retryable(true)
                }
                Self::Limited { .. } => {
                    __tool::ToolError::rate_limit(__message).retryable(false)
                }
                Self::Broken { .. } => {
                    __tool::ToolError::internal(__message)
                        .retryable(true)
                        .partial_side_effects(true)
                }
            }
        }
    }
};
