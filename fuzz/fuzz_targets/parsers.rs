//! Every parser of text takes any bytes, and what it takes prints as it was read.
#![no_main]

use host::cpu::{as_list, cpu_list};
use host::fake::Description;
use host::pci::Bdf;
use host::resctrl::MaskLine;
use host::tune::Journal;
use libfuzzer_sys::fuzz_target;
use slices::{SliceMap, TableFile};

fuzz_target!(|bytes: &[u8]| {
    let _ = serde_json::from_slice::<Journal>(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = Description::parse(text);
    if let Some(cpus) = cpu_list(text) {
        assert_eq!(cpu_list(&as_list(&cpus)), Some(cpus));
    }
    if let Ok(bdf) = text.parse::<Bdf>() {
        assert_eq!(bdf.to_string().parse(), Ok(bdf));
    }
    if let Some(line) = MaskLine::parse(text) {
        let again = MaskLine::parse(&line.to_string()).expect("what it prints");
        assert_eq!(again.masks, line.masks);
    }
    if let Ok(file) = TableFile::read(text) {
        // Shares in the evidence may be no numbers, which equal nothing.
        let file = TableFile { evidence: None, ..file };
        SliceMap::new(&file).expect("a table that was read is a function");
        assert_eq!(TableFile::read(&file.write()), Ok(file));
    }
});
