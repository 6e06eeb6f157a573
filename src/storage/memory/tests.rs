//! That the storage in memory loses what a disk may lose, and nothing else.

use super::*;

fn bytes(storage: &MemoryStorage, name: &str) -> Vec<u8> {
    let file = storage.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap()];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// A file `a` that is durable and holds 2,000 bytes of 1.
fn durable() -> (MemoryStorage, Arc<dyn File>) {
    let storage = MemoryStorage::new();
    let file = storage.create("a").unwrap();
    file.write_at(0, &[1; 2000]).unwrap();
    file.sync().unwrap();
    storage.sync().unwrap();
    (storage, file)
}

#[test]
fn a_name_that_was_not_synced_is_lost_with_its_file() {
    let storage = MemoryStorage::new();
    let file = storage.create("a").unwrap();
    file.write_at(0, b"x").unwrap();
    file.sync().unwrap();
    let lost = storage.crash(|_| false);
    assert!(lost.list().unwrap().is_empty());
    assert!(file.write_at(0, b"y").is_err(), "the old handle is dead");
    assert!(storage.list().is_err(), "and so is the old storage");
}

#[test]
fn a_crash_keeps_sectors_one_by_one() {
    let (storage, file) = durable();
    file.write_at(0, &[2; 2000]).unwrap();
    let torn = storage.crash(|change| matches!(change, Unsynced::Sector { offset: 512, .. }));
    let found = bytes(&torn, "a");
    assert_eq!(found[..512], [1; 512]);
    assert_eq!(found[512..1024], [2; 512]);
    assert_eq!(found[1024..], [1; 976]);
}

#[test]
fn renames_and_removals_wait_for_the_sync_of_names() {
    let (storage, _file) = durable();
    storage.rename("a", "b").unwrap();
    assert_eq!(storage.list().unwrap(), ["b"]);
    let before = storage.crash(|_| false);
    assert_eq!(before.list().unwrap(), ["a"]);
    before.rename("a", "b").unwrap();
    before.sync().unwrap();
    before.remove("b").unwrap();
    assert_eq!(before.crash(|_| false).list().unwrap(), ["b"]);
}

#[test]
fn an_open_file_outlives_its_name() {
    let (storage, file) = durable();
    storage.remove("a").unwrap();
    let mut byte = [0];
    assert_eq!(file.read_at(7, &mut byte).unwrap(), 1);
    assert_eq!(byte, [1]);
}

#[test]
fn a_failed_sync_loses_what_it_was_to_save_until_it_is_written_again() {
    let (storage, file) = durable();
    file.write_at(0, &[2; 10]).unwrap();
    storage.fail_next_sync();
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!(bytes(&storage, "a")[..10], [2; 10], "it is still seen");
    let storage = storage.crash(|_| false);
    assert_eq!(bytes(&storage, "a")[..10], [1; 10]);

    let file = storage.open("a", Access::Write).unwrap();
    file.write_at(0, &[3; 10]).unwrap();
    storage.fail_next_sync();
    assert!(file.sync().is_err());
    file.write_at(0, &[3; 10]).unwrap();
    file.sync().unwrap();
    assert_eq!(bytes(&storage.crash(|_| false), "a")[..10], [3; 10]);
}

#[test]
fn a_full_disk_takes_a_part_and_room_inside_a_file_stays() {
    let (storage, file) = durable();
    storage.set_capacity(Some(2100));
    let full = file.write_at(1990, &[2; 200]);
    assert!(matches!(full, Err(Error::Full { .. })));
    assert_eq!(file.size().unwrap(), 2100);
    file.write_at(0, &[3; 2100]).unwrap();
    storage.set_capacity(None);
    file.write_at(2100, b"x").unwrap();
}

#[test]
fn operations_fail_by_number() {
    let (storage, file) = durable();
    let next = storage.operation_count() + 1;
    storage.fail_at(next);
    assert!(file.write_at(0, &[9; 4]).is_err());
    assert_eq!(
        bytes(&storage, "a")[..4],
        [9, 9, 1, 1],
        "half of it was written"
    );
    file.write_at(0, &[9; 4]).unwrap();

    storage.halt_at(next + 2);
    assert!(file.sync().is_err());
    assert!(storage.list().is_err());
    assert_eq!(bytes(&storage.crash(|_| false), "a")[..4], [1; 4]);
}

#[test]
fn a_killed_process_loses_nothing_and_syncs_nothing() {
    let (storage, file) = durable();
    file.write_at(0, &[2; 4]).unwrap();
    let next = storage.restart();
    assert!(file.sync().is_err());
    assert_eq!(bytes(&next, "a")[..4], [2; 4]);
    assert_eq!(bytes(&next.crash(|_| false), "a")[..4], [1; 4]);
}

#[test]
fn one_holder_of_the_lock_at_a_time() {
    let storage = MemoryStorage::new();
    let lock = storage.lock().unwrap();
    assert!(matches!(storage.lock(), Err(Error::Locked { .. })));
    drop(lock);
    let kept = storage.lock().unwrap();
    let after = storage.crash(|_| false);
    let lock = after.lock().unwrap();
    drop(kept);
    assert!(
        after.lock().is_err(),
        "a lock of an earlier life frees nothing"
    );
    drop(lock);
}

#[test]
fn zeroes_fill_exactly_what_was_asked_for() {
    let (storage, file) = durable();
    super::super::write_zeroes(&*file, 10, 200_000).unwrap();
    let found = bytes(&storage, "a");
    assert_eq!(found.len(), 200_000);
    assert_eq!(found.iter().filter(|&&byte| byte == 1).count(), 10);
}

#[test]
fn what_a_failed_sync_was_to_save_may_be_on_the_disk() {
    for (keep, expected) in [(false, 1), (true, 2)] {
        let (storage, file) = durable();
        file.write_at(0, &[2; 10]).unwrap();
        storage.fail_next_sync();
        assert!(file.sync().is_err());
        assert_eq!(bytes(&storage.crash(|_| keep), "a")[..10], [expected; 10]);
    }
}

#[test]
fn pages_that_a_failed_sync_drops_are_seen_no_more() {
    let (storage, file) = durable();
    storage.drop_pages_of_failed_syncs(true);
    file.write_at(0, &[2; 1024]).unwrap();
    storage.fail_next_sync();
    assert!(file.sync().is_err());
    let seen = bytes(&storage, "a");
    assert_eq!((seen[511], seen[512]), (2, 1), "half of it was saved");
    assert_eq!(bytes(&storage.crash(|_| true), "a"), seen);
}

#[test]
fn a_crash_may_leave_an_older_content_of_a_sector() {
    for kept in 0..3 {
        let (storage, file) = durable();
        (2..=4).for_each(|byte| file.write_at(0, &[byte; 4]).unwrap());
        let mut asked = 0;
        let after = storage.crash(|_| {
            asked += 1;
            asked == kept + 1
        });
        assert_eq!(bytes(&after, "a")[..4], [2 + kept; 4]);
    }
}

#[test]
fn a_disk_with_sectors_of_a_byte_tears_anywhere() {
    let storage = MemoryStorage::with_sector_bytes(1);
    let file = storage.create("a").unwrap();
    file.write_at(0, &[1; 8]).unwrap();
    file.sync().unwrap();
    storage.sync().unwrap();
    file.write_at(0, &[2; 8]).unwrap();
    let torn = storage.crash(|change| matches!(change, Unsynced::Sector { offset: 3 | 5, .. }));
    assert_eq!(bytes(&torn, "a"), [1, 1, 1, 2, 1, 2, 1, 1]);
}

#[test]
fn a_flipped_bit_is_seen_and_durable() {
    let (storage, _file) = durable();
    assert!(storage.flip("a", 11));
    assert!(!storage.flip("a", 16_000) && !storage.flip("b", 0));
    assert_eq!(bytes(&storage, "a")[..3], [1, 1 ^ 8, 1]);
    assert_eq!(bytes(&storage.crash(|_| false), "a")[1], 1 ^ 8);
}
