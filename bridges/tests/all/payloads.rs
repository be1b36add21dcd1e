//! One payload of each event: every event of both agents is read, and goes to the seams it should.

use seamgate_bridges::Dialect;

use crate::{files, fixtures, read};

fn table(dialect: Dialect) -> (String, usize) {
    let folder = fixtures().join("payloads").join(dialect.as_str());
    let mut names = std::collections::BTreeSet::new();
    let mut table = String::new();
    for path in files(&folder, ".input.json") {
        let event = dialect
            .read(&read(&path))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(event.name(), file.split('.').next().unwrap());
        assert_eq!(event.dialect(), dialect);
        assert!(!event.session_id().is_empty());
        names.insert(event.name().to_owned());
        let seams: Vec<&str> = event.seams().iter().map(|seam| seam.as_str()).collect();
        table.push_str(&format!(
            "{} → {} | {}\n",
            file.trim_end_matches(".input.json"),
            seams.join(", "),
            event.subject()
        ));
    }
    (table, names.len())
}

#[test]
fn claude_code() {
    let (table, events) = table(Dialect::Claude);
    assert_eq!(events, 34);
    insta::assert_snapshot!(table);
}

#[test]
fn codex() {
    let (table, events) = table(Dialect::Codex);
    assert_eq!(events, 14);
    insta::assert_snapshot!(table);
}
