//! The examples of the runtime, as they are.

#[path = "../runtime/examples/approve_on_terminal.rs"]
mod approve_on_terminal;
#[path = "../runtime/examples/gate_one_call.rs"]
mod gate_one_call;

use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use seamgate::audit::read_lines;

/// A terminal's screen.
#[derive(Clone, Default)]
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn one_call_is_gated() {
    let mut out = Vec::new();
    gate_one_call::run("staging", &mut out).await.unwrap();
    gate_one_call::run("production", &mut out).await.unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[tokio::test]
async fn commands_are_approved_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (log, marker) = (folder.path().join("audit.jsonl"), folder.path().join("new"));
    let touch = format!("touch {}", marker.display());
    let commands = ["pwd", &touch, &touch, "rm -rf /etc/seamgate-example"].map(str::to_owned);
    let (screen, mut out) = (Screen::default(), Vec::new());
    // No to the first question, yes to the second. Nobody is asked about the others.
    let terminal = (Cursor::new("n\ny\n"), screen.clone());
    approve_on_terminal::run(&commands, &log, terminal, &mut out)
        .await
        .unwrap();
    assert!(marker.exists());
    let folder = folder.path().display().to_string();
    let shown = |text: String| text.replace(&folder, "FOLDER");
    let here = std::env::current_dir().unwrap().display().to_string();
    let out = String::from_utf8(out).unwrap().replace(&here, "HERE");
    insta::assert_snapshot!(format!("{}\n---\n{}", shown(screen.text()), shown(out)));
    let types: Vec<String> = read_lines(&log)
        .unwrap()
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].to_string())
        .collect();
    assert_eq!(
        types
            .iter()
            .filter(|kind| *kind == r#""approval/asked""#)
            .count(),
        2
    );
    assert_eq!(
        types
            .iter()
            .filter(|kind| *kind == r#""approval/decided""#)
            .count(),
        2
    );
}
