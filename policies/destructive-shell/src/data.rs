//! Databases, clusters, infrastructure: what others have, and no file brings back.

use seamgate_sdk::shell::{Word, skip_options};

use crate::{Finding, Judged};

/// The finding on a command of this file's kind.
pub fn judge(judged: &Judged<'_>) -> Option<Finding> {
    statement(judged).or_else(|| tool(judged))
}

/// SQL given to a database's client, as an argument or on its standard input.
fn statement(judged: &Judged<'_>) -> Option<Finding> {
    if !matches!(
        judged.name,
        "psql"
            | "mysql"
            | "mariadb"
            | "sqlite3"
            | "sqlcmd"
            | "duckdb"
            | "clickhouse-client"
            | "cockroach"
            | "usql"
    ) {
        return None;
    }
    let mut texts: Vec<String> = judged.arguments.iter().map(Word::literals).collect();
    texts.extend(judged.script.input(judged.index));
    let found = texts.iter().find_map(|text| destructive_sql(text))?;
    Some(Finding::Ask(format!(
        "the agent wants to run SQL with `{found}`, which destroys data"
    )))
}

/// The first destructive statement's name.
fn destructive_sql(text: &str) -> Option<&'static str> {
    // Without what is quoted, and without comments.
    let mut plain = String::new();
    let mut rest = text;
    while let Some(place) = rest
        .find(['\'', '"', '`'])
        .into_iter()
        .chain(rest.find("--"))
        .min()
    {
        plain.push_str(&rest[..place]);
        let (open, close) = match rest.as_bytes().get(place) {
            Some(b'-') => (2, "\n"),
            Some(b'\'') => (1, "'"),
            Some(b'"') => (1, "\""),
            _ => (1, "`"),
        };
        plain.push(' ');
        let after = &rest[place + open..];
        rest = after.find(close).map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    let upper = plain.to_ascii_uppercase();
    for statement in upper.split(';') {
        let words: Vec<&str> = statement
            .split(|each: char| each.is_whitespace() || each == '(' || each == ')' || each == '=')
            .filter(|word| !word.is_empty())
            .collect();
        let pairs = words.windows(2).map(|pair| (pair[0], pair[1]));
        for pair in pairs {
            match pair {
                ("DROP", "TABLE") => return Some("DROP TABLE"),
                ("DROP", "DATABASE") => return Some("DROP DATABASE"),
                ("DROP", "SCHEMA") => return Some("DROP SCHEMA"),
                ("DROP", "OWNED") => return Some("DROP OWNED"),
                ("TRUNCATE", _) => return Some("TRUNCATE"),
                ("DELETE", "FROM") if !words.contains(&"WHERE") => {
                    return Some("DELETE without WHERE");
                }
                _ => {}
            }
        }
    }
    None
}

fn tool(judged: &Judged<'_>) -> Option<Finding> {
    let start = skip_options(
        judged.arguments,
        "ncHl",
        &[
            "--context",
            "--namespace",
            "--cluster",
            "--profile",
            "--region",
            "--project",
            "--host",
            "--file",
        ],
    );
    let operands: Vec<&str> = judged.arguments[start..]
        .iter()
        .filter_map(Word::text)
        .filter(|text| !text.starts_with('-'))
        .collect();
    let all = |texts: &[&str]| judged.has(texts);
    let destroys = match (judged.name, operands.as_slice()) {
        ("kubectl" | "oc", ["delete", kind, ..]) => {
            let kind = kind.split(['/', ',']).next().unwrap_or_default();
            let vital = matches!(
                kind,
                "namespace"
                    | "namespaces"
                    | "ns"
                    | "node"
                    | "nodes"
                    | "no"
                    | "pv"
                    | "persistentvolume"
                    | "persistentvolumes"
                    | "pvc"
                    | "persistentvolumeclaim"
                    | "persistentvolumeclaims"
                    | "crd"
                    | "crds"
                    | "project"
                    | "customresourcedefinition"
                    | "customresourcedefinitions"
            );
            vital || all(&["--all", "-A", "--all-namespaces"])
        }
        ("kubectl" | "oc", ["delete"]) => all(&["--all"]),
        ("terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "vagrant", ["destroy", ..]) => {
            true
        }
        ("terraform" | "tofu" | "terragrunt", ["apply", ..]) => all(&["-destroy", "--destroy"]),
        ("terragrunt", ["run-all", "destroy", ..]) => true,
        ("docker" | "podman", ["system", "prune", ..]) => {
            judged.has_flag(&['a']) || all(&["--all", "--volumes"])
        }
        ("docker" | "podman", ["volume", "prune" | "rm", ..]) => true,
        ("docker" | "podman", ["compose", "down", ..]) | ("docker-compose", ["down", ..]) => {
            judged.has_flag(&['v']) || all(&["--volumes"])
        }
        ("aws", ["s3", "rb", ..]) => all(&["--force"]),
        ("aws", ["s3", "rm", ..]) => all(&["--recursive"]),
        (
            "aws",
            ["ec2", "terminate-instances", ..]
            | ["rds", "delete-db-instance" | "delete-db-cluster", ..],
        ) => true,
        ("aws", ["cloudformation", "delete-stack", ..] | ["dynamodb", "delete-table", ..]) => true,
        ("gsutil", ["rm", ..]) => judged.has_flag(&['r', 'R']),
        ("gcloud", operands) => operands.contains(&"delete"),
        ("az", operands) => operands.contains(&"delete"),
        ("gh", ["repo", "delete", ..]) => true,
        ("heroku", [command, ..]) => matches!(*command, "apps:destroy" | "pg:reset"),
        ("redis-cli", operands) => operands.iter().any(|text| {
            text.eq_ignore_ascii_case("flushall") || text.eq_ignore_ascii_case("flushdb")
        }),
        ("mongo" | "mongosh", _) => judged.arguments.iter().any(|word| {
            let text = word.literals();
            text.contains("dropDatabase") || text.contains(".drop(")
        }),
        ("dropdb", _) => true,
        ("mysqladmin", operands) => operands.contains(&"drop"),
        ("rails" | "rake", operands) => operands
            .iter()
            .any(|text| matches!(*text, "db:drop" | "db:reset" | "db:purge")),
        _ => false,
    };
    destroys.then(|| {
        Finding::Ask(format!(
            "`{}` destroys what others may need, and nothing brings it back",
            judged.command
        ))
    })
}
