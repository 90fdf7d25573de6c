impl<T: Record, const N: usize> Store<T, N>
where
    T::Key: Send,
{
    /// Drop every record.
    fn clear(&self) -> Self {
        ::tool_core::__private::body::<Self>()
            .__tool_span(
                "clear",
                ::tool_core::__private::function_id!("::Store<T, N>::clear"),
            )
            .run(move || -> Self { todo!() })
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    use __tool::locals::*;
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct ClearArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for ClearArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            __source.decode(&mut [])?;
            __Ok(Self {})
        }
    }
    fn __tool_clear<'__a, T: Record, const N: usize>(
        __this: &'__a Store<T, N>,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        let __args: ClearArgs = __call.arguments()?;
        match <Store<T, N>>::clear(__this) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    impl<T: Record, const N: usize> Store<T, N>
    where
        T::Key: Send,
    {
        #[doc(hidden)]
        pub const fn __tool_part_admin() -> &'static __tool::PartSpec<Self> {
            Self::__TOOL_PART_ADMIN
        }
        const __TOOL_PART_ADMIN: &'static __tool::PartSpec<Self> = &__tool::PartSpec::new(
            &[
                __tool::ToolSpec::new(
                        "clear",
                        "Drop every record.",
                        __tool_clear,
                        __tool::parameters::<ClearArgs>(),
                    )
                    .at(::core::file!(), 0, __tool::path!("::Store<T, N>::clear"))
                    .destructive()
                    .output(__tool::output!(Store < T, N >)),
            ],
        );
    }
};
