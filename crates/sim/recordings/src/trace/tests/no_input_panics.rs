//! Every file is read or refused, whatever its content.

use super::*;

fn formats() -> impl Strategy<Value = TraceFormat> {
    prop::sample::select(TraceFormat::ALL.to_vec())
}

/// A valid file of the format, with any compression or none.
fn valid_files() -> impl Strategy<Value = (TraceFormat, Vec<u8>)> {
    let compression = prop::option::of(prop::sample::select(Compression::ALL.to_vec()));
    (formats(), compression).prop_flat_map(|(format, compression)| {
        references(format).prop_map(move |all| {
            let content = written(format, &all);
            let file = compression.map(|compression| packed(compression, &content));
            (format, file.unwrap_or(content))
        })
    })
}

/// Checks that the file gives a trace whose references have lines, or a refusal.
fn survives(format: Option<TraceFormat>, file: &[u8]) {
    let Ok(all) = parse("x", format, file) else { return };
    assert!(!all.is_empty());
    assert!(all.into_iter().all(|reference| reference.lines().next().is_some()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes(
        format in prop::option::of(formats()),
        file in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        survives(format, &file);
    }

    #[test]
    fn random_lines(
        format in prop::option::of(formats()),
        file in "([ ]?[ILSM0-4rwi=x-]{1,2}[ \t,]{0,2}[0-9a-fx]{0,18}[, ]?[0-9]{0,5}\r?\n?){0,20}",
    ) {
        survives(format, file.as_bytes());
    }

    #[test]
    fn random_bytes_after_a_valid_start(
        (format, file) in valid_files(),
        keep in 0.0..1.0,
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let kept = (file.len() as f64 * keep) as usize;
        survives(Some(format), &[&file[..kept], &noise].concat());
    }

    #[test]
    fn flipped_bits(
        (format, mut file) in valid_files(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 1..6),
    ) {
        for (at, bit) in flips {
            let at = at.index(file.len());
            file[at] ^= 1_u8 << bit;
        }
        survives(Some(format), &file);
    }

    #[test]
    fn a_truncated_binary_file_is_a_trace_only_if_it_ends_between_records(
        (format, all) in prop::sample::select(vec![TraceFormat::ChampSim, TraceFormat::Raw64])
            .prop_flat_map(|format| (Just(format), references(format))),
        keep in any::<prop::sample::Index>(),
    ) {
        let file = written(format, &all);
        let record_bytes = if format == TraceFormat::Raw64 { 8 } else { 64 };
        let keep = keep.index(file.len());
        let whole = keep > 0 && keep % record_bytes == 0;
        prop_assert_eq!(parse_as(format, &file[..keep]).is_ok(), whole);
    }
}
