//! Options of dsa-perf-micros that are not built here. Each is known, so that it is refused by its name, with
//! the option to use in its place, and never read as something else.

use crate::failure::Failure;

/// The options that are refused whenever they are given.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct RefusedOptions {
    /// Refused: queues are opened through the driver of the kernel.
    #[arg(short = 'u', hide_short_help = true)]
    pub user_driver: bool,
    /// Refused: use -k, and -w, --engines or --queue-entries to choose queues.
    #[arg(short = 'K', value_name = "CPU@QUEUE", num_args = 0..=1, hide_short_help = true)]
    pub cpu_and_queue: Option<Option<String>>,
    /// Refused: protected blocks have 512 bytes.
    #[arg(short = 'e', value_name = "BLOCK", num_args = 0..=1, hide_short_help = true)]
    pub dif_block: Option<Option<String>>,
    /// Refused: use -z for the state of operands.
    #[arg(short = 'y', value_name = "ACCESS", num_args = 0..=1, hide_short_help = true)]
    pub access: Option<Option<String>>,
    /// Refused: use --threads.
    #[arg(short = 'P', value_name = "PROCESSES", num_args = 0..=1, hide_short_help = true)]
    pub processes: Option<Option<String>>,
    /// Refused: use --flags, or -f for cache control.
    #[arg(short = 'F', value_name = "FLAGS", num_args = 0..=1, hide_short_help = true)]
    pub descriptor_flags: Option<Option<String>>,
    /// Refused: operands are in memory, not in the MMIO of a device.
    #[arg(short = 'B', value_name = "MMIO", num_args = 0..=1, hide_short_help = true)]
    pub mmio: Option<Option<String>>,
}

impl RefusedOptions {
    /// Refuses the first of these options that was given.
    ///
    /// # Errors
    /// If one was given: the option, its value, why it is refused, and what to use.
    pub fn refuse(&self) -> Result<(), Failure> {
        if self.user_driver {
            return Err(Failure::BadInput(
                "-u: the driver in user mode is not built: queues are opened through the kernel's \
                 driver; leave it out (UMWAIT is -x 0x100 or --wait umwait)"
                    .into(),
            ));
        }
        let valued: [(&str, &Option<Option<String>>, &str); 6] = [
            (
                "-K",
                &self.cpu_and_queue,
                "a queue for each CPU is not built; use -k for the CPUs and -w, \
              --engines, --queue-entries or --instances for the queues",
            ),
            (
                "-e",
                &self.dif_block,
                "the size of protected blocks cannot be chosen: they have 512 bytes; \
              leave it out",
            ),
            (
                "-y",
                &self.access,
                "access to operands by the CPU is not built; -z P, D or F sends them \
              where they belong before each round",
            ),
            ("-P", &self.processes, "several processes are not built; use --threads"),
            (
                "-F",
                &self.descriptor_flags,
                "it is not known for certain what its flags are; use --flags, \
              or -f for cache control",
            ),
            ("-B", &self.mmio, "operands in the MMIO of a device are not built; leave it out"),
        ];
        for (option, given, why) in valued {
            match given {
                Some(Some(value)) => return Err(Failure::refused_value(option, value, why)),
                Some(None) => return Err(Failure::BadInput(format!("{option}: {why}"))),
                None => {}
            }
        }
        Ok(())
    }
}
