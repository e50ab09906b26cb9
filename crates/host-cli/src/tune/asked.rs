//! What can be asked of `tune`, and how it is written on the command line.

use clap::{Subcommand, ValueEnum};
use host::cpu::PackageId;
use host::pci_address::Bdf;
use host::tune::{IoAllocRequest, TunePlan, TunePlanError, TunePlanner};

use crate::number::small;

#[derive(Subcommand)]
pub enum Control {
    /// Let I/O writes allocate in the N top ways of the LLC (Intel Skylake, Cascade Lake)
    ///
    /// Sets the IIO LLC WAYS register (MSR 0xc8b) of every socket. The two default ways stay, so the least
    /// is 2. On Ice Lake and later the register takes writes and hit rates stay: use --verify.
    DdioWays {
        /// How many ways
        #[arg(value_name = "N", value_parser = small, allow_negative_numbers = true)]
        ways: u32,
        /// Only this socket
        #[arg(long, value_name = "ID", value_parser = small)]
        socket: Option<u32>,
        /// Change the ways although the register has other bits set, which keep their values
        #[arg(long)]
        keep_unknown_bits: bool,
    },
    /// Let I/O writes allocate in the ways of a mask (Intel Skylake, Cascade Lake)
    ///
    /// Sets the same register as ddio-ways. No manual says which masks it takes; tried in public is one run
    /// of ways that ends at the top way, and other masks take --untried-mask. Ways that the hardware keeps
    /// set are told by the read-back.
    DdioMask {
        /// Ways, like 0x700
        #[arg(value_parser = mask)]
        mask: u64,
        /// Only this socket
        #[arg(long, value_name = "ID", value_parser = small)]
        socket: Option<u32>,
        /// Write a mask of a shape that no public source has tried
        #[arg(long)]
        untried_mask: bool,
        /// Change the ways although the register has other bits set, which keep their values
        #[arg(long)]
        keep_unknown_bits: bool,
    },
    /// Switch DDIO on or off at root ports (Intel Haswell to Cascade Lake)
    ///
    /// Sets Use_Allocating_Flow_Wr of the root port above the device (perfctrlsts_0). All devices below
    /// that port change with it. Haswell and Broadwell, where only datasheets describe it, take
    /// --unmeasured.
    Ddio {
        /// on or off
        #[arg(value_enum)]
        state: State,
        /// Only the root port above this device, like 17:00.0 or 0000:17:00.0
        #[arg(long, value_name = "BDF")]
        device: Option<Bdf>,
        /// Write it although no measurement of this part's switch is published
        #[arg(long)]
        unmeasured: bool,
    },
    /// Let I/O allocate in the L3 under a mask of its own (AMD SDCIAE)
    ///
    /// Through resctrl, Linux 6.19 or newer, on every CPU where the kernel offers it.
    IoAlloc {
        /// on, off, or a mask of ways like 0xf
        #[arg(value_name = "on|off|MASK", value_parser = request)]
        request: IoAllocRequest,
    },
    /// Give a group of cache allocation a mask of ways
    ///
    /// Through resctrl. The kernel's own rules for masks are checked first; hardware that silently widens
    /// a mask is told by the read-back.
    Cat {
        /// The group; `default` or / is the default one, and /NAME the one of that name whatever it is
        group: String,
        /// Ways, like 0xf
        #[arg(value_parser = mask)]
        mask: u64,
        /// Only this cache (resctrl's domain)
        #[arg(long, value_name = "ID", value_parser = small)]
        cache: Option<u32>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum State {
    /// Writes of devices allocate in the LLC
    On,
    /// Writes of devices go to memory
    Off,
}

pub fn mask(text: &str) -> Result<u64, String> {
    // No way is none in every notation; whether that is allowed the plan says.
    if text == "0" {
        return Ok(0);
    }
    // Without 0x it could be meant either way, and the kernel's own files leave 0x out.
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let is_plain = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = digits.filter(is_plain).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| "not a mask of ways; write it hexadecimal with 0x, like 0xf".to_owned())
}

pub fn request(text: &str) -> Result<IoAllocRequest, String> {
    match text {
        "on" => Ok(IoAllocRequest::On),
        "off" => Ok(IoAllocRequest::Off),
        other => mask(other).map(IoAllocRequest::Mask),
    }
}

impl Control {
    /// The planner, with what this control allows.
    pub fn allowing<'h>(&self, planner: TunePlanner<'h>) -> TunePlanner<'h> {
        match self {
            Self::DdioWays { keep_unknown_bits, .. } => {
                planner.keep_unknown_bits(*keep_unknown_bits)
            }
            Self::DdioMask { keep_unknown_bits, untried_mask, .. } => {
                planner.keep_unknown_bits(*keep_unknown_bits).allow_any_mask(*untried_mask)
            }
            Self::Ddio { unmeasured, .. } => planner.allow_unmeasured(*unmeasured),
            Self::IoAlloc { .. } | Self::Cat { .. } => planner,
        }
    }
}

/// The registers and files that it takes.
pub fn plan(control: &Control, planner: &TunePlanner<'_>) -> Result<TunePlan, TunePlanError> {
    match control {
        Control::DdioWays { ways, socket, .. } => planner.ddio_ways(*ways, socket.map(PackageId)),
        Control::DdioMask { mask, socket, .. } => planner.ddio_mask(*mask, socket.map(PackageId)),
        Control::Ddio { state, device, .. } => planner.ddio(*state == State::On, *device),
        Control::IoAlloc { request } => planner.io_alloc(*request),
        Control::Cat { group, mask, cache } => planner.cat(group, *mask, *cache),
    }
}
