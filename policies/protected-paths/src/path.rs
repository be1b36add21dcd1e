//! Paths as the rules see them: absolute where the working folder is known, and one spelling for each file.

/// Brings a path to the one form that rules are written for:
///
/// * relative paths start at `folder`, `~`, `$HOME` and `${HOME}` stay the one part `~`;
/// * `.`, `..`, `//`, a `/` at the end and a `file://` before it are resolved, and `\` counts as `/`;
/// * letters are small, since on two of three systems `.ENV` is `.env`.
///
/// Links can't be followed from here.
pub fn normalise(path: &str, folder: Option<&str>) -> String {
    let path = path.trim();
    let path = path.strip_prefix("file://").unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    if !is_anchored(path)
        && let Some(folder) = folder
    {
        push_parts(&mut parts, folder);
    }
    push_parts(&mut parts, path);
    match parts.as_slice() {
        [] => ".".to_owned(),
        [root] if root.is_empty() => "/".to_owned(),
        _ => parts.join("/"),
    }
}

/// Whether the path says by itself where it starts.
fn is_anchored(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    path.starts_with(['/', '\\', '~'])
        || path.starts_with("$HOME")
        || path.starts_with("${HOME}")
        || drive
}

fn push_parts(parts: &mut Vec<String>, path: &str) {
    // An absolute path begins with an empty part, so that joining gives the `/` back.
    if path.starts_with(['/', '\\']) {
        parts.push(String::new());
    }
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => match parts.last().map(String::as_str) {
                // There is nothing above the root; what is above `~` or an unknown folder is not known.
                Some("") => {}
                None | Some("..") => parts.push("..".to_owned()),
                Some(home) if home.starts_with('~') => parts.push("..".to_owned()),
                Some(_) => {
                    parts.pop();
                }
            },
            "$HOME" | "${HOME}" => parts.push("~".to_owned()),
            _ => parts.push(part.to_lowercase()),
        }
    }
}

/// Whether a normalised path is the folder or something in it.
pub fn is_within(path: &str, folder: &str) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || folder == "/",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_file_becomes_one() {
        let cases = [
            (".env", "/home/user/project/.env"),
            ("./.env", "/home/user/project/.env"),
            ("././/.env/", "/home/user/project/.env"),
            ("src/../.env", "/home/user/project/.env"),
            ("/home/user/project/.env", "/home/user/project/.env"),
            (
                "/home//user/./project/src/../.ENV",
                "/home/user/project/.env",
            ),
            ("file:///home/user/project/.env", "/home/user/project/.env"),
            (" .env ", "/home/user/project/.env"),
            ("../../.ssh/id_rsa", "/home/.ssh/id_rsa"),
            ("../../../../../../etc/shadow", "/etc/shadow"),
            ("~/.ssh/id_rsa", "~/.ssh/id_rsa"),
            ("$HOME/.ssh/./id_rsa", "~/.ssh/id_rsa"),
            ("${HOME}//.ssh/id_rsa", "~/.ssh/id_rsa"),
            ("~user/.ssh/id_rsa", "~user/.ssh/id_rsa"),
            ("~/../other/.ssh/id_rsa", "~/../other/.ssh/id_rsa"),
            ("C:\\Users\\me\\.ssh\\id_rsa", "c:/users/me/.ssh/id_rsa"),
            ("src\\..\\.env", "/home/user/project/.env"),
            ("/", "/"),
            ("/..", "/"),
            ("", "/home/user/project"),
        ];
        for (path, expected) in cases {
            assert_eq!(
                normalise(path, Some("/home/user/project")),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn without_a_folder_a_relative_path_stays_relative() {
        let cases = [
            (".env", ".env"),
            ("a/../.env", ".env"),
            ("../.env", "../.env"),
            ("../../a", "../../a"),
        ];
        for (path, expected) in cases {
            assert_eq!(normalise(path, None), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_holds_itself_and_what_is_in_it() {
        let cases = [
            ("/home/user/project", true),
            ("/home/user/project/src/a.rs", true),
            ("/home/user/project-2/a.rs", false),
            ("/home/user", false),
            ("~/x", false),
        ];
        for (path, expected) in cases {
            assert_eq!(is_within(path, "/home/user/project"), expected, "{path}");
        }
    }
}
