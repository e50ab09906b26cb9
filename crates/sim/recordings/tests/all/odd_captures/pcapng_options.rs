//! Options of pcapng blocks: any text, unknown codes, lists with and without an end.

use super::byte_order::ByteOrder;
use super::dice::Dice;

const END_OF_OPTIONS: u16 = 0;
/// Options for private use, which begin with the number of an enterprise.
const CUSTOM: [u16; 4] = [2_988, 2_989, 19_372, 19_373];
const UNKNOWN: [u16; 4] = [77, 1_000, 0x7fff, 0xfffe];
const LONGEST_BYTES: usize = 0xffff;

/// An option with one of these codes and any value, or of a code that only its writer knows.
pub fn draw_option(dice: &mut Dice, order: ByteOrder, codes: &[u16]) -> (u16, Vec<u8>) {
    match dice.below(10) {
        0 => {
            let size = dice.below(9);
            let number = order.encode_u32(dice.draw_u32());
            (dice.pick(&CUSTOM), [&number[..], &dice.draw_bytes(size)].concat())
        }
        1 => (dice.pick(&UNKNOWN), draw_value(dice)),
        _ => (dice.pick(codes), draw_value(dice)),
    }
}

fn draw_value(dice: &mut Dice) -> Vec<u8> {
    match dice.below(12) {
        0 => Vec::new(),
        1 => "Gerät für Pakete ✓".into(),
        2 => b"Ger\xe4t f\xfcr Pakete".to_vec(),
        3 => b"ends early\0and goes on".to_vec(),
        4 => "\u{feff}Ether".encode_utf16().flat_map(u16::to_le_bytes).collect(),
        5 if dice.happens(10) => dice.draw_bytes(LONGEST_BYTES),
        6 => b"terminated\0".to_vec(),
        7 => dice.draw_bytes(8),
        _ => {
            let size = dice.below(40);
            dice.draw_bytes(size)
        }
    }
}

/// The list of these options, with an end mark or without, padded with zeros or anything.
pub fn encode_options(dice: &mut Dice, order: ByteOrder, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut list = Vec::new();
    for (code, value) in options {
        list.extend(order.encode_u16(*code));
        list.extend(order.encode_u16(value.len() as u16));
        list.extend(value);
        let filler = if dice.happens(5) { 0xa5 } else { 0 };
        list.resize(list.len().next_multiple_of(4), filler);
    }
    match dice.below(10) {
        0..3 => {}
        3 => {
            list.extend([order.encode_u16(END_OF_OPTIONS), [0; 2]].concat());
            let behind = 4 * dice.below(4);
            list.extend(dice.draw_bytes(behind));
        }
        _ if options.is_empty() => {}
        _ => list.extend([order.encode_u16(END_OF_OPTIONS), [0; 2]].concat()),
    }
    list
}
