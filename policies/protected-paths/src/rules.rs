//! What is protected, and how.

use crate::glob::matches;

/// What a call wants of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content becomes known.
    Read,
    /// It is made, changed, moved or removed.
    Write,
}

/// Files that hold private keys, passwords and tokens: nobody reads or writes them.
const CREDENTIALS: &[&str] = &[
    ".ssh/id_*",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.key",
    ".env",
    ".env.*",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    ".aws/credentials",
    ".aws/sso/cache/**",
    ".azure/msal_token_cache*",
    ".config/gcloud/**",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    ".kube/config",
    ".gnupg/private-keys-v1.d/**",
    ".gnupg/secring.gpg",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    "~/.npmrc",
    "/etc/shadow",
    "/etc/gshadow",
    "/proc/*/environ",
];

/// What looks like one of them, and holds nothing secret.
const NO_CREDENTIALS: &[&str] = &[
    ".ssh/*.pub",
    "id_*.pub",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.defaults",
    ".env.*.example",
    ".env.*.sample",
];

/// Folders full of credentials: copying or searching the whole of one reads them.
const CREDENTIAL_FOLDERS: &[&str] = &[".ssh", ".gnupg", ".aws", ".config/gcloud"];

/// Files through which git runs programs or keeps its state.
const GIT: &[&str] = &[".git", ".git/**"];

/// Files that other programs take orders from, each group with what a reader calls it.
const TAKES_ORDERS: &[(&str, &[&str])] = &[
    (
        "a CI workflow",
        &[
            ".github/workflows/**",
            ".github/actions/**",
            ".gitlab-ci.yml",
            ".circleci/**",
            ".buildkite/**",
            ".travis.yml",
            "jenkinsfile",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
        ],
    ),
    (
        "the settings of an agent",
        &[
            ".claude/settings*.json",
            ".claude/hooks/**",
            ".claude.json",
            ".mcp.json",
            ".codex/**",
            ".gemini/settings.json",
            ".qwen/settings.json",
            ".cursor/mcp.json",
            "seamgate.toml",
            "seamgate.lock",
        ],
    ),
    (
        "a start-up file of the shell",
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".config/fish/**",
            "/etc/profile",
            "/etc/profile.d/**",
        ],
    ),
    (
        "a file that decides who may log in",
        &[".ssh/authorized_keys", ".ssh/config", ".ssh/known_hosts"],
    ),
];

/// Places outside every project that anybody may write to.
const SCRATCH: &[&str] = &[
    "/tmp/**",
    "/private/tmp/**",
    "/var/tmp/**",
    "/var/folders/**",
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/*",
];

fn any(patterns: &[&str], path: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, path))
}

/// Whether a normalised path holds credentials. A folder counts where its content is read.
pub fn is_credential(path: &str, access: Access) -> bool {
    (any(CREDENTIALS, path) && !any(NO_CREDENTIALS, path))
        || (access == Access::Read && any(CREDENTIAL_FOLDERS, path))
}

/// Whether a normalised path belongs to git itself.
pub fn is_git_internal(path: &str) -> bool {
    any(GIT, path)
}

/// What a reader calls a normalised path that other programs take orders from.
pub fn takes_orders(path: &str) -> Option<&'static str> {
    TAKES_ORDERS
        .iter()
        .find(|(_, patterns)| any(patterns, path))
        .map(|(name, _)| *name)
}

/// Whether a normalised path is a place for anybody's temporary files.
pub fn is_scratch(path: &str) -> bool {
    any(SCRATCH, path)
}

/// Whether a pattern of file names is meant for credentials: it has enough letters of its own to tell, and names one
/// of theirs. A `*` that happens to include them is not.
pub fn names_credentials(pattern: &str) -> bool {
    const EXAMPLES: &[&str] = &[
        ".env",
        ".env.local",
        ".env.production",
        "a.pem",
        "a.key",
        "a.p12",
        "a.pfx",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        ".netrc",
        ".git-credentials",
        ".pgpass",
        ".pypirc",
    ];
    let name = pattern.rsplit('/').next().unwrap_or(pattern).to_lowercase();
    let own_letters = name
        .bytes()
        .filter(|byte| !matches!(byte, b'*' | b'?'))
        .count();
    own_letters >= 2 && EXAMPLES.iter().any(|example| matches(&name, example))
}
