//! Compares deedbook with what others have built and with the limits of the machine:
//! `compare [SECTION...] [--quick] [--json] [--only TEXT] [--rounds N] [--dir PATH] [--list]`.

use deedbook_bench::compare::{self, Section, Setting};
use std::process::ExitCode;

const USAGE: &str = "\
compare [SECTION...] [--quick] [--json] [--only TEXT] [--rounds N] [--dir PATH] [--list]

Measures the sections named, or all of them. Others' software takes part if this was built with
the feature `peers`. Figures mean nothing unless built with --release, on a machine that is quiet.

  --quick     one round of next to nothing
  --json      one JSON object a section and line, instead of tables
  --only TEXT measures the cases alone whose names contain it
  --rounds N  how often each subject is measured
  --dir PATH  where files are written, instead of the directory for temporary ones
  --list      the sections there are
";

/// What the command line asks for.
struct Wanted {
    sections: Vec<&'static Section>,
    setting: Setting,
    is_json: bool,
}

fn main() -> ExitCode {
    let wanted = match parse(std::env::args().skip(1)) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    for section in wanted.sections {
        let results = compare::run(section, &wanted.setting);
        if wanted.is_json {
            println!("{}", compare::json(section, &results));
        } else {
            compare::print(section, &results);
        }
    }
    ExitCode::SUCCESS
}

/// Nothing if it was answered already.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Wanted>, String> {
    let mut wanted = Wanted {
        sections: Vec::new(),
        setting: Setting::full(),
        is_json: false,
    };
    let (mut rounds, mut dir, mut only) = (None, None, None);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
        match argument.as_str() {
            "--quick" => wanted.setting = Setting::quick(),
            "--json" => wanted.is_json = true,
            "--rounds" => rounds = Some(value()?.parse().map_err(|_| "rounds: not a number")?),
            "--dir" => dir = Some(value()?),
            "--only" => only = Some(value()?),
            "--list" => {
                for section in compare::sections() {
                    println!("{:12} {}", section.name, section.what);
                }
                return Ok(None);
            }
            "--help" | "-h" => {
                print!("{USAGE}");
                return Ok(None);
            }
            name => {
                let found = compare::sections().iter().find(|s| s.name == name);
                let found = found.ok_or(format!("there is no section {name}"))?;
                wanted.sections.push(found);
            }
        }
    }
    wanted.setting.rounds = rounds.unwrap_or(wanted.setting.rounds).max(1);
    if let Some(dir) = dir {
        wanted.setting.dir = dir.into();
    }
    wanted.setting.only = only.unwrap_or_default();
    if wanted.sections.is_empty() {
        wanted.sections = compare::sections().to_vec();
    }
    Ok(Some(wanted))
}
