//! A dedicated queue: MOVDIR64B, 64-byte stores, `write`.

use crate::runs::Place;

const QUEUE: &str = "wq0.0";

#[test]
fn each_write_of_64_bytes_at_once_submits() {
    let out = Place::new().client(&[], &["dedicated", QUEUE]).with(0);
    let flags = std::fs::read_to_string("/proc/cpuinfo").expect("is Linux");
    let is_wide = flags.split_whitespace().any(|flag| flag == "avx512f");
    assert_eq!(out, if is_wide { "movdir64b\nzmm0\nzmm17\n" } else { "movdir64b\n" });
}

#[test]
fn the_file_is_opened_mapped_and_written_as_the_driver_lets_it() {
    Place::new().client(&[], &["dedicated-file", QUEUE]).with(0);
}

#[test]
fn a_full_queue_loses_descriptors_and_tells_who_polls() {
    let out = Place::new().client(&[], &["dedicated-overflow", QUEUE]).with(0);
    assert_eq!(out, "code 0x53 queue 0 opcode 4\n");
}

#[test]
fn smaller_stores_are_lost_and_loads_give_ones() {
    Place::new().client(&[], &["plain-accesses", QUEUE]).with(0);
}

#[test]
fn batches_execute_their_members() {
    Place::new().client(&[], &["batches", QUEUE, "100"]).with(0);
}
