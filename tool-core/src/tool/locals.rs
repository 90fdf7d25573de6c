//! Functions that are named like the local variables of generated code.
//!
//! A pattern that is the name of a constant means the constant. If a user's module has a constant, a static or a unit struct
//! of the name of a local variable, the pattern `__call` would be that one. Generated code imports these functions into the
//! block around it, where they come before the names of the module. A pattern may take the name of a function.

macro_rules! locals {
    ($($name:ident)*) => {
        $(pub fn $name() {})*
    };
}

#[rustfmt::skip] // a name a line would be pages
locals! {
    __call __source __this __value __args __text __decoded __message __request __decide __tool_value
    __tool_error __tool_kind __tool_generator __tool_ending __tool_callable __tool_probe __tool_labels
    __tools __tool_each __tool_item __tool_wraps __tool_signature __tool_label __f0 __f1 __f2 __f3 __f4 __f5 __f6
    __f7 __f8 __f9 __f10 __f11 __f12 __f13 __f14 __f15 __f16 __f17 __f18 __f19 __f20 __f21 __f22 __f23 __f24 __f25
    __f26 __f27 __f28 __f29 __f30 __f31 __f32 __f33 __f34 __f35 __f36 __f37 __f38 __f39 __f40 __f41 __f42 __f43 __f44
    __f45 __f46 __f47 __f48 __f49 __f50 __f51 __f52 __f53 __f54 __f55 __f56 __f57 __f58 __f59 __f60 __f61 __f62 __f63
    __f64 __f65 __f66 __f67 __f68 __f69 __f70 __f71 __f72 __f73 __f74 __f75 __f76 __f77 __f78 __f79 __f80 __f81 __f82
    __f83 __f84 __f85 __f86 __f87 __f88 __f89 __f90 __f91 __f92 __f93 __f94 __f95 __f96 __f97 __f98 __f99 __f100
    __f101 __f102 __f103 __f104 __f105 __f106 __f107 __f108 __f109 __f110 __f111 __f112 __f113 __f114 __f115 __f116
    __f117 __f118 __f119 __f120 __f121 __f122 __f123 __f124 __f125 __f126 __f127 __ctx0 __ctx1 __ctx2 __ctx3 __ctx4
    __ctx5 __ctx6 __ctx7 __ctx8 __ctx9 __ctx10 __ctx11 __ctx12 __ctx13 __ctx14 __ctx15 __ctx16 __ctx17 __ctx18
    __ctx19 __ctx20 __ctx21 __ctx22 __ctx23 __ctx24 __ctx25 __ctx26 __ctx27 __ctx28 __ctx29 __ctx30 __ctx31 __ctx32
    __ctx33 __ctx34 __ctx35 __ctx36 __ctx37 __ctx38 __ctx39 __ctx40 __ctx41 __ctx42 __ctx43 __ctx44 __ctx45 __ctx46
    __ctx47 __ctx48 __ctx49 __ctx50 __ctx51 __ctx52 __ctx53 __ctx54 __ctx55 __ctx56 __ctx57 __ctx58 __ctx59 __ctx60
    __ctx61 __ctx62 __ctx63 __ctx64 __ctx65 __ctx66 __ctx67 __ctx68 __ctx69 __ctx70 __ctx71 __ctx72 __ctx73 __ctx74
    __ctx75 __ctx76 __ctx77 __ctx78 __ctx79 __ctx80 __ctx81 __ctx82 __ctx83 __ctx84 __ctx85 __ctx86 __ctx87 __ctx88
    __ctx89 __ctx90 __ctx91 __ctx92 __ctx93 __ctx94 __ctx95 __ctx96 __ctx97 __ctx98 __ctx99 __ctx100 __ctx101
    __ctx102 __ctx103 __ctx104 __ctx105 __ctx106 __ctx107 __ctx108 __ctx109 __ctx110 __ctx111 __ctx112 __ctx113
    __ctx114 __ctx115 __ctx116 __ctx117 __ctx118 __ctx119 __ctx120 __ctx121 __ctx122 __ctx123 __ctx124 __ctx125
    __ctx126 __ctx127
}
