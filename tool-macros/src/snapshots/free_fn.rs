/// Add two numbers.
fn add(a: i64, b: i64) -> i64 {
    ::tool_core::__private::tool_span!("add", "::add", i64).run(move || -> i64 { a + b })
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    struct AddArgs {
        a: i64,
        b: i64,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for AddArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<i64>("a", ""),
            __Row::new::<i64>("b", "")
                .default_computed(|| __tool::default_json::<
                    i64,
                >(&<i64 as ::core::default::Default>::default())),
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
                a: __f.required(__f0, 0)?,
                b: __f1.unwrap_or_default(),
            })
        }
    }
    fn __tool_add<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<AddArgs>()?;
        __Ok(__tool::respond!(__call, add(__args.a, __args.b)))
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "add",
            "Add two numbers.",
            __tool_add,
            <AddArgs as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(::core::file!(), 0, __tool::path!("::add"))
        .output(__tool::output!(i64));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& add), & __TOOL_SPEC)
    }
};
