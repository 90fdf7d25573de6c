impl<T: Record, const N: usize> Store<T, N>
where
    T::Key: Send,
{
    /// Put a record.
    async fn put(&self, record: T, key: T::Key) -> Result<(), T::Error> {
        ::tool_core::__private::body::<Result<(), T::Error>>()
            .__tool_span(::tool_core::__private::function!("::Store<T, N>::put"))
            .run_async(move |__typed| async move {
                if let ::core::option::Option::Some(__typed) = __typed.value() {
                    return __typed;
                }
                todo!()
            })
            .await
    }
    /// Count the records.
    fn count(&self) -> usize {
        ::tool_core::__private::body::<usize>()
            .__tool_span(::tool_core::__private::function!("::Store<T, N>::count"))
            .run(move || -> usize { N })
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
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
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None);
            __from
                .decode([
                    <T as __tool::ToolParameter>::slot(&mut __f.0),
                    <T::Key as __tool::ToolParameter>::slot(&mut __f.1),
                ])?;
            __Ok(Self {
                record: __tool::filled(__f.0),
                key: __tool::filled(__f.1),
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
        let __method = <Store<T, N>>::put(__this, __args.record, __args.key);
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    struct CountArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for CountArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
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
        __tool::done(
            __call,
            <Store<T, N>>::count(__this),
            |__value| __value.__split().__value().__error(),
        )
    }
    impl<T: Record, const N: usize> __tool::MainToolsetBlock for Store<T, N>
    where
        T::Key: Send,
    {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("store")
            .at(0)
            .parts(&[Self::__tool_part_admin]);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("put", __tool_put)
                .description("Put a record.")
                .parameters::<PutArgs<T, N>>()
                .at(0, __tool::path!("::Store<T, N>::put"))
                .output(|__generator| {
                    __tool::of_type::<Result<(), T::Error>>().__schema(__generator)
                }),
            __tool::ToolSpec::new("count", __tool_count)
                .description("Count the records.")
                .at(0, __tool::path!("::Store<T, N>::count"))
                .output(|__generator| __tool::of_type::<usize>().__schema(__generator)),
        ];
    }
};
