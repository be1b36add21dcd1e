//! What must be stopped, what must be asked about, and what must pass.

use seamgate_sdk::testing::{settings, tool_call};
use seamgate_sdk::{ToolCall, Verdict};

use super::{Settings, pre_tool};

fn bash(command: &str) -> ToolCall {
    tool_call("Bash", serde_json::json!({ "command": command }))
}

fn verdict(call: &ToolCall, settings: &Settings) -> Verdict {
    pre_tool(call, settings).expect("a readable call").verdict
}

fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Abstain => "abstain",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

fn check(expected: &str, lines: &[&str]) {
    let verdicts = lines
        .iter()
        .map(|line| (line, verdict(&bash(line), &Settings::default())));
    let wrong: Vec<String> = verdicts
        .filter(|(_, verdict)| kind(verdict) != expected)
        .map(|(line, verdict)| format!("{line}: {verdict:?}"))
        .collect();
    assert!(wrong.is_empty(), "not {expected}:\n{}", wrong.join("\n"));
}

#[test]
fn force_pushes_are_denied() {
    check(
        "deny",
        &[
            "git push --force origin main",
            "git push --force",
            "git push -f origin feature/login",
            "git push origin +feature/login",
            "git push origin +HEAD:main",
            "git push -uf origin x",
            "git push --mirror",
            "git push origin feature -f",
            "git add . && git commit -m x && git push --force",
            "git push --force origin \"$BRANCH\"",
        ],
    );
}

#[test]
fn pushes_to_protected_branches_are_denied() {
    check(
        "deny",
        &[
            "git push origin HEAD:main",
            "git push origin main",
            "git push origin master",
            "git push -u origin main",
            "git push origin release/1.2",
            "git push origin feature:release/1.2",
            "git push origin HEAD:refs/heads/main",
            "git push origin refs/heads/main",
            "git push origin :main",
            "git push origin --delete main",
            "git push -d origin master",
            "git push --all origin",
            "git push --branches",
            "git push origin 'refs/heads/*:refs/heads/*'",
            "git push origin feature main",
            "git push --repo x origin main",
            "git push --force-with-lease origin main",
            "git -C sub push origin main",
            "git --git-dir x/.git push origin main",
            "git checkout main && git merge x && git push",
            "git switch main; git push origin HEAD",
            "git checkout main && git push origin \"$(git branch --show-current)\"",
            "git subtree push --prefix docs origin main",
        ],
    );
}

#[test]
fn disguises_do_not_help() {
    check(
        "deny",
        &[
            "g''it pu\\sh --force origin main",
            "/usr/bin/git push --force origin main",
            "$'git' push origin HEAD:'main'",
            "x='git push --force'; $x origin main",
            "b=main; git push origin $b",
            "git push origin \"HEAD:ma\"in",
            "git push origin {feature,main}",
            "gi${nothing}t push -f",
            "/usr/bin/g?t push -f",
            "sudo git push -f",
            "env GIT_SSH_COMMAND=ssh git push -f",
            "bash -c \"git push -f\"",
            "bash <<'EOF'\ngit push --force origin main\nEOF",
            "eval \"git push -f\"",
            "echo $(git push -f)",
            "echo main | xargs git push origin",
            "ls | xargs -I{} git push -f origin {}",
            "for b in main dev; do git push origin $b; done",
            "(cd sub && git push -f)",
            "$DRY git push -f origin x",
        ],
    );
}

#[test]
fn protected_branches_are_not_moved_renamed_or_deleted() {
    check(
        "deny",
        &[
            "git branch -D main",
            "git branch --delete master",
            "git branch -m main old",
            "git branch -M x main",
            "git branch -f main HEAD~3",
            "git checkout -B main origin/x",
            "git switch -C release/1 x",
            "git update-ref refs/heads/main HEAD~1",
            "git update-ref -d refs/heads/main",
            "git fetch . +HEAD:main",
            "git checkout main && git branch -m old",
        ],
    );
}

#[test]
fn what_may_be_meant_is_asked_about() {
    check(
        "ask",
        &[
            "git push --force-with-lease origin feature/login",
            "git push --force-with-lease=x:1 origin x",
            "git push --no-verify origin x",
            "git push origin \"$BRANCH\"",
            "git push origin HEAD:$BRANCH",
            "git push origin release/$VERSION",
            "git push origin :",
            "git push --prune origin x",
            "git commit --no-verify -m x",
            "git commit -nm x",
            "git commit -an -m x",
            "HUSKY=0 git commit -m x",
            "git config core.hooksPath /dev/null",
            "git config --global core.hookspath x",
            "git config set core.hooksPath x",
            "git config --unset core.hooksPath",
            "git config alias.p 'push --force'",
            "git config alias.p '!rm -rf x'",
            "git config remote.origin.push +refs/heads/x",
            "git -c core.hooksPath=/dev/null commit -m x",
            "git -c alias.p=status p",
            "GIT_CONFIG_COUNT=1 git status",
            "git filter-branch --tree-filter x HEAD",
            "git filter-repo --path x",
            "git rebase -i HEAD~3 main",
            "git checkout main && git rebase -i HEAD~3",
            "git update-ref refs/heads/x HEAD",
            "git send-pack origin x",
            "$GIT push --force origin main",
            "git $CMD --force origin main",
            "gh api -X DELETE repos/me/x/git/refs/heads/main",
            "gh api -X DELETE repos/me/x/branches/main/protection",
            "git push 'unterminated",
        ],
    );
}

#[test]
fn ordinary_work_passes() {
    check(
        "abstain",
        &[
            "git push origin feature/login",
            "git push",
            "git push -u origin HEAD",
            "git push -u origin \"$(git branch --show-current)\"",
            "git push origin feature/$NAME",
            "git push origin --delete feature/old",
            "git push origin :feature/old",
            "git push origin v1.0",
            "git push --tags",
            "git push --dry-run --force origin main",
            "git push origin main:feature/copy",
            "git push origin HEAD:refs/for/main",
            "git push origin maintenance",
            "git checkout -b feature/login && git push -u origin HEAD",
            "git checkout main && git checkout -b x && git push",
            "git status --short && git log --oneline -5",
            "git commit -m 'never git push --force origin main'",
            "git commit -m -n",
            "git commit -am no",
            "git merge -n x",
            "git log --grep 'push --force'",
            "echo 'git push --force origin main'",
            "cat > notes.md <<'EOF'\ngit push --force\nEOF",
            "git fetch origin main:main",
            "git pull --rebase origin main",
            "git rebase main",
            "git rebase --continue",
            "git checkout main",
            "git checkout -- main.rs",
            "git branch -d feature/old",
            "git branch -f x main",
            "git branch --list main",
            "git branch -u origin/main",
            "git config user.name x",
            "git config --get core.hooksPath",
            "git config alias.st status",
            "git -c user.name=x commit -m y",
            "gh pr create --base main",
            "gh api repos/me/x/branches/main",
            "docker push -f x",
            "rm -rf ./build",
            "npm install left-pad",
            "",
        ],
    );
}

#[test]
fn a_reason_says_what_was_refused_and_what_would_be_right() {
    let cases = [
        (
            "git push --force origin main",
            Verdict::Deny(
                "`git push --force origin main` is a force push, which overwrites what others may have built on; push new commits instead, or ask the user to do it".into(),
            ),
        ),
        (
            "git push origin HEAD:main",
            Verdict::Deny("`main` is a protected branch; push a branch of your own and open a pull request".into()),
        ),
        (
            "git commit --no-verify",
            Verdict::Ask("the agent wants to `git commit` without the repository's hooks".into()),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(
            verdict(&bash(line), &Settings::default()),
            expected,
            "{line}"
        );
    }
}

#[test]
fn the_settings_say_which_branches_are_protected() {
    let own: Settings =
        settings(&[("protected-branches", "[\"trunk\", \"v*\"]")]).expect("settings");
    let cases = [
        ("git push origin trunk", "deny"),
        ("git push origin v2", "deny"),
        ("git push origin main", "abstain"),
        ("git push --force", "deny"),
    ];
    for (line, expected) in cases {
        assert_eq!(kind(&verdict(&bash(line), &own)), expected, "{line}");
    }
    assert!(settings::<Settings>(&[("protected", "[]")]).is_err());
}

#[test]
fn every_shell_tool_is_judged() {
    let nothing = Settings::default();
    let cases = [
        (
            tool_call("exec_command", serde_json::json!({ "cmd": "git push -f" })),
            "deny",
        ),
        (
            tool_call(
                "shell",
                serde_json::json!({ "command": ["git", "push", "-f"] }),
            ),
            "deny",
        ),
        (
            tool_call(
                "PowerShell",
                serde_json::json!({ "command": "git push --force origin main" }),
            ),
            "deny",
        ),
        (
            tool_call(
                "PowerShell",
                serde_json::json!({ "command": "Get-Item (x" }),
            ),
            "abstain",
        ),
        (
            tool_call("Write", serde_json::json!({ "content": "git push -f" })),
            "abstain",
        ),
    ];
    for (call, expected) in cases {
        assert_eq!(
            kind(&verdict(&call, &nothing)),
            expected,
            "{}",
            call.arguments
        );
    }
    assert!(pre_tool(&tool_call("Bash", serde_json::json!({})), &nothing).is_err());
}
