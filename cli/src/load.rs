//! Load reports from files: a folder is a cluster, a file in it is a broker.

use crate::Error;
use deedbook::reports::{BROKERS_MAX, ReadError, Reading, read};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read as a load report, in bytes. One of 100,000 bundles has about 40
/// MiB.
pub const REPORT_BYTES_MAX: u64 = 64 << 20;

/// Reads one load report from JSON, with or without a byte order mark.
///
/// # Errors
///
/// What [`read`] says, and [`ReadError::Format`] if anything but white space follows the report.
pub fn parse_report(json: &[u8]) -> Result<Reading, ReadError<serde_json::Error>> {
    // Some shells put it in front of what they redirect into a file.
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let reading = read(&mut deserializer)?;
    deserializer.end().map_err(ReadError::Format)?;
    Ok(reading)
}

/// Reads every `*.json` of a folder, in order of their names.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<Reading>, Error> {
    let files = report_files(folder)?;
    if files.is_empty() {
        let path = folder.to_owned();
        return Err(Error::NoReports { path });
    }
    if files.len() > BROKERS_MAX {
        return Err(Error::TooManyReports {
            path: folder.to_owned(),
            count: files.len(),
            max: BROKERS_MAX,
        });
    }
    files.into_iter().map(read_file).collect()
}

fn report_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |source| Error::Unreadable {
        path: folder.to_owned(),
        source,
    };
    if !fs::metadata(folder).map_err(unreadable)?.is_dir() {
        let path = folder.to_owned();
        return Err(Error::NotAFolder { path });
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(path: PathBuf) -> Result<Reading, Error> {
    let json = match read_bytes(&path) {
        Ok(json) => json,
        Err(source) => return Err(Error::Unreadable { path, source }),
    };
    if json.len() as u64 > REPORT_BYTES_MAX {
        let bytes_max = REPORT_BYTES_MAX;
        return Err(Error::TooLarge { path, bytes_max });
    }
    parse_report(&json).map_err(|source| Error::NoReport { path, source })
}

/// The file's content, or a little more than is allowed of it.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // To open a pipe would be to wait for whoever writes into it.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    file.take(REPORT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
