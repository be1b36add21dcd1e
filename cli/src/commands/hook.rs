//! `seamgate hook DIALECT`: be a command hook of an agent.
//!
//! Whatever goes wrong here must end in an answer that closes the agent's gate, and in one answer only: agents take a hook
//! that crashes, prints nonsense or exits with an odd status for one that has no objection.

use std::io::Read;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use seamgate::EngineProfile;
use seamgate_bridges::{Dialect, Event, HookAnswer};

use crate::arguments::ConfigArguments;
use crate::printer::{Printer, error_text};
use crate::setup::{self, Unfit};

/// How much an event may have, in bytes. Agents send whole files as arguments, not more.
const MAX_EVENT_BYTES: u64 = 64 << 20;

/// How long everything may take: less than the shortest time that agents give a hook at a gate, which is 30 seconds.
const DEADLINE: Duration = Duration::from_secs(25);

pub(crate) fn run(
    printer: &mut Printer,
    dialect: Dialect,
    arguments: &ConfigArguments,
) -> ExitCode {
    let mut event = None;
    let answered = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let payload = read_payload()?;
        let event = match dialect.read(&payload) {
            Ok(read) => event.insert(read),
            Err(error) => return Ok(dialect.could_not_read(&error)),
        };
        setup::executor()?.block_on(async {
            match tokio::time::timeout(DEADLINE, decide(event, arguments)).await {
                Ok(answer) => answer,
                Err(_) => bail!("no decision after {} seconds", DEADLINE.as_secs()),
            }
        })
    }));
    let answer = match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => dialect.could_not_decide(event.as_ref(), error_text(&error).trim_end()),
        Err(_) => dialect.could_not_decide(
            event.as_ref(),
            "error: this program failed; the line above says where. Please report it",
        ),
    };
    give(printer, dialect, event.as_ref(), &answer)
}

fn read_payload() -> Result<String> {
    let mut payload = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_EVENT_BYTES + 1)
        .read_to_end(&mut payload)
        .context("cannot read the event from standard input")?;
    if payload.len() as u64 > MAX_EVENT_BYTES {
        bail!("the event on standard input has more than {MAX_EVENT_BYTES} bytes");
    }
    String::from_utf8(payload).context("the event on standard input is not UTF-8")
}

async fn decide(event: &Event, arguments: &ConfigArguments) -> Result<HookAnswer> {
    let config = setup::config(arguments)?;
    Unfit::check_one_event(&config.policies)?;
    let sandbox = setup::sandbox(EngineProfile::OneShot)?;
    let runtime =
        setup::runtime_for(&sandbox, &config.policies, config.evaluate, event.seams()).await?;
    let answer = event.handle(&runtime).await.answer;
    // The process is about to end, and the system takes everything back faster at once than piece by piece.
    std::mem::forget((runtime, sandbox));
    Ok(answer)
}

fn give(
    printer: &mut Printer,
    dialect: Dialect,
    event: Option<&Event>,
    answer: &HookAnswer,
) -> ExitCode {
    printer.note(&answer.stderr);
    if printer.raw(answer.stdout.as_bytes()).is_ok() {
        return ExitCode::from(answer.exit_code);
    }
    let lost = dialect.could_not_decide(event, "the answer could not be written");
    ExitCode::from(lost.exit_code)
}
