//! Blocks of pcapng that hold neither packets nor what packets depend on.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 4.5 to 4.10 and 11.1.

use super::byte_order::ByteOrder;
use super::dice::Dice;
use super::pcapng_file::encode_block;
use super::pcapng_options::{draw_option, encode_options};

const NAME_RESOLUTION: u32 = 4;
const INTERFACE_STATISTICS: u32 = 5;
const SYSTEMD_JOURNAL: u32 = 9;
const DECRYPTION_SECRETS: u32 = 10;
const SYSDIG_EVENT: u32 = 0x204;
const CUSTOM: [u32; 2] = [0xbad, 0x4000_0bad];
/// IRIG timestamp, ARINC 429, Hone project blocks, local use.
const UNKNOWN: [u32; 6] = [7, 8, 0x101, 0x102, 0x8000_0001, 0xdead_beef];
/// More than a block with a packet may have.
const LARGE_BYTES: usize = 2 << 20;

/// A block in a section that has so many interfaces.
pub fn draw(dice: &mut Dice, order: ByteOrder, interfaces: usize) -> Vec<u8> {
    let (kind, body) = match dice.below(8) {
        0 => (NAME_RESOLUTION, draw_names(dice, order)),
        1 if interfaces > 0 => {
            (INTERFACE_STATISTICS, draw_statistics(dice, order, last_interface(interfaces)))
        }
        2 => (SYSTEMD_JOURNAL, draw_journal_entry(dice)),
        3 => (DECRYPTION_SECRETS, draw_secrets(dice, order)),
        4 => {
            let size = dice.below(50);
            let enterprise = order.encode_u32(dice.draw_u32() | 1 << 20);
            (dice.pick(&CUSTOM), [&enterprise[..], &dice.draw_bytes(size)].concat())
        }
        5 => {
            let size = 22 + dice.below(100);
            (SYSDIG_EVENT, dice.draw_bytes(size))
        }
        _ => {
            let size = if dice.happens(3) { LARGE_BYTES } else { dice.below(200) };
            (dice.pick(&UNKNOWN), dice.draw_bytes(size))
        }
    };
    encode_block(order, kind, &body)
}

/// The last interface, which may have no packets.
fn last_interface(interfaces: usize) -> u32 {
    interfaces as u32 - 1
}

fn draw_names(dice: &mut Dice, order: ByteOrder) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..dice.below(4) {
        let (kind, address_bytes) = dice.pick(&[(1, 4), (2, 16), (3, 6), (4, 8), (99, 3)]);
        let mut record = dice.draw_bytes(address_bytes);
        record.extend(dice.pick::<&[u8]>(&[b"host.example\0", b"two\0names\0", b"\xe4\xf6\0"]));
        body.extend([order.encode_u16(kind), order.encode_u16(record.len() as u16)].concat());
        body.extend(&record);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    body.extend([0; 4]);
    if dice.happens(30) {
        let option = draw_option(dice, order, &[1, 2]);
        body.extend(encode_options(dice, order, &[option]));
    }
    body
}

fn draw_statistics(dice: &mut Dice, order: ByteOrder, interface: u32) -> Vec<u8> {
    let options = [2, 3, 4, 5, 6, 7, 8].map(|code| (code, dice.draw_bytes(8)));
    let count = dice.below(options.len() + 1);
    let time = dice.draw_bytes(8);
    let options = encode_options(dice, order, &options[..count]);
    [&order.encode_u32(interface)[..], &time, &options].concat()
}

fn draw_journal_entry(dice: &mut Dice) -> Vec<u8> {
    let time_us = u64::from(dice.draw_u32()) << 20;
    format!("__REALTIME_TIMESTAMP={time_us}\n_BOOT_ID=0\nMESSAGE=link is up\n").into_bytes()
}

fn draw_secrets(dice: &mut Dice, order: ByteOrder) -> Vec<u8> {
    let kind = dice.pick(&[0x544c_534b, 0x5747_4b4c, 0x1234_5678]);
    let secrets = b"CLIENT_RANDOM 00 11\n";
    let mut body = [order.encode_u32(kind), order.encode_u32(secrets.len() as u32)].concat();
    body.extend(secrets);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(encode_options(dice, order, &[]));
    body
}
