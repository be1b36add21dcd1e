//! Finds secrets in a text: one pass, by first letters, without regular expressions.

use crate::kinds::{Charset, KINDS};

/// So many different bytes make a key; fewer make a placeholder (`ghp_xxxxxxxx…`).
const LEAST_DIFFERENT_BYTES: u32 = 6;

/// How far after its first line a private key's body may start. Encrypted ones have header lines between.
const KEY_BODY_WITHIN: usize = 400;

/// A line of a private key's body has 64 letters; this much tells it from prose about keys.
const KEY_BODY_LETTERS: usize = 32;

/// No kind but one is longer. Every run is looked at up to a limit only, or a text of beginnings
/// (`xoxb-xoxb-xoxb-…`) would take time by the square of its length.
const LONGEST_SECRET: usize = 512;

/// The longest claims of a JSON Web Token. Text with a dot behind it, so what stands in it is not looked at again.
const LONGEST_CLAIMS: usize = 8192;

/// What to look for beside the kinds that always count.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// Whether JSON Web Tokens are secrets.
    pub jwt: bool,
    /// Values that are none.
    pub allow: &'a [String],
}

impl Scan<'_> {
    /// The name of the first secret's kind in the text.
    pub fn find(&self, text: &str) -> Option<&'static str> {
        let bytes = text.as_bytes();
        let mut before = 0u8;
        for (start, &byte) in bytes.iter().enumerate() {
            // Only where a word starts: inside a longer run of letters it is chance.
            if STARTS[usize::from(byte)] && !before.is_ascii_alphanumeric() {
                let found = self
                    .at(bytes, start)
                    .filter(|found| !self.is_allowed(&bytes[start..found.end]));
                if let Some(found) = found {
                    return Some(found.name);
                }
            }
            before = byte;
        }
        None
    }

    fn is_allowed(&self, value: &[u8]) -> bool {
        self.allow.iter().any(|allowed| allowed.as_bytes() == value)
    }

    /// The secret that starts exactly here.
    fn at(&self, bytes: &[u8], start: usize) -> Option<Found> {
        prefixed(bytes, start)
            .or_else(|| private_key(bytes, start))
            .or_else(|| aws_secret_key(bytes, start))
            .or_else(|| {
                if self.jwt {
                    json_web_token(bytes, start)
                } else {
                    None
                }
            })
    }
}

struct Found {
    name: &'static str,
    end: usize,
}

/// The bytes that a secret may start with.
const STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let mut index = 0;
    while index < KINDS.len() {
        starts[KINDS[index].prefix.as_bytes()[0] as usize] = true;
        index += 1;
    }
    starts[b'-' as usize] = true;
    starts[b'a' as usize] = true;
    starts[b'A' as usize] = true;
    starts[b'e' as usize] = true;
    starts
};

/// Where the run of such bytes that starts here ends, at most `longest` further on.
fn run_end(bytes: &[u8], start: usize, longest: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let limit = bytes.len().min(start.saturating_add(longest));
    bytes[start..limit]
        .iter()
        .position(|&byte| !is_part(byte))
        .map_or(limit, |length| start + length)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
}

fn is_random(bytes: &[u8]) -> bool {
    let seen = bytes
        .iter()
        .fold(0u128, |seen, &byte| seen | 1 << (byte & 127));
    seen.count_ones() >= LEAST_DIFFERENT_BYTES
}

fn prefixed(bytes: &[u8], start: usize) -> Option<Found> {
    KINDS.iter().find_map(|kind| {
        if !bytes[start..].starts_with(kind.prefix.as_bytes()) {
            return None;
        }
        let rest = start + kind.prefix.len();
        // The least first: it is short, and says no to most of what only starts like a secret.
        let least = run_end(bytes, rest, kind.least, |byte| kind.charset.has(byte));
        if least - rest < kind.least || !is_random(&bytes[rest..least]) {
            return None;
        }
        let end = run_end(bytes, least, LONGEST_SECRET, |byte| kind.charset.has(byte));
        let is_one =
            end - rest <= kind.most && contains(&bytes[rest..end], kind.contains.as_bytes());
        is_one.then_some(Found {
            name: kind.name,
            end,
        })
    })
}

/// `-----BEGIN … PRIVATE KEY-----` with a body behind it. The line alone is what one searches for.
fn private_key(bytes: &[u8], start: usize) -> Option<Found> {
    let label_start = start + b"-----BEGIN ".len();
    if !bytes[start..].starts_with(b"-----BEGIN ") {
        return None;
    }
    let label_end = run_end(bytes, label_start, LONGEST_SECRET, |byte| {
        byte.is_ascii_uppercase() || byte == b' ' || byte.is_ascii_digit()
    });
    let label = &bytes[label_start..label_end];
    if !(label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK"))
        || !bytes[label_end..].starts_with(b"-----")
    {
        return None;
    }
    let is_body = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let limit = bytes.len().min(label_end + KEY_BODY_WITHIN);
    let mut position = label_end;
    while position < limit {
        let end = run_end(bytes, position, LONGEST_SECRET, is_body);
        if end - position >= KEY_BODY_LETTERS && is_random(&bytes[position..end]) {
            return Some(Found {
                name: "a private key",
                end,
            });
        }
        position = end + 1;
    }
    None
}

/// `aws_secret_access_key = …`: the key itself has no prefix, so its name has to stand before it.
fn aws_secret_key(bytes: &[u8], start: usize) -> Option<Found> {
    const NAME: &[u8] = b"aws_secret_access_key";
    if !bytes
        .get(start..start + NAME.len())?
        .eq_ignore_ascii_case(NAME)
    {
        return None;
    }
    let name_end = start + NAME.len();
    let value_start = run_end(bytes, name_end, LONGEST_SECRET, |byte| {
        matches!(
            byte,
            b' ' | b'\t' | b'"' | b'\'' | b'=' | b':' | b'>' | b','
        )
    });
    let end = run_end(bytes, value_start, LONGEST_SECRET, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
    });
    let is_one =
        value_start > name_end && end - value_start == 40 && is_random(&bytes[value_start..end]);
    is_one.then_some(Found {
        name: "an AWS secret access key",
        end,
    })
}

/// Three parts in base64 with dots between, the first two of which are JSON objects.
fn json_web_token(bytes: &[u8], start: usize) -> Option<Found> {
    let part = |start: usize, prefix: &[u8], longest: usize| {
        if !bytes[start..].starts_with(prefix) {
            return None;
        }
        let end = run_end(bytes, start, longest, |byte| Charset::Url.has(byte));
        (end - start >= 10).then_some(end)
    };
    let after_dot = |end: usize| (bytes.get(end) == Some(&b'.')).then_some(end + 1);
    let header_end = part(start, b"eyJ", LONGEST_SECRET)?;
    let claims_end = part(after_dot(header_end)?, b"eyJ", LONGEST_CLAIMS)?;
    let end = part(after_dot(claims_end)?, b"", LONGEST_CLAIMS)?;
    Some(Found {
        name: "a JSON Web Token",
        end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: Scan<'static> = Scan {
        jwt: true,
        allow: &[],
    };

    /// Keys are put together here so that none stands in this file.
    fn key(prefix: &str, length: usize) -> String {
        let rest = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
            .chars()
            .cycle()
            .take(length);
        prefix.chars().chain(rest).collect()
    }

    #[test]
    fn every_kind_is_found_wherever_it_stands() {
        let upper = |prefix: &str| key(prefix, 16).to_uppercase();
        let body = key("", 64);
        let cases = [
            ("an AWS access key id", "AKIAIOSFODNN7EXAMPLE".to_owned()),
            ("an AWS access key id", upper("AKIA")),
            ("a temporary AWS access key id", upper("ASIA")),
            (
                "an AWS secret access key",
                format!("AWS_SECRET_ACCESS_KEY = '{}'", key("", 40)),
            ),
            (
                "an AWS secret access key",
                format!("aws_secret_access_key: {}", key("", 40)),
            ),
            (
                "an AWS secret access key",
                format!("\"aws_secret_access_key\": \"{}\"", key("", 40)),
            ),
            ("a Google API key", key("AIza", 35)),
            ("a GitHub token", key("ghp_", 36)),
            ("a GitHub token", key("gho_", 36)),
            ("a GitHub token", key("ghs_", 36)),
            ("a GitHub token", key("github_pat_", 82)),
            ("a GitLab token", key("glpat-", 20)),
            ("a Slack token", key("xoxb-", 50)),
            (
                "a Slack webhook",
                format!("https://{}", key("hooks.slack.com/services/", 44)),
            ),
            ("a Stripe live key", key("sk_live_", 24)),
            ("an npm token", key("npm_", 36)),
            ("a PyPI token", key("pypi-AgEIcHlwaS5vcmc", 120)),
            ("an Anthropic key", key("sk-ant-api03-", 93)),
            ("an OpenAI key", key("sk-proj-", 120)),
            (
                "an OpenAI key",
                format!("{}T3BlbkFJ{}", key("sk-", 20), key("", 20)),
            ),
            (
                "a private key",
                format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END"),
            ),
            (
                "a private key",
                format!("-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END"),
            ),
            (
                "a private key",
                format!("-----BEGIN OPENSSH PRIVATE KEY-----\r\n{body}"),
            ),
            (
                "a private key",
                format!(
                    "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{body}"
                ),
            ),
            (
                "a private key",
                format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{body}"),
            ),
            (
                "a JSON Web Token",
                format!("{}.{}.{}", key("eyJ", 20), key("eyJ", 40), key("", 43)),
            ),
        ];
        for (name, secret) in cases {
            for text in [
                secret.clone(),
                format!("export K={secret}\n"),
                format!("x\u{e9} '{secret}'"),
                format!("a-{secret}."),
            ] {
                assert_eq!(EVERYTHING.find(&text), Some(name), "{text}");
            }
        }
    }

    #[test]
    fn what_only_resembles_a_secret_is_left_alone() {
        let cases = [
            String::new(),
            "AKIA".into(),
            "grep -r 'AKIA' .".into(),
            "AKIAIOSFODNN7EXAMPL".into(),
            "AKIAIOSFODNN7EXAMPLES".into(),
            "AKIAXXXXXXXXXXXXXXXX".into(),
            "xAKIAIOSFODNN7EXAMPLE".into(),
            "AKIAiosfodnn7example".into(),
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".into(),
            key("ghp_", 35),
            key("sk-", 48),
            "sk-learn-and-other-packages-with-long-names-in-them".into(),
            "npm_config_registry=https://registry.npmjs.org".into(),
            "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']".into(),
            format!("aws_secret_access_key = {}", key("", 41)),
            key("", 40),
            "-----BEGIN RSA PRIVATE KEY-----".into(),
            "grep -rn -e '-----BEGIN RSA PRIVATE KEY-----' src tests".into(),
            format!("-----BEGIN PUBLIC KEY-----\n{}", key("", 64)),
            format!("-----BEGIN CERTIFICATE-----\n{}", key("", 64)),
            format!("{}.{}", key("eyJ", 20), key("eyJ", 40)),
            "password = \"hunter2hunter2\"".into(),
        ];
        for text in cases {
            assert_eq!(EVERYTHING.find(&text), None, "{text}");
        }
    }

    #[test]
    fn a_long_text_of_prefixes_takes_no_time_to_speak_of() {
        for part in [
            "xoxb-",
            "gldt-",
            "eyJaaaaaaaa-",
            "-----BEGIN PRIVATE KEY-----",
            "aws_secret_access_key= ",
        ] {
            let started = std::time::Instant::now();
            assert_eq!(
                EVERYTHING.find(&part.repeat((1 << 20) / part.len())),
                None,
                "{part}"
            );
            assert!(
                started.elapsed() < std::time::Duration::from_secs(10),
                "{part}: {:?}",
                started.elapsed()
            );
        }
    }

    #[test]
    fn tokens_are_secrets_only_when_asked_for_and_allowed_values_never() {
        let token = format!("{}.{}.{}", key("eyJ", 20), key("eyJ", 40), key("", 43));
        assert_eq!(
            Scan {
                jwt: false,
                allow: &[]
            }
            .find(&token),
            None
        );
        let allow = ["AKIAIOSFODNN7EXAMPLE".to_owned()];
        let scan = Scan {
            jwt: false,
            allow: &allow,
        };
        assert_eq!(scan.find("key AKIAIOSFODNN7EXAMPLE here"), None);
        assert_eq!(
            scan.find("AKIAIOSFODNN7EXAMPLE AKIAIOSFODNN7EXAMPLF"),
            Some("an AWS access key id")
        );
    }
}
