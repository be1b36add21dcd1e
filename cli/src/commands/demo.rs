//! `seamgate demo`: real recorded sessions through the standard policies.

use std::process::ExitCode;

use anyhow::Result;
use seamgate::{EngineProfile, Evaluate};
use seamgate_bridges::Dialect;

use super::replay::Replay;
use crate::printer::{Printer, Style};
use crate::{setup, standard};

/// A recorded session that ships with the program.
struct Recorded {
    title: &'static str,
    file: &'static str,
    dialect: Dialect,
    events: &'static str,
}

macro_rules! recorded {
    ($title:literal, $dialect:expr, $file:literal) => {
        Recorded {
            title: $title,
            file: $file,
            dialect: $dialect,
            events: include_str!(concat!("../../../tests/fixtures/recorded/", $file)),
        }
    };
}

const SESSIONS: [Recorded; 3] = [
    recorded!(
        "Claude Code 2.1.332: an ordinary session, with a subagent",
        Dialect::Claude,
        "claude-code-2.1.332-session.jsonl"
    ),
    recorded!(
        "Claude Code 2.1.332: a session that tries risky calls, and calls that only look risky",
        Dialect::Claude,
        "claude-code-2.1.332-risky.jsonl"
    ),
    recorded!(
        "Codex 0.171.0: an ordinary session",
        Dialect::Codex,
        "codex-0.171.0-session.jsonl"
    ),
];

pub(crate) fn run(printer: &mut Printer, json: bool) -> Result<ExitCode> {
    setup::executor()?.block_on(async {
        let sandbox = setup::sandbox(EngineProfile::Serving)?;
        // Everybody is asked, since the table shows what each hook says.
        let runtime = setup::runtime(&sandbox, &standard::all(), Evaluate::All).await?;
        for (position, session) in SESSIONS.iter().enumerate() {
            if !json {
                if position > 0 {
                    printer.line("")?;
                }
                printer.line(printer.styled(Style::Strong, session.title))?;
            }
            let mut replay = Replay::new(&runtime, session.file, session.dialect, json);
            replay.session(printer, session.events).await?;
            replay.summary(printer)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}
