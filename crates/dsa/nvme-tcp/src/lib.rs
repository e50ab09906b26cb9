//! NVMe/TCP: its PDUs, and their digests by a data streaming accelerator (DSA) or the CPU.
//!
//! Reading order:
//! - [`pdu`]: types of PDUs, the common header, and the layout of header, data and digests.
//! - [`message`]: PDUs that are to be sent, without digests; [`negotiation`]: the digests that a connection
//!   has.
//! - [`reader`]: finds PDUs in the bytes of a stream.
//! - [`digests`]: CRC-32Cs over lists of buffers, many under way at a time.
//! - [`seal`]: writes the digests of messages; [`verify`]: checks the digests of PDUs.
//! - [`tally`]: counts digests and bytes by device and CPU.
//! - [`conversation`]: random connections, for tests and captures.
//!
//! Source: NVM Express NVMe over TCP transport specification, revision 1.0 (PDUs, alignment, digests).
//! Left out: TLS, authentication, kickstart discovery (PDUs 0Ah and 0Bh); commands are opaque bytes.
//!
//! ```
//! use dsa_client::client::{OffloadClient, Options, Path};
//! use nvme_tcp::message::PduMessage;
//! use nvme_tcp::negotiation::{EnabledDigests, Terms};
//! use nvme_tcp::reader::{PduReader, StreamItem};
//! use nvme_tcp::seal::Sealer;
//! use nvme_tcp::verify::{DigestCheck, Verifier};
//!
//! let client = OffloadClient::open(&Options::default())?;
//! let terms = Terms { digests: EnabledDigests { header: true, data: true }, ..Terms::default() };
//! let mut sealer = Sealer::new(&client, Path::Automatic, 8);
//! sealer.begin((), PduMessage::c2h_data(7, 0, vec![b"123456789".to_vec()], true), terms)?;
//! let sealed = sealer.wait().expect("a PDU was begun")?.bytes();
//!
//! let mut reader = PduReader::new(1 << 20);
//! let item = reader.take(&mut sealed.as_slice());
//! let Some(StreamItem::Pdu(pdu)) = item else { panic!("the PDU is complete") };
//! let mut verifier = Verifier::new(&client, Path::Automatic, 8);
//! verifier.begin((), *pdu);
//! let verdict = verifier.wait().expect("a PDU was begun")?;
//! assert_eq!((verdict.header, verdict.data), (DigestCheck::Right, DigestCheck::Right));
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
