//! The conversations of the layout that had all keys of a store in one slot, and how they come into
//! this one.
//!
//! Each conversation is copied by `DUMP` and `RESTORE`, its hash last, and removed from its earlier
//! place then. A process that dies in between has moved it or has not, and the next one goes on.
//! Nothing that is in this layout is replaced: another process that moves the conversation too may
//! be ahead, and a message may have come since.
//! Sessions and the journal of that layout are not moved. Their keys expire.

use crate::redis::connection::Connection;
use crate::redis::conversation_keys::ConversationKeys;
use crate::redis::keys::{KeySpace, conversation_bucket, original};
use tool_core::session::StoreError;

/// The conversations that are looked for in one round trip.
const AT_ONCE: i64 = 100;

/// Moves all conversations, if there are any.
pub(crate) async fn move_conversations(
    connection: &Connection,
    keys: &KeySpace,
) -> Result<(), StoreError> {
    let list = format!("{}:conversations", keys.earlier());
    let mut query = redis::cmd("ZRANGE");
    query.arg(&list).arg(0).arg(AT_ONCE - 1);
    let mut moved = 0;
    loop {
        // A user without a right to the earlier keys has none.
        let members: Option<Vec<String>> = connection.permitted(query.clone()).await?;
        let members = members.unwrap_or_default();
        if members.is_empty() {
            break;
        }
        moved += members.len();
        for member in &members {
            move_conversation(connection, keys, &list, member).await?;
        }
    }
    if moved > 0 {
        tracing::info!(
            moved,
            "conversations of the earlier layout of keys were moved"
        );
    }
    Ok(())
}

async fn move_conversation(
    connection: &Connection,
    keys: &KeySpace,
    list: &str,
    member: &str,
) -> Result<(), StoreError> {
    let earlier = keys.earlier();
    let (principal, id) = member.split_once(':').unwrap_or((member, ""));
    let bucket = conversation_bucket(&original(principal));
    let new = ConversationKeys::of_member(keys, bucket, member);
    let [head, messages, of_principal, of_all] = &new.keys;
    let earlier_head = format!("{earlier}:{member}:conversation");
    let earlier_messages = format!("{earlier}:{member}:messages");

    let mut is_moved = redis::cmd("EXISTS");
    is_moved.arg(head);
    let is_moved: bool = connection.command(is_moved).await?;
    if !is_moved {
        copy(connection, &earlier_messages, messages).await?;
        let mut updated = redis::cmd("ZSCORE");
        updated.arg(list).arg(member);
        let updated: Option<f64> = connection.command(updated).await?;
        let Some(updated) = updated else {
            // Another process has moved it.
            return Ok(());
        };
        for (list, name) in [(of_principal, id), (of_all, member)] {
            let mut entry = redis::cmd("ZADD");
            entry.arg(list).arg("NX").arg(updated).arg(name);
            let () = connection.command(entry).await?;
        }
        copy(connection, &earlier_head, head).await?;
    }

    let mut removal = redis::cmd("DEL");
    removal.arg(&[earlier_head, earlier_messages]);
    let () = connection.command(removal).await?;
    let earlier_list = format!("{earlier}:{principal}:conversations");
    for (list, name) in [(earlier_list.as_str(), id), (list, member)] {
        let mut entry = redis::cmd("ZREM");
        entry.arg(list).arg(name);
        let () = connection.command(entry).await?;
    }
    Ok(())
}

/// Copies a value to another key, which may be on another server, unless that has a value.
async fn copy(connection: &Connection, from: &str, to: &str) -> Result<(), StoreError> {
    let mut dump = redis::cmd("DUMP");
    dump.arg(from);
    let value: Option<Vec<u8>> = connection.command(dump).await?;
    let Some(value) = value else {
        return Ok(());
    };
    let mut restore = redis::cmd("RESTORE");
    restore.arg(to).arg(0).arg(value);
    connection.create(restore).await
}
