//! Brace expansion: `{a,b}c` is `ac bc`.

use super::syntax::{Piece, RawWord};

/// How many words one word may become. Beyond that its braces stay as they are, which is told as a glob.
const LIMIT: usize = 256;
/// How long the words of one expansion may be together, by their sources.
const LENGTH_LIMIT: usize = 64 * 1024;

/// The words that a word becomes: itself, where it has no braces to expand.
pub(super) fn expand(word: RawWord) -> Vec<RawWord> {
    if !word
        .pieces
        .iter()
        .any(|each| matches!(each, Piece::Brace(_)))
    {
        return vec![word];
    }
    // The words of `{1..9}` are not worked out, and long words are not multiplied.
    let mut budget = LIMIT.min(LENGTH_LIMIT / word.source.len().max(1));
    let expanded = match word.source.contains("..") {
        true => None,
        false => alternatives(&word.pieces, &mut budget, 0),
    };
    match expanded {
        Some(words) => words
            .into_iter()
            .map(|pieces| RawWord {
                source: word.source.clone(),
                pieces: settle(pieces),
            })
            .collect(),
        None => vec![RawWord {
            pieces: word.pieces.into_iter().map(as_glob).collect(),
            source: word.source,
        }],
    }
}

fn as_glob(piece: Piece) -> Piece {
    match piece {
        Piece::Brace(character) => Piece::Glob(character.into()),
        other => other,
    }
}

/// A word in whose place no braces are expanded: an assignment's value or a redirection's target.
pub(super) fn leave(word: RawWord) -> RawWord {
    RawWord {
        pieces: settle(word.pieces),
        source: word.source,
    }
}

/// Braces that were not expanded stand for themselves.
fn settle(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut settled: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let text = match piece {
            Piece::Brace(character) => character.to_string(),
            Piece::Plain(text) => text,
            other => {
                settled.push(other);
                continue;
            }
        };
        match settled.last_mut() {
            Some(Piece::Plain(before)) => before.push_str(&text),
            _ => settled.push(Piece::Plain(text)),
        }
    }
    settled
}

/// All expansions, or none where there are too many.
fn alternatives(pieces: &[Piece], budget: &mut usize, depth: usize) -> Option<Vec<Vec<Piece>>> {
    let Some((open, commas, close)) = first_group(pieces) else {
        return Some(vec![pieces.to_vec()]);
    };
    if depth > 8 {
        return None;
    }
    let mut inner: Vec<Vec<Piece>> = Vec::new();
    let mut start = open + 1;
    for &end in commas.iter().chain([&close]) {
        inner.extend(alternatives(&pieces[start..end], budget, depth + 1)?);
        start = end + 1;
    }
    let after = alternatives(&pieces[close + 1..], budget, depth + 1)?;
    *budget = budget.checked_sub(inner.len() * after.len())?;
    let mut words = Vec::new();
    for middle in &inner {
        for end in &after {
            words.push([&pieces[..open], middle, end].concat());
        }
    }
    Some(words)
}

/// The first `{` that has its `}` and a comma between them at its own level.
fn first_group(pieces: &[Piece]) -> Option<(usize, Vec<usize>, usize)> {
    // One pass with a stack: each open brace collects its commas, and a close brace ends the innermost.
    let mut stack: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut first: Option<(usize, Vec<usize>, usize)> = None;
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Brace('{') => stack.push((index, Vec::new())),
            Piece::Brace(',') => {
                if let Some((_, commas)) = stack.last_mut() {
                    commas.push(index);
                }
            }
            Piece::Brace(_) => {
                if let Some((open, commas)) = stack.pop()
                    && !commas.is_empty()
                    && first.as_ref().is_none_or(|found| open < found.0)
                {
                    first = Some((open, commas, index));
                }
            }
            _ => {}
        }
    }
    first
}
