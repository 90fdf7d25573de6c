//! The tools with which Anthropic's models use a computer.

use crate::providers::anthropic::tools::{CacheControl, InputExample, Options};
use crate::providers::provider_tools::{off, versions};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

versions! {
    /// The versions of [`Computer`]. They are beta: the request needs the header `anthropic-beta` of the version.
    ComputerVersion { V20251124 = "computer_20251124", V20250124 = "computer_20250124" }
    /// The versions of [`ComputerToolset`].
    ComputerToolsetVersion { V20260801 = "computer_toolset_20260801" }
}

/// Uses a computer by one tool, `computer`, with an `action`. For models before August 2026. Later models accept
/// [`ComputerToolset`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename = "computer")]
pub struct Computer {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: ComputerVersion,
    /// The width in pixels.
    pub display_width_px: u32,
    /// The height in pixels.
    pub display_height_px: u32,
    /// The number of the X11 display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_number: Option<u32>,
    /// True if the model may zoom into a part of the screen. From `V20251124` on.
    #[serde(skip_serializing_if = "off")]
    pub enable_zoom: bool,
    /// Examples of inputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<InputExample>,
    /// The options of all of Anthropic's tools.
    #[serde(flatten)]
    pub options: Options,
}

impl Computer {
    /// Makes the tool for a display of this size in pixels.
    pub fn new(width: u32, height: u32) -> Self {
        Self {
            version: ComputerVersion::default(),
            display_width_px: width,
            display_height_px: height,
            display_number: None,
            enable_zoom: false,
            input_examples: Vec::new(),
            options: Options::default(),
        }
    }

    #[allow(clippy::unused_self)] // The macro passes the tool.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        vec!["computer"]
    }
}

/// Uses a computer by a tool for each kind of action: calls have names such as `left_click`, `screenshot` and `type`.
///
/// ```
/// use serde_json::json;
/// use tool_adapters::providers::anthropic::tools::{ComputerMember, ComputerToolset};
///
/// let computer = ComputerToolset { disabled: vec![ComputerMember::Zoom], ..ComputerToolset::default() };
/// let expected = json!({"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": false}}});
/// assert_eq!(serde_json::to_value(computer)?, expected);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ComputerToolset {
    /// The version. Defaults to the newest.
    #[serde(rename = "type")]
    pub version: ComputerToolsetVersion,
    /// The members that are not offered to the model.
    #[serde(rename = "configs", serialize_with = "withheld", skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<ComputerMember>,
    /// A cache breakpoint after this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

impl ComputerToolset {
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        let offered = ComputerMember::ALL.iter().filter(|member| !self.disabled.contains(member));
        offered.map(|member| member.name()).collect()
    }
}

fn withheld<S: Serializer>(members: &[ComputerMember], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Config {
        enabled: bool,
    }
    let mut configs = serializer.serialize_map(None)?;
    for (at, member) in members.iter().enumerate() {
        // A member that is listed twice is written once.
        if members.iter().position(|other| other == member) == Some(at) {
            configs.serialize_entry(member.name(), &Config { enabled: false })?;
        }
    }
    configs.end()
}

/// Declares the members and their names.
macro_rules! members {
    ($($variant:ident = $name:literal,)+) => {
        /// An action of [`ComputerToolset`]. Calls have its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ComputerMember {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl ComputerMember {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name of calls.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

members! {
    CursorPosition = "cursor_position",
    DoubleClick = "double_click",
    HoldKey = "hold_key",
    Key = "key",
    LeftClick = "left_click",
    LeftClickDrag = "left_click_drag",
    LeftMouseDown = "left_mouse_down",
    LeftMouseUp = "left_mouse_up",
    MiddleClick = "middle_click",
    MouseMove = "mouse_move",
    RightClick = "right_click",
    Screenshot = "screenshot",
    Scroll = "scroll",
    TripleClick = "triple_click",
    Type = "type",
    Wait = "wait",
    Zoom = "zoom",
}
