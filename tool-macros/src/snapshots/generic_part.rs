impl<T: Record, const N: usize> Store<T, N>
where
    T::Key: Send,
{
    /// Drop every record.
    fn clear(&self) -> Self {
        ::tool_core::__private::body::<Self>()
            .__tool_span(::tool_core::__private::function!("::Store<T, N>::clear"))
            .run(move || -> Self { todo!() })
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct ClearArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for ClearArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
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
        __tool::done(
            __call,
            <Store<T, N>>::clear(__this),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl<T: Record, const N: usize> Store<T, N>
    where
        T::Key: Send,
    {
        #[doc(hidden)]
        pub const fn __tool_part_admin() -> &'static __tool::PartSpec<Self> {
            Self::__TOOL_PART_ADMIN
        }
        const __TOOL_PART_ADMIN: &'static __tool::PartSpec<Self> = &__tool::PartSpec::new()
            .tools(
                &[
                    __tool::ToolSpec::new("clear", __tool_clear)
                        .description("Drop every record.")
                        .at(0, __tool::path!("::Store<T, N>::clear"))
                        .destructive()
                        .output(|__generator| {
                            __tool::of_type::<Store<T, N>>().__schema(__generator)
                        }),
                ],
            );
    }
};
