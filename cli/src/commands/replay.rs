//! `seamgate replay FILE.jsonl`: a recorded session through the policies of today.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use seamgate::{Answer, EngineProfile, Evaluate, Failure, Runtime};
use seamgate_bridges::{Dialect, Event, Handled, SeamReport};
use serde_json::json;

use crate::arguments::ConfigArguments;
use crate::printer::{Printer, Style};
use crate::setup;

pub(crate) fn run(
    printer: &mut Printer,
    file: &Path,
    dialect: Option<Dialect>,
    arguments: &ConfigArguments,
    json: bool,
) -> Result<ExitCode> {
    let events = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the session {}", file.display()))?;
    let dialect = dialect.unwrap_or_else(|| told_by(&events));
    let config = setup::config(arguments)?;
    setup::executor()?.block_on(async {
        let sandbox = setup::sandbox(EngineProfile::Serving)?;
        // Everybody is asked, since the table shows what each hook says.
        let runtime = setup::runtime(&sandbox, &config.policies, Evaluate::All).await?;
        let name = file.display().to_string();
        let mut replay = Replay::new(&runtime, &name, dialect, json);
        replay.session(printer, &events).await?;
        replay.summary(printer)?;
        Ok(if replay.unread > 0 {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    })
}

/// The dialect of a recorded session, by what only Codex writes: the turn together with its model, or its own folder in the
/// path of the transcript.
fn told_by(events: &str) -> Dialect {
    let codex = events.lines().any(|line| {
        serde_json::from_str::<serde_json::Value>(line).is_ok_and(|event| {
            (event.get("turn_id").is_some() && event.get("model").is_some())
                || event["transcript_path"]
                    .as_str()
                    .is_some_and(|path| path.contains("/.codex/"))
        })
    });
    if codex {
        Dialect::Codex
    } else {
        Dialect::Claude
    }
}

/// A session being replayed.
pub(crate) struct Replay<'a> {
    runtime: &'a Runtime,
    name: &'a str,
    dialect: Dialect,
    json: bool,
    events: usize,
    stopped: usize,
    asked: usize,
    undecided: usize,
    unread: usize,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(runtime: &'a Runtime, name: &'a str, dialect: Dialect, json: bool) -> Self {
        Self {
            runtime,
            name,
            dialect,
            json,
            events: 0,
            stopped: 0,
            asked: 0,
            undecided: 0,
            unread: 0,
        }
    }

    /// Replays every line, and prints what came of it. A line that is no event is reported, and the rest goes on.
    pub(crate) async fn session(&mut self, printer: &mut Printer, events: &str) -> Result<()> {
        for (position, line) in events.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let event = match self.dialect.read(line) {
                Ok(event) => event,
                Err(error) => {
                    self.unread += 1;
                    printer.note(&format!("error: {}:{}: {error}\n", self.name, position + 1));
                    continue;
                }
            };
            let handled = event.handle(self.runtime).await;
            self.count(&handled);
            if self.json {
                printer.line(json!({
                    "session": self.name,
                    "line": position + 1,
                    "dialect": self.dialect.to_string(),
                    "event": event.name(),
                    "subject": event.subject(),
                    "seams": handled.seams,
                    "answer": {
                        "stdout": handled.answer.stdout,
                        "stderr": handled.answer.stderr,
                        "exit_code": handled.answer.exit_code,
                    },
                }))?;
            } else {
                self.row(printer, &event, &handled)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, handled: &Handled) {
        self.events += 1;
        let words: Vec<&str> = handled.seams.iter().map(word).collect();
        if words.contains(&UNDECIDED) {
            self.undecided += 1;
        } else if words.iter().any(|word| matches!(*word, "deny" | "block")) {
            self.stopped += 1;
        } else if words.contains(&"ask") {
            self.asked += 1;
        }
    }

    /// The counts, in a line.
    pub(crate) fn summary(&self, printer: &mut Printer) -> Result<()> {
        if self.json {
            return Ok(());
        }
        let mut text = format!(
            "{} events: {} stopped, {} asked about, {} let pass",
            self.events,
            self.stopped,
            self.asked,
            self.events - self.stopped - self.asked - self.undecided,
        );
        if self.undecided > 0 {
            text.push_str(&format!(", {} could not be decided", self.undecided));
        }
        if self.unread > 0 {
            text.push_str(&format!(", {} lines could not be read", self.unread));
        }
        printer.line(text)?;
        Ok(())
    }

    fn row(&self, printer: &mut Printer, event: &Event, handled: &Handled) -> Result<()> {
        let elapsed: Duration = handled.seams.iter().map(|seam| seam.elapsed).sum();
        // The first of the weightiest.
        let decisive = handled
            .seams
            .iter()
            .rev()
            .max_by_key(|seam| weight(word(seam)))
            .map_or("-", word);
        let columns = [
            fit(event.name(), 18),
            fit(&event.subject(), printer.width().saturating_sub(46)),
            fit(decisive, 10),
        ];
        printer.line(format_args!(
            "  {} {} {} {:>9}",
            columns[0],
            columns[1],
            printer.styled(style(decisive), &columns[2]),
            micros(elapsed),
        ))?;
        for seam in &handled.seams {
            let (spoken, silent): (Vec<&Answer>, Vec<&Answer>) = seam
                .answers
                .iter()
                .partition(|answer| told(answer).1.is_some());
            for answer in spoken {
                let (word, text) = told(answer);
                let text = text.unwrap_or_default();
                self.detail(printer, &format!("{}: {word}: {text}", answer.hook))?;
            }
            if !silent.is_empty() {
                let silent: Vec<String> = silent
                    .into_iter()
                    .map(|answer| format!("{} {}", answer.hook, told(answer).0))
                    .collect();
                self.detail(
                    printer,
                    &format!("at {}: {}", seam.seam, silent.join(" · ")),
                )?;
            }
        }
        Ok(())
    }

    /// A line below an event, as long as the terminal is wide.
    fn detail(&self, printer: &mut Printer, text: &str) -> Result<()> {
        let line = fit(&format!("      {text}"), printer.width());
        printer.line(printer.styled(Style::Faint, line.trim_end()))?;
        Ok(())
    }
}

const UNDECIDED: &str = "undecided";

fn word(seam: &SeamReport) -> &'static str {
    match &seam.decision {
        Ok(described) => described.decision,
        Err(_) => UNDECIDED,
    }
}

/// What a hook said, in a word and, where there is one, a reason.
fn told(answer: &Answer) -> (&'static str, Option<String>) {
    match &answer.said {
        Ok(described) => (described.decision, described.reason.clone()),
        Err(Failure { code, message, .. }) => (UNDECIDED, Some(format!("({code}) {message}"))),
    }
}

/// How much a word says about what happens to the event.
fn weight(word: &str) -> u8 {
    match word {
        UNDECIDED => 4,
        "deny" | "block" | "continue" => 3,
        "ask" => 2,
        "allow" | "rewrite" | "replace" | "context" => 1,
        _ => 0,
    }
}

fn style(word: &str) -> Style {
    match weight(word) {
        3.. => Style::Bad,
        2 => Style::Warning,
        1 => Style::Good,
        _ => Style::Faint,
    }
}

fn micros(elapsed: Duration) -> String {
    format!("{} µs", elapsed.as_micros())
}

/// A text in exactly so many columns, on one line.
fn fit(text: &str, columns: usize) -> String {
    let mut line: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(columns + 1)
        .collect();
    if line.chars().count() > columns {
        line = line.chars().take(columns.saturating_sub(1)).collect();
        line.push('…');
    }
    format!("{line:columns$}")
}
