//! Which paths a call touches, by the tool's own arguments.

use serde_json::{Map, Value};

use crate::rules::Access;

/// A path as the call has it, and what the call wants of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The path, as written.
    pub path: String,
    /// Where it starts, if it is relative.
    pub start: Start,
    /// What for.
    pub access: Access,
}

/// Where a relative path starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// The agent's folder.
    Agent,
    /// This folder, which may itself start at the agent's.
    Folder(String),
    /// Some folder that can't be told.
    Unknown,
}

impl Touch {
    /// Wants this of a path that starts at the agent's folder.
    pub fn new(path: impl Into<String>, access: Access) -> Self {
        Self {
            path: path.into(),
            start: Start::Agent,
            access,
        }
    }
}

/// The names under which tools take paths.
const PATH_ARGUMENTS: &[&str] = &[
    "file_path",
    "notebook_path",
    "absolute_path",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filepath",
    "filePath",
    "source",
    "destination",
    "directory",
    "dir_path",
    "uri",
];

/// Parts of tools' names that mean a change.
const WRITES: &[&str] = &[
    "write", "edit", "create", "replace", "update", "delete", "remove", "move", "rename", "patch",
    "save", "append",
];

/// Tools that list names, and read nothing.
const LISTS: &[&str] = &["Glob", "glob", "LS", "list_directory", "list_dir"];

/// The paths in the arguments of a tool that is not a shell.
pub fn touches(tool: &str, arguments: &Map<String, Value>) -> Vec<Touch> {
    if LISTS.contains(&tool) {
        return Vec::new();
    }
    let lower = tool.to_lowercase();
    let access = if WRITES.iter().any(|part| lower.contains(part)) {
        Access::Write
    } else {
        Access::Read
    };
    let mut touches = Vec::new();
    for name in PATH_ARGUMENTS {
        match arguments.get(*name) {
            Some(Value::String(path)) => touches.push(Touch::new(path, access)),
            Some(Value::Array(paths)) => {
                touches.extend(
                    paths
                        .iter()
                        .filter_map(Value::as_str)
                        .map(|path| Touch::new(path, access)),
                );
            }
            _ => {}
        }
    }
    // Grep reads every file that these name.
    for name in ["glob", "include"] {
        if let Some(Value::String(pattern)) = arguments.get(name) {
            touches.push(Touch::new(pattern, Access::Read));
        }
    }
    if lower == "apply_patch" {
        for name in ["input", "patch", "command"] {
            match arguments.get(name) {
                Some(Value::String(patch)) => touches.extend(patch_touches(patch)),
                Some(Value::Array(words)) => {
                    touches.extend(
                        words
                            .iter()
                            .filter_map(Value::as_str)
                            .flat_map(patch_touches),
                    );
                }
                _ => {}
            }
        }
    }
    touches
}

/// The files that a patch in the format of Codex changes.
pub fn patch_touches(patch: &str) -> Vec<Touch> {
    const HEADERS: &[&str] = &[
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let paths = patch.lines().filter_map(|line| {
        HEADERS
            .iter()
            .find_map(|header| line.trim().strip_prefix(header))
    });
    paths.map(|path| Touch::new(path, Access::Write)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_found_under_every_agents_names() {
        let read = |path: &str| Touch::new(path, Access::Read);
        let write = |path: &str| Touch::new(path, Access::Write);
        let patch = "*** Begin Patch\n*** Add File: notes.txt\n+alpha\n*** Update File: a\n*** Move to: b\n*** End Patch\n";
        let cases = [
            ("Read", json!({ "file_path": "/p/a" }), vec![read("/p/a")]),
            (
                "Write",
                json!({ "file_path": "/p/a", "content": "x" }),
                vec![write("/p/a")],
            ),
            (
                "MultiEdit",
                json!({ "file_path": "a", "edits": [] }),
                vec![write("a")],
            ),
            (
                "NotebookEdit",
                json!({ "notebook_path": "a.ipynb" }),
                vec![write("a.ipynb")],
            ),
            (
                "Grep",
                json!({ "pattern": "x", "path": "src" }),
                vec![read("src")],
            ),
            (
                "Grep",
                json!({ "pattern": "x", "glob": "*.pem" }),
                vec![read("*.pem")],
            ),
            ("Grep", json!({ "pattern": "x" }), vec![]),
            (
                "Glob",
                json!({ "pattern": "*.txt", "path": "~/.ssh" }),
                vec![],
            ),
            (
                "read_many_files",
                json!({ "paths": ["a", "b"] }),
                vec![read("a"), read("b")],
            ),
            (
                "mcp__files__move_file",
                json!({ "source": "a", "destination": "b" }),
                vec![write("a"), write("b")],
            ),
            (
                "apply_patch",
                json!({ "input": patch }),
                vec![write("notes.txt"), write("a"), write("b")],
            ),
            (
                "apply_patch",
                json!({ "command": ["apply_patch", patch] }),
                vec![write("notes.txt"), write("a"), write("b")],
            ),
            ("Task", json!({ "prompt": "read .env" }), vec![]),
        ];
        for (tool, arguments, expected) in cases {
            assert_eq!(
                touches(tool, arguments.as_object().unwrap()),
                expected,
                "{tool} {arguments}"
            );
        }
    }
}
