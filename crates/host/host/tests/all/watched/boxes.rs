//! Registers of a generation's counter boxes that counting look-ups changes, read from the tables of
//! facts and not by the tool's own code.

use toml::Value;

const GENERATIONS: &str = include_str!("../../../data/generations.toml");
const BOXES: &str = include_str!("../../../data/slice_boxes.toml");

/// The bits of a box's register that a restore may change on a generation: those of its control that
/// stop its counters, and all of its first event select and of its filter. Nothing for any other
/// register, and where the addresses of the boxes are not known.
pub fn owned_bits(generation: &str, address: u32) -> Option<u64> {
    let registers = registers(generation)?;
    let number = |key: &str| registers.get(key).map(self::number);
    let stride = number("stride")?;
    let blocks = registers["blocks"].as_array()?;
    let offset = blocks.iter().find_map(|block| {
        let (first, count) = (self::number(&block[0]), self::number(&block[1]));
        let from_first = u64::from(address).checked_sub(first)?;
        (from_first < count * stride).then_some(from_first % stride)
    })?;
    let filter = registers.get("filter").map(|filter| self::number(&filter["offset"]));
    match offset {
        0 => number("frozen_bits"),
        offset if Some(offset) == number("select") || Some(offset) == filter => Some(u64::MAX),
        _ => None,
    }
}

/// Registers of one box.
#[derive(Clone, Copy, Debug)]
pub struct BoxAddresses {
    pub control: u32,
    /// Event selects of its four counters.
    pub selects: [u32; 4],
    pub filter: Option<u32>,
    pub counter: u32,
}

/// The first `count` boxes of a generation; nothing where their addresses are not known, or there are
/// fewer.
pub fn addresses(generation: &str, count: usize) -> Option<Vec<BoxAddresses>> {
    let registers = registers(generation)?;
    let narrow = |value: u64| u32::try_from(value).expect("an address of 32 bits");
    let number = |key: &str| narrow(self::number(&registers[key]));
    let filter = registers.get("filter").map(|filter| narrow(self::number(&filter["offset"])));
    let blocks = registers["blocks"].as_array()?.iter();
    let controls = blocks.flat_map(|block| {
        let [first, boxes] = [0, 1].map(|index| narrow(self::number(&block[index])));
        (0..boxes).map(move |box_number| first + box_number * number("stride"))
    });
    let of = |control: u32| BoxAddresses {
        control,
        selects: [0, 1, 2, 3].map(|counter| control + number("select") + counter),
        filter: filter.map(|offset| control + offset),
        counter: control + number("counter"),
    };
    let found: Vec<BoxAddresses> = controls.take(count).map(of).collect();
    (found.len() == count).then_some(found)
}

/// The bits of a box's control that stop its counters.
pub fn frozen_bits(generation: &str) -> Option<u64> {
    Some(number(&registers(generation)?["frozen_bits"]))
}

fn number(value: &Value) -> u64 {
    value
        .as_integer()
        .and_then(|value| value.try_into().ok())
        .expect("a number that is not negative")
}

/// The registers of the boxes that a generation's table of events names.
fn registers(generation: &str) -> Option<Value> {
    let entries = |text: &str, key: &str| {
        let table: Value = toml::from_str::<toml::Table>(text).expect("a table of facts").into();
        table[key].as_array().expect("entries").clone()
    };
    let has = |list: Option<&Value>, name: &str| {
        let list = list.and_then(Value::as_array);
        list.is_some_and(|list| list.iter().any(|known| known.as_str() == Some(name)))
    };
    let mut generations = entries(GENERATIONS, "generation").into_iter();
    let found = generations.find(|entry| entry["name"].as_str() == Some(generation));
    let found = found?;
    let events = found.get("events")?.as_str()?;
    let mut units = entries(BOXES, "unit").into_iter();
    let unit = units.find(|unit| has(unit.get("events"), events))?;
    (!has(unit.get("without_registers"), generation)).then(|| unit["registers"].clone())
}

#[test]
fn the_bits_are_those_of_the_part() {
    let owned = |generation, address| owned_bits(generation, address);
    assert_eq!(owned("Cascade Lake", 0xfb0), Some(0x100));
    assert_eq!(owned("Cascade Lake", 0xfb1), Some(u64::MAX));
    assert_eq!(owned("Cascade Lake", 0xfb5), Some(u64::MAX));
    // Other selects, counters, and a twenty-ninth box.
    assert_eq!([0xfb2, 0xfb8, 0xfc0].map(|address| owned("Cascade Lake", address)), [None; 3]);
    // Haswell has fewer boxes, Ice Lake others and no filter, Turin none.
    assert_eq!([0xf70, 0xf80].map(|address| owned("Haswell", address)), [Some(0x100), None]);
    assert_eq!(owned("Ice Lake", 0xba6), Some(0x100));
    assert_eq!([0xba5, 0xba8].map(|address| owned("Ice Lake", address)), [None; 2]);
    assert_eq!([0xe05, 0xe10].map(|address| owned("Ice Lake", address)), [None; 2]);
    assert_eq!(owned("Sapphire Rapids", 0x23b0), Some(1));
    assert_eq!([0x2000, 0xe00].map(|address| owned("Emerald Rapids", address)), [None; 2]);
    assert_eq!(owned("Turin", 0xe00), None);
}
