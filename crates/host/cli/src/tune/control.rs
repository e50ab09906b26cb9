//! The controls of `tune` as they are written on the command line.

use clap::{Subcommand, ValueEnum};
use host::cpu::PackageId;
use host::pci_address::Bdf;
use host::tune::{IoAllocRequest, TunePlan, TunePlanError, TunePlanner};

use crate::value_parsers::small_number;

/// A control to change, with its new value and the options that allow unusual values.
#[derive(Subcommand)]
pub enum TuneControl {
    /// Let I/O writes allocate in the N top ways of the LLC (Intel Skylake, Cascade Lake)
    ///
    /// Sets the IIO LLC WAYS register (MSR 0xc8b) of every socket. The two default ways stay, so the least
    /// is 2. On Ice Lake and later the register takes writes and hit rates stay: use --verify.
    DdioWays {
        /// Number of ways
        #[arg(value_name = "N", value_parser = small_number, allow_negative_numbers = true)]
        ways: u32,
        /// Only this socket
        #[arg(long, value_name = "ID", value_parser = small_number)]
        socket: Option<u32>,
        /// Change the ways although the register has other bits set, which keep their values
        #[arg(long)]
        keep_unknown_bits: bool,
    },
    /// Let I/O writes allocate in the ways of a mask (Intel Skylake, Cascade Lake)
    ///
    /// Sets the same register as ddio-ways. No manual says which masks it takes. Public sources have tried
    /// one contiguous run of ways that ends at the top way; other masks need --untried-mask. The read-back
    /// shows ways that the hardware keeps set.
    DdioMask {
        /// Ways, like 0x700
        #[arg(value_parser = mask)]
        mask: u64,
        /// Only this socket
        #[arg(long, value_name = "ID", value_parser = small_number)]
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
    /// that port change with it. Haswell and Broadwell, where only datasheets describe it, need
    /// --unmeasured.
    Ddio {
        /// on or off
        #[arg(value_enum)]
        state: SwitchState,
        /// Only the root port above this device, like 17:00.0 or 0000:17:00.0
        #[arg(long, value_name = "BDF")]
        device: Option<Bdf>,
        /// Write it although no measurement of this CPU model's switch is published
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
    /// Through resctrl. The kernel's own rules for masks are checked first; the read-back shows whether the
    /// hardware has silently widened a mask.
    Cat {
        /// The group; `default` or / is the default one, and /NAME the one of that name whatever it is
        group: String,
        /// Ways, like 0xf
        #[arg(value_parser = mask)]
        mask: u64,
        /// Only this cache (resctrl's domain)
        #[arg(long, value_name = "ID", value_parser = small_number)]
        cache: Option<u32>,
    },
}

/// Position of the DDIO switch of a root port.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SwitchState {
    /// Writes of devices allocate in the LLC
    On,
    /// Writes of devices go to memory
    Off,
}

/// Parses a mask of ways: hexadecimal with 0x, or 0.
pub fn mask(text: &str) -> Result<u64, String> {
    // Zero is the same in every notation; the plan checks whether it is allowed.
    if text == "0" {
        return Ok(0);
    }
    // Digits without 0x are ambiguous: users mean decimal, but the kernel's own files omit 0x.
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let is_plain = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = digits.filter(is_plain).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| "not a mask of ways; write it hexadecimal with 0x, like 0xf".to_owned())
}

/// Parses the value of io-alloc: on, off, or a mask of ways.
pub fn request(text: &str) -> Result<IoAllocRequest, String> {
    match text {
        "on" => Ok(IoAllocRequest::On),
        "off" => Ok(IoAllocRequest::Off),
        other => mask(other).map(IoAllocRequest::Mask),
    }
}

impl TuneControl {
    /// Adds to the planner the permissions that this control's options grant.
    pub fn grant_permissions<'h>(&self, planner: TunePlanner<'h>) -> TunePlanner<'h> {
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

/// Plans the writes of registers and files that set the control.
pub fn plan(control: &TuneControl, planner: &TunePlanner<'_>) -> Result<TunePlan, TunePlanError> {
    match control {
        TuneControl::DdioWays { ways, socket, .. } => {
            planner.ddio_ways(*ways, socket.map(PackageId))
        }
        TuneControl::DdioMask { mask, socket, .. } => {
            planner.ddio_mask(*mask, socket.map(PackageId))
        }
        TuneControl::Ddio { state, device, .. } => planner.ddio(*state == SwitchState::On, *device),
        TuneControl::IoAlloc { request } => planner.io_alloc(*request),
        TuneControl::Cat { group, mask, cache } => planner.cat(group, *mask, *cache),
    }
}
