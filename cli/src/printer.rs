//! The only place that writes: data to standard output, talk to standard error, colours where a person looks.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use seamgate::LoadError;
use seamgate::config::ConfigError;

use crate::setup::Unfit;

/// How a piece of text is meant. The meaning survives without colour.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    /// A gate that stays open.
    Good,
    /// A gate that closes.
    Bad,
    /// Something a person has to look at.
    Warning,
    /// Less important.
    Faint,
    /// A heading.
    Strong,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Warning => "33",
            Self::Faint => "2",
            Self::Strong => "1",
        }
    }
}

/// Writes to the two outputs of the program.
pub(crate) struct Printer {
    colour: bool,
    error_colour: bool,
    width: usize,
}

impl Printer {
    pub(crate) fn new() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let width = if terminal {
            rustix::termios::tcgetwinsize(&stdout).map_or(100, |size| usize::from(size.ws_col))
        } else {
            120
        };
        Self {
            colour: wanted && terminal,
            error_colour: wanted && io::stderr().is_terminal(),
            width: width.clamp(60, 200),
        }
    }

    /// How many columns a line may have.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// A text as it is meant.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        painted(self.colour, style, text)
    }

    /// Data, on a line of its own.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Data, as it is.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Talk. Where even this can't be written there is nobody to tell.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// What went wrong, why, and what would be right.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let text = error_text(error);
        let text = match text.split_once(':') {
            Some((word, rest)) => {
                format!("{}:{rest}", painted(self.error_colour, Style::Bad, word))
            }
            None => text,
        };
        self.note(&text);
    }
}

/// An error with its causes and its hint, as a person reads it.
pub(crate) fn error_text(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  cause: {cause}\n"));
    }
    if let Some(hint) = hint(error) {
        text.push_str(&format!("  hint: {hint}\n"));
    }
    text
}

fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<LoadError>() {
            error.hint()
        } else if let Some(error) = cause.downcast_ref::<ConfigError>() {
            error.hint.clone()
        } else {
            cause
                .downcast_ref::<Unfit>()
                .map(|unfit| unfit.hint().to_owned())
        }
    })
}

fn painted(colour: bool, style: Style, text: &str) -> String {
    if colour {
        format!("\x1b[{}m{text}\x1b[0m", style.code())
    } else {
        text.to_owned()
    }
}

/// Whether the reader of our output has gone away.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
