use crate::providers::event::{Event, ProtocolError};
use crate::providers::provider::Provider;
use crate::providers::tests::streams::{events, summary};
#[test]
fn zz_recorded() {
    let root = std::env::var("REC").unwrap_or("/tmp/rec/streams".into());
    let verbose = std::env::var("RECV").ok();
    for (dir, provider) in [
        ("anthropic", Provider::Anthropic),
        ("bedrock", Provider::Bedrock),
        ("gemini", Provider::Gemini),
        ("cohere", Provider::Cohere),
        ("ollama", Provider::Ollama),
    ] {
        let Ok(files) = std::fs::read_dir(format!("{root}/{dir}")) else { continue };
        let mut files = files.map(|f| f.unwrap().path()).collect::<Vec<_>>();
        files.sort();
        let (mut n, mut bad) = (0, 0);
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let events = events(provider, [&*bytes]);
            n += 1;
            let loss = events.iter().any(|e| matches!(e, Event::Error(e) if e.is_loss()));
            let end = events.iter().any(|e| matches!(e, Event::Finished(_)));
            let noted = events.iter().any(|e| {
                matches!(e, Event::Unknown(_)) || matches!(e, Event::Error(ProtocolError::DuplicateId { .. }))
            });
            if loss || !end {
                bad += 1;
                let text = summary(&events);
                println!(
                    "BAD {}\n{}",
                    file.display(),
                    text.lines()
                        .filter(|l| l.starts_with("error") || l.starts_with("finished"))
                        .collect::<Vec<_>>()
                        .join("\n")
                        .chars()
                        .take(600)
                        .collect::<String>()
                );
                if events.is_empty() {
                    println!("(nothing) {}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)]));
                }
            } else if noted && verbose.is_some() {
                let text = summary(&events);
                println!(
                    "NOTE {}\n{}",
                    file.display(),
                    text.lines()
                        .filter(|l| l.starts_with("unknown") || l.starts_with("error"))
                        .map(|l| l.chars().take(200).collect::<String>())
                        .collect::<Vec<_>>()
                        .join("\n")
                );
            }
            if verbose.as_deref() == Some("dump") {
                let mut out = summary(&events);
                out.push('\n');
                let name = format!("/tmp/rec/out/{dir}-{}", file.file_name().unwrap().to_string_lossy());
                std::fs::create_dir_all("/tmp/rec/out").unwrap();
                std::fs::write(name, out).unwrap();
            }
        }
        println!("{dir}: {n} read, {bad} bad");
    }
}
