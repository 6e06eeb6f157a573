//! Three nodes of a small key-value broker in one process, under load, while bundles move and are
//! divided. Some writes stall until their key has another owner; storage refuses them by their
//! fence.
//!
//! ```sh
//! cargo run --release --example broker -- --seconds 30
//! ```
//!
//! Ends with 1 if a write of a former owner was taken, or a count that was acknowledged is lost;
//! `--no-fence` shows that both happen if storage does not look at fences.

mod kv;

use kv::{Fences, Load, Report, run};
use std::error::Error;
use std::process::ExitCode;

fn load() -> Result<Load, Box<dyn Error>> {
    let mut load = Load {
        seed: 1,
        seconds_max: 10,
        late_writes_max: u64::MAX,
        fences: Fences::Checked,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64, Box<dyn Error>> {
            let value = arguments.next();
            Ok(value.ok_or("a number is missing")?.parse()?)
        };
        match argument.as_str() {
            "--seconds" => load.seconds_max = number()?,
            "--seed" => load.seed = number()?,
            "--no-fence" => load.fences = Fences::Ignored,
            _ => return Err("usage: broker [--seconds N] [--seed N] [--no-fence]".into()),
        }
    }
    Ok(load)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let report: Report = run(load()?)?;
    println!("served {}", report.served);
    println!("redirected {}", report.redirected);
    println!("moved {}, split {}", report.moved, report.split);
    println!("refused by fence {}", report.refused_by_fence);
    println!("violations {}", report.violations);
    Ok(if report.violations == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
