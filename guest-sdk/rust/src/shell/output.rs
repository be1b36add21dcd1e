//! What plain commands are known to print, and what is therefore read by the command after them.

use std::ops::Range;

use super::{Command, Origin, RedirectionOperator, Word};

/// The text on a command's standard input, where it is known.
pub(super) fn input(commands: &[Command], index: usize) -> Option<String> {
    let mut command = commands.get(index)?;
    loop {
        if let Some(text) = document(command) {
            return text;
        }
        // `sudo bash <<EOF`: the inner command reads what the outer one was given.
        match command.origin {
            Origin::Wrapped { by } | Origin::Remote { by } => command = commands.get(by)?,
            _ => return of(commands, &command.fed_by),
        }
    }
}

/// What a command's own redirections give it to read: none where there is no such redirection, and no text where it
/// is not known.
#[allow(
    clippy::option_option,
    reason = "nothing to read differs from something unknown"
)]
pub(super) fn document(command: &Command) -> Option<Option<String>> {
    let redirection = command.redirections.iter().rev().find(|each| {
        !matches!(
            each.operator,
            RedirectionOperator::Write
                | RedirectionOperator::Append
                | RedirectionOperator::Duplicate
        ) && each
            .descriptor
            .as_deref()
            .is_none_or(|number| number == "0")
    })?;
    let text = redirection.target.text();
    Some(match redirection.operator {
        RedirectionOperator::HereDocument => text.map(str::to_owned),
        RedirectionOperator::HereString => text.map(|text| format!("{text}\n")),
        _ => None,
    })
}

/// How many commands that only pass their input on are looked through.
const HOPS: usize = 8;

/// What these commands print, where that is one plain command with known arguments, or where others pass on what such a
/// command prints.
pub(super) fn of(commands: &[Command], range: &Range<usize>) -> Option<String> {
    let mut range = range.clone();
    for _ in 0..HOPS {
        let (first, others) = commands.get(range)?.split_first()?;
        let only_substitutions = others
            .iter()
            .all(|each| each.origin == Origin::Substitution);
        if !only_substitutions {
            return None;
        }
        if first.words.is_empty() {
            return document(first).flatten();
        }
        let given = document(first);
        // What goes elsewhere is not printed. Where its errors go makes no difference.
        let printed_elsewhere = first
            .redirections
            .iter()
            .filter(|each| each.descriptor.as_deref() != Some("2"))
            .count();
        if printed_elsewhere > usize::from(given.is_some()) {
            return None;
        }
        let passes_on = match first.name()? {
            "echo" if given.is_none() => return echo(first.arguments()),
            "printf" if given.is_none() => return printf(first.arguments()),
            "cat" => first
                .arguments()
                .iter()
                .all(|each| each.text() == Some("-")),
            "tee" => true,
            _ => false,
        };
        if !passes_on {
            return None;
        }
        if let Some(text) = given {
            return text;
        }
        range = first.fed_by.clone();
    }
    None
}

fn known(words: &[Word]) -> Option<Vec<&str>> {
    // A glob prints the names of files, and a tilde a folder.
    let stands_for_itself = |word: &&Word| {
        word.parts
            .iter()
            .all(|part| matches!(part, super::Part::Literal(_)))
    };
    words
        .iter()
        .map(|word| Some(word).filter(stands_for_itself)?.text())
        .collect()
}

fn echo(words: &[Word]) -> Option<String> {
    let words = known(words)?;
    let flags = words
        .iter()
        .take_while(|word| {
            word.len() > 1 && word.starts_with('-') && word[1..].chars().all(|c| "neE".contains(c))
        })
        .count();
    let text = words[flags..].join(" ");
    let escapes = words[..flags].iter().any(|word| word.contains('e'));
    let text = match escapes {
        true => unescape(&text, false),
        false => text,
    };
    Some(text + "\n")
}

/// Only formats whose result is plain: without conversions, or of `%s` and `%b` alone.
fn printf(words: &[Word]) -> Option<String> {
    let words = known(words)?;
    let words = match words.first() {
        Some(&"--") => &words[1..],
        _ => &words[..],
    };
    let (format, arguments) = words.split_first()?;
    if format.starts_with('-') {
        return None;
    }
    let format = unescape(format, false);
    let conversions = format.matches('%').count();
    if conversions == 0 {
        return Some(format);
    }
    if conversions != format.matches("%s").count() + format.matches("%b").count() {
        return None;
    }
    let mut printed = String::new();
    let mut arguments = arguments.iter();
    loop {
        let mut rest = format.as_str();
        while let Some((before, after)) = rest.split_once('%') {
            printed.push_str(before);
            let argument = arguments.next().copied().unwrap_or_default();
            match after.starts_with('b') {
                true => printed.push_str(&unescape(argument, false)),
                false => printed.push_str(argument),
            }
            rest = &after[1..];
        }
        printed.push_str(rest);
        if arguments.len() == 0 {
            return Some(printed);
        }
    }
}

/// Backslash escapes as in `$'…'`, or as `echo -e` and `printf` have them.
pub(super) fn unescape(text: &str, quoting: bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        result.push_str(before);
        let Some(kind) = after.chars().next() else {
            result.push('\\');
            return result;
        };
        rest = &after[kind.len_utf8()..];
        let plain = match kind {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'e' | 'E' => Some('\u{1b}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            '\\' => Some('\\'),
            '\'' | '"' | '?' if quoting => Some(kind),
            _ => None,
        };
        if let Some(plain) = plain {
            result.push(plain);
            continue;
        }
        let (digits, radix, most) = match kind {
            'x' => (rest, 16, 2),
            'u' => (rest, 16, 4),
            'U' => (rest, 16, 8),
            '0' if !quoting => (rest, 8, 3),
            '0'..='7' => (after, 8, 3),
            'c' if quoting => {
                let Some(control) = rest.chars().next() else {
                    continue;
                };
                result.push(char::from((control as u32 as u8) & 0x1f));
                rest = &rest[control.len_utf8()..];
                continue;
            }
            _ => {
                result.extend(['\\', kind]);
                continue;
            }
        };
        let length = digits
            .chars()
            .take(most)
            .take_while(|each| each.is_digit(radix))
            .count();
        let number = u32::from_str_radix(&digits[..length], radix).ok();
        match number.and_then(char::from_u32) {
            Some(character) => result.push(character),
            None => result.extend(['\\', kind]),
        }
        rest = &digits[length..];
    }
    result.push_str(rest);
    result
}
