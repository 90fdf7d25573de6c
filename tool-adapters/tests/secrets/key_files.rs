//! Files of keys that others can read.

use crate::sinks::Log;
use std::os::unix::fs::PermissionsExt;
use tool_core::agents::Keyring;

#[test]
fn public_key_file_is_logged() {
    Log::listen();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, mode, is_logged) in [
        ("mine", 0o600, false),
        ("group", 0o640, false),
        ("open", 0o644, true),
    ] {
        let path = folder.path().join(name);
        let line = Keyring::generate("one").expect("random");
        std::fs::write(&path, line.as_bytes()).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        Keyring::from_file(&path).expect("keys");
        let log = String::from_utf8(Log::bytes()).expect("text");
        let lines = log
            .lines()
            .filter(|line| line.contains(&*path.to_string_lossy()));
        assert_eq!(
            lines
                .filter(
                    |line| line.contains("every user of this machine has access to the key file")
                )
                .count(),
            usize::from(is_logged),
            "{name}"
        );
        assert!(!log.contains(&line[4..]));
    }
}
