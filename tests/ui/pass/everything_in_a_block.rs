//! Other items, attributes and visibilities of a block are unchanged.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

use tool_core::{Progress, RunContext, ToolContext, ToolOutput, UserData, toolset};

pub struct Weather {
    city: String,
}

#[allow(clippy::unused_self)]
#[toolset(name = "weather", title = "Weather", description = concat!("The", " weather."))]
impl Weather {
    pub const CITY: &'static str = "Berlin";

    pub fn new() -> Self {
        Self {
            city: Self::CITY.to_owned(),
        }
    }

    /// The place.
    #[tool(description = WHERE)]
    #[inline]
    #[must_use]
    pub fn place(self: &Self) -> &str {
        &self.city
    }

    /// Make a fresh one.
    ///
    /// # Arguments
    ///
    /// * `seed` - Where to begin
    ///
    /// # Returns
    ///
    /// A number.
    #[tool]
    pub(crate) fn dice(mut seed: u64, #[context] progress: Progress, ctx: RunContext) -> u64 {
        progress.message("rolling");
        seed += u64::from(ctx.user_data::<u8>().is_some());
        seed
    }

    /// Do nothing.
    #[tool]
    async fn silence(&self, _unused: Option<bool>, #[context] user: Option<UserData<String>>) {
        drop(user);
    }

    /// Say it richly.
    #[tool]
    fn rich(&self) -> ToolOutput {
        ToolOutput::new("rich")
    }

    #[close]
    fn close(&self) {}
}

const WHERE: &str = "Where the weather is asked for.";

#[test]
fn other_items_of_a_block_are_unchanged() {
    let weather = Weather::new();
    assert_eq!(weather.place(), Weather::CITY);
    assert!(ToolContext::builder().with(weather).build().is_ok());
}
