//! Parts as public sources have them, written here once more: the tool's own table is what is judged.

/// A part, by what a reader sees of it.
pub struct Part {
    pub name: &'static str,
    pub vendor: &'static str,
    pub family: u32,
    pub model: u32,
    pub stepping: u32,
    /// As a server of the part names itself.
    pub brand: &'static str,
    /// A PCI function of its uncore; none where the tool need not look for one.
    pub uncore: Option<u16>,
    pub has_ways: bool,
    /// Device numbers of its root ports with a switch.
    pub root_ports: &'static [u16],
    /// Whether the tool knows it at all.
    pub is_known: bool,
    /// The kernel's name of the boxes of its slices.
    pub slice_unit: Option<&'static str>,
}

const HASWELL: &[u16] = &[0x2f02, 0x2f03, 0x2f04, 0x2f05, 0x2f08, 0x2f0a];
const BROADWELL: &[u16] = &[0x6f02, 0x6f03, 0x6f04, 0x6f08, 0x6f0b];
const SKYLAKE: &[u16] = &[0x2030, 0x2031, 0x2032, 0x2033];
const INTEL: &str = "GenuineIntel";
const AMD: &str = "AuthenticAMD";

const fn intel(name: &'static str, model: u32, stepping: u32, brand: &'static str) -> Part {
    Part {
        name,
        vendor: INTEL,
        family: 6,
        model,
        stepping,
        brand,
        uncore: None,
        has_ways: false,
        root_ports: &[],
        is_known: true,
        slice_unit: Some("uncore_cha"),
    }
}

const fn amd(name: &'static str, family: u32, model: u32) -> Part {
    Part { vendor: AMD, family, slice_unit: None, ..intel(name, model, 1, "AMD EPYC 9000") }
}

pub const PARTS: [Part; 15] = [
    Part {
        uncore: Some(0x2f28),
        root_ports: HASWELL,
        slice_unit: Some("uncore_cbox"),
        ..intel("Haswell", 0x3f, 2, "Intel(R) Xeon(R) CPU E5-2680 v3")
    },
    Part {
        uncore: Some(0x6f28),
        root_ports: BROADWELL,
        slice_unit: Some("uncore_cbox"),
        ..intel("Broadwell", 0x4f, 1, "Intel(R) Xeon(R) CPU E7-8890 v4")
    },
    Part {
        uncore: Some(0x2024),
        has_ways: true,
        root_ports: SKYLAKE,
        ..intel("Skylake", 0x55, 4, "Intel(R) Xeon(R) Gold 6134")
    },
    Part {
        uncore: Some(0x2025),
        has_ways: true,
        root_ports: SKYLAKE,
        ..intel("Cascade Lake", 0x55, 7, "Intel(R) Xeon(R) Silver 4210")
    },
    Part { uncore: Some(0x2014), ..intel("Cooper Lake", 0x55, 11, "Intel(R) Xeon(R) Gold 5320H") },
    Part {
        uncore: Some(0x09a2),
        has_ways: true,
        ..intel("Ice Lake", 0x6a, 6, "Intel(R) Xeon(R) Platinum 8380")
    },
    Part {
        uncore: Some(0x09a2),
        has_ways: true,
        ..intel("Sapphire Rapids", 0x8f, 8, "Intel(R) Xeon(R) Bronze 3408U")
    },
    Part {
        uncore: Some(0x09a2),
        has_ways: true,
        ..intel("Emerald Rapids", 0xcf, 2, "INTEL(R) XEON(R) GOLD 6548Y+")
    },
    intel("Granite Rapids", 0xad, 1, "Intel(R) Xeon(R) 6972P"),
    amd("Rome", 0x17, 0x31),
    amd("Milan", 0x19, 0x1),
    amd("Genoa", 0x19, 0x11),
    amd("Bergamo", 0x19, 0xa0),
    amd("Turin", 0x1a, 0x2),
    Part {
        is_known: false,
        slice_unit: None,
        ..intel("a part of later years", 0xf0, 0, "Intel(R) Xeon(R) 9")
    },
];
