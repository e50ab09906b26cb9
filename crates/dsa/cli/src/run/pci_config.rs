//! The PCI configuration space of a device, which `lspci` and `setpci` read.
//!
//! Identification and class are those of the device in Sapphire Rapids. The capabilities are those that programs
//! look at: PCI Express, MSI-X, and a second virtual channel at 0x148, whose control register (0x168) has the
//! channel enabled for traffic class 1. Where they are, and all other values, is made up. What is written can
//! be read back, and has no effect.
//!
//! Source: PCI Local Bus 3.0, 6.1; PCI Express Base 5.0, 7.9.1 (virtual channels); Linux, `pci_regs.h`.

/// Bytes of a configuration space of PCI Express.
pub const CONFIG_BYTES: usize = 4096;
/// Vendor and device: Intel, the DSA of Sapphire Rapids [Linux, drivers/dma/idxd/registers.h].
pub const VENDOR: u16 = 0x8086;
/// See [`VENDOR`].
pub const DEVICE: u16 = 0x0b25;
/// Class: other system peripheral.
pub const CLASS: u32 = 0x08_8000;
const CAPABILITIES: u8 = 0x40;
const MSI_X: u8 = 0x80;
const VIRTUAL_CHANNELS: u16 = 0x148;

/// The values of the space after a boot: place, bytes.
const FIELDS: [(usize, &[u8]); 16] = [
    (0x00, &VENDOR.to_le_bytes()),
    (0x02, &DEVICE.to_le_bytes()),
    // Memory and bus master are on; there is a list of capabilities.
    (0x04, &[0x06, 0x00, 0x10, 0x00]),
    (0x09, &[0x00, 0x80, 0x08]),
    // Two 64-bit memory regions.
    (0x10, &[0x0c]),
    (0x18, &[0x0c]),
    (0x2c, &VENDOR.to_le_bytes()),
    (0x34, &[CAPABILITIES]),
    // PCI Express, version 2, integrated in the root complex.
    (CAPABILITIES as usize, &[0x10, MSI_X, 0x92, 0x00]),
    // MSI-X with nine vectors, on.
    (MSI_X as usize, &[0x11, 0x00, 0x08, 0x80]),
    // Advanced error reporting, then virtual channels.
    (0x100, &[0x01, 0x00, 0x02, 0x00]),
    (0x102, &(2 | VIRTUAL_CHANNELS << 4).to_le_bytes()),
    (VIRTUAL_CHANNELS as usize, &[0x02, 0x00, 0x01, 0x00]),
    // One more channel than the first.
    (VIRTUAL_CHANNELS as usize + 0x04, &[0x01]),
    // Channel 0: traffic class 0 alone. Channel 1: traffic classes 1 and 8 as programs set them, number 1.
    (VIRTUAL_CHANNELS as usize + 0x14, &[0x01, 0x00, 0x00, 0x80]),
    (VIRTUAL_CHANNELS as usize + 0x20, &[0x02, 0x01, 0x00, 0x81]),
];

/// The configuration space of a device after a boot.
pub fn config_space() -> Vec<u8> {
    let mut space = vec![0; CONFIG_BYTES];
    for (at, bytes) in FIELDS {
        space[at..at + bytes.len()].copy_from_slice(bytes);
    }
    space
}

/// Text files of a PCI device in sysfs, by name.
pub fn text_files(numa_node: i32) -> Vec<(&'static str, String)> {
    let resource = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n".repeat(13);
    vec![
        ("vendor", format!("{VENDOR:#06x}\n")),
        ("device", format!("{DEVICE:#06x}\n")),
        ("subsystem_vendor", format!("{VENDOR:#06x}\n")),
        ("subsystem_device", "0x0000\n".to_owned()),
        ("class", format!("{CLASS:#08x}\n")),
        ("revision", "0x00\n".to_owned()),
        ("irq", "0\n".to_owned()),
        ("resource", resource),
        ("numa_node", format!("{numa_node}\n")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_channel_is_on_for_the_classes_that_programs_test() {
        let space = config_space();
        let word = |at: usize| u32::from_le_bytes(space[at..at + 4].try_into().expect("four"));
        assert_eq!(word(0), 0x0b25_8086);
        assert_eq!(word(0x168) & 0x102, 0x102);
        // The list of extended capabilities leads there and ends.
        assert_eq!((word(0x100) >> 20, word(0x148) & 0xffff, word(0x148) >> 20), (0x148, 2, 0));
    }
}
