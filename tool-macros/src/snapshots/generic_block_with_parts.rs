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
    fn __tool_put<'__a, T: Record, const N: usize>(
        __this: &'__a Store<T, N>,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        let mut __f0 = __None;
        let mut __f1 = __None;
        __call
            .decode(
                &mut [
                    <T as __tool::ToolParameter>::slot(&mut __f0),
                    <T::Key as __tool::ToolParameter>::slot(&mut __f1),
                ],
            )?;
        __Ok(
            __tool::start(
                __call,
                <Store<T, N>>::put(__this, __tool::filled(__f0), __tool::filled(__f1)),
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    fn __tool_count<'__a, T: Record, const N: usize>(
        __this: &'__a Store<T, N>,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a>
    where
        T::Key: Send,
    {
        __call.decode(&mut [])?;
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
                            &[
                                <T as __tool::ToolParameter>::ROW.named("record", ""),
                                <T::Key as __tool::ToolParameter>::ROW.named("key", ""),
                            ],
                        )
                        .at(::core::file!(), 0, __tool::path!("::Store<T, N>::put"))
                        .output(__tool::output!(Result < (), T::Error >)),
                    __tool::ToolSpec::new(
                            "count",
                            "Count the records.",
                            __tool_count,
                            &[],
                        )
                        .at(::core::file!(), 0, __tool::path!("::Store<T, N>::count"))
                        .output(__tool::output!(usize)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Store<T, N>"))
            .parts(&[Self::__tool_part_admin]);
    }
};
