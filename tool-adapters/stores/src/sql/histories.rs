//! Conversations in an SQL database: a row for each message, and one for what belongs to all of
//! them.

use crate::sql::values::{stored_id, text, unsigned};
use crate::sql::{Param, SqlDatabase, SqlError, SqlRow, SqlStore, SqlTransaction, number};
use tool_core::session::{
    BranchCut, ConversationInfo, ConversationKey, ConversationPlace, ConversationSize,
    ConversationSummary, HistoryStore, HistoryStoreError, Message, StoreError, StoredConversation,
    StoredMessages,
};

/// The statements that only one kind of database understands.
pub(crate) trait HistoryDatabase: SqlDatabase {
    /// Reads a conversation as [`CONVERSATION`] does, and locks its row.
    const LOCK_CONVERSATION: &'static str;
    /// Adds several messages. Parameters: the conversation's number, the position of the first, and
    /// a JSON array of their texts.
    const ADD_MESSAGES: &'static str;
}

/// Reads a conversation. Parameters: principal and id. Columns: see [`ConversationRow::read`].
pub(crate) const CONVERSATION: &str = include_str!("conversation.sql");

/// A page of the list. Columns: see [`summary`].
const CONVERSATIONS: &str = include_str!("conversations.sql");

/// Creates a conversation, unless it is there.
const INSERT: &str = include_str!("insert_conversation.sql");

/// As [`INSERT`], and returns the number of the new conversation.
const INSERT_NEW: &str = concat!(include_str!("insert_conversation.sql"), "RETURNING number");

const ADD_MESSAGE: &str =
    "INSERT INTO tool_messages (conversation, position, message) VALUES ($1, $2, $3)";

const SET_SIZE: &str = "UPDATE tool_conversations \
    SET messages = $2, bytes = $3, updated_at = (SELECT now FROM tool_history_clock) WHERE number = $1";

const SET_INFO: &str = "UPDATE tool_conversations \
    SET info = $2, updated_at = (SELECT now FROM tool_history_clock) WHERE number = $1";

/// Reads messages, without those that are too large. Parameters: conversation, positions, and the
/// bytes.
const MESSAGES: &str = include_str!("messages.sql");

const BYTES: &str = "SELECT CAST(coalesce(sum(octet_length(message)), 0) AS bigint) FROM tool_messages \
    WHERE conversation = $1 AND position >= $2 AND position < $3";

const COPY_MESSAGES: &str = "INSERT INTO tool_messages (conversation, position, message) \
    SELECT $2, position, message FROM tool_messages WHERE conversation = $1 AND position < $3";

const DELETE: &str = "DELETE FROM tool_conversations WHERE principal = $1 AND id = $2 RETURNING 1";

/// Deletes some unused conversations with their messages. One that is used meanwhile stays.
const DELETE_UNUSED: &str = "DELETE FROM tool_conversations WHERE updated_at < $1 AND number IN ( \
        SELECT number FROM tool_conversations WHERE updated_at < $1 ORDER BY updated_at LIMIT 100 \
    ) RETURNING 1";

/// The messages and the bytes that one statement adds.
const BATCH_MESSAGES: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

/// The messages that are read at once to find the end of the results of a call.
const RESULTS_AT_ONCE: u64 = 16;

/// The attempts to read a conversation that is deleted and created again at the same time.
const ATTEMPTS: usize = 3;

impl From<SqlError> for HistoryStoreError {
    fn from(error: SqlError) -> Self {
        Self::Store(error.into())
    }
}

/// A conversation without its messages.
struct ConversationRow {
    number: u64,
    summary: ConversationSummary,
}

impl ConversationRow {
    fn read(row: &impl SqlRow) -> Result<Self, StoreError> {
        Ok(Self {
            number: unsigned(row, 6)?,
            summary: summary(row)?,
        })
    }

    fn size(&self) -> ConversationSize {
        ConversationSize {
            messages: self.summary.messages,
            bytes: self.summary.bytes,
        }
    }
}

fn summary(row: &impl SqlRow) -> Result<ConversationSummary, StoreError> {
    let id = original_id(&row.text(0)?);
    let mut summary = ConversationSummary::new(id, unsigned(row, 4)?);
    summary.messages = unsigned(row, 2)?;
    summary.bytes = unsigned(row, 3)?;
    summary.updated_at = unsigned(row, 5)?;
    Ok(summary.stored_info(&row.lossy_text(1)))
}

/// Undoes [`stored_id`].
fn original_id(stored: &str) -> String {
    stored.replace("%00", "\0").replace("%25", "%")
}

/// A key as parameters of statements.
struct StoredKey {
    principal: String,
    id: String,
}

impl StoredKey {
    fn new(key: &ConversationKey) -> Result<Self, HistoryStoreError> {
        key.check()?;
        Ok(Self {
            principal: stored_id(key.principal()).into_owned(),
            id: stored_id(key.id()).into_owned(),
        })
    }

    fn params(&self) -> [Param<'_>; 2] {
        [text(&self.principal), text(&self.id)]
    }
}

/// Locks a conversation. Returns `None` if it is not there.
async fn lock<D: HistoryDatabase>(
    transaction: &mut D::Transaction,
    key: &StoredKey,
) -> Result<Option<ConversationRow>, HistoryStoreError> {
    let rows = transaction.run(D::LOCK_CONVERSATION, &key.params()).await?;
    Ok(rows.first().map(ConversationRow::read).transpose()?)
}

/// Locks a conversation, and creates it if it is not there.
async fn lock_or_create<D: HistoryDatabase>(
    transaction: &mut D::Transaction,
    key: &StoredKey,
) -> Result<ConversationRow, HistoryStoreError> {
    if let Some(row) = lock::<D>(transaction, key).await? {
        return Ok(row);
    }
    // Another process may create it at the same moment: then this one waits and finds it.
    transaction.run(INSERT, &key.params()).await?;
    let row = lock::<D>(transaction, key).await?;
    row.ok_or_else(|| StoreError::new("the database lost a new conversation").into())
}

/// Adds messages behind those that are there.
async fn add_messages<D: HistoryDatabase>(
    transaction: &mut D::Transaction,
    conversation: u64,
    first: u64,
    texts: &[String],
) -> Result<(), HistoryStoreError> {
    let mut position = first;
    let mut rest = texts;
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(batch_length(rest));
        let place = [number(conversation), number(position)];
        if let [message] = batch {
            let params = [place[0], place[1], text(message)];
            transaction.run(ADD_MESSAGE, &params).await?;
        } else {
            let array = serde_json::to_string(batch).map_err(|error| {
                StoreError::with_source("failed to write messages as JSON", error)
            })?;
            let params = [place[0], place[1], text(&array)];
            transaction.run(D::ADD_MESSAGES, &params).await?;
        }
        position += batch.len() as u64;
        rest = later;
    }
    Ok(())
}

/// Returns how many of the messages one statement adds: at least one.
fn batch_length(texts: &[String]) -> usize {
    let mut bytes = 0;
    let mut length = 0;
    for text in texts.iter().take(BATCH_MESSAGES) {
        bytes += text.len();
        if length > 0 && bytes > BATCH_BYTES {
            break;
        }
        length += 1;
    }
    length
}

/// Reads a message from a row of [`MESSAGES`], which must have a position.
fn message(
    key: &ConversationKey,
    position: u64,
    row: &impl SqlRow,
) -> Result<Message, HistoryStoreError> {
    if unsigned(row, 0)? != position {
        return Err(StoredMessages::damaged(key, position, "it is missing"));
    }
    match row.optional_text(1) {
        Ok(Some(stored)) => StoredMessages::read(key, position, &stored),
        Ok(None) => {
            let limit = StoredMessages::MAX_MESSAGE_BYTES;
            let problem = format!("it takes more than {limit} bytes");
            Err(StoredMessages::damaged(key, position, problem))
        }
        Err(_) => Err(StoredMessages::damaged(key, position, "it is no text")),
    }
}

/// Parameters of [`MESSAGES`].
fn range(conversation: u64, from: u64, to: u64) -> [Param<'static>; 4] {
    [
        number(conversation),
        number(from),
        number(to),
        number(StoredMessages::MAX_MESSAGE_BYTES as u64),
    ]
}

/// Returns the number of messages that a branch takes, whose last one may be a call or a result of
/// it.
async fn branch_end(
    transaction: &mut impl SqlTransaction,
    key: &ConversationKey,
    row: &ConversationRow,
    at: u64,
) -> Result<u64, HistoryStoreError> {
    let mut cut = BranchCut::new(at.min(row.summary.messages));
    loop {
        let first = cut.position();
        let params = range(row.number, first, first.saturating_add(RESULTS_AT_ONCE));
        let rows = transaction.run(MESSAGES, &params).await?;
        for row in &rows {
            let message = message(key, cut.position(), row)?;
            if !cut.goes_on_after(&message) {
                return Ok(cut.messages());
            }
        }
        if rows.is_empty() {
            return Ok(cut.messages());
        }
    }
}

#[allow(private_bounds)] // only this crate implements the trait
impl<D: HistoryDatabase> SqlStore<D> {
    async fn find(&self, key: &StoredKey) -> Result<Option<ConversationRow>, HistoryStoreError> {
        let rows = self.0.select(CONVERSATION, &key.params()).await?;
        Ok(rows.first().map(ConversationRow::read).transpose()?)
    }

    /// Checks what the messages take that are about to be read: the sizes beside them are not
    /// trusted.
    async fn check_size(
        &self,
        key: &ConversationKey,
        row: &ConversationRow,
        from: u64,
    ) -> Result<(), HistoryStoreError> {
        let messages = row.summary.messages;
        let [conversation, first, end, _] = range(row.number, from, messages);
        let rows = self.0.select(BYTES, &[conversation, first, end]).await?;
        let bytes = rows.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        ConversationSize { messages, bytes }.check(key)
    }
}

impl<D: HistoryDatabase> HistoryStore for SqlStore<D> {
    async fn append(
        &self,
        key: &ConversationKey,
        expected: u64,
        messages: &[Message],
    ) -> Result<u64, HistoryStoreError> {
        let added = StoredMessages::new(key, messages)?;
        let stored_key = StoredKey::new(key)?;
        let mut transaction = self.0.begin().await?;
        let row = lock_or_create::<D>(&mut transaction, &stored_key).await?;
        let size = added.after(key, expected, row.size())?;
        add_messages::<D>(&mut transaction, row.number, expected, added.texts()).await?;
        let params = [
            number(row.number),
            number(size.messages),
            number(size.bytes),
        ];
        transaction.run(SET_SIZE, &params).await?;
        transaction.commit().await?;
        Ok(size.messages)
    }

    async fn load(
        &self,
        key: &ConversationKey,
        from: u64,
    ) -> Result<Option<StoredConversation>, HistoryStoreError> {
        let stored_key = StoredKey::new(key)?;
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let Some(row) = self.find(&stored_key).await? else {
                return Ok(None);
            };
            self.check_size(key, &row, from).await?;
            let end = row.summary.messages;
            let params = range(row.number, from, end);
            let rows = self.0.select(MESSAGES, &params).await?;
            let wanted = end.saturating_sub(from);
            // A deletion of the conversation takes its messages too.
            if rows.len() as u64 != wanted && attempts > 0 {
                let again = self.find(&stored_key).await?;
                if again.is_none_or(|again| again.number != row.number) {
                    continue;
                }
            }
            let mut messages = Vec::with_capacity(rows.len());
            for (position, row) in (from..end).zip(&rows) {
                messages.push(message(key, position, row)?);
            }
            let read = messages.len() as u64;
            if read < wanted {
                return Err(StoredMessages::damaged(key, from + read, "it is missing"));
            }
            return Ok(Some(StoredConversation::new(row.summary, from, messages)));
        }
    }

    async fn list(
        &self,
        principal: &str,
        after: Option<&ConversationPlace>,
        limit: u32,
    ) -> Result<Vec<ConversationSummary>, HistoryStoreError> {
        let principal = stored_id(principal);
        let (time, id) = match after {
            Some(place) => (place.updated_at, stored_id(&place.id)),
            None => (i64::MAX.unsigned_abs(), stored_id("")),
        };
        let params = [
            text(&principal),
            number(time),
            text(&id),
            number(limit.into()),
        ];
        let rows = self.0.select(CONVERSATIONS, &params).await?;
        let summaries = rows.iter().map(summary).collect::<Result<_, _>>();
        Ok(summaries?)
    }

    async fn describe(
        &self,
        key: &ConversationKey,
        info: &ConversationInfo,
    ) -> Result<(), HistoryStoreError> {
        let stored_key = StoredKey::new(key)?;
        let info = info.to_stored(key)?;
        let mut transaction = self.0.begin().await?;
        let row = lock_or_create::<D>(&mut transaction, &stored_key).await?;
        let params = [number(row.number), text(&info)];
        transaction.run(SET_INFO, &params).await?;
        Ok(transaction.commit().await?)
    }

    async fn branch(
        &self,
        key: &ConversationKey,
        at: u64,
        branch: &str,
    ) -> Result<u64, HistoryStoreError> {
        let stored_key = StoredKey::new(key)?;
        let new_key = ConversationKey::new(branch, key.principal());
        let new_stored_key = StoredKey::new(&new_key)?;
        let exists = || HistoryStoreError::Exists {
            conversation: branch.to_owned(),
        };

        let mut transaction = self.0.begin().await?;
        let Some(source) = lock::<D>(&mut transaction, &stored_key).await? else {
            return Err(HistoryStoreError::Missing {
                conversation: key.id().to_owned(),
            });
        };
        if stored_key.id == new_stored_key.id {
            return Err(exists());
        }
        let end = branch_end(&mut transaction, key, &source, at).await?;

        let inserted = transaction
            .run(INSERT_NEW, &new_stored_key.params())
            .await?;
        let Some(inserted) = inserted.first() else {
            return Err(exists());
        };
        let new = unsigned(inserted, 0)?;
        let copied = [number(source.number), number(new), number(end)];
        transaction.run(COPY_MESSAGES, &copied).await?;

        let [conversation, first, last, _] = range(new, 0, end);
        let bytes = transaction.run(BYTES, &[conversation, first, last]).await?;
        let bytes = bytes.first().map_or(Ok(0), |row| unsigned(row, 0))?;
        let size = [number(new), number(end), number(bytes)];
        transaction.run(SET_SIZE, &size).await?;

        let info = source.summary.info.of_branch().to_stored(&new_key)?;
        transaction
            .run(SET_INFO, &[number(new), text(&info)])
            .await?;
        transaction.commit().await?;
        Ok(end)
    }

    async fn delete(&self, key: &ConversationKey) -> Result<bool, HistoryStoreError> {
        let stored_key = StoredKey::new(key)?;
        let deleted = self.0.change(DELETE, &stored_key.params()).await?;
        Ok(!deleted.is_empty())
    }

    async fn delete_unused(&self, since: u64) -> Result<u64, HistoryStoreError> {
        let since = since.min(i64::MAX.unsigned_abs());
        let mut all = 0;
        loop {
            let deleted = self.0.change(DELETE_UNUSED, &[number(since)]).await?;
            if deleted.is_empty() {
                return Ok(all);
            }
            all += deleted.len() as u64;
        }
    }
}
