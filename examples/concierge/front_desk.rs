//! The tool that costs money, so that a person has to approve each call.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use tool_core::{ToolError, toolset};

/// The bookings: the hour until which each room is kept. They are not stored.
#[derive(Default)]
pub(crate) struct FrontDesk {
    kept: Mutex<BTreeMap<String, String>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct LateCheckout {
    room: String,
    until: String,
    price_euros: u32,
}

/// The regular hour of departure.
const CHECKOUT_HOUR: u32 = 11;
const EUROS_AN_HOUR: u32 = 15;

/// Books what the hotel sells.
#[toolset(name = "front_desk", title = "Front desk", discover = false)]
impl FrontDesk {
    /// Keep a room for longer on the day of departure, for 15 euros an hour.
    ///
    /// # Returns
    /// A booking and its price
    #[tool(
        category = "action",
        confirm,
        guide = "concierge/guides/book_late_checkout.md"
    )]
    pub(crate) fn book_late_checkout(
        &self,
        /// The number of the room
        #[arg(pattern = "^[1-9][0-9]{2}$")]
        room: &str,
        /// Until when, by the clock
        #[arg(one_of("13:00", "14:00", "15:00", "16:00"))]
        until: &str,
    ) -> Result<LateCheckout, ToolError> {
        let hour = until
            .split(':')
            .next()
            .and_then(|hour| hour.parse::<u32>().ok())
            .unwrap_or(CHECKOUT_HOUR);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = kept.get(room) {
            return Err(ToolError::conflict(format!(
                "room {room} is kept until {until} already"
            )));
        }
        kept.insert(room.to_owned(), until.to_owned());
        let price_euros = hour.saturating_sub(CHECKOUT_HOUR) * EUROS_AN_HOUR;
        Ok(LateCheckout {
            room: room.to_owned(),
            until: until.to_owned(),
            price_euros,
        })
    }
}
