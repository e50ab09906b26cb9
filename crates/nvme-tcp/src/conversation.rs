//! Connections at random: a host and a controller open one, and send each other PDUs of all kinds.

use crate::message::Message;
use crate::negotiation::{Digests, Terms};
use crate::pdu::{COMMON_BYTES, Header, Kind};
use dsa_client::error::Error;
use rand_core::RngCore;
use units::narrow::{fit, usize_from};

use crate::seal::{Sealed, Sealer};

/// Opcode of a read.
const READ: u8 = 2;
/// Opcode of a write.
const WRITE: u8 = 1;
/// Flags of a command whose data is described by an SGL.
const SGL: u8 = 0x40;

/// Which side sends a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The host.
    Host,
    /// The controller.
    Controller,
}

/// What a connection is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Digests that both sides agree on.
    pub digests: Digests,
    /// PDUs behind the opening ones, at least: a command is not left without its answer.
    pub pdus: usize,
    /// Most bytes of data in a PDU.
    pub most_data_bytes: u32,
    /// Whether the sides want data aligned, so that padding is before it.
    pub is_padded: bool,
    /// Whether it ends with a termination request.
    pub is_terminated: bool,
}

/// A PDU of a connection.
pub type Spoken = (Sender, Sealed<usize>);

/// The PDUs of a connection at random, sealed, in the order in which they are sent.
///
/// # Errors
/// Those of the digests.
pub fn speak(
    random: &mut impl RngCore,
    shape: &Shape,
    sealer: &mut Sealer<usize>,
) -> Result<Vec<Spoken>, Error> {
    let mut dice = Dice(random);
    let terms = [(); 2].map(|()| {
        let alignment = if shape.is_padded { [0, 1, 3, 31][dice.below(4)] } else { 0 };
        Terms { digests: shape.digests, alignment }
    });
    let mut spoken = opening(shape, terms);
    let mut senders = vec![Sender::Host, Sender::Controller];
    let mut sent = 0;
    let mut send = |sealer: &mut Sealer<usize>, (sender, message): (Sender, Message)| {
        senders.push(sender);
        sent += 1;
        // The receiver's terms hold.
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
        spoken.push(sealed?);
    }
    spoken.sort_by_key(|sealed| sealed.tag);
    Ok(senders.into_iter().zip(spoken).collect())
}

fn opening(shape: &Shape, [host, controller]: [Terms; 2]) -> Vec<Sealed<usize>> {
    let whole = |tag, kind, bytes: [u8; 128]| {
        let header = Header { kind, flags: 0, data_at: 0, bytes: 128 };
        Sealed { tag, header, buffers: vec![bytes.to_vec()] }
    };
    vec![
        whole(0, Kind::IcReq, host.request(0)),
        whole(1, Kind::IcResp, controller.response(shape.most_data_bytes.max(4096))),
    ]
}

struct Dice<'a, R>(&'a mut R);

impl<R: RngCore> Dice<'_, R> {
    fn below(&mut self, bound: usize) -> usize {
        usize_from(self.0.next_u64() % (bound.max(1) as u64))
    }

    /// Small sizes as often as large ones.
    fn bytes(&mut self, most: u32) -> usize {
        let most = usize_from(most.into()).max(1);
        let scale = 1 << self.below(1 + usize_from(most.ilog2().into()));
        1 + self.below((2 * scale).min(most))
    }

    /// So many bytes in one buffer, or in several.
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

    /// A command and all that follows from it.
    fn exchange(&mut self, id: u16, most: u32) -> Vec<(Sender, Message)> {
        use Sender::{Controller, Host};
        let bytes = self.bytes(most);
        let mut messages = Vec::new();
        match self.below(3) {
            0 => {
                let in_capsule = self.data(bytes.min(8192));
                messages
                    .push((Host, Message::command(&self.command(WRITE, id, bytes), in_capsule)));
            }
            1 => {
                messages.push((Host, Message::command(&self.command(READ, id, bytes), Vec::new())));
                self.transfer(bytes, |at, data, is_last| {
                    messages.push((Controller, Message::c2h_data(id, at, data, is_last)));
                });
            }
            _ => {
                messages
                    .push((Host, Message::command(&self.command(WRITE, id, bytes), Vec::new())));
                let tag = id ^ 0x55;
                messages.push((Controller, Message::ready(id, tag, 0, fit(bytes))));
                self.transfer(bytes, |at, data, is_last| {
                    messages.push((Host, Message::h2c_data(id, tag, at, data, is_last)));
                });
            }
        }
        messages.push((Controller, Message::response(&completion(id))));
        messages
    }

    /// Data in one PDU, or in two.
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

    fn termination(&mut self) -> (Sender, Message) {
        let by_host = self.below(2) == 0;
        let sender = if by_host { Sender::Host } else { Sender::Controller };
        let mut quoted = vec![0; 24];
        self.0.fill_bytes(&mut quoted[COMMON_BYTES..]);
        quoted[0] = if by_host { Kind::C2hData as u8 } else { Kind::H2cData as u8 };
        quoted[2] = 24;
        (sender, Message::termination(by_host, 1, 0, &quoted))
    }
}

/// A completion queue entry of success.
fn completion(id: u16) -> [u8; 16] {
    let mut entry = [0; 16];
    entry[12..14].copy_from_slice(&id.to_le_bytes());
    entry
}
