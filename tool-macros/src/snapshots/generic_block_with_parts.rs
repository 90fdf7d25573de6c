impl<T: Record, const N: usize> Store<T, N>
where
    T::Key: Send,
{
    /// Put a record.
    async fn put(&self, record: T, key: T::Key) -> Result<(), T::Error> {
        ::tool_core::__private::tool_span!(
            "put", "::Store<T, N>::put", Result < (), T::Error >
        )
            .run_async(async move {
                ::tool_core::__private::returns!(Result < (), T::Error >);
                todo!()
            })
            .await
    }
    /// Count the records.
    fn count(&self) -> usize {
        ::tool_core::__private::tool_span!("count", "::Store<T, N>::count", usize)
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
            __Row::new::<T>("record", ""),
            __Row::new::<T::Key>("key", ""),
        ];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    _ => __f1 = __Some(__f.value()?),
                }
            }
            __Ok(Self {
                record: __f.required(__f0, 0)?,
                key: __f.required(__f1, 1)?,
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
        let __args = __call.decode::<PutArgs<T, N>>()?;
        let __future = <Store<T, N>>::put(__this, __args.record, __args.key);
        __Ok(__tool::pending(async move { __tool::respond!(__call, __future. await) }))
    }
    struct CountArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for CountArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            __f.next(Self::PARAMETERS)?;
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
        __call.decode::<CountArgs>()?;
        __Ok(__tool::respond!(__call, < Store < T, N > > ::count(__this)))
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
                            <PutArgs<T, N> as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(::core::file!(), 0, __tool::path!("::Store<T, N>::put"))
                        .output(__tool::output!(Result < (), T::Error >)),
                    __tool::ToolSpec::new(
                            "count",
                            "Count the records.",
                            __tool_count,
                            <CountArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(::core::file!(), 0, __tool::path!("::Store<T, N>::count"))
                        .output(__tool::output!(usize)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Store<T, N>"))
            .parts(&[Self::__tool_part_admin]);
    }
};
