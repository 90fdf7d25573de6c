//! The tools of a restaurant.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tool_core::{RunContext, ToolError, toolset};

/// The tables of the restaurant, with their seats and their guests.
pub(crate) struct Restaurant {
    tables: Mutex<BTreeMap<u32, Table>>,
}

struct Table {
    seats: u32,
    guest: Option<String>,
}

impl Default for Restaurant {
    fn default() -> Self {
        let tables = [(1, 2), (2, 2), (3, 4), (4, 6)].map(|(number, seats)| {
            let table = Table { seats, guest: None };
            (number, table)
        });
        Self {
            tables: Mutex::new(tables.into()),
        }
    }
}

#[toolset(name = "restaurant", discover = false)]
impl Restaurant {
    /// Find free tables
    ///
    /// Returns the numbers of the free tables with at least this number of seats.
    ///
    /// # Arguments
    /// * `seats` - The number of guests
    #[tool(category = "retrieval")]
    fn find_tables(&self, seats: u32) -> Vec<u32> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let free = tables
            .iter()
            .filter(|(_, table)| table.guest.is_none() && table.seats >= seats);
        free.map(|(number, _)| *number).collect()
    }

    /// Book a table
    ///
    /// # Arguments
    /// * `table` - The number of a free table
    /// * `guest` - The name of the guest
    #[tool(category = "action", confirm)]
    fn book_table(&self, table: u32, guest: String) -> Result<String, ToolError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.get_mut(&table);
        let found = found.ok_or_else(|| ToolError::not_found(format!("no table {table}")))?;
        if found.guest.is_some() {
            return Err(ToolError::conflict(format!("table {table} is taken")));
        }
        found.guest = Some(guest.clone());
        Ok(format!("table {table} is booked for {guest}"))
    }

    /// Plan a menu
    ///
    /// Takes some seconds.
    ///
    /// # Arguments
    /// * `courses` - The number of courses
    #[tool(category = "retrieval")]
    async fn plan_menu(&self, ctx: &RunContext, #[arg(range(1..=5))] courses: u32) -> Vec<String> {
        let mut menu = Vec::new();
        for course in 1..=courses {
            let part = f64::from(course) / f64::from(courses);
            ctx.progress()
                .fraction(part, format!("course {course} of {courses}"));
            tokio::time::sleep(Duration::from_millis(400)).await;
            menu.push(format!("course {course}"));
        }
        menu
    }
}
