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
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f1 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    _ => f1 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                record: fields.required(f0, 0)?,
                key: fields.required(f1, 1)?,
                __marker: ::core::marker::PhantomData,
            })
        }
    }
    fn __tool_put<'__a, T: Record, const N: usize>(
        this: &'__a Store<T, N>,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        let args = call.decode::<PutArgs<T, N>>()?;
        let future = <Store<T, N>>::put(this, args.record, args.key);
        __Ok(__tool::pending(async move { __tool::respond!(call, future. await) }))
    }
    struct CountArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for CountArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            fields.next(Self::PARAMETERS)?;
            __Ok(Self {})
        }
    }
    fn __tool_count<'__a, T: Record, const N: usize>(
        this: &'__a Store<T, N>,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        call.decode::<CountArgs>()?;
        __Ok(__tool::respond!(call, < Store < T, N > > ::count(this)))
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
                        .at(file!(), 0, concat!(module_path!(), "::Store<T, N>::put"))
                        .output(|g| __tool::output!(g, Result < (), T::Error >)),
                    __tool::ToolSpec::new(
                            "count",
                            "Count the records.",
                            __tool_count,
                            <CountArgs as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(file!(), 0, concat!(module_path!(), "::Store<T, N>::count"))
                        .output(|g| __tool::output!(g, usize)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Store<T, N>"))
            .parts(&[Self::__tool_part_admin]);
    }
};
