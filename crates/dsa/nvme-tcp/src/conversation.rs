//! Random connections: a host and a controller open one, and send each other PDUs of all types.

use crate::message::PduMessage;
use crate::negotiation::{EnabledDigests, Terms};
use crate::pdu::{COMMON_BYTES, Header, PduKind};
use dsa_client::error::Error;
use rand_core::RngCore;
use units::narrow::{fit, usize_from};

use crate::seal::{Sealed, Sealer};

/// Opcode of the NVM command Read.
const READ: u8 = 2;
/// Opcode of the NVM command Write.
const WRITE: u8 = 1;
/// Flags of a command whose data is described by an SGL.
const SGL: u8 = 0x40;

/// The side that sends a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The host.
    Host,
    /// The controller.
    Controller,
}

/// Parameters of a random connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionShape {
    /// Digests that both sides agree on.
    pub digests: EnabledDigests,
    /// Least number of PDUs behind ICReq and ICResp: a command is always followed by its completion.
    pub pdus: usize,
    /// Most bytes of data in a PDU.
    pub most_data_bytes: u32,
    /// Whether the sides ask for aligned data (HPDA, CPDA), which puts padding before it.
    pub is_padded: bool,
    /// Whether the connection ends with a termination request.
    pub is_terminated: bool,
}

/// A PDU with its digests, and the side that sends it. Its tag is its number in the connection.
pub type SentPdu = (Sender, Sealed<usize>);

/// Generates the PDUs of a connection with their digests, in the order in which they are sent.
///
/// # Errors
/// If a digest cannot be computed ([`Sealer::wait`]).
pub fn generate(
    random: &mut impl RngCore,
    shape: &ConnectionShape,
    sealer: &mut Sealer<usize>,
) -> Result<Vec<SentPdu>, Error> {
    let mut dice = Dice(random);
    let terms = [(); 2].map(|()| {
        let alignment = if shape.is_padded { [0, 1, 3, 31][dice.below(4)] } else { 0 };
        Terms { digests: shape.digests, alignment }
    });
    let mut sent_pdus = opening(shape, terms);
    let mut senders = vec![Sender::Host, Sender::Controller];
    let mut sent = 0;
    let mut send = |sealer: &mut Sealer<usize>, (sender, message): (Sender, PduMessage)| {
        senders.push(sender);
        sent += 1;
        // Alignment and digests follow the receiver's terms.
        let terms = if sender == Sender::Host { terms[1] } else { terms[0] };
        sealer.begin(senders.len() - 1, message, terms).map(|()| sent)
    };
    let mut command = 0;
    let mut count = 0;
    while count < shape.pdus {
        for message in dice.exchange(command, shape.most_data_bytes) {
            count = send(sealer, message)?;
        }
        command = (command + 1) % 0x8000;
    }
    if shape.is_terminated {
        send(sealer, dice.termination())?;
    }
    while let Some(sealed) = sealer.wait() {
        sent_pdus.push(sealed?);
    }
    sent_pdus.sort_by_key(|sealed| sealed.tag);
    Ok(senders.into_iter().zip(sent_pdus).collect())
}

fn opening(shape: &ConnectionShape, [host, controller]: [Terms; 2]) -> Vec<Sealed<usize>> {
    let whole = |tag, kind, bytes: [u8; 128]| {
        let header = Header { kind, flags: 0, data_at: 0, bytes: 128 };
        Sealed { tag, header, buffers: vec![bytes.to_vec()] }
    };
    vec![
        whole(0, PduKind::IcReq, host.request(0)),
        whole(1, PduKind::IcResp, controller.response(shape.most_data_bytes.max(4096))),
    ]
}

struct Dice<'a, R>(&'a mut R);

impl<R: RngCore> Dice<'_, R> {
    fn below(&mut self, bound: usize) -> usize {
        usize_from(self.0.next_u64() % (bound.max(1) as u64))
    }

    /// A random size from 1 to about `most`: small sizes are as frequent as large ones.
    fn bytes(&mut self, most: u32) -> usize {
        let most = usize_from(most.into()).max(1);
        let scale = 1 << self.below(1 + usize_from(most.ilog2().into()));
        1 + self.below((2 * scale).min(most))
    }

    /// Random data of `bytes` in one buffer, or in several.
    fn data(&mut self, bytes: usize) -> Vec<Vec<u8>> {
        let mut left = bytes;
        let mut buffers = Vec::new();
        while left > 0 {
            let next =
                if buffers.len() > 5 || self.below(3) == 0 { left } else { self.below(left) + 1 };
            let mut buffer = vec![0; next];
            self.0.fill_bytes(&mut buffer);
            buffers.push(buffer);
            left -= next;
        }
        buffers
    }

    /// A command with its data transfer and completion.
    fn exchange(&mut self, id: u16, most: u32) -> Vec<(Sender, PduMessage)> {
        use Sender::{Controller, Host};
        let bytes = self.bytes(most);
        let mut messages = Vec::new();
        match self.below(3) {
            0 => {
                let in_capsule = self.data(bytes.min(8192));
                messages
                    .push((Host, PduMessage::command(&self.command(WRITE, id, bytes), in_capsule)));
            }
            1 => {
                messages
                    .push((Host, PduMessage::command(&self.command(READ, id, bytes), Vec::new())));
                self.transfer(bytes, |at, data, is_last| {
                    messages.push((Controller, PduMessage::c2h_data(id, at, data, is_last)));
                });
            }
            _ => {
                messages
                    .push((Host, PduMessage::command(&self.command(WRITE, id, bytes), Vec::new())));
                let tag = id ^ 0x55;
                messages.push((Controller, PduMessage::ready(id, tag, 0, fit(bytes))));
                self.transfer(bytes, |at, data, is_last| {
                    messages.push((Host, PduMessage::h2c_data(id, tag, at, data, is_last)));
                });
            }
        }
        messages.push((Controller, PduMessage::response(&completion(id))));
        messages
    }

    /// Sends random data of `bytes` in one PDU, or in two.
    fn transfer(&mut self, bytes: usize, mut send: impl FnMut(u32, Vec<Vec<u8>>, bool)) {
        let first = if bytes > 1 && self.below(2) == 0 { 1 + self.below(bytes - 1) } else { bytes };
        let data = self.data(first);
        send(0, data, first == bytes);
        if first < bytes {
            let data = self.data(bytes - first);
            send(fit(first), data, true);
        }
    }

    /// A submission queue entry: a read or write of random blocks.
    fn command(&mut self, opcode: u8, id: u16, bytes: usize) -> [u8; 64] {
        let mut entry = [0; 64];
        entry[0] = opcode;
        entry[1] = SGL;
        entry[2..4].copy_from_slice(&id.to_le_bytes());
        entry[4] = 1;
        entry[32..36].copy_from_slice(&fit::<u32, _>(bytes).to_le_bytes());
        entry[39] = 0x5a;
        self.0.fill_bytes(&mut entry[40..46]);
        entry
    }

    fn termination(&mut self) -> (Sender, PduMessage) {
        let by_host = self.below(2) == 0;
        let sender = if by_host { Sender::Host } else { Sender::Controller };
        let mut quoted = vec![0; 24];
        self.0.fill_bytes(&mut quoted[COMMON_BYTES..]);
        quoted[0] = if by_host { PduKind::C2hData as u8 } else { PduKind::H2cData as u8 };
        quoted[2] = 24;
        (sender, PduMessage::termination(by_host, 1, 0, &quoted))
    }
}

/// A completion queue entry of success.
fn completion(id: u16) -> [u8; 16] {
    let mut entry = [0; 16];
    entry[12..14].copy_from_slice(&id.to_le_bytes());
    entry
}
