//! Disks, and the machine as a whole.

use seamgate_sdk::shell::RedirectionOperator;

use crate::place;
use crate::{Finding, Judged};

/// How the names of disks and of memory start, under `/dev`.
const DEVICES: [&str; 19] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "loop",
    "sr", "mem", "kmem", "port", "ram", "zd", "nbd",
];

/// Commands that do nothing but lay out or wipe disks.
const DISK_TOOLS: [&str; 12] = [
    "wipefs",
    "blkdiscard",
    "fdisk",
    "sfdisk",
    "gdisk",
    "sgdisk",
    "cfdisk",
    "parted",
    "mkswap",
    "badblocks",
    "shred",
    "tee",
];

/// The finding on a command of this file's kind.
pub fn judge(judged: &Judged<'_>) -> Option<Finding> {
    let name = judged.name;
    if name.starts_with("mkfs") || name == "dd" || DISK_TOOLS.contains(&name) {
        return disk(judged);
    }
    if matches!(name, "cp" | "mv" | "install") {
        let target = judged.arguments.last()?;
        return device(target, judged).map(|path| overwrites(&path));
    }
    if let Some(why) = whole_disk(judged) {
        return Some(Finding::Deny(format!(
            "{why} and can't be undone; ask the user to do it themselves"
        )));
    }
    if powers_off(judged) {
        return Some(Finding::Deny(
            "this stops the machine that the agent runs on; ask the user to do it themselves"
                .into(),
        ));
    }
    if kills_everything(judged) {
        return Some(Finding::Deny(
            "this ends every process of the user, the agent's own included; name the processes to end".into(),
        ));
    }
    if is_fork_bomb(judged) {
        return Some(Finding::Deny(
            "a function that starts itself twice is a fork bomb and halts the machine".into(),
        ));
    }
    None
}

/// The finding on what the command's output goes to.
pub fn redirections(judged: &Judged<'_>) -> Option<Finding> {
    judged.command.redirections.iter().find_map(|redirection| {
        let writes = match redirection.operator {
            RedirectionOperator::Write
            | RedirectionOperator::Append
            | RedirectionOperator::ReadWrite => true,
            // `>& file` writes as well, and a descriptor is a number.
            RedirectionOperator::Duplicate => true,
            _ => false,
        };
        if !writes {
            return None;
        }
        if let Some(path) = device(&redirection.target, judged) {
            return Some(overwrites(&path));
        }
        let path = place::path(&redirection.target, judged)?;
        let empties = redirection.operator == RedirectionOperator::Write;
        let system = [
            "/etc/",
            "/boot/",
            "/bin/",
            "/sbin/",
            "/lib/",
            "/usr/bin/",
            "/usr/lib/",
            "/usr/sbin/",
        ];
        (empties && system.iter().any(|folder| path.starts_with(folder))).then(|| {
            Finding::Ask(format!(
                "the agent wants to overwrite `{path}`, a file of the system"
            ))
        })
    })
}

fn overwrites(path: &str) -> Finding {
    Finding::Deny(format!(
        "writing to the device `{path}` destroys what is on it; write to a file inside the project"
    ))
}

/// The path, where it is a disk's.
fn device(word: &seamgate_sdk::shell::Word, judged: &Judged<'_>) -> Option<String> {
    // `/dev/sd$x` and `/dev/sd*` are disks too, so the known start is enough.
    let path = place::path(word, judged).unwrap_or_else(|| word.prefix());
    let name = path.strip_prefix("/dev/")?;
    DEVICES
        .iter()
        .any(|start| name.starts_with(start))
        .then_some(path)
}

fn disk(judged: &Judged<'_>) -> Option<Finding> {
    let reads_only = match judged.name {
        "fdisk" | "cfdisk" => judged.has_flag(&['l', 's']) || judged.has(&["--list"]),
        "sfdisk" => judged.has_flag(&['l', 'd', 's', 'V']) || judged.has(&["--list", "--dump"]),
        "sgdisk" => judged.has_flag(&['p', 'i', 'v']) || judged.has(&["--print"]),
        "gdisk" | "parted" => judged.has(&["-l", "--list", "print"]),
        "wipefs" => !judged.has_flag(&['a', 'o']) && !judged.has(&["--all"]),
        "badblocks" => !judged.has_flag(&['w']),
        _ => false,
    };
    if reads_only {
        return None;
    }
    judged.arguments.iter().find_map(|word| {
        let path = if judged.name == "dd" {
            let path = word.prefix().strip_prefix("of=")?.to_owned();
            let name = path.strip_prefix("/dev/")?;
            DEVICES
                .iter()
                .any(|start| name.starts_with(start))
                .then_some(path)
        } else {
            device(word, judged)
        };
        path.map(|path| overwrites(&path))
    })
}

fn whole_disk(judged: &Judged<'_>) -> Option<&'static str> {
    let texts = judged.texts();
    let first = texts.first().copied().unwrap_or_default();
    let found = match judged.name {
        "diskutil" => matches!(
            first,
            "eraseDisk"
                | "eraseVolume"
                | "partitionDisk"
                | "zeroDisk"
                | "randomDisk"
                | "secureErase"
                | "reformat"
        ),
        "cryptsetup" => texts
            .iter()
            .any(|text| matches!(*text, "luksFormat" | "erase" | "luksErase")),
        "nvme" => matches!(first, "format" | "sanitize"),
        "hdparm" => texts
            .iter()
            .any(|text| text.starts_with("--security-erase")),
        "zpool" | "zfs" => first == "destroy",
        "lvremove" | "vgremove" | "pvremove" => true,
        _ => false,
    };
    found.then_some("this destroys a disk or a volume with everything on it,")
}

fn powers_off(judged: &Judged<'_>) -> bool {
    match judged.name {
        "shutdown" => !judged.has_flag(&['c']),
        "reboot" | "poweroff" | "halt" => !judged.has(&["--help", "--version"]),
        "init" | "telinit" => judged.has(&["0", "6"]),
        "systemctl" => judged.has(&[
            "poweroff",
            "reboot",
            "halt",
            "kexec",
            "suspend",
            "hibernate",
        ]),
        _ => false,
    }
}

fn kills_everything(judged: &Judged<'_>) -> bool {
    let texts = judged.texts();
    match judged.name {
        "killall5" => true,
        // The first `-1` alone is a signal; after another option it is every process.
        "kill" => texts.iter().skip(1).any(|text| *text == "-1") && !judged.has(&["-l"]),
        _ => false,
    }
}

/// A function that pipes itself into itself.
fn is_fork_bomb(judged: &Judged<'_>) -> bool {
    let Some(function) = judged.command.function.as_deref() else {
        return false;
    };
    let calls = |index: usize| {
        judged.script.commands.get(index).is_some_and(|command| {
            command.function.as_deref() == Some(function)
                && command.words.first().and_then(|word| word.text()) == Some(function)
        })
    };
    calls(judged.index) && judged.command.fed_by.clone().any(calls)
}
