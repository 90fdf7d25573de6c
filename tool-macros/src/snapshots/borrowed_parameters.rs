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
        .__tool_span(::tool_core::__private::function!("::lent"))
        .run(move || -> () {})
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
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
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
            );
            __from
                .decode([
                    &mut __f.0,
                    &mut __f.1,
                    &mut __f.2,
                    &mut __f.3,
                    <Point as __tool::ToolParameter>::slot(&mut __f.4),
                    <__Option<Point> as __tool::ToolParameter>::slot(&mut __f.5),
                    &mut __f.6,
                    &mut __f.7,
                    &mut __f.8,
                    &mut __f.9,
                    &mut __f.10,
                ])?;
            __Ok(Self {
                a: __tool::filled(__f.0),
                b: __tool::filled(__f.1),
                c: __tool::filled(__f.2),
                d: __tool::filled(__f.3),
                e: __tool::filled(__f.4),
                f: __tool::filled(__f.5),
                g: __tool::filled(__f.6),
                h: __tool::filled(__f.7),
                i: __tool::filled(__f.8),
                j: __tool::filled(__f.9),
                r#type: __tool::filled(__f.10),
            })
        }
    }
    fn __tool_lent<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: LentArgs<'_> = __call.arguments()?;
        __tool::done(
            __call,
            lent(
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
            ),
            |__value| __value.__split().__value().__error(),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new("lent", __tool_lent)
        .description("Take everything that can be lent.")
        .parameters::<LentArgs<'_>>()
        .at(0, __tool::path!("::lent"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& lent), & __TOOL_SPEC)
    }
};
