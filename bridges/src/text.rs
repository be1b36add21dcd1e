//! Text for people and models: bounded, and without characters that a terminal obeys.

use seamgate::seams::Attributed;

/// How many characters a message on standard error may have. Whoever wants more reads the log.
const MESSAGE_CHARS: usize = 4_000;

/// Whether a character moves the cursor, changes the direction of text, or has no width. Such characters can make a
/// command look like another one.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// One line of at most so many characters: hidden characters and runs of blanks become a single blank.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut blank = false;
    for character in text.chars() {
        if is_hidden(character) || character.is_whitespace() {
            blank = count > 0;
            continue;
        }
        if count + usize::from(blank) >= most {
            while line.chars().count() >= most {
                line.pop();
            }
            line.push('…');
            return line;
        }
        if blank {
            line.push(' ');
            count += 1;
            blank = false;
        }
        line.push(character);
        count += 1;
    }
    line
}

/// A message of one or a few lines, never blank.
pub(crate) fn message(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "nothing could be decided".to_owned();
    }
    let mut message: String = text
        .chars()
        .take(MESSAGE_CHARS)
        .map(|character| match character {
            '\n' => '\n',
            hidden if is_hidden(hidden) => ' ',
            plain => plain,
        })
        .collect();
    if text.chars().nth(MESSAGE_CHARS).is_some() {
        message.push('…');
    }
    message
}

/// The reasons one under the other, never blank: a hook that gave none is named.
///
/// Agents take a refusal with a blank reason for no refusal at all (Codex 0.171.0, measured).
pub(crate) fn reasons(said: &[Attributed]) -> String {
    joined(said, "refused this and gave no reason")
}

/// What the model reads next in a turn that goes on, never blank, for the same cause.
pub(crate) fn continuations(said: &[Attributed]) -> String {
    joined(said, "wants this turn to go on and did not say why")
}

fn joined(said: &[Attributed], without_text: &str) -> String {
    if said.is_empty() {
        return format!("a hook {without_text}");
    }
    let texts: Vec<String> = said
        .iter()
        .map(|one| {
            if one.text.trim().is_empty() {
                format!("hook `{}` {without_text}", one.hook)
            } else {
                one.text.clone()
            }
        })
        .collect();
    texts.join("\n")
}

/// The contexts one under the other, or nothing where there are none or all are blank.
pub(crate) fn contexts(said: &[Attributed]) -> Option<String> {
    let texts: Vec<&str> = said
        .iter()
        .map(|context| context.text.as_str())
        .filter(|text| !text.trim().is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The text, cut with a note where it has more than `most` UTF-16 units, by which JavaScript counts.
pub(crate) fn cut(text: String, most: usize) -> String {
    let length: usize = text.chars().map(char::len_utf16).sum();
    if length <= most {
        return text;
    }
    let note = format!("\n[cut by seamgate: the whole is {length} characters long]");
    let room = most.saturating_sub(note.len());
    let mut units = 0;
    let mut kept: String = text
        .chars()
        .take_while(|character| {
            units += character.len_utf16();
            units <= room
        })
        .collect();
    kept.push_str(&note);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        for (text, expected) in [
            ("", ""),
            ("  git\tstatus \n", "git status"),
            ("a\u{1b}[31mb\u{202e}c", "a [31mb c"),
            ("0123456789", "0123456789"),
            ("0123456789x", "012345678…"),
            ("012345678 x", "012345678…"),
            ("01234567 xy", "01234567 …"),
            ("éééééééééé", "éééééééééé"),
        ] {
            let line = line(text, 10);
            assert_eq!(line, expected);
            assert!(line.chars().count() <= 10);
        }
    }

    #[test]
    fn a_long_message_is_cut() {
        let message = message(&"x".repeat(1_000_000));
        assert_eq!(message.chars().count(), MESSAGE_CHARS + 1);
    }

    #[test]
    fn a_context_is_cut_by_utf16_units() {
        assert_eq!(cut("a".repeat(100), 100), "a".repeat(100));
        let long = cut("😀".repeat(100), 100);
        assert!(long.encode_utf16().count() <= 100);
        assert!(long.ends_with("\n[cut by seamgate: the whole is 200 characters long]"));
    }
}
