//! Certificates of servers that tests start, and of their clients. Each is a file `NAME.pem` beside
//! its `NAME.key`.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Makes a CA.
pub(crate) fn make_ca(folder: &Path, name: &str) {
    let options = format!(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem"
    );
    openssl(folder, &options);
}

/// Makes a certificate by a CA for a subject at `localhost`.
pub(crate) fn make_certificate(folder: &Path, name: &str, subject: &str, ca: &str) {
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost").expect("written");
    let request = format!(
        "req -newkey rsa:2048 -nodes -subj /CN={subject} -keyout {name}.key -out {name}.csr"
    );
    openssl(folder, &request);
    let certificate = format!(
        "x509 -req -in {name}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -days 2 -extfile names -out {name}.pem"
    );
    openssl(folder, &certificate);
}

fn openssl(folder: &Path, arguments: &str) {
    let made = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(folder)
        .output()
        .expect("openssl runs");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}
