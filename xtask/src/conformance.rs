//! Counts the lines of the conformance checklist: which have a test that passes, which are argued away, which are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs the tests that are named after lines, prints the count, and fails where a line is missing or its test is.
pub(crate) fn count(folder: &Path, mut tests: Command) -> Result<()> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let lines: BTreeSet<u32> = read("checklist.md")?
        .lines()
        .filter_map(|line| line.strip_prefix("* B")?.split_once('.')?.0.parse().ok())
        .collect();
    let readme = read("README.md")?;
    let (argued, later) = readme
        .split_once("## With the bridges")
        .context("the README has no section `With the bridges`")?;
    let (argued, later) = (listed(argued), listed(later));

    let ran = tests
        .stderr(Stdio::inherit())
        .output()
        .context("the tests could not be run")?;
    let tested = tested(&String::from_utf8_lossy(&ran.stdout));
    let failed: Vec<u32> = tested
        .iter()
        .filter(|(_, passed)| !**passed)
        .map(|(line, _)| *line)
        .collect();
    let passed = lines
        .iter()
        .filter(|line| tested.get(line) == Some(&true))
        .count();
    let missing: Vec<u32> = lines
        .iter()
        .copied()
        .filter(|line| {
            !tested.contains_key(line) && !argued.contains(line) && !later.contains(line)
        })
        .collect();
    print(&format!(
        "lines {}: passed {passed}, argued {}, with the bridges {}, failed {}, missing {}",
        lines.len(),
        argued.len(),
        later.difference(&tested.keys().copied().collect()).count(),
        failed.len(),
        missing.len()
    ));
    let both: Vec<&u32> = argued
        .iter()
        .filter(|line| tested.contains_key(line))
        .collect();
    if !both.is_empty() {
        bail!("argued away, and tested all the same: {both:?}");
    }
    if !failed.is_empty() || !missing.is_empty() {
        bail!("failed: {failed:?}, missing: {missing:?}");
    }
    if !ran.status.success() {
        bail!("a test that is not named after a line failed");
    }
    Ok(())
}

/// The lines that a text lists in the first column of its tables: `| B9 |` or `| B166–B203 |`.
fn listed(text: &str) -> BTreeSet<u32> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| B")?.split_once(" |"))
        .filter_map(|(lines, _)| range(lines))
        .flatten()
        .collect()
}

fn range(lines: &str) -> Option<RangeInclusive<u32>> {
    match lines.split_once("–B") {
        Some((first, last)) => Some(first.parse().ok()?..=last.parse().ok()?),
        None => lines.parse().ok().map(|line| line..=line),
    }
}

/// The lines that tests are named after, and whether all of their tests passed.
fn tested(output: &str) -> BTreeMap<u32, bool> {
    let mut tested = BTreeMap::new();
    for line in output.lines() {
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|line| line.split_once(" ... "))
        else {
            continue;
        };
        let number = name
            .rsplit("::")
            .next()
            .and_then(|name| name.strip_prefix('b')?.split_once('_')?.0.parse().ok());
        if let Some(number) = number {
            *tested.entry(number).or_insert(true) &= result == "ok";
        }
    }
    tested
}

#[allow(clippy::print_stdout, reason = "the count is what the chore is for")]
fn print(text: &str) {
    println!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_from_tables_and_from_the_names_of_tests() {
        let listed = listed("| Line | Why |\n| B9 | so |\n| B166–B168 | so |\nB7");
        assert!(listed.into_iter().eq([9, 166, 167, 168]));
        let tested = tested(
            "test a::b7_one ... ok\ntest a::b7_two ... FAILED\ntest a::b8_x ... ok\ntest a::bad ... ok\n",
        );
        assert!(tested.into_iter().eq([(7, false), (8, true)]));
    }
}
