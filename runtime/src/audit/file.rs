//! An audit log in a file: one line of JSON for each record.
//!
//! Many processes may append to one file at once, and any of them may be killed at any moment. So every append takes the
//! file's lock, which the system gives back when its holder dies; ends with a line feed in one write; and begins by
//! cutting off what a killed writer left behind its last line feed. Nobody was told that such a piece was kept.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{AuditError, AuditRecord, AuditSink};

/// What an acknowledged record survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, however it ends.
    #[default]
    Process,
    /// A power failure too. Every record waits for the disk.
    Disk,
}

/// How long a record waits for others who write to the file, unless said otherwise.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(5);

/// Appends records to a file.
#[derive(Debug)]
pub struct FileSink {
    file: Mutex<File>,
    durability: Durability,
    patience: Duration,
}

impl FileSink {
    /// Opens the file, or makes one that only the user can read: records hold the arguments of tool calls.
    ///
    /// # Errors
    /// The file can't be opened for reading and writing.
    pub fn open(path: impl AsRef<Path>, durability: Durability) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        Ok(Self {
            file: Mutex::new(options.open(path)?),
            durability,
            patience: DEFAULT_PATIENCE,
        })
    }

    /// How long a record waits for others who write to the file. Whoever holds the file's lock for longer than that, be it a
    /// command that the agent was talked into, closes gates and does not hold up the program.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl AuditSink for FileSink {
    fn append(&self, record: &AuditRecord) -> Result<(), AuditError> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        // A thread that panicked in here held the lock of the file at most, and that file mends itself below.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        lock(&file, self.patience)?;
        let written = write(&mut file, &line, self.durability);
        file.unlock()?;
        Ok(written?)
    }
}

fn lock(file: &File, patience: Duration) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() >= patience => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!(
                        "somebody has held the lock of the file for more than {} ms",
                        patience.as_millis()
                    ),
                ));
            }
            // A record takes others microseconds.
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(100)),
        }
    }
}

fn write(file: &mut File, line: &[u8], durability: Durability) -> io::Result<()> {
    let end = cut_torn_tail(file)?;
    if let Err(error) = file.write_all(line) {
        // A full disk takes a part of a line. The next append would cut it off too; readers need not wait for that.
        file.set_len(end)?;
        return Err(error);
    }
    match durability {
        Durability::Process => Ok(()),
        Durability::Disk => file.sync_data(),
    }
}

/// Cuts off what stands behind the last line feed, and says where the file then ends.
fn cut_torn_tail(file: &mut File) -> io::Result<u64> {
    const CHUNK: u64 = 4096;
    let length = file.seek(SeekFrom::End(0))?;
    let mut end = length;
    let mut chunk = Vec::new();
    while end > 0 {
        // Almost always the last byte is the line feed, so the first look is at nothing else.
        let size = if end == length { 1 } else { CHUNK.min(end) };
        file.seek(SeekFrom::Start(end - size))?;
        chunk.clear();
        (&mut *file).take(size).read_to_end(&mut chunk)?;
        match chunk.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                end = end - size + at as u64 + 1;
                break;
            }
            None => end -= size,
        }
    }
    if end < length {
        file.set_len(end)?;
    }
    Ok(end)
}

/// The lines of an audit log, each with its record. What a killed writer left behind the last line feed is no line.
///
/// # Errors
/// The file can't be read, or is not text.
pub fn read_lines(path: impl AsRef<Path>) -> io::Result<Vec<String>> {
    let mut bytes = std::fs::read(path)?;
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    // A character can be torn too, so the cut comes before the look at the text.
    bytes.truncate(end);
    let text = String::from_utf8(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(text.lines().map(str::to_owned).collect())
}
