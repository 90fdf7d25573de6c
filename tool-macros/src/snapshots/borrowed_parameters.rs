/// Take everything that can be lent.
fn lent(
    a: &str,
    b: Option<&str>,
    c: &[u32],
    d: Option<&[u32]>,
    e: &Point,
    f: Option<&Point>,
    g: Cow<'_, str>,
    h: Option<Cow<'_, str>>,
    i: &[&str],
    j: Vec<&str>,
    r#type: &str,
) {
    ::tool_core::__private::body::<()>()
        .__tool_span("lent", ::tool_core::__private::function_id!("::lent"))
        .run(move || -> () {})
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
    fn __tool_lent<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let mut __f0 = __None::<__tool::Text<'__a>>;
        let mut __f1 = __None::<__Option<__tool::Text<'__a>>>;
        let mut __f2 = __None::<__Vec<u32>>;
        let mut __f3 = __None::<__Option<__Vec<u32>>>;
        let mut __f4 = __None;
        let mut __f5 = __None;
        let mut __f6 = __None::<__tool::Text<'__a>>;
        let mut __f7 = __None::<__Option<__tool::Text<'__a>>>;
        let mut __f8 = __None::<__Vec<__tool::Text<'__a>>>;
        let mut __f9 = __None::<__Vec<__tool::Text<'__a>>>;
        let mut __f10 = __None::<__tool::Text<'__a>>;
        __call
            .decode(
                &mut [
                    &mut __f0,
                    &mut __f1,
                    &mut __f2,
                    &mut __f3,
                    <Point as __tool::ToolParameter>::slot(&mut __f4),
                    <__Option<Point> as __tool::ToolParameter>::slot(&mut __f5),
                    &mut __f6,
                    &mut __f7,
                    &mut __f8,
                    &mut __f9,
                    &mut __f10,
                ],
            )?;
        let __f0 = __tool::filled(__f0);
        let __f1 = __tool::filled(__f1);
        let __f2 = __tool::filled(__f2);
        let __f3 = __tool::filled(__f3);
        let __f4 = __tool::filled(__f4);
        let __f5 = __tool::filled(__f5);
        let __f6 = __tool::filled(__f6);
        let __f7 = __tool::filled(__f7);
        let __f8 = __tool::filled(__f8);
        let __f9 = __tool::filled(__f9);
        let __f10 = __tool::filled(__f10);
        match lent(
            &*__f0,
            __f1.as_deref(),
            &*__f2,
            __f3.as_deref(),
            &__f4,
            __f5.as_ref(),
            __f6.into_cow(),
            __f7.map(__tool::Text::into_cow),
            &*__f8.iter().map(|__text| &**__text).collect::<__Vec<&str>>(),
            __f9.iter().map(|__text| &**__text).collect::<__Vec<&str>>(),
            &*__f10,
        ) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "lent",
            "Take everything that can be lent.",
            __tool_lent,
            &[
                __Row::new::<__String>("a", ""),
                __Row::new::<__Option<__String>>("b", ""),
                __Row::new::<__Vec<u32>>("c", ""),
                __Row::new::<__Option<__Vec<u32>>>("d", ""),
                <Point as __tool::ToolParameter>::ROW.named("e", ""),
                <__Option<Point> as __tool::ToolParameter>::ROW.named("f", ""),
                __Row::new::<__String>("g", ""),
                __Row::new::<__Option<__String>>("h", ""),
                __Row::new::<__Vec<__String>>("i", ""),
                __Row::new::<__Vec<__String>>("j", ""),
                __Row::new::<__String>("type", ""),
            ],
        )
        .at(::core::file!(), 0, __tool::path!("::lent"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& lent), & __TOOL_SPEC)
    }
};
