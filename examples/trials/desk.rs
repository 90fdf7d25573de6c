//! The tools of a front desk: find, book and cancel.

use std::collections::BTreeMap;
use std::sync::Mutex;
use tool_core::{ToolError, toolset};

const ROOMS: [u32; 3] = [2, 4, 6];

/// The rooms of a house, and who has booked them.
#[derive(Default)]
pub(crate) struct FrontDesk {
    bookings: Mutex<BTreeMap<(u32, String), u32>>,
}

#[toolset]
impl FrontDesk {
    /// Find the rooms that are free on a day.
    #[tool(category = "retrieval")]
    fn find_rooms(
        &self,
        #[arg(one_of("monday", "tuesday", "wednesday", "thursday", "friday"))] day: &str,
    ) -> Vec<u32> {
        let bookings = self.bookings.lock().expect("not poisoned");
        let is_free = |room: &u32| !bookings.contains_key(&(*room, day.to_owned()));
        ROOMS.into_iter().filter(is_free).collect()
    }

    /// Book a room for a day.
    #[tool(category = "action")]
    fn book_room(
        &self,
        room: u32,
        #[arg(one_of("monday", "tuesday", "wednesday", "thursday", "friday"))] day: &str,
        #[arg(default = 1, range(1..=8))] guests: u32,
    ) -> Result<String, ToolError> {
        if !ROOMS.contains(&room) {
            return Err(ToolError::permanent(format!(
                "there is no room {room}; the rooms are 2, 4 and 6"
            )));
        }
        let mut bookings = self.bookings.lock().expect("not poisoned");
        if bookings.contains_key(&(room, day.to_owned())) {
            return Err(ToolError::conflict(format!(
                "room {room} is taken on {day}; use find_rooms"
            )));
        }
        bookings.insert((room, day.to_owned()), guests);
        Ok(format!("room {room} is booked for {guests} on {day}"))
    }

    /// Cancel the booking of a room.
    #[tool(category = "action", confirm)]
    fn cancel_booking(
        &self,
        room: u32,
        #[arg(one_of("monday", "tuesday", "wednesday", "thursday", "friday"))] day: &str,
    ) -> bool {
        let mut bookings = self.bookings.lock().expect("not poisoned");
        bookings.remove(&(room, day.to_owned())).is_some()
    }
}
