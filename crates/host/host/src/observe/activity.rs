//! What runs in a window of time: two readings of counters that every user may read.
//!
//! Source: Linux Documentation/filesystems/proc.rst (stat, softirqs, pid/stat),
//! Documentation/block/stat.rst, Documentation/ABI/testing/sysfs-class-net-statistics. A described machine
//! has the second readings below `window/`.

use std::collections::BTreeMap;

use crate::cpu::CpuId;
use crate::error::FileError;
use crate::ethtool::FrameCounts;
use crate::machine::Host;
use crate::root::Root;

/// Directory of the second readings of a described machine.
const LATER: &str = "window";
/// Ticks of /proc/stat and /proc/PID/stat in a second (USER_HZ, which is 100 on x86).
const TICKS_PER_S: f64 = 100.0;
/// Bytes of a sector in the counters of block devices.
const SECTOR_BYTES: u64 = 512;

/// Which of the two readings of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterReading {
    First,
    Second,
}

impl CounterReading {
    /// The path of a counter's file.
    fn path(self, root: &Root, path: &str) -> String {
        let later = format!("{LATER}/{path}");
        match self {
            Self::Second if !root.is_real() && root.exists(&later) => later,
            _ => path.to_owned(),
        }
    }
}

/// Ticks of a CPU since the boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuTicks {
    pub(super) busy: u64,
    pub(super) all: u64,
}

/// Counters of a network interface in sysfs: what the kernel's stack has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StackCounts {
    pub(super) frames: FrameCounts,
    pub(super) dropped: u64,
}

/// Counters of a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskCounts {
    pub(super) reads: u64,
    pub(super) read_bytes: u64,
    pub(super) writes: u64,
    pub(super) written_bytes: u64,
    /// Sum of the times that I/Os took, in milliseconds.
    pub(super) waited_ms: u64,
}

/// A process: its name, its ticks, and the CPU on which it ran last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessTicks {
    pub(super) name: String,
    pub(super) ticks: u64,
}

/// One reading of all counters. What cannot be read is absent; the reasons are in `unread`.
#[derive(Default)]
pub(super) struct Activity {
    pub(super) cpus: BTreeMap<CpuId, CpuTicks>,
    /// Softirqs in which packets were received, by CPU.
    pub(super) receptions: BTreeMap<CpuId, u64>,
    pub(super) stack: BTreeMap<String, StackCounts>,
    pub(super) frames: BTreeMap<String, FrameCounts>,
    pub(super) disks: BTreeMap<String, DiskCounts>,
    pub(super) processes: BTreeMap<u32, ProcessTicks>,
    /// Clock of each CPU in kHz.
    pub(super) clocks: BTreeMap<CpuId, u64>,
    pub(super) unread: Vec<(String, FileError)>,
}

/// Subjects of a reading: interfaces by name and directory, disks, CPUs.
pub(super) struct Watched {
    pub(super) interfaces: Vec<(String, String)>,
    pub(super) disks: Vec<String>,
    pub(super) cpus: Vec<CpuId>,
}

impl Activity {
    pub(super) fn read(host: &Host, watched: &Watched, reading: CounterReading) -> Self {
        let root = &host.root;
        let mut found = Self::default();
        let text = |path: &str| root.read_text(&reading.path(root, path));
        match text("proc/stat") {
            Ok(text) => found.cpus = cpu_ticks(&text),
            Err(error) => found.unread.push(("time in which CPUs were busy".into(), error)),
        }
        match text("proc/softirqs") {
            Ok(text) => found.receptions = receptions(&text),
            Err(error) => found.unread.push(("CPUs that receive packets".into(), error)),
        }
        for (name, folder) in &watched.interfaces {
            match stack_counts(root, folder, reading) {
                Ok(counts) => drop(found.stack.insert(name.clone(), counts)),
                Err(error) => found.unread.push((format!("packets of {name}"), error)),
            }
            match host.interfaces.frames(name) {
                Ok(counts) => drop(found.frames.insert(name.clone(), counts)),
                Err(error) => found.unread.push((format!("frames of {name}"), error)),
            }
        }
        for disk in &watched.disks {
            let path = format!("sys/block/{disk}/stat");
            match text(&path) {
                Ok(text) => drop(found.disks.insert(disk.clone(), disk_counts(&text))),
                Err(error) => found.unread.push((format!("I/O of {disk}"), error)),
            }
        }
        for &cpu in &watched.cpus {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
            if let Ok(khz) = root.read_number(&reading.path(root, &path)) {
                found.clocks.insert(cpu, khz);
            }
        }
        found.read_processes(root, reading);
        found
    }

    fn read_processes(&mut self, root: &Root, reading: CounterReading) {
        let names = match root.list("proc") {
            Ok(names) => names,
            Err(error) => return self.unread.push(("programs that run".into(), error)),
        };
        for pid in names.iter().filter_map(|name| name.parse::<u32>().ok()) {
            // A process may end at any time.
            let text = root.read_text(&reading.path(root, &format!("proc/{pid}/stat")));
            if let Some(ticks) = text.ok().as_deref().and_then(process_ticks) {
                self.processes.insert(pid, ticks);
            }
        }
    }
}

/// Busy and all ticks of each CPU: of the columns of /proc/stat the fourth and fifth are idle and waiting
/// for I/O; guests are part of the first two.
fn cpu_ticks(text: &str) -> BTreeMap<CpuId, CpuTicks> {
    let of_cpu = |line: &str| {
        let mut words = line.split_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let all = ticks.iter().fold(0, |sum: u64, part| sum.saturating_add(*part));
        let idle = ticks.get(3)?.saturating_add(*ticks.get(4).unwrap_or(&0));
        Some((CpuId(cpu), CpuTicks { busy: all.saturating_sub(idle), all }))
    };
    text.lines().filter_map(of_cpu).collect()
}

/// The row NET_RX of /proc/softirqs; its first line names the CPUs of the columns.
fn receptions(text: &str) -> BTreeMap<CpuId, u64> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let cpus = head.split_whitespace().filter_map(|name| name.strip_prefix("CPU")?.parse().ok());
    let row = lines.find_map(|line| line.trim_start().strip_prefix("NET_RX:")).unwrap_or_default();
    cpus.map(CpuId).zip(row.split_whitespace().map_while(|word| word.parse().ok())).collect()
}

fn stack_counts(
    root: &Root,
    folder: &str,
    reading: CounterReading,
) -> Result<StackCounts, FileError> {
    let number =
        |name: &str| root.read_number(&reading.path(root, &format!("{folder}/statistics/{name}")));
    Ok(StackCounts {
        frames: FrameCounts {
            rx_frames: number("rx_packets")?,
            rx_octets: number("rx_bytes")?,
            tx_frames: number("tx_packets")?,
            tx_octets: number("tx_bytes")?,
        },
        dropped: number("rx_missed_errors")?.saturating_add(number("rx_dropped")?),
    })
}

fn disk_counts(text: &str) -> DiskCounts {
    let words: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    let at = |index: usize| words.get(index).copied().unwrap_or(0);
    DiskCounts {
        reads: at(0),
        read_bytes: at(2).saturating_mul(SECTOR_BYTES),
        writes: at(4),
        written_bytes: at(6).saturating_mul(SECTOR_BYTES),
        waited_ms: at(3).saturating_add(at(7)),
    }
}

/// Name and ticks of a process. Its name is in parentheses and may contain any character.
fn process_ticks(text: &str) -> Option<ProcessTicks> {
    let (begin, rest) = text.rsplit_once(')')?;
    let name = begin.split_once('(')?.1;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |index: usize| words.get(index)?.parse::<u64>().ok();
    let name = inputs::foreign::in_line(name).into_owned();
    Some(ProcessTicks { name, ticks: ticks(11)?.saturating_add(ticks(12)?) })
}

/// The difference of two readings, as rates.
pub(super) struct WindowActivity<'a> {
    pub(super) first: &'a Activity,
    pub(super) second: &'a Activity,
    pub(super) seconds: f64,
}

/// Frames and octets of an interface in a second, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FrameRates {
    pub(super) rx_frames: f64,
    pub(super) rx_octets: f64,
    pub(super) tx_frames: f64,
    pub(super) tx_octets: f64,
}

impl WindowActivity<'_> {
    fn rates(&self, first: FrameCounts, second: FrameCounts) -> FrameRates {
        let rate = |of: fn(&FrameCounts) -> u64| {
            of(&second).saturating_sub(of(&first)) as f64 / self.seconds
        };
        FrameRates {
            rx_frames: rate(|it| it.rx_frames),
            rx_octets: rate(|it| it.rx_octets),
            tx_frames: rate(|it| it.tx_frames),
            tx_octets: rate(|it| it.tx_octets),
        }
    }

    /// Frames of an interface that the kernel's stack has seen.
    pub(super) fn stack(&self, interface: &str) -> Option<FrameRates> {
        let [first, second] = [self.first, self.second].map(|it| it.stack.get(interface));
        Some(self.rates(first?.frames, second?.frames))
    }

    /// Packets of an interface that were dropped in a second.
    pub(super) fn dropped(&self, interface: &str) -> Option<f64> {
        let [first, second] = [self.first, self.second].map(|it| it.stack.get(interface));
        Some(second?.dropped.saturating_sub(first?.dropped) as f64 / self.seconds)
    }

    /// Frames that the MAC of an interface has counted.
    pub(super) fn frames(&self, interface: &str) -> Option<FrameRates> {
        let [first, second] = [self.first, self.second].map(|it| it.frames.get(interface));
        Some(self.rates(*first?, *second?))
    }

    /// Share of the window in which a CPU was busy, 0 to 1.
    pub(super) fn busy(&self, cpu: CpuId) -> Option<f64> {
        let [first, second] = [self.first, self.second].map(|it| it.cpus.get(&cpu));
        let (first, second) = (first?, second?);
        let all = second.all.saturating_sub(first.all);
        (all > 0).then(|| second.busy.saturating_sub(first.busy) as f64 / all as f64)
    }

    /// CPUs that received packets by softirqs in the window.
    pub(super) fn receivers(&self) -> Vec<CpuId> {
        let received = |(cpu, count): (&CpuId, &u64)| {
            let before = self.first.receptions.get(cpu)?;
            // Timers and the loopback interface cause a few.
            (count.saturating_sub(*before) as f64 > 10.0 * self.seconds).then_some(*cpu)
        };
        self.second.receptions.iter().filter_map(received).collect()
    }

    /// Mean clock in GHz of CPUs; `None` if the kernel shows it of none.
    pub(super) fn clock_ghz(&self, cpus: &[CpuId]) -> Option<f64> {
        let readings = [self.first, self.second];
        let all: Vec<u64> = cpus
            .iter()
            .flat_map(|cpu| readings.into_iter().filter_map(|it| it.clocks.get(cpu).copied()))
            .collect();
        let sum: f64 = all.iter().map(|khz| *khz as f64 / 1e6).sum();
        (!all.is_empty()).then(|| sum / all.len() as f64)
    }

    /// Counts of a block device in the window.
    pub(super) fn disk(&self, disk: &str) -> Option<DiskCounts> {
        let [first, second] = [self.first, self.second].map(|it| it.disks.get(disk));
        let (first, second) = (first?, second?);
        let less = |of: fn(&DiskCounts) -> u64| of(second).saturating_sub(of(first));
        Some(DiskCounts {
            reads: less(|it| it.reads),
            read_bytes: less(|it| it.read_bytes),
            writes: less(|it| it.writes),
            written_bytes: less(|it| it.written_bytes),
            waited_ms: less(|it| it.waited_ms),
        })
    }

    /// Processes that used at least half of a CPU, most first: number, name, CPUs.
    pub(super) fn programs(&self) -> Vec<(u32, String, f64)> {
        let used = |(pid, now): (&u32, &ProcessTicks)| {
            let before = self.first.processes.get(pid).filter(|it| it.name == now.name);
            let ticks = now.ticks.saturating_sub(before.map_or(0, |it| it.ticks));
            let cpus = ticks as f64 / TICKS_PER_S / self.seconds;
            (cpus >= 0.5).then(|| (*pid, now.name.clone(), cpus))
        };
        let mut programs: Vec<_> = self.second.processes.iter().filter_map(used).collect();
        programs.sort_by(|a, b| b.2.total_cmp(&a.2));
        programs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_cpus_are_busy_unless_idle_or_waiting() {
        let text = "cpu  9 9 9 9\ncpu0 10 1 5 100 4 1 2 0 3 0\ncpu12 0 0 0 7\nintr 5\n";
        let ticks = cpu_ticks(text);
        assert_eq!(ticks.get(&CpuId(0)), Some(&CpuTicks { busy: 19, all: 123 }));
        assert_eq!(ticks.get(&CpuId(12)), Some(&CpuTicks { busy: 0, all: 7 }));
        assert_eq!(ticks.len(), 2);
    }

    #[test]
    fn receptions_follow_the_columns_of_the_first_line() {
        let text = "          CPU0  CPU2\n  TIMER: 1 2\n NET_RX:  30  40\n";
        assert_eq!(
            receptions(text).into_iter().collect::<Vec<_>>(),
            [(CpuId(0), 30), (CpuId(2), 40)]
        );
        assert!(receptions("").is_empty());
    }

    #[test]
    fn names_of_processes_may_contain_anything() {
        let text = "7 (a) R (b)\n) S 1 7 7 0 -1 4194304 1 0 0 0 250 50 0 0 20 0 1 0 9\n";
        let found = process_ticks(text).expect("a process");
        assert_eq!(found.ticks, 300);
        assert!(found.name.starts_with("a) R (b)"), "{}", found.name);
        assert_eq!(process_ticks("7 (x"), None);
    }
}
