//! Network cards and SSDs that the simulator knows, by vendor and device ID.
//!
//! Source: the PCI ID repository (pci.ids), recalled; a card that is not listed is asked for.

const CARDS: [(&str, &str); 15] = [
    ("15b3:1013", "connectx-4"),
    ("15b3:1015", "connectx-4-lx"),
    ("15b3:1017", "connectx-5"),
    ("15b3:1018", "connectx-5"),
    ("15b3:1019", "connectx-5"),
    ("15b3:101a", "connectx-5"),
    ("15b3:101b", "connectx-6-200g"),
    ("15b3:101d", "connectx-6"),
    ("15b3:1021", "connectx-7"),
    ("8086:1591", "e810"),
    ("8086:1592", "e810"),
    ("8086:1593", "e810"),
    ("8086:159b", "e810"),
    ("8086:1583", "xl710"),
    ("8086:1584", "xl710"),
];

/// The simulator's name of a card; `None` if it knows none like it.
pub(super) fn card(id: &str) -> Option<&'static str> {
    CARDS.iter().find(|(known, _)| *known == id).map(|(_, name)| *name)
}

const SSDS: [(&str, &str); 2] = [("1179:0116", "xg5"), ("8086:2701", "p4800x")];

/// The simulator's name of an SSD; `None` if it knows none like it.
pub(super) fn ssd(id: &str) -> Option<&'static str> {
    SSDS.iter().find(|(known, _)| *known == id).map(|(_, name)| *name)
}
