//! An audit log in a file: one line of JSON for each record.
//!
//! Many processes may append to one file at once, and any of them may be killed at any moment. So every append takes the
//! file's lock, which the system gives back when its holder dies; ends with a line feed in one write; and begins by
//! cutting off what a killed writer left behind its last line feed. Nobody was told that such a piece was kept.
//!
//! A file that was moved away or removed meanwhile, as log rotation does, is opened anew under its name: what goes into a file
//! that nobody can find is not kept.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
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

/// What every record begins with.
const BEGINNING: &[u8] = b"{\"time\":";

/// Appends records to a file.
#[derive(Debug)]
pub struct FileSink {
    path: PathBuf,
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
        // The process may change its folder later.
        let path = std::path::absolute(path)?;
        Ok(Self {
            file: Mutex::new(open(&path, durability)?),
            path,
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
        if line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return Err(AuditError::Other(
                "the record would be more than one line".to_owned(),
            ));
        }
        line.push(b'\n');
        let started = Instant::now();
        // A thread that panicked in here held the lock of the file at most, and that file mends itself below.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            lock(&file, self.patience.saturating_sub(started.elapsed()))?;
            if is_at(&file, &self.path)? {
                break;
            }
            // The lock goes with the file that has it.
            *file = open(&self.path, self.durability)?;
        }
        let written = write(&mut file, &line, self.durability);
        file.unlock()?;
        Ok(written?)
    }
}

fn open(path: &Path, durability: Durability) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    if durability == Durability::Disk
        && let Some(folder) = path.parent()
    {
        // A new file is not there after a power failure unless its folder says so.
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Whether a file is still the one of its name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open can't be moved away.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
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
        refuse_foreign(file, end)?;
        file.set_len(end)?;
    }
    Ok(end)
}

/// What a killed writer left is the beginning of a record. Anything else is somebody's, and is not cut off.
fn refuse_foreign(file: &mut File, start: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(start))?;
    let mut beginning = Vec::new();
    file.take(BEGINNING.len() as u64)
        .read_to_end(&mut beginning)?;
    if BEGINNING.starts_with(&beginning) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "its last line is unfinished and no record; is it an audit log at all?",
    ))
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
