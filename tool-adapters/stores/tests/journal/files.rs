//! Files that are no journals, or are another's.

use crate::support::{Place, entry, harmless, recovered};
use std::fs;
use tool_adapters::stores::FileJournal;
use tool_core::session::Journal;

/// Returns the error of opening a file that must stay unchanged.
fn refused(place: &Place, bytes: &[u8]) -> String {
    fs::write(place.path(), bytes).unwrap();
    let error = FileJournal::open(place.path())
        .expect_err("it opened")
        .to_string();
    assert!(
        fs::read(place.path()).unwrap() == bytes,
        "the file was changed"
    );
    error
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_left_as_it_is() {
    let place = Place::new();
    for bytes in [
        b"x".to_vec(),
        b"Dear diary,\n".repeat(1_000),
        vec![0; 4_096],
        vec![0xff; 1 << 20],
    ] {
        let error = refused(&place, &bytes);
        assert!(
            error.contains("calls.journal")
                && error.contains("expected a journal, got another or a damaged file"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_refused_and_left_as_it_is() {
    let place = Place::new();
    let journal = place.open();
    for call in 0..200 {
        journal
            .started(&harmless("s", &call.to_string()))
            .await
            .unwrap();
        journal
            .finished("s", &call.to_string(), &"x".repeat(2_000))
            .await
            .unwrap();
    }
    drop(journal);
    let whole = fs::read(place.path()).unwrap();
    for parts in 1..16 {
        let error = refused(&place, &whole[..whole.len() * parts / 16]);
        assert!(error.contains("damaged"), "{error}");
    }
}

#[tokio::test]
async fn a_damaged_file_fails_or_answers_without_hanging() {
    let place = Place::new();
    let journal = place.open();
    for call in 0..20 {
        journal
            .started(&harmless("s", &call.to_string()))
            .await
            .unwrap();
    }
    drop(journal);
    let whole = fs::read(place.path()).unwrap();
    let used: Vec<_> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
    for at in used.iter().step_by(used.len() / 30 + 1) {
        let mut bytes = whole.clone();
        bytes[*at] ^= 0x55;
        fs::write(place.path(), &bytes).unwrap();
        let Ok(journal) = FileJournal::open(place.path()) else {
            continue;
        };
        _ = journal.recover("s").await;
        _ = journal.started(&entry("s", "new")).await;
        _ = journal.forget("s").await;
    }
}

#[test]
fn an_empty_file_becomes_a_journal() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    drop(place.open());
    drop(place.open());
}

#[test]
fn another_programs_database_is_refused() {
    let place = Place::new();
    let database = redb::Database::create(place.path()).unwrap();
    let table = redb::TableDefinition::<&str, &str>::new("customers");
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(table)
        .unwrap()
        .insert("ada", "1")
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = FileJournal::open(place.path()).unwrap_err().to_string();
    assert!(
        error.contains("expected a journal, got another database; the file is unchanged"),
        "{error}"
    );
}

#[test]
fn a_journal_of_another_format_is_refused() {
    let place = Place::new();
    drop(place.open());
    let database = redb::Database::create(place.path()).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta = redb::TableDefinition::<&str, u64>::new("journal_meta");
    transaction
        .open_table(meta)
        .unwrap()
        .insert("format", 2)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = FileJournal::open(place.path()).unwrap_err().to_string();
    assert!(
        error.contains("expected a journal of format 1, got format 2"),
        "{error}"
    );
}

#[tokio::test]
async fn only_one_has_a_journal_open_and_the_other_is_told_so() {
    let place = Place::new();
    let journal = place.open();
    let error = FileJournal::open(place.path()).unwrap_err().to_string();
    assert!(error.contains("the journal is open already"), "{error}");
    assert!(error.contains("give each process its own file"), "{error}");
    journal.started(&entry("s", "c")).await.unwrap();
    drop(journal);
    assert_eq!(recovered(&place.open(), "s").await.len(), 1);
}

#[test]
fn missing_folder_is_an_error_with_the_path() {
    let place = Place::new();
    let error = FileJournal::open(place.file("nowhere").join("calls.journal"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("nowhere"), "{error}");
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    drop(place.open());
    assert_eq!(
        fs::metadata(place.path()).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_part_of_a_new_journal_counts_for_nothing() {
    let place = Place::new();
    let mut beside = place.path().into_os_string();
    beside.push(format!(".new-{}", std::process::id()));
    fs::write(&beside, vec![0; 4_096]).unwrap();

    FileJournal::open(place.path()).expect("a new journal");
    assert!(!fs::exists(&beside).unwrap(), "the part is still there");
}
