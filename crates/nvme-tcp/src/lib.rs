//! NVMe/TCP: its PDUs, and their digests by a data streaming accelerator (DSA) or the CPU.
//!
//! Reading order:
//! - [`pdu`]: kinds, common header, and where header, data and digests are in a PDU.
//! - [`message`]: PDUs that are to be sent, without digests; [`negotiation`]: which digests there are.
//! - [`reader`]: finds PDUs in the bytes of a stream.
//! - [`digests`]: CRC-32Cs over lists of buffers, many under way at a time.
//! - [`seal`], [`verify`]: writes digests of messages; judges those of PDUs.
//! - [`tally`]: who computed them.
//! - [`conversation`]: connections at random, for tests and captures.
//!
//! Source: NVM Express NVMe over TCP transport specification, revision 1.0 (PDUs, alignment, digests).
//! Leaves out: TLS, authentication, kickstart discovery (PDUs 0Ah and 0Bh); commands are bytes here.
//!
//! ```
//! use dsa_client::client::{Client, Options, Path};
//! use nvme_tcp::message::Message;
//! use nvme_tcp::negotiation::{Digests, Terms};
//! use nvme_tcp::reader::{Found, Reader};
//! use nvme_tcp::seal::Sealer;
//! use nvme_tcp::verify::{Judged, Verifier};
//!
//! let client = Client::open(&Options::default())?;
//! let terms = Terms { digests: Digests { header: true, data: true }, ..Terms::default() };
//! let mut sealer = Sealer::new(&client, Path::Automatic, 8);
//! sealer.begin((), Message::c2h_data(7, 0, vec![b"123456789".to_vec()], true), terms)?;
//! let sealed = sealer.wait().expect("one was begun")?.bytes();
//!
//! let mut reader = Reader::new(1 << 20);
//! let Some(Found::Pdu(pdu)) = reader.take(&mut sealed.as_slice()) else { panic!("it is whole") };
//! let mut verifier = Verifier::new(&client, Path::Automatic, 8);
//! verifier.begin((), *pdu);
//! let verdict = verifier.wait().expect("one was begun")?;
//! assert_eq!((verdict.header, verdict.data), (Judged::Right, Judged::Right));
//! # Ok::<(), dsa_client::error::Error>(())
//! ```

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

pub mod conversation;
pub mod digests;
pub mod message;
pub mod negotiation;
pub mod pdu;
pub mod reader;
pub mod seal;
pub mod tally;
pub mod verify;
