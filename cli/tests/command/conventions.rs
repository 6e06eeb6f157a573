//! What holds for every command: streams, exit statuses, one clear line for what cannot be used.

use crate::{deedbook, root};
use snapbox::IntoData;
use std::fs::{self, OpenOptions};
use std::io::pipe;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const SAMPLE: &str = "scenarios/reports/scale-out";

/// A folder with one file in it.
fn folder_with(name: &str, content: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    folder
}

/// Asserts that `plan .` in this folder prints nothing but one line on the error stream.
fn assert_refused(folder: &Path, line: impl IntoData) {
    let command = deedbook().current_dir(folder).args(["plan", "."]);
    command.assert().code(2).stdout_eq("").stderr_eq(line);
}

#[test]
fn help_and_version_are_data() {
    let version = concat!("deedbook ", env!("CARGO_PKG_VERSION"), "\n");
    deedbook()
        .arg("--version")
        .assert()
        .code(0)
        .stdout_eq(version)
        .stderr_eq("");
    let help = deedbook()
        .args(["plan", "--help"])
        .assert()
        .code(0)
        .stderr_eq("");
    let text = String::from_utf8(help.get_output().stdout.clone()).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn wrong_use_is_said_on_the_error_stream() {
    for (args, expected) in [
        (
            vec!["plan", SAMPLE, "--lo-threshold", "1"],
            "error: unexpected argument '--lo-threshold'",
        ),
        (
            vec!["plan"],
            "error: the following required arguments were not provided:",
        ),
        (vec!["plain"], "error: unrecognized subcommand 'plain'"),
        (vec!["plan", SAMPLE, SAMPLE], "error: unexpected argument"),
        (vec![], "Brokers agree"),
    ] {
        let expected = format!("{expected}[..]\n...\n");
        deedbook()
            .args(&args)
            .assert()
            .code(2)
            .stdout_eq("")
            .stderr_eq(expected);
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_one_line() {
    let empty = tempfile::tempdir().unwrap();
    assert_refused(
        empty.path(),
        "error: there is no *.json in .; put the load report of each broker there, one file a \
         broker\n",
    );
    deedbook()
        .args(["plan", "no-such-folder"])
        .assert()
        .code(2)
        .stdout_eq("")
        .stderr_eq("error: cannot read no-such-folder: No such file or directory (os error 2)\n");
    deedbook()
        .args(["plan", "Cargo.toml"])
        .assert()
        .code(2)
        .stdout_eq("")
        .stderr_eq("error: Cargo.toml is not a folder; name the folder that holds the reports\n");
    let nested = tempfile::tempdir().unwrap();
    fs::create_dir(nested.path().join("a.json")).unwrap();
    assert_refused(
        nested.path(),
        "error: cannot read ./a.json: it is no regular file\n",
    );
}

#[test]
fn a_file_that_is_no_report_is_one_line() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "EOF while parsing a value at line 1 column 0"),
        (b"hello", "expected value at line 1 column 1"),
        (
            b"{\"name\": \"b:1\",\n \"cpu\": {",
            "EOF while parsing an object at line 2 column 9",
        ),
        (
            b"[1]",
            "invalid type: sequence, expected a load report, which is an object at line 1 [..]",
        ),
        (
            b"{\"a\": 1}",
            "it has none of the fields of a load report [..]",
        ),
        (b"{\"cpu\": null}", "it does not say whose load it is: [..]"),
        (
            b"{\"name\": \"b:1\", \"cpu\": null} x",
            "trailing characters at line 1 column 30",
        ),
    ];
    for (content, reason) in cases {
        let folder = folder_with("b.json", content);
        let line = format!(
            "error: ./b.json is no load report: {reason}; mend it, or move it out of the folder\n"
        );
        assert_refused(folder.path(), line);
    }
}

#[test]
fn a_file_that_is_too_large_is_one_line() {
    let folder = folder_with("b.json", "");
    let file = OpenOptions::new()
        .write(true)
        .open(folder.path().join("b.json"))
        .unwrap();
    file.set_len(deedbook_cli::REPORT_BYTES_MAX + 1).unwrap();
    assert_refused(
        folder.path(),
        "error: ./b.json is larger than 64 MiB, too large for a load report; move it out of the \
         folder\n",
    );
}

#[test]
fn files_under_other_names_are_not_read() {
    let folder = folder_with("README.md", "Not a report.");
    let report = "{\"name\": \"b:1\", \"cpu\": {\"usage\": 1, \"limit\": 2}}";
    fs::write(folder.path().join("b.json"), report).unwrap();
    let path = folder.path().to_str().unwrap();
    deedbook()
        .args(["plan", path])
        .assert()
        .code(0)
        .stderr_eq("");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let run = Command::new(env!("CARGO_BIN_EXE_deedbook"))
        .args(["plan", SAMPLE])
        .current_dir(root())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!((run.status.code(), run.stderr), (Some(0), vec![]));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_deedbook"))
        .args(["plan", SAMPLE])
        .current_dir(root())
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    let expected = "error: cannot write the output: No space left on device (os error 28)\n";
    assert_eq!((run.status.code(), said.as_str()), (Some(2), expected));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_report() {
    let text = "\u{feff}{\"name\": \"b:1\", \"cpu\": null}\n";
    let reading = deedbook_cli::parse_report(text.as_bytes()).unwrap();
    assert_eq!(reading.report.broker.as_str(), "b:1");
}
