//! ISA-L computes the same CRC-32Cs (package `libisal2`).

use crate::dice::{Dice, without_devices};
use dsa_client::client::Path;
use nvme_tcp::digests::{CoveredBuffers, DigestQueue, crc32c};

/// `crc32_iscsi` of ISA-L.
type Crc32Iscsi = unsafe extern "C" fn(*const u8, libc::c_int, u32) -> u32;

fn isal_crc32_iscsi() -> Crc32Iscsi {
    // SAFETY: strings that end with a zero; a library without anything that runs when it is loaded.
    let symbol = unsafe {
        let library = libc::dlopen(c"libisal.so.2".as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null(), "libisal.so.2 is needed: install the package libisal2");
        libc::dlsym(library, c"crc32_iscsi".as_ptr())
    };
    assert!(!symbol.is_null(), "ISA-L has the function");
    // SAFETY: the type that its header states.
    unsafe { std::mem::transmute::<*mut libc::c_void, Crc32Iscsi>(symbol) }
}

/// ISA-L's CRC-32C of buffers, one behind the other, as the specification inverts it.
fn isal_crc32c(crc32_iscsi: Crc32Iscsi, buffers: &[Vec<u8>]) -> u32 {
    !buffers.iter().fold(!0, |crc, buffer| {
        let bytes = libc::c_int::try_from(buffer.len()).expect("is small");
        // SAFETY: it reads the buffer, all of which is there.
        unsafe { crc32_iscsi(buffer.as_ptr(), bytes, crc) }
    })
}

#[test]
fn dsa_30_digests_of_random_buffers_are_those_of_isa_l() {
    let crc32_iscsi = isal_crc32_iscsi();
    assert_eq!(isal_crc32c(crc32_iscsi, &[b"123456789".to_vec()]), 0xe306_9283);
    let (client, mut dice) = (without_devices(), Dice::new(soak::seed(1)));
    let mut digests = DigestQueue::new(&client, Path::Automatic, 4);
    for _ in 0..soak::amount(400, 5_000) {
        let buffers: Vec<Vec<u8>> = (0..dice.below(5))
            .map(|_| {
                let most = 1 << dice.below(16);
                let bytes = dice.below(most + 1);
                dice.bytes(bytes)
            })
            .collect();
        let right = isal_crc32c(crc32_iscsi, &buffers);
        let slices: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        assert_eq!(crc32c(&client, Path::Automatic, 0, &slices).expect("is computed"), right);
        digests.begin(
            right,
            CoveredBuffers::all(buffers.clone()),
            CoveredBuffers { buffers, bytes: 0 },
        );
        let ended = digests.wait().expect("was begun").expect("is computed");
        assert_eq!((ended.header.crc, ended.data.crc), (ended.tag, 0));
    }
}
