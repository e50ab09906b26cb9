//! A program that uses a work queue as programs do, for tests of `skipline-dsa run`: it opens a file of
//! /dev/dsa, maps its page, writes descriptors to it by the instructions themselves, and checks what
//! comes back. What is wrong ends it with a panic.
//!
//! `dsa_client SCENARIO [ARGUMENT...]`; run without arguments it names the scenarios.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

mod client_queue;
mod cpus;
mod dedicated;
mod event_log;
mod families;
mod handlers;
mod instructions;
mod load;
mod masks;
mod misuse;
mod shared;
mod signals;
mod waiting;

type ClientScenario = fn(&[String]);

const SCENARIOS: &[(&str, ClientScenario)] = &[
    ("shared", shared::operations),
    ("delta", shared::delta),
    ("crc", shared::crc),
    ("shared-full", shared::full),
    ("shared-disabled", shared::disabled),
    ("shared-refuses", shared::refuses),
    ("shared-faults", shared::faults),
    ("misaligned", shared::misaligned),
    ("pasid-in-descriptor", shared::pasid_in_descriptor),
    ("dedicated", dedicated::operations),
    ("dedicated-file", dedicated::file),
    ("dedicated-overflow", dedicated::overflow),
    ("plain-accesses", dedicated::plain_accesses),
    ("holds", dedicated::holds),
    ("held-records", event_log::held),
    ("lost-records", event_log::lost),
    ("batches", load::batches),
    ("load", load::load),
    ("four", load::four),
    ("waits", waiting::waits),
    ("cpuid", waiting::cpuid),
    ("own-handlers", handlers::own),
    ("one-argument", handlers::one_argument),
    ("reset-hand", handlers::reset_hand),
    ("alternate-stack", handlers::alternate_stack),
    ("sent", handlers::sent),
    ("fault", handlers::fault),
    ("exit", handlers::exit),
    ("masks", masks::masks),
    ("masked-fault", masks::masked_fault),
    ("forks", families::forks),
    ("forked-portal", families::forked_portal),
    ("executes", families::executes),
    ("executes-busy", families::executes_busy),
    ("forks-while-submitting", families::forks_while_submitting),
    ("small-stack", handlers::small_stack),
    ("inherited-mask", masks::inherited),
    ("pinned", cpus::pinned),
    ("interrupted-submissions", signals::interrupted_submissions),
    ("own-signals", signals::own_signals),
    ("wild-jump", signals::wild_jump),
    ("closes-descriptors", misuse::closes_descriptors),
    ("closes-busy", misuse::closes_busy),
    ("reopens", misuse::reopens),
    ("dies-busy", misuse::dies_busy),
    ("stops-busy", misuse::stops_busy),
    ("no-threads", misuse::no_threads),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let wanted = arguments.get(1).map_or("", String::as_str);
    let Some((_, scenario)) = SCENARIOS.iter().find(|(name, _)| *name == wanted) else {
        for (name, _) in SCENARIOS {
            println!("{name}");
        }
        std::process::exit(2);
    };
    scenario(&arguments[2..]);
}
