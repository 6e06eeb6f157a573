//! Whatever is done to a log, whenever the machine goes down, and whatever the disk makes of it
//! (I8): every program of a few steps, and long ones by seed, with a crash before every operation.
//! What was acknowledged is there, in order; nothing is there that was not appended, and nothing
//! that was once seen after an opening goes away. Damage is reported, never served (I9).
#![cfg(test)]

#[path = "../files/mod.rs"]
mod files;
mod world;

use deedbook::ids::Position;
use deedbook::log::file::{Durability, inspect};
use deedbook::log::{EventLog, Payload};
use deedbook::storage::{MemoryStorage, Storage, Unsynced};
use files::{builder, files_of, read_all};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use world::{Fate, Known, STEPS, Setting, Step};

/// What a crash keeps of what was not synced.
fn keeps(choice: u64) -> Box<dyn FnMut(Unsynced<'_>) -> bool> {
    match choice {
        0 => Box::new(|_| false),
        1 => Box::new(|_| true),
        2 => Box::new(|change| matches!(change, Unsynced::Name { .. })),
        3 => Box::new(|change| !matches!(change, Unsynced::Name { .. })),
        seed => {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            Box::new(move |_| random.next_u32() % 2 == 0)
        }
    }
}

/// Runs the program until it ends or is stopped.
fn run(setting: Setting, storage: &MemoryStorage, program: &[Step], case: &str) -> Known {
    let mut known = Known::default();
    let Some(mut process) = setting.open(storage, &mut known, 0, case) else {
        return known;
    };
    for &step in program {
        if process.step(step, &mut known) == Fate::GoesOn {
            continue;
        }
        drop(process);
        match setting.open(storage, &mut known, 0, case) {
            Some(next) => process = next,
            None => return known,
        }
    }
    known
}

/// Every program of this many steps, a crash before each of its operations, and what each choice
/// keeps: `then` gets what the crash left, and what is known of it.
fn all_crashes(
    setting: Setting,
    length: usize,
    choices: std::ops::Range<u64>,
    mut then: impl FnMut(&MemoryStorage, &Known, &str),
) {
    let mut program = vec![0; length];
    loop {
        let steps: Vec<_> = program.iter().map(|&index| STEPS[index]).collect();
        let storage = setting.storage();
        let complete = run(setting, &storage, &steps, &format!("{steps:?}"));
        assert!(
            complete.doubtful.is_empty(),
            "{steps:?}: nothing fails without a fault"
        );
        for operation in 1..=storage.operation_count() + 1 {
            for choice in choices.clone() {
                let case = format!("{setting:?} {steps:?}, operation {operation}, choice {choice}");
                let storage = setting.storage();
                storage.halt_at(operation);
                let known = run(setting, &storage, &steps, &case);
                then(&storage.crash(keeps(choice)), &known, &case);
            }
        }
        let Some(place) = program.iter().rposition(|&index| index + 1 < STEPS.len()) else {
            return;
        };
        program[place] += 1;
        program[place + 1..].fill(0);
    }
}

/// The next process finds what it should.
fn all_programs(setting: Setting, length: usize, choices: std::ops::Range<u64>) {
    all_crashes(setting, length, choices, |storage, known, case| {
        let lost = setting.may_lose(known);
        let next = setting.open(storage, &mut known.clone(), lost, case);
        assert!(next.is_some(), "{case}: it opens");
    });
}

const ALWAYS: Setting = Setting {
    durability: Durability::Always,
    sector_bytes: 512,
};

#[test]
fn every_short_program_survives_a_crash_at_every_operation() {
    all_programs(ALWAYS, 2, 0..6);
}

#[test]
fn every_short_program_survives_a_disk_that_tears_at_any_byte() {
    let setting = Setting {
        sector_bytes: 1,
        ..ALWAYS
    };
    all_programs(setting, 1, 4..7);
}

#[test]
fn every_short_program_leaves_a_prefix_without_syncs() {
    let setting = Setting {
        durability: Durability::Never,
        ..ALWAYS
    };
    all_programs(setting, 2, 0..6);
}

/// An opening deals with what a crash left, and goes down itself before each of its operations.
#[test]
fn an_opening_that_is_stopped_leaves_what_the_next_one_needs() {
    let mut stopped = 0;
    all_crashes(ALWAYS, 2, 4..5, |storage, known, case| {
        let files = files_of(storage);
        let mut known = known.clone();
        known.learn(&readable(storage), 0, case);
        for operation in 1.. {
            let mut is_open = false;
            for choice in [0, 5] {
                let case = format!("{case}; then operation {operation}, choice {choice}");
                let storage = ALWAYS.storage();
                files::put_files(&storage, &files);
                storage.halt_at(storage.operation_count() + operation);
                let mut known = known.clone();
                is_open |= ALWAYS.open(&storage, &mut known, 0, &case).is_some();
                stopped += u32::from(!is_open);
                let storage = storage.crash(keeps(choice));
                let next = ALWAYS.open(&storage, &mut known, 0, &case);
                assert!(next.is_some(), "{case}: it opens");
            }
            if is_open {
                break;
            }
        }
    });
    assert!(stopped > 3_000, "{stopped}");
}

/// What a process that only reads sees.
fn readable(storage: &MemoryStorage) -> Vec<(Position, Payload)> {
    let Ok(stat) = inspect::stat(storage) else {
        return Vec::new();
    };
    let log = builder(storage).open_read_only().unwrap();
    read_all(&log, stat.first()).unwrap()
}

/// Crash after crash, with failed operations, failed syncs, dropped pages and full disks between.
fn long_program(seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut chance = |out_of: u32| random.next_u32() % out_of;
    let setting = Setting {
        durability: if chance(3) == 0 {
            Durability::Never
        } else {
            Durability::Always
        },
        sector_bytes: [1, 64, 512, 4096][chance(4) as usize],
    };
    let again = "DEEDBOOK_SEED={seed} cargo test --test crash_programs long";
    let case = format!(
        "seed {seed}, {setting:?}; {}",
        again.replace("{seed}", &seed.to_string())
    );
    let mut storage = setting.storage();
    let mut known = Known::default();
    let mut process = None;
    let mut lost = 0;
    for _ in 0..60 {
        let Some(open) = &mut process else {
            process = setting.open(&storage, &mut known, lost, &case);
            lost = 0;
            continue;
        };
        let next = storage.operation_count();
        let fault = chance(24);
        let number = u64::from(chance(1 << 20));
        arrange(&storage, setting, fault, number);
        let step = STEPS[chance(5) as usize];
        let fate = open.step(step, &mut known);
        if std::env::var_os("DEEDBOOK_SEED").is_some() {
            let certain = known.certain.len();
            eprintln!("fault {fault}, {step:?} from operation {next}: {fate:?}, {certain} certain");
        }
        // The machine goes down: now, or because the process was stopped.
        if chance(10) == 0 || storage.list().is_err() {
            drop(process.take());
            lost = setting.may_lose(&known);
            storage.set_capacity(None);
            let choice = u64::from(chance(4)) + u64::from(chance(2)) * u64::from(chance(1 << 30));
            storage = storage.crash(keeps(choice));
        } else if fate == Fate::MustReopen {
            process = None;
        }
    }
    drop(process);
    // And in the end a bit flips in what is durable.
    lost = setting.may_lose(&known);
    storage.set_capacity(None);
    let storage = storage.crash(keeps(0));
    let Some(process) = setting.open(&storage, &mut known, lost, &case) else {
        panic!("{case}: it does not open");
    };
    drop(process);
    for _ in 0..20 {
        let files = files_of(&storage);
        let (name, bytes) = &files[chance(files.len() as u32) as usize];
        // A file of no bytes counts as one, whose flip finds nothing.
        let bit = chance((bytes.len() as u32 * 8).max(1)) as usize;
        flip_and_read(&files, name, bit, &known, &case);
    }
}

/// Lets something go wrong soon, or makes it good again.
fn arrange(storage: &MemoryStorage, setting: Setting, fault: u32, number: u64) {
    let next = storage.operation_count() + 1;
    match fault {
        0 => storage.halt_at(next + number % 12),
        1 => storage.fail_at(next + number % 6),
        2 if setting.durability == Durability::Always => {
            storage.drop_pages_of_failed_syncs(number.is_multiple_of(2));
            storage.fail_next_sync();
        }
        3 => storage.set_capacity(Some(number % 6000)),
        4 => storage.set_capacity(None),
        _ => {}
    }
}

/// Whoever reads after a bit flipped reads what was written, or less, or hears of it.
fn flip_and_read(files: &[(String, Vec<u8>)], name: &str, bit: usize, known: &Known, case: &str) {
    let storage = files::storage_of(files);
    if !storage.flip(name, bit) {
        return;
    }
    let Ok(log) = builder(&storage).open_read_only() else {
        return;
    };
    let first = inspect::stat(&storage).map(|stat| stat.first());
    let Ok(found) = first.map(|first| read_all(&log, first)) else {
        return;
    };
    for (position, payload) in found.unwrap_or_default() {
        let index = usize::try_from(position.get() - 1).unwrap();
        let written = known.certain.get(index);
        assert_eq!(written, Some(&payload), "{case}: {name} bit {bit}");
    }
    if let Ok(Some(mut snapshot)) = log.snapshot()
        && let Ok(Some(block)) = snapshot.next_block()
    {
        let expected = format!("everything below {}", snapshot.horizon());
        assert_eq!(block, expected.as_bytes(), "{case}: {name} bit {bit}");
    }
}

/// `DEEDBOOK_SEED` plays one; `DEEDBOOK_SEEDS` says how many.
#[test]
fn long_programs_survive_whatever_happens() {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    if let Some(seed) = number("DEEDBOOK_SEED") {
        return long_program(seed);
    }
    (0..number("DEEDBOOK_SEEDS").unwrap_or(300)).for_each(long_program);
}

/// The disk is full after every single byte, in turn; then there is room again.
#[test]
fn a_disk_that_is_full_at_any_byte_loses_nothing_and_goes_on() {
    let program = [
        Step::Append,
        Step::Group,
        Step::Compact,
        Step::Wide,
        Step::Compact,
    ];
    let storage = ALWAYS.storage();
    run(ALWAYS, &storage, &program, "room");
    let most: usize = files_of(&storage)
        .iter()
        .map(|(_, bytes)| bytes.len())
        .sum();
    for capacity in 0..most as u64 + 1024 {
        let case = format!("{capacity} bytes");
        let storage = ALWAYS.storage();
        storage.set_capacity(Some(capacity));
        let mut known = Known::default();
        let process = ALWAYS.open(&storage, &mut known, 0, &case);
        let mut refused = 0;
        if let Some(mut process) = process {
            for step in program {
                let before = known.certain.len();
                assert_eq!(
                    process.step(step, &mut known),
                    Fate::GoesOn,
                    "{case}: {step:?}"
                );
                refused += usize::from(step != Step::Compact && known.certain.len() == before);
            }
            storage.set_capacity(None);
            // The same process goes on.
            let before = known.certain.len();
            assert_eq!(
                process.step(Step::Group, &mut known),
                Fate::GoesOn,
                "{case}"
            );
            assert_eq!(
                known.certain.len(),
                before + 3,
                "{case}: {refused} were refused"
            );
        }
        storage.set_capacity(None);
        let storage = storage.crash(keeps(0));
        let next = ALWAYS.open(&storage, &mut known, 0, &case);
        assert!(next.is_some(), "{case}");
    }
}
