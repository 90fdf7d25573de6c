const _: () = {
    use ::tool_core::__private as __tool;
    use __tool::locals::*;
    #[automatically_derived]
    impl __tool::IntoToolError for Expired
    where
        Self: ::core::fmt::Display,
    {
        fn into_tool_error(self) -> __tool::ToolError {
            let __message = ::std::string::ToString::to_string(&self);
            __tool::ToolError::auth(__message)
        }
    }
};
