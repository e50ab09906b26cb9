//! The QLRU family by the parameters in its names, such as `QLRU_H11_M1_R0_U0`.
//!
//! Models: a block's age is 0 to 3. The parameters give its age after a hit (H), its age after a miss
//! (M), the victim (R), and the ageing when no block is at 3 (U).
//! Source: Abel and Reineke, nanoBench (ISPASS 2020); uops.info/cache.html.
//! Simplifies: policies that may find no victim are refused.

use std::fmt;
use std::str::FromStr;

/// A member of the QLRU family, parsed from its name.
///
/// - `Hxy`: a hit turns age 3 into x (0 to 2), 2 into y (0 or 1), and 1 and 0 into 0.
/// - `Mx`: a block is filled with age x. `MRpx`: one block in p is filled with age x, the others with
///   3.
/// - `R0`: the lowest empty way, else the lowest of age 3. `R1`: as R0, but way 0 if no block is at
///   age 3. `R2`: as R0, but the highest empty way.
/// - After an access that leaves no block at age 3, `U0` adds to all ages what the oldest lacks to 3,
///   `U2` adds 1; `U1` and `U3` do the same to all blocks except the one accessed.
/// - `UMO`, at the end: ages are updated on a miss only, before the victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QlruSpec {
    pub(super) hit: HitPromotion,
    pub(super) insertion: Insertion,
    pub(super) location: Location,
    pub(super) update: AgeUpdate,
    pub(super) update_time: UpdateTime,
}

/// Ages after a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HitPromotion {
    pub(super) from_three: u8,
    pub(super) from_two: u8,
}

/// Age of a new block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insertion {
    Always { age: u8 },
    OneIn { blocks: u16, age: u8 },
}

/// Where a new block is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    R0,
    R1,
    R2,
}

/// How blocks age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgeUpdate {
    U0,
    U1,
    U2,
    U3,
}

impl AgeUpdate {
    pub(super) fn spares_accessed(self) -> bool {
        matches!(self, Self::U1 | Self::U3)
    }

    pub(super) fn is_one_step(self) -> bool {
        matches!(self, Self::U2 | Self::U3)
    }
}

/// When blocks age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateTime {
    EveryAccess,
    MissOnly,
}

impl QlruSpec {
    fn checked(self) -> Result<Self, InvalidQlru> {
        if self.location != Location::R1 && self.update.is_one_step() {
            return Err(InvalidQlru::NoVictim);
        }
        if self.update_time == UpdateTime::MissOnly && self.update.spares_accessed() {
            return Err(InvalidQlru::NothingToSpare);
        }
        Ok(self)
    }
}

/// Description of all names.
pub(super) const ALLOWED: &str = "QLRU_ with H00, H01, H10, H11, H20 or H21; M0 to M3, or MRpx (one \
    block in p, 2 to 65535, with age x, 0 to 2); R0 or R2 with U0 or U1; R1 with U0 to U3; with \
    UMO at the end U0, or U2 after R1";

/// Why a name is not that of a QLRU policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidQlru {
    /// The name does not have four or five parameters.
    Form,
    /// A parameter, here in upper case, is unknown.
    Part(String),
    /// R0 and R2 need a block of age 3, which U2 and U3 do not always leave.
    NoVictim,
    /// U1 and U3 spare the block just accessed; on a miss there is none before the victim is chosen.
    NothingToSpare,
}

impl fmt::Display for InvalidQlru {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::Form => {
                "the name is not of the form QLRU_H.._M.._R._U. or QLRU_H.._M.._R._U._UMO"
            }
            Self::Part(part) => &format!("`{part}` is no part of such a name"),
            Self::NoVictim => "R0 and R2 need a block of age 3, which U2 and U3 may not leave",
            Self::NothingToSpare => {
                "U1 and U3 spare the block accessed; UMO ages before there is one"
            }
        };
        write!(f, "{reason}; allowed are {ALLOWED}")
    }
}

impl std::error::Error for InvalidQlru {}

impl FromStr for QlruSpec {
    type Err = InvalidQlru;

    /// Parses a name in upper or lower case.
    fn from_str(name: &str) -> Result<Self, InvalidQlru> {
        let name = name.to_ascii_uppercase();
        let parts: Vec<&str> = name.split('_').collect();
        let (hit, insertion, location, update, update_time) = match parts[..] {
            ["QLRU", h, m, r, u] => (h, m, r, u, UpdateTime::EveryAccess),
            ["QLRU", h, m, r, u, "UMO"] => (h, m, r, u, UpdateTime::MissOnly),
            ["QLRU", _, _, _, _, last] => return Err(InvalidQlru::Part(last.to_owned())),
            _ => return Err(InvalidQlru::Form),
        };
        let no_such = |part: &str| InvalidQlru::Part(part.to_owned());
        Self {
            hit: hit_promotion(hit).ok_or_else(|| no_such(hit))?,
            insertion: insertion_age(insertion).ok_or_else(|| no_such(insertion))?,
            location: match location {
                "R0" => Location::R0,
                "R1" => Location::R1,
                "R2" => Location::R2,
                _ => return Err(no_such(location)),
            },
            update: match update {
                "U0" => AgeUpdate::U0,
                "U1" => AgeUpdate::U1,
                "U2" => AgeUpdate::U2,
                "U3" => AgeUpdate::U3,
                _ => return Err(no_such(update)),
            },
            update_time,
        }
        .checked()
    }
}

fn hit_promotion(part: &str) -> Option<HitPromotion> {
    match part.as_bytes() {
        [b'H', three @ b'0'..=b'2', two @ b'0'..=b'1'] => {
            Some(HitPromotion { from_three: three - b'0', from_two: two - b'0' })
        }
        _ => None,
    }
}

fn insertion_age(part: &str) -> Option<Insertion> {
    match part.as_bytes() {
        [b'M', age @ b'0'..=b'3'] => Some(Insertion::Always { age: age - b'0' }),
        [b'M', b'R', b'1'..=b'9', .., age @ b'0'..=b'2'] => {
            let blocks = part[2..part.len() - 1].parse().ok().filter(|&blocks| blocks >= 2)?;
            Some(Insertion::OneIn { blocks, age: age - b'0' })
        }
        _ => None,
    }
}

impl fmt::Display for QlruSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QLRU_H{}{}_", self.hit.from_three, self.hit.from_two)?;
        match self.insertion {
            Insertion::Always { age } => write!(f, "M{age}")?,
            Insertion::OneIn { blocks, age } => write!(f, "MR{blocks}{age}")?,
        }
        write!(f, "_{:?}_{:?}", self.location, self.update)?;
        match self.update_time {
            UpdateTime::EveryAccess => Ok(()),
            UpdateTime::MissOnly => f.write_str("_UMO"),
        }
    }
}
