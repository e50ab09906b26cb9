//! Every parser of text takes any bytes, and what it takes prints as it was read.

use host::calibrate::{Measurement, platform};
use host::cpu::{cpu_list, format_list};
use host::fake::MachineDescription;
use host::pci_address::Bdf;
use host::resctrl::MaskLine;
use host::tune::Journal;
use slices::{LatencyFile, SliceMap, TableFile};

pub fn read(bytes: &[u8]) {
    if let Ok(journal) = serde_json::from_slice::<Journal>(bytes) {
        let again = serde_json::to_string(&journal).expect("a journal is JSON");
        assert_eq!(serde_json::from_str::<Journal>(&again).expect("what it writes"), journal);
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = MachineDescription::parse(text);
    if let Some(cpus) = cpu_list(text) {
        assert_eq!(cpu_list(&format_list(&cpus)), Some(cpus));
    }
    if let Ok(bdf) = text.parse::<Bdf>() {
        assert_eq!(bdf.to_string().parse(), Ok(bdf));
    }
    if let Some(line) = MaskLine::parse(text) {
        let again = MaskLine::parse(&line.to_string()).expect("what it prints");
        assert_eq!(again.masks, line.masks);
    }
    if let Ok(measured) = Measurement::read("input", text) {
        // Whatever was measured, it makes a platform or an error.
        let _ = platform(&measured);
    }
    tables(text);
}

fn tables(text: &str) {
    if let Ok(file) = TableFile::read(text) {
        // Shares in the evidence may be no numbers, which equal nothing.
        let file = TableFile { evidence: None, ..file };
        SliceMap::new(&file).expect("a table that was read is a function");
        assert_eq!(TableFile::read(&file.write()), Ok(file));
    }
    if let Ok(file) = LatencyFile::read(text) {
        let again = LatencyFile::read(&file.write()).expect("what it writes");
        assert_eq!(again.write(), file.write());
    }
}
