//! The kinds of secrets, each by how it starts and what follows.

/// A kind of secret that is told by its first letters.
#[derive(Debug)]
pub struct Kind {
    /// What a reader calls it, with its article.
    pub name: &'static str,
    /// How it starts.
    pub prefix: &'static str,
    /// The bytes that may follow.
    pub charset: Charset,
    /// How many of them follow at least.
    pub least: usize,
    /// How many of them follow at most: one more, and it is something else.
    pub most: usize,
    /// A text that the rest contains, where the prefix alone says too little.
    pub contains: &'static str,
}

/// A set of bytes.
#[derive(Debug, Clone, Copy)]
pub enum Charset {
    /// `A`–`Z`, `0`–`9`.
    Upper,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Letters, digits and `/`.
    Path,
}

impl Charset {
    /// Whether the byte is one of them.
    pub fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Self::Path => byte.is_ascii_alphanumeric() || byte == b'/',
        }
    }
}

const fn kind(
    name: &'static str,
    prefix: &'static str,
    charset: Charset,
    least: usize,
    most: usize,
) -> Kind {
    Kind {
        name,
        prefix,
        charset,
        least,
        most,
        contains: "",
    }
}

const ANY: usize = usize::MAX;

/// All of them. Where two prefixes begin alike, the longer one comes first.
pub const KINDS: &[Kind] = &[
    kind("an AWS access key id", "AKIA", Charset::Upper, 16, 16),
    kind(
        "a temporary AWS access key id",
        "ASIA",
        Charset::Upper,
        16,
        16,
    ),
    kind("a Google API key", "AIza", Charset::Url, 35, 35),
    kind("a GitHub token", "ghp_", Charset::Alphanumeric, 36, ANY),
    kind("a GitHub token", "gho_", Charset::Alphanumeric, 36, ANY),
    kind("a GitHub token", "ghu_", Charset::Alphanumeric, 36, ANY),
    kind("a GitHub token", "ghs_", Charset::Alphanumeric, 36, ANY),
    kind("a GitHub token", "ghr_", Charset::Alphanumeric, 36, ANY),
    kind("a GitHub token", "github_pat_", Charset::Url, 50, ANY),
    kind("a GitLab token", "glpat-", Charset::Url, 20, ANY),
    kind("a GitLab token", "gldt-", Charset::Url, 20, ANY),
    kind("a GitLab token", "glrt-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxb-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxp-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxa-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxr-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxs-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxe-", Charset::Url, 20, ANY),
    kind("a Slack token", "xoxe.xox", Charset::Url, 20, ANY),
    kind("a Slack token", "xapp-", Charset::Url, 20, ANY),
    kind(
        "a Slack webhook",
        "hooks.slack.com/services/",
        Charset::Path,
        40,
        ANY,
    ),
    kind(
        "a Stripe live key",
        "sk_live_",
        Charset::Alphanumeric,
        20,
        ANY,
    ),
    kind(
        "a Stripe live key",
        "rk_live_",
        Charset::Alphanumeric,
        20,
        ANY,
    ),
    kind("an npm token", "npm_", Charset::Alphanumeric, 36, ANY),
    kind("a PyPI token", "pypi-AgE", Charset::Url, 50, ANY),
    kind("an Anthropic key", "sk-ant-", Charset::Url, 32, ANY),
    kind("an OpenAI key", "sk-proj-", Charset::Url, 40, ANY),
    kind("an OpenAI key", "sk-svcacct-", Charset::Url, 40, ANY),
    kind("an OpenAI key", "sk-admin-", Charset::Url, 40, ANY),
    Kind {
        contains: "T3BlbkFJ",
        ..kind("an OpenAI key", "sk-", Charset::Alphanumeric, 40, ANY)
    },
];
