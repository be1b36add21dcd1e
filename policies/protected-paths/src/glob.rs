//! Patterns for paths: `*` and `?` within a part, `**` for any number of parts.

/// Whether the pattern matches the whole of a normalised path.
///
/// A pattern that does not begin with `/` or `~` may begin at any part: `.env` is `**/.env`. It is compared in small
/// letters, like the path.
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.to_lowercase();
    let mut pattern_parts: Vec<&str> = pattern.split('/').collect();
    if !pattern.starts_with(['/', '~']) {
        pattern_parts.insert(0, "**");
    }
    let path_parts: Vec<&str> = path.split('/').collect();
    match_parts(&pattern_parts, &path_parts)
}

/// Goes back to the last `**` only, like [`match_part`] to the last `*`, which is enough and never takes long.
fn match_parts(pattern: &[&str], path: &[&str]) -> bool {
    let (mut at, mut path_at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while path_at < path.len() {
        if pattern.get(at) == Some(&"**") {
            retry = Some((at, path_at));
            at += 1;
        } else if pattern
            .get(at)
            .is_some_and(|part| match_part(part.as_bytes(), path[path_at].as_bytes()))
        {
            at += 1;
            path_at += 1;
        } else if let Some((star, from)) = retry {
            retry = Some((star, from + 1));
            at = star + 1;
            path_at = from + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|part| *part == "**")
}

fn match_part(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut text_at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while text_at < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, text_at));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == text[text_at] => {
                at += 1;
                text_at += 1;
            }
            _ => {
                let Some((star, from)) = retry else {
                    return false;
                };
                retry = Some((star, from + 1));
                at = star + 1;
                text_at = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        let cases = [
            (".env", "/p/.env", true),
            (".env", ".env", true),
            (".env", "/p/.env.local", false),
            (".env", "/p/x.env", false),
            (".env.*", "/p/.env.local", true),
            ("*.pem", "/p/certs/a.pem", true),
            ("*.PEM", "/p/certs/a.pem", true),
            ("*.pem", "/p/a.pem/b", false),
            (".ssh/id_*", "~/.ssh/id_rsa", true),
            (".ssh/id_*", "/root/.ssh/deep/id_rsa", false),
            (".git/**", "/p/.git/hooks/pre-commit", true),
            (".git/**", "/p/.git", true),
            (".git/**", "/p/.gitignore", false),
            ("/etc/**", "/etc/shadow", true),
            ("/etc/**", "/p/etc/shadow", false),
            ("~/.zshrc", "~/.zshrc", true),
            ("a/**/z", "/a/z", true),
            ("a/**/z", "/a/b/c/z", true),
            ("a/**/z", "/a/b/c/zz", false),
            ("**/b/**/d", "/a/b/c/b/d", true),
            ("id_?sa", "/p/id_rsa", true),
            ("id_?sa", "/p/id_sa", false),
            ("*a*b*", "/p/xxaxxbxx", true),
            ("*a*b*", "/p/xxbxxaxx", false),
            ("", "/p", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time_to_speak_of() {
        let path = "a".repeat(10_000);
        assert!(!matches(&format!("{}b", "*a".repeat(200)), &path));
        assert!(!matches(
            &format!("{}b", "**/a/".repeat(200)),
            &"a/".repeat(5_000)
        ));
    }
}
