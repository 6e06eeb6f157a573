//! What a real disk says: one that is full, one that is read-only, one that is not this user's.

use std::path::Path;
use std::process::Command;

/// Runs a script in which `$1` is the command and `$2` a folder where a disk of 4 MiB can be
/// mounted, in a space of mounts of its own; nothing if this machine does not allow that.
fn on_a_small_disk(script: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=4m tmpfs \"$2\" || exit 99\n";
    let run = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("{mount}{script}"))
        .args(["sh", env!("CARGO_BIN_EXE_deedbook")])
        .arg(folder.path())
        .output();
    let run = run
        .ok()
        .filter(|run| run.stderr.is_empty() || run.status.code() != Some(1));
    let Some(run) = run.filter(|run| run.status.code() != Some(99)) else {
        eprintln!("left out: no disk can be mounted here");
        return None;
    };
    Some(String::from_utf8(run.stdout).unwrap())
}

/// A log of a simulation, which is small, and room for little more.
const LOG: &str = r#"
"$1" simulate scenarios/scale-out.toml --log "$2/log" >/dev/null 2>&1 && echo "simulated"
"#;

#[test]
fn a_full_disk_is_said_and_once_there_is_room_all_goes_on() {
    let script = format!(
        r#"cd "{}"{LOG}
        # Half a spare segment would be given up for the room that it takes.
        rm -f "$2"/log/spare.*
        dd if=/dev/zero of="$2/ballast" bs=1k 2>/dev/null
        "$1" log compact "$2/log" 2>&1; echo "status $?"
        "$1" log verify "$2/log" | tail -n 1
        rm "$2/ballast"
        "$1" log compact "$2/log" >/dev/null; echo "status $?"
        "$1" log verify "$2/log" | tail -n 1"#,
        root()
    );
    let Some(said) = on_a_small_disk(&script) else {
        return;
    };
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "simulated", "{said}");
    assert!(lines[1].contains("no room"), "{said}");
    assert_eq!(lines[2], "status 2", "{said}");
    assert!(lines[3].ends_with("as it was written"), "{said}");
    assert_eq!(lines[4], "status 0", "{said}");
    assert!(lines[5].ends_with("as it was written"), "{said}");
}

#[test]
fn a_disk_that_is_read_only_can_be_read_and_is_named() {
    let script = format!(
        r#"cd "{}"{LOG}
        mount -o remount,ro "$2" || exit 99
        "$1" log compact "$2/log" 2>&1; echo "status $?"
        "$1" log verify "$2/log" | tail -n 1
        "$1" log stat "$2/log" >/dev/null; echo "status $?""#,
        root()
    );
    let Some(said) = on_a_small_disk(&script) else {
        return;
    };
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[1].contains("read-only"), "{said}");
    assert_eq!(lines[2], "status 2", "{said}");
    assert!(lines[3].ends_with("as it was written"), "{said}");
    assert_eq!(lines[4], "status 0", "{said}");
}

/// Runs a script in which `$1` is the command and `$2` an empty folder.
fn run(script: &str) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_deedbook")])
        .arg(folder.path())
        .output()
        .unwrap()
}

/// The system takes a part of a write and refuses the rest.
#[test]
fn a_write_that_is_cut_short_is_said_and_leaves_nothing_behind() {
    let script = format!(
        r#"cd "{}"
        "$1" log generate "$2/log" --bundles 100000 --changes 1 >/dev/null
        trap "" XFSZ
        (ulimit -f 2048; "$1" log compact "$2/log" 2>&1; echo "status $?")
        ls "$2/log" | grep -c part
        "$1" log verify "$2/log" | tail -n 1
        "$1" log compact "$2/log" >/dev/null; echo "status $?"
        "$1" log verify "$2/log" | tail -n 1"#,
        root()
    );
    let said = String::from_utf8(run(&script).stdout).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].contains("file too large"), "{said}");
    assert!(lines[0].contains(".part is out of reach"), "{said}");
    assert_eq!(lines[1], "status 2", "{said}");
    assert_eq!(lines[2], "0", "{said}");
    assert!(lines[3].ends_with("as it was written"), "{said}");
    assert_eq!(lines[4], "status 0", "{said}");
    assert!(lines[5].ends_with("as it was written"), "{said}");
}

#[test]
fn a_log_of_somebody_else_can_be_read_and_not_written() {
    let script = format!(
        r#"cd "{}"{LOG}
        chmod 755 "$2"; chmod 555 "$2/log"; chmod 444 "$2"/log/*
        other=""
        if [ "$(id -u)" = 0 ]; then other="setpriv --reuid 65534 --regid 65534 --clear-groups"; fi
        $other "$1" --version >/dev/null || exit 99
        $other "$1" log compact "$2/log" 2>&1; echo "status $?"
        $other "$1" log verify "$2/log" | tail -n 1
        chmod 755 "$2/log""#,
        root()
    );
    let run = run(&script);
    if run.status.code() == Some(99) {
        eprintln!("left out: this is root, and nobody else can run the command");
        return;
    }
    let said = String::from_utf8(run.stdout).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[1].contains("permission to use"), "{said}");
    assert!(lines[1].contains("see who owns it"), "{said}");
    assert_eq!(lines[2], "status 2", "{said}");
    assert!(lines[3].ends_with("as it was written"), "{said}");
}

fn root() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().unwrap().to_str().unwrap().to_owned()
}
