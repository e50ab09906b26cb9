//! Many descriptors: of one program, of four at a time, in batches.

use crate::client_queue::{ClientPortal, CompletionRecord, attribute, copy, fill};
use dsa::descriptor::Descriptor;
use dsa::hardware::{DESCRIPTOR_BYTES, Opcode, flags, status};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Descriptors that a program has under way at a time.
const UNDER_WAY: usize = 4;
/// Most bytes of a descriptor.
const MOST_BYTES: u64 = 2000;

/// Numbers that look random [xorshift64, Marsaglia 2003].
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, end: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end).expect("fits")
    }
}

/// A descriptor under way: what it shall write is known.
struct LoadSlot {
    from: Vec<u8>,
    to: Vec<u8>,
    record: Box<CompletionRecord>,
    expected: Option<Vec<u8>>,
}

impl LoadSlot {
    fn new() -> Self {
        Self { from: Vec::new(), to: Vec::new(), record: CompletionRecord::new(), expected: None }
    }

    fn submit(&mut self, portal: &ClientPortal, numbers: &mut RandomNumbers) {
        let bytes = numbers.below(MOST_BYTES) + 1;
        self.record.clear();
        self.to = vec![0; bytes];
        let first = u8::try_from(numbers.below(256)).expect("fits");
        let descriptor = if numbers.below(3) == 0 {
            self.expected = Some(vec![first; bytes]);
            fill(&mut self.to, u64::from_le_bytes([first; 8])).recording(self.record.address())
        } else {
            self.from = (0..bytes).map(|at| at.to_le_bytes()[0].wrapping_mul(3) ^ first).collect();
            self.expected = Some(self.from.clone());
            copy(&self.from, &mut self.to, &self.record)
        };
        portal.enqueue_patiently(&descriptor);
    }

    fn check(&mut self) {
        let Some(expected) = self.expected.take() else { return };
        assert_eq!(self.record.ended(), status::SUCCESS);
        assert!(self.to == expected, "{} bytes", expected.len());
    }
}

/// QUEUE COUNT SEED: random copies and fills, each checked.
pub fn load(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let count: usize = arguments[1].parse().expect("a number");
    let mut numbers = RandomNumbers(arguments[2].parse::<u64>().expect("a number") + 1);
    let mut slots: Vec<LoadSlot> = (0..UNDER_WAY).map(|_| LoadSlot::new()).collect();
    for number in 0..count {
        let slot = &mut slots[number % UNDER_WAY];
        slot.check();
        slot.submit(&portal, &mut numbers);
        if number == count / 2 {
            println!("half");
        }
    }
    slots.iter_mut().for_each(LoadSlot::check);
    println!("done {count}");
}

/// QUEUE COUNT SEED: four programs of [`load`], of which the last is killed half way.
pub fn four(arguments: &[String]) {
    let own = std::env::current_exe().expect("is known");
    let seed: u64 = arguments[2].parse().expect("a number");
    let start = |number: u64| {
        Command::new(&own)
            .args(["load", &arguments[0], &arguments[1], &(seed + number).to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts")
    };
    let mut programs: Vec<Child> = (0..4).map(start).collect();
    let mut victim = programs.pop().expect("there are four");
    let mut line = String::new();
    let mut said = BufReader::new(victim.stdout.take().expect("is piped"));
    said.read_line(&mut line).expect("says so");
    assert_eq!(line, "half\n");
    victim.kill().expect("SIGKILL");
    let ended = victim.wait().expect("ends");
    // It had the other half to do: a program that was done would have been killed too late.
    assert!(!ended.success());
    for program in &mut programs {
        let mut text = String::new();
        let out = program.stdout.as_mut().expect("is piped");
        out.read_to_string(&mut text).expect("is read");
        assert!(program.wait().expect("ends").success());
        assert_eq!(text, format!("half\ndone {}\n", arguments[1]));
        println!("done");
    }
    // The kernel tells the last close of a killed program when it gets to it.
    let path = format!("{}/occupancy", arguments[0]);
    while attribute(&path) != "0\n" {
        std::thread::yield_now();
    }
    let path = format!("{}/clients", arguments[0]);
    while attribute(&path) != "0\n" {
        std::thread::yield_now();
    }
}

/// QUEUE COUNT: batches of four members with a fence, by MOVDIR64B.
pub fn batches(arguments: &[String]) {
    #[repr(C, align(64))]
    struct FourDescriptors([[u8; DESCRIPTOR_BYTES]; 4]);
    let portal = ClientPortal::open(&arguments[0]);
    let count: u8 = arguments[1].parse().expect("a number");
    let record = CompletionRecord::new();
    for number in 1..=count {
        let (mut middle, mut end) = (vec![0; 300], vec![0; 300]);
        let filled = fill(&mut middle, u64::from_le_bytes([number; 8]));
        let unused = CompletionRecord::new();
        let copied = copy(&middle, &mut end, &unused);
        let list = FourDescriptors([
            Descriptor::of(Opcode::NoOp).0,
            filled.0,
            copied.with_flags(copied.flags() | flags::FENCE).0,
            Descriptor::of(Opcode::NoOp).0,
        ]);
        let batch = Descriptor::of(Opcode::Batch)
            .with_first(list.0.as_ptr() as u64)
            .with_size(4)
            .recording(record.address());
        portal.post(&batch);
        assert_eq!((record.ended(), record.completed()), (status::SUCCESS, 4));
        assert!(end == [number; 300]);
        record.clear();
    }
}
