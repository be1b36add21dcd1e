//! Output of a process, of which only the end is kept.

/// Takes any number of bytes and keeps the last ones. Needs at most twice the room of what it keeps, and one piece.
pub(super) struct Tail {
    bytes: Vec<u8>,
    most: usize,
    truncated: bool,
}

impl Tail {
    pub(super) fn new(most: usize) -> Self {
        Self {
            bytes: Vec::new(),
            most,
            truncated: false,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        // Not with every piece, or a flood of small ones would be moved again and again.
        if self.bytes.len() / 2 > self.most {
            self.cut();
        }
    }

    /// The text, with U+FFFD for what is no UTF-8, and whether there was more before it.
    pub(super) fn finish(mut self) -> (String, bool) {
        self.cut();
        let mut bytes = self.bytes.as_slice();
        if self.truncated {
            // The cut may have gone through a character.
            let rest = bytes
                .iter()
                .take(3)
                .take_while(|byte| **byte & 0xc0 == 0x80);
            bytes = &bytes[rest.count()..];
        }
        (String::from_utf8_lossy(bytes).into_owned(), self.truncated)
    }

    fn cut(&mut self) {
        if self.bytes.len() > self.most {
            self.bytes.drain(..self.bytes.len() - self.most);
            self.truncated = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tail;

    fn tail(most: usize, pieces: &[&[u8]]) -> (String, bool) {
        let mut tail = Tail::new(most);
        for piece in pieces {
            tail.push(piece);
            assert!(tail.bytes.len() <= 2 * most + 1);
        }
        tail.finish()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(tail(4, &[b"ab", b"cd"]), ("abcd".to_owned(), false));
        assert_eq!(tail(4, &[]), (String::new(), false));
    }

    #[test]
    fn of_more_the_end_is_kept() {
        assert_eq!(tail(4, &[b"ab", b"cd", b"e"]), ("bcde".to_owned(), true));
        assert_eq!(
            tail(4, &[b"abcdefghijklmnopqrstuvwxyz"]),
            ("wxyz".to_owned(), true)
        );
        assert_eq!(tail(0, &[b"a"]), (String::new(), true));
    }

    #[test]
    fn a_cut_leaves_no_half_character() {
        assert_eq!(tail(3, &["éé".as_bytes()]), ("é".to_owned(), true));
        assert_eq!(tail(4, &[b"\xff\xfeab"]).0, "\u{fffd}\u{fffd}ab");
    }
}
