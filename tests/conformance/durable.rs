//! The audit log in a file: no acknowledged record is lost and no line is torn, whenever its writer is killed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use seamgate::audit::{AuditEvent, AuditRecord, AuditSink, Durability, FileSink, read_lines};
use seamgate::pipeline::Pipeline;
use seamgate::seams::PreTool;
use seamgate::{Json, Runtime};
use serde_json::Value;

use super::support::*;

/// Where the child writes. Set for child processes only.
const LOG: &str = "SEAMGATE_TEST_LOG";
/// Which child it is.
const WHO: &str = "SEAMGATE_TEST_WHO";

fn record(who: &str, number: u64) -> AuditRecord {
    AuditRecord {
        time: number,
        session: Some(who.to_owned()),
        agent: None,
        turn: None,
        event: AuditEvent::InputRewritten {
            call_id: number.to_string(),
            tool_name: "work".to_owned(),
            // Long enough that a line takes a while to write.
            original: Json::string(&"ä".repeat(20_000)),
            rewrites: Vec::new(),
            conflicts: Vec::new(),
        },
    }
}

/// Runs in a process of its own: appends until it is killed, and says after each record that it is kept.
#[test]
fn writer() {
    let Ok(log) = std::env::var(LOG) else {
        return;
    };
    let who = std::env::var(WHO).unwrap();
    let sink = FileSink::open(log, Durability::Process).unwrap();
    let mut out = std::io::stdout().lock();
    for number in 0.. {
        sink.append(&record(&who, number)).unwrap();
        writeln!(out, "kept {number}").unwrap();
        out.flush().unwrap();
    }
}

fn spawn(log: &Path, who: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "conformance::durable::writer", "--nocapture"])
        .env(LOG, log)
        .env(WHO, who)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the child has kept so many records, kills it, and gives the last number it was told is kept.
fn kill_after(mut child: Child, kept: usize) -> u64 {
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .filter_map(|line| {
            line.split_once("kept ")
                .map(|(_, number)| number.to_owned())
        });
    let mut last = lines.by_ref().take(kept).last().unwrap();
    // SIGKILL: nothing of it runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
    // What it said before it died counts as said.
    last = lines.last().unwrap_or(last);
    last.parse().unwrap()
}

#[test]
fn a_killed_writer_loses_no_acknowledged_record_and_tears_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let mut acknowledged: Vec<(String, u64)> = Vec::new();
    for round in 0..12_usize {
        let (one, two) = (format!("{round}-one"), format!("{round}-two"));
        // Two at once, killed at different moments.
        let (first, second) = (spawn(&log, &one), spawn(&log, &two));
        acknowledged.push((one, kill_after(first, 1 + round % 5)));
        acknowledged.push((two, kill_after(second, 3 + round % 7)));
    }
    // One that lives mends what the last one left.
    let sink = FileSink::open(&log, Durability::Disk).unwrap();
    sink.append(&record("last", 0)).unwrap();
    acknowledged.push(("last".to_owned(), 0));

    let bytes = fs::read(&log).unwrap();
    assert!(bytes.ends_with(b"\n"));
    let lines: Vec<Value> = read_lines(&log)
        .unwrap()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (who, last) in acknowledged {
        let numbers: Vec<u64> = lines
            .iter()
            .filter(|line| line["session"] == who.as_str())
            .map(|line| line["time"].as_u64().unwrap())
            .collect();
        // One more may be there that it had no time to tell of.
        assert!(
            numbers.len() as u64 > last,
            "{who}: {numbers:?}, told {last}"
        );
        assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{who}");
    }
}

#[test]
fn what_a_killed_writer_left_behind_the_last_line_is_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let sink = FileSink::open(&log, Durability::Process).unwrap();
    sink.append(&record("a", 0)).unwrap();
    let whole = fs::read(&log).unwrap();
    // Torn at every length that a look in pieces could get wrong, and in the middle of a character.
    for torn in [1, 2, 4095, 4096, 4097, 20_001] {
        let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
        file.write_all(&whole[..torn]).unwrap();
        assert_eq!(read_lines(&log).unwrap().len(), 1);
        sink.append(&record("a", 0)).unwrap();
        assert_eq!(fs::read(&log).unwrap(), [&whole[..], &whole[..]].concat());
        fs::write(&log, &whole).unwrap();
    }
}

#[test]
fn what_is_no_record_is_not_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("notes.txt");
    fs::write(&log, "buy milk").unwrap();
    let sink = FileSink::open(&log, Durability::Process).unwrap();
    let refused = sink.append(&record("a", 0)).unwrap_err();
    assert!(
        refused.to_string().contains("is it an audit log"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&log).unwrap(), "buy milk");
}

#[test]
fn a_log_that_was_moved_away_begins_anew_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (log, old) = (folder.path().join("audit.jsonl"), folder.path().join("old"));
    let sink = FileSink::open(&log, Durability::Disk).unwrap();
    sink.append(&record("a", 0)).unwrap();
    fs::rename(&log, &old).unwrap();
    sink.append(&record("a", 1)).unwrap();
    fs::remove_file(&log).unwrap();
    sink.append(&record("a", 2)).unwrap();
    assert_eq!(
        (
            read_lines(&old).unwrap().len(),
            read_lines(&log).unwrap().len()
        ),
        (1, 1)
    );
    // Where it can't be opened any more, nobody is told that a record is kept.
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(sink.append(&record("a", 3)).is_err());
}

/// Line ends are blanks to JSON, so a model may put them into its arguments, and what follows could look like a record.
#[test]
fn arguments_can_not_forge_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let sink = FileSink::open(&log, Durability::Process).unwrap();
    let mut forged = record("a", 0);
    if let AuditEvent::InputRewritten { original, .. } = &mut forged.event {
        *original =
            Json::parse("{\"a\":\n\r {\"time\": 1,\t\"x\\\"\": \" \\n\u{e4} \"}\n}").unwrap();
    }
    sink.append(&forged).unwrap();
    let lines = read_lines(&log).unwrap();
    assert_eq!(lines.len(), 1);
    let original = r#"{"a":{"time":1,"x\"":" \nä "}}"#;
    assert!(lines[0].contains(original), "{}", lines[0]);
}

#[cfg(unix)]
#[test]
fn a_log_is_for_its_user_alone_and_a_full_disk_refuses() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let sink = FileSink::open(&log, Durability::Process).unwrap();
    sink.append(&record("a", 0)).unwrap();
    let mode = fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let full = FileSink::open("/dev/full", Durability::Process);
    if let Ok(full) = full {
        assert!(full.append(&record("a", 0)).is_err());
    }
}

#[tokio::test]
async fn a_gate_whose_log_is_full_stays_closed() {
    let Ok(full) = FileSink::open("/dev/full", Durability::Process) else {
        return;
    };
    let seen = Seen::default();
    let mut runtime = Runtime::new();
    runtime.listener::<PreTool>("gate", |_| seamgate::seams::Verdict::Allow.into());
    let outcome = Pipeline::builder(Arc::new(runtime))
        .audit(Arc::new(full))
        .build()
        .execute(request("work"), tools([work(&seen)]).as_ref())
        .await;
    assert_eq!(outcome.code(), Some("UNRECORDED"));
    assert!(seen.all().is_empty());
}

/// A file that somebody else holds locked is waited for, so a record is late and not lost.
#[test]
fn writers_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    let sink = Arc::new(FileSink::open(&log, Durability::Process).unwrap());
    let held = fs::File::open(&log).unwrap();
    held.lock().unwrap();
    let (done, waits) = std::sync::mpsc::channel();
    let writing = sink.clone();
    std::thread::spawn(move || done.send(writing.append(&record("a", 0)).is_ok()).unwrap());
    assert!(waits.recv_timeout(Duration::from_millis(50)).is_err());
    held.unlock().unwrap();
    assert!(waits.recv().unwrap());

    // Whoever does not let go of it closes the gate, and hangs nobody.
    held.lock().unwrap();
    let impatient = FileSink::open(&log, Durability::Process)
        .unwrap()
        .patience(Duration::from_millis(20));
    let refused = impatient.append(&record("a", 1)).unwrap_err();
    assert!(refused.to_string().contains("held the lock"), "{refused}");
}
