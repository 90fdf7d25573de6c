//! The words for secrets, and the characters that nobody sees.

/// A key that has one of these in it.
const WITHIN: [&str; 6] = ["password", "passwd", "apikey", "privatekey", "secretkey", "accesskey"];

/// A key that is one of these or ends in it, in the singular.
const AT_END: [&str; 28] = [
    "accesstoken",
    "accountkey",
    "authorization",
    "bearer",
    "cardnumber",
    "clientassertion",
    "cookie",
    "credential",
    "creditcard",
    "cvc",
    "cvv",
    "encryptionkey",
    "jwt",
    "passcode",
    "passphrase",
    "pwd",
    "secret",
    "securitycode",
    "session",
    "sessionid",
    "sharedkey",
    "signature",
    "signingkey",
    "signingsecret",
    "socialsecuritynumber",
    "ssn",
    "subscriptionkey",
    "token",
];

/// A key that is one of these: too short to be looked for at the end of others.
const WHOLE: [&str; 7] = ["auth", "mfacode", "otp", "pan", "pass", "pin", "sig"];

/// A key as it is compared: its letters and digits in lower case, so that `api_key`, `apiKey` and `API-Key` are one.
pub(super) fn normal(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a key, as [`normal`] has it, says that its value is a secret. Of many things in one word a number says how
/// many they are: `max_tokens` is none.
pub(super) fn is_secret(key: &str, number: bool) -> bool {
    let key = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let plural = key.strip_suffix('s').filter(|_| !number);
    let ends = |key: &str| AT_END.iter().any(|word| key.ends_with(word));
    WHOLE.contains(&key) || WITHIN.iter().any(|word| key.contains(word)) || ends(key) || plural.is_some_and(ends)
}

/// Control characters, and those that turn the text around them or take no room: nobody sees them, and whoever reads
/// a log is misled.
pub(super) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}
