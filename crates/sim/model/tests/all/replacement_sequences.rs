//! Replacement policies on short sequences worked out by hand from their definitions, and known results
//! about them.

use crate::one_set::{OneSet, policy};
use model::replacement::{QlruSpec, Replacement, RrpvBits};
use proptest::prelude::*;

fn set(name: &str, ways: u32) -> OneSet {
    OneSet::new(policy(name), ways, 7)
}

/// Runs `steps` of (letters, content of the set afterwards).
fn follow(name: &str, ways: u32, steps: &[(&str, &str)]) {
    let mut set = set(name, ways);
    for (letters, content) in steps {
        assert_eq!(&set.run(letters).content(), content, "{name} after {letters}");
    }
}

#[test]
fn an_empty_way_goes_first_the_lowest_but_with_r2_the_highest() {
    for (name, first) in [
        ("lru", 1),
        ("fifo", 1),
        ("tree-plru", 1),
        ("nru", 1),
        ("random", 1),
        ("srrip", 1),
        ("brrip", 1),
        ("qlru_h11_m1_r0_u0", 1),
        ("qlru_h11_m1_r1_u2", 1),
        ("qlru_h00_m1_r2_u1", 2),
    ] {
        let mut set = set(name, 4);
        set.run("ABCD");
        set.invalidate(1);
        set.invalidate(2);
        assert_eq!(set.choose(0b1111), first, "{name}");
        assert_eq!(set.choose(0b1101), 2, "{name}");
    }
}

#[test]
fn lru_gives_the_way_used_longest_ago_within_the_mask() {
    let mut set = set("lru", 4);
    set.run("ABCD A");
    assert_eq!(set.choose(0b1111), 1);
    assert_eq!(set.choose(0b1001), 3);
}

#[test]
fn lru_remembers_the_order_of_ways_whatever_their_number() {
    for ways in 1..=32 {
        let mut set = set("lru", ways);
        assert_eq!(set.misses(0..u64::from(ways)), ways as usize);
        // From the second on, so that the order of use is a rotation of the order of ways.
        assert_eq!(set.misses(1..u64::from(ways)), 0);
        for way in 0..ways {
            assert_eq!(set.choose(set.all_ways()), way, "{ways} ways");
            set.hit(way);
        }
    }
}

#[test]
fn lru_takes_lines_that_it_never_heard_of_first_the_lowest_way_before_the_others() {
    for ways in [8, 16, 20, 32] {
        let mut set = set("lru", ways);
        (0..ways).for_each(|way| set.put(way, way.into()));
        set.hit(0);
        for way in 1..ways {
            assert_eq!(set.choose(set.all_ways()), way, "{ways} ways");
            set.hit(way);
        }
        assert_eq!(set.choose(set.all_ways()), 0);
    }
}

#[test]
fn nru_spares_the_ways_used_in_this_round() {
    let mut set = set("nru", 4);
    // The fourth line started a new round in which only way 3 is used.
    set.run("ABCD");
    assert_eq!(set.choose(0b1000), 3);
    assert_eq!(set.choose(0b1100), 2);
}

#[test]
fn random_victims_stay_in_the_mask_and_use_all_of_it_evenly() {
    let mut set = set("random", 4);
    set.run("ABCD");
    let mut chosen = [0u32; 4];
    for _ in 0..30_000 {
        chosen[set.choose(0b1101) as usize] += 1;
    }
    assert_eq!(chosen[1], 0);
    assert!([0, 2, 3].iter().all(|&way| chosen[way as usize].abs_diff(10_000) < 400));
}

#[test]
fn random_victims_of_a_seed_stay_what_they_were() {
    let mut set = set("random", 11);
    set.run("ABCDEFGHIJK");
    let victims: Vec<u32> = (0..24).map(|_| set.choose(0x7FF)).collect();
    // As drawn by the first version with this policy: results stay comparable.
    let drawn = [0, 1, 7, 4, 10, 5, 7, 3, 10, 0, 1, 1, 8, 1, 5, 1, 1, 2, 1, 8, 7, 4, 8, 5];
    assert_eq!(victims, drawn);
    let victims_of_two_ways: Vec<u32> = (0..8).map(|_| set.choose(0x600)).collect();
    assert_eq!(victims_of_two_ways, [10, 9, 9, 9, 9, 9, 10, 9]);
}

#[test]
fn fifo_gives_the_way_filled_longest_ago_however_often_it_was_hit() {
    follow("fifo", 4, &[("ABCD", "ABCD"), ("ABBA E", "EBCD"), ("BE F", "EFCD")]);
}

#[test]
fn fifo_has_beladys_anomaly() {
    // Belady, Nelson and Shedler (CACM 1969): nine faults in three frames, ten in four.
    let trace = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    assert_eq!(set("fifo", 3).misses(trace), 9);
    assert_eq!(set("fifo", 4).misses(trace), 10);
}

#[test]
fn tree_plru_of_four_ways_follows_its_three_bits() {
    // After D all bits point left. A: root right, left pair to B. So E takes C, then F takes B, G
    // takes D and H takes A, where LRU would take B, C, D, E.
    follow(
        "tree-plru",
        4,
        &[("ABCD A", "ABCD"), ("E", "ABED"), ("F", "AFED"), ("G", "AFEG"), ("H", "HFEG")],
    );
}

#[test]
fn tree_plru_of_eight_ways_follows_its_seven_bits() {
    let steps = [
        ("ABCDEFGH A", "ABCDEFGH"),
        ("I", "ABCDIFGH"),
        ("J", "ABJDIFGH"),
        ("K", "ABJDIFKH"),
        ("L", "ALJDIFKH"),
        ("M", "ALJDIMKH"),
        ("N", "ALJNIMKH"),
        ("O", "ALJNIMKO"),
        ("P", "PLJNIMKO"),
    ];
    follow("tree-plru", 8, &steps);
}

#[test]
fn tree_plru_of_three_ways_never_follows_a_bit_to_the_fourth() {
    // D takes A; the root then points right, where the bit points to the absent way: C goes.
    follow("tree-plru", 3, &[("ABC D", "DBC"), ("E", "DBE"), ("F", "DFE")]);
}

#[test]
fn srrip_keeps_what_was_used_again_through_a_scan() {
    // The mixed pattern of Jaleel et al. (ISCA 2010): a1, a2 used twice, then a scan b1 to b4.
    let trace = [1, 2, 2, 1, 11, 12, 13, 14, 1, 2];
    assert_eq!(set("srrip", 4).misses(trace), 6);
    assert_eq!(set("lru", 4).misses(trace), 8);
}

#[test]
fn srrip_takes_the_lowest_way_with_the_greatest_value_after_ageing() {
    // RRPV after each step: 2222, A hit 0222, E 1 2 33, F 1223, G 1222, H ages to 2333: 2233.
    let steps = [("ABCD A", "ABCD"), ("E", "AECD"), ("F", "AEFD"), ("G", "AEFG"), ("H", "AHFG")];
    follow("srrip", 4, &steps);
    // With 3 bits values are 6 at first: the hit on A is remembered for longer.
    follow("srrip3", 4, &steps);
    follow("srrip", 4, &[("ABCD A EFGH IJ", "AHIJ"), ("K", "KHIJ")]);
    follow("srrip3", 4, &[("ABCD A EFGH IJ", "AHIJ"), ("K", "AKIJ")]);
}

#[test]
fn brrip_keeps_part_of_a_working_set_that_is_too_large() {
    let cycle = || (0..1_000).flat_map(|_| 0..8);
    assert_eq!(set("lru", 4).misses(cycle()), 8_000);
    assert_eq!(set("srrip", 4).misses(cycle()), 8_000);
    // Three of four ways hold lines that stay: 3 of 8 accesses hit, less those of replaced lines.
    let hits = 8_000 - set("brrip", 4).misses(cycle());
    assert!((2_400..=3_000).contains(&hits), "{hits} hits");
}

#[test]
fn qlru_h11_m1_r0_u0_follows_its_ages() {
    // Ages: 1111 -> 3333; A 1333; E 1133; F 1113; E 1013; G 1011 -> 3233; E 3133; H 1133; I 1113;
    // J 1111 -> 3333.
    let steps = [
        ("ABCD A", "ABCD"),
        ("E", "AECD"),
        ("F", "AEFD"),
        ("E G", "AEFG"),
        ("E H", "HEFG"),
        ("I", "HEIG"),
        ("J", "HEIJ"),
        ("K", "KEIJ"),
    ];
    follow("QLRU_H11_M1_R0_U0", 4, &steps);
}

#[test]
fn qlru_h00_m1_r2_u1_follows_its_ages() {
    // Ages: D spared 1333; C 1033; E 1013; F spared 1011 -> 3231; D 0231; G 0211 -> 1312;
    // H 1112 -> 2123; I 2121 -> 3231.
    let steps = [
        ("ABCD", "DCBA"),
        ("C E", "DCEA"),
        ("F", "DCEF"),
        ("D G", "DCGF"),
        ("H", "DHGF"),
        ("I", "DHGI"),
        ("J", "JHGI"),
    ];
    follow("QLRU_H00_M1_R2_U1", 4, &steps);
}

#[test]
fn qlru_h11_m1_r1_u2_follows_its_ages() {
    // Ages: 1111 -> 2222; E takes way 0 for want of a 3: 1222 -> 2333; F 2133; C 2113; E 1113;
    // G 1111 -> 2222; F 2122 -> 3233; H 1233.
    let steps =
        [("ABCD E", "EBCD"), ("F", "EFCD"), ("C E G", "EFCG"), ("F H", "HFCG"), ("I", "HFIG")];
    follow("QLRU_H11_M1_R1_U2", 4, &steps);
}

#[test]
fn qlru_h11_m1_r1_u3_follows_its_ages() {
    // Ages: D spared 2221; E takes way 0: 1221 -> 1332; F 1132; D 1131; G 1111 -> 2212.
    let steps = [("ABCD E", "EBCD"), ("F", "EFCD"), ("D G", "EFGD"), ("H", "HFGD")];
    follow("QLRU_H11_M1_R1_U3", 4, &steps);
}

#[test]
fn qlru_leaves_the_spared_block_out_of_the_greatest_age() {
    // Ages: D spared 3331; D A B 0030; E 0010 -> 3313, as the others, at 0, lack 3 and not 2.
    let steps = [("ABCD", "ABCD"), ("DAB E", "ABED"), ("F", "FBED"), ("G", "FGED")];
    follow("QLRU_H00_M1_R0_U1", 4, &steps);
}

#[test]
fn qlru_does_not_age_while_a_way_is_empty() {
    // Ages, the empty way as 3: ABC 1113, A 0113. Ageing would have made B leave before A came back
    // to 0. D 0111 -> 2333.
    follow("QLRU_H11_M1_R0_U0", 4, &[("ABC A", "ABC."), ("D", "ABCD"), ("E", "AECD")]);
    let mut set = set("QLRU_H11_M1_R0_U0", 4);
    set.run("ABCD A B C");
    // Ages 1113. D leaves; a hit on A does not age the others, a fill of its way does.
    set.invalidate(3);
    assert_eq!(set.run("A E").content(), "ABCE");
    assert_eq!(set.run("F").content(), "AFCE");
}

#[test]
fn qlru_with_a_probability_inserts_old_blocks_otherwise() {
    // A block of age 3 in way 0 is replaced at once; one of age 1 stays there for the next.
    let mut set = set("QLRU_H11_MR161_R1_U2", 2);
    set.run("AB");
    let mut young = 0;
    for line in 0..16_000 {
        let way = set.choose(0b11);
        set.fill(way, 1_000 + line);
        young += u32::from(set.choose(0b11) != way);
    }
    assert!(young.abs_diff(1_000) < 100, "{young}");
}

#[test]
fn two_ways_given_to_one_agent_are_used_in_turn_whatever_the_other_ways_hold() {
    for name in ["lru", "fifo", "srrip", "QLRU_H11_M1_R0_U0", "QLRU_H11_M1_R1_U2"] {
        let mut set = set(name, 11);
        set.run("ABCDEFGHIJK");
        for line in 100..110 {
            assert!(!set.access_within(line, 0x600));
        }
        assert!(set.find(109).is_some() && set.find(108).is_some(), "{name}");
        assert!(set.content().starts_with("ABCDEFGHI"), "{name}");
    }
}

proptest! {
    #[test]
    fn tree_plru_of_two_ways_is_lru(trace in prop::collection::vec(0u64..5, 1..200)) {
        let (mut tree, mut lru) = (set("tree-plru", 2), set("lru", 2));
        for line in trace {
            prop_assert_eq!(tree.access(line), lru.access(line));
            prop_assert_eq!(tree.content(), lru.content());
        }
    }

    #[test]
    fn more_ways_never_miss_more_with_lru(
        trace in prop::collection::vec(0u64..40, 1..400),
        ways in 1u32..32,
        more in 1u32..32,
    ) {
        let more = (ways + more).min(32);
        let (mut small, mut large) = (set("lru", ways), set("lru", more));
        for line in trace {
            let hit = small.access(line);
            prop_assert!(large.access(line) || !hit, "{} and {} ways", ways, more);
        }
    }

    #[test]
    fn hits_are_nothing_to_fifo(trace in prop::collection::vec(0u64..20, 1..300), ways in 1u32..=32) {
        let mut set = set("fifo", ways);
        let mut arrivals = std::collections::VecDeque::new();
        for line in trace {
            if set.access(line) {
                prop_assert!(arrivals.contains(&line));
            } else {
                prop_assert!(!arrivals.contains(&line));
                arrivals.push_back(line);
                if arrivals.len() > ways as usize {
                    arrivals.pop_front();
                }
            }
        }
    }

    #[test]
    fn srrip_is_the_qlru_policy_that_its_authors_say(
        trace in prop::collection::vec((0u64..24, 1u32..=u32::MAX), 1..300),
        ways in 1u32..=16,
    ) {
        let (mut srrip, mut qlru) = (set("srrip", ways), set("QLRU_H00_M2_R0_U0_UMO", ways));
        for (line, mask) in trace {
            let mask = mask & srrip.all_ways();
            let mask = if mask == 0 { srrip.all_ways() } else { mask };
            prop_assert_eq!(srrip.access_within(line, mask), qlru.access_within(line, mask));
            prop_assert_eq!(srrip.content(), qlru.content());
        }
    }
}

fn qlru_names() -> impl Iterator<Item = String> {
    let mut names = Vec::new();
    for hit in ["H00", "H01", "H10", "H11", "H20", "H21"] {
        for insertion in ["M0", "M1", "M2", "M3", "MR20", "MR161", "MR655352"] {
            for location in ["R0", "R1", "R2"] {
                for update in ["U0", "U1", "U2", "U3", "U0_UMO", "U1_UMO", "U2_UMO", "U3_UMO"] {
                    names.push(format!("QLRU_{hit}_{insertion}_{location}_{update}"));
                }
            }
        }
    }
    names.into_iter()
}

/// Whether the policy of a name with valid parameters always finds a victim.
fn always_finds_a_victim(name: &str) -> bool {
    let ages_by_one = name.contains("_U2") || name.contains("_U3");
    let spares = name.contains("_U1") || name.contains("_U3");
    (name.contains("_R1_") || !ages_by_one) && !(spares && name.ends_with("_UMO"))
}

#[test]
fn every_valid_qlru_name_comes_back_as_it_was_and_every_other_is_refused() {
    let mut valid = 0;
    for name in qlru_names() {
        match name.parse::<QlruSpec>() {
            Ok(spec) => {
                assert!(always_finds_a_victim(&name), "{name}");
                assert_eq!(spec.to_string(), name);
                let in_platform_file = name.to_lowercase();
                assert_eq!(policy(&in_platform_file), Replacement::Qlru(spec));
                assert_eq!(Replacement::Qlru(spec).to_string(), in_platform_file);
                valid += 1;
            }
            Err(error) => {
                assert!(!always_finds_a_victim(&name), "{name}: {error}");
                assert!(error.to_string().contains("R0 or R2 with U0 or U1"), "{error}");
            }
        }
    }
    assert_eq!(valid, 6 * 7 * 12);
}

#[test]
fn names_that_no_qlru_policy_has_are_refused_with_the_part_that_is_wrong() {
    for (name, part) in [
        ("QLRU_H30_M1_R0_U0", "`H30`"),
        ("QLRU_H12_M1_R0_U0", "`H12`"),
        ("QLRU_H1_M1_R0_U0", "`H1`"),
        ("QLRU_H11_M4_R0_U0", "`M4`"),
        ("QLRU_H11_MR11_R0_U0", "`MR11`"),
        ("QLRU_H11_MR163_R0_U0", "`MR163`"),
        ("QLRU_H11_MR0161_R0_U0", "`MR0161`"),
        ("QLRU_H11_MR655361_R0_U0", "`MR655361`"),
        ("QLRU_H11_M1_R3_U0", "`R3`"),
        ("QLRU_H11_M1_R0_U4", "`U4`"),
        ("QLRU_H11_M1_R0_U0_UMP", "`UMP`"),
        ("QLRU_H11_M1_R0", "QLRU_H.._M.._R._U."),
        ("QLRU_H11_M1_R0_U0_UMO_UMO", "QLRU_H.._M.._R._U."),
        ("QLRU_H11_M1_R0_U2", "age 3"),
        ("QLRU_H11_M1_R1_U3_UMO", "U1 and U3"),
    ] {
        let error = name.parse::<Replacement>().expect_err(name).to_string();
        assert!(error.contains(part) && error.contains(name), "{error}");
    }
}

#[test]
fn every_policy_has_a_name_that_comes_back_as_it_was() {
    for name in ["lru", "fifo", "tree-plru", "nru", "random", "srrip", "brrip"] {
        assert_eq!(policy(name).to_string(), name);
        assert_eq!(policy(&name.to_uppercase()), policy(name));
    }
    for bits in 1..=RrpvBits::MOST {
        let bits = RrpvBits::new(bits).expect("is a width");
        for policy_of_bits in [Replacement::Srrip(bits), Replacement::Brrip(bits)] {
            assert_eq!(policy(&policy_of_bits.to_string()), policy_of_bits);
        }
    }
    assert_eq!(policy("srrip2").to_string(), "srrip");
    assert_eq!(RrpvBits::new(0), None);
}

#[test]
fn a_name_that_no_policy_has_is_refused_with_all_that_there_are() {
    for name in ["", "mru", "plru", "srrip0", "srrip5", "brrip22", "lru "] {
        let error = name.parse::<Replacement>().expect_err(name).to_string();
        assert!(error.starts_with(&format!("`{name}`")), "{error}");
        for known in [
            "lru",
            "fifo",
            "tree-plru",
            "nru",
            "random",
            "srrip",
            "brrip",
            "srrip1 to srrip4",
            "qlru_h11_m1_r0_u0",
            "R0 or R2 with U0 or U1",
        ] {
            assert!(error.contains(known), "{error}");
        }
    }
}
