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
    struct LentArgs<'__de> {
        a: __tool::Text<'__de>,
        b: __Option<__tool::Text<'__de>>,
        c: __Vec<u32>,
        d: __Option<__Vec<u32>>,
        e: Point,
        f: __Option<Point>,
        g: __tool::Text<'__de>,
        h: __Option<__tool::Text<'__de>>,
        i: __Vec<__tool::Text<'__de>>,
        j: __Vec<__tool::Text<'__de>>,
        r#type: __tool::Text<'__de>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for LentArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
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
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            let mut __f5 = __None;
            let mut __f6 = __None;
            let mut __f7 = __None;
            let mut __f8 = __None;
            let mut __f9 = __None;
            let mut __f10 = __None;
            __source
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
            __Ok(Self {
                a: __tool::filled(__f0),
                b: __tool::filled(__f1),
                c: __tool::filled(__f2),
                d: __tool::filled(__f3),
                e: __tool::filled(__f4),
                f: __tool::filled(__f5),
                g: __tool::filled(__f6),
                h: __tool::filled(__f7),
                i: __tool::filled(__f8),
                j: __tool::filled(__f9),
                r#type: __tool::filled(__f10),
            })
        }
    }
    fn __tool_lent<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: LentArgs<'_> = __call.arguments()?;
        match lent(
            &*__args.a,
            __args.b.as_deref(),
            &*__args.c,
            __args.d.as_deref(),
            &__args.e,
            __args.f.as_ref(),
            __args.g.into_cow(),
            __args.h.map(__tool::Text::into_cow),
            &*__args.i.iter().map(|__text| &**__text).collect::<__Vec<&str>>(),
            __args.j.iter().map(|__text| &**__text).collect::<__Vec<&str>>(),
            &*__args.r#type,
        ) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "lent",
            "Take everything that can be lent.",
            __tool_lent,
            __tool::parameters::<LentArgs<'_>>(),
        )
        .at(::core::file!(), 0, __tool::path!("::lent"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& lent), & __TOOL_SPEC)
    }
};
