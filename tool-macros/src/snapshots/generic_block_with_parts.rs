impl<T: Record, const N: usize> Store<T, N>
where
    T::Key: Send,
{
    /// Put a record.
    async fn put(&self, record: T, key: T::Key) -> Result<(), T::Error> {
        ::tool_core::__private::body::<Result<(), T::Error>>()
            .__tool_span(
                "put",
                ::tool_core::__private::function_id!("::Store<T, N>::put"),
            )
            .run_async(async move {
                ::tool_core::__returns!(Result < (), T::Error >);
                todo!()
            })
            .await
    }
    /// Count the records.
    fn count(&self) -> usize {
        ::tool_core::__private::body::<usize>()
            .__tool_span(
                "count",
                ::tool_core::__private::function_id!("::Store<T, N>::count"),
            )
            .run(move || -> usize { N })
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
    struct PutArgs<T: Record, const N: usize>
    where
        T::Key: Send,
    {
        record: T,
        key: T::Key,
        #[doc(hidden)]
        __marker: ::core::marker::PhantomData<fn() -> (T,)>,
    }
    impl<'__de, T: Record, const N: usize> __tool::ArgumentStruct<'__de>
    for PutArgs<T, N>
    where
        T::Key: Send,
    {
        const PARAMETERS: &'static [__Row] = &[
            <T as __tool::ToolParameter>::ROW.named("record", ""),
            <T::Key as __tool::ToolParameter>::ROW.named("key", ""),
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            __source
                .decode(
                    &mut [
                        <T as __tool::ToolParameter>::slot(&mut __f0),
                        <T::Key as __tool::ToolParameter>::slot(&mut __f1),
                    ],
                )?;
            __Ok(Self {
                record: __tool::filled(__f0),
                key: __tool::filled(__f1),
                __marker: ::core::marker::PhantomData,
            })
        }
    }
    fn __tool_put<'__a, T: Record, const N: usize>(
        __this: &'__a Store<T, N>,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        let __args: PutArgs<T, N> = __call.arguments()?;
        __Ok(
            __tool::start(
                __call,
                <Store<T, N>>::put(__this, __args.record, __args.key),
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    struct CountArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for CountArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            __source.decode(&mut [])?;
            __Ok(Self {})
        }
    }
    fn __tool_count<'__a, T: Record, const N: usize>(
        __this: &'__a Store<T, N>,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        let __args: CountArgs = __call.arguments()?;
        match <Store<T, N>>::count(__this) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    impl<T: Record, const N: usize> __tool::MainToolsetBlock for Store<T, N>
    where
        T::Key: Send,
    {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "store",
                "",
                &[
                    __tool::ToolSpec::new(
                            "put",
                            "Put a record.",
                            __tool_put,
                            __tool::parameters::<PutArgs<T, N>>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Store<T, N>::put"))
                        .output(__tool::output!(Result < (), T::Error >)),
                    __tool::ToolSpec::new(
                            "count",
                            "Count the records.",
                            __tool_count,
                            __tool::parameters::<CountArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Store<T, N>::count"))
                        .output(__tool::output!(usize)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Store<T, N>"))
            .parts(&[Self::__tool_part_admin]);
    }
};
