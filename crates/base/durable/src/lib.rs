//! Files that a crash leaves whole: outputs, journals and locks, and the rule for links in their paths.
//!
//! A file is replaced as a whole: a draft is written beside it, synced, renamed over it, and the directory is
//! synced. After a crash at any point the file is the old one or the new one.
//!
//! A path is followed here, name by name, each directory held open ([`directory`]). So the rule for links
//! holds for every link on the way, and nothing can change between the check and the use:
//!
//! - A link is followed only if it belongs to root or to the user of this process, or if no other user may
//!   write its directory. Another user's link could lead a program of root to any file of root. Linux has
//!   this rule for the last name in sticky directories (`fs.protected_symlinks`).
//! - A journal and its directory are not links at all, belong to root or to this user, and no other user may
//!   write them, or put something else in their place ([`directory::BaseDirectory::check_own`]).
//! - A lock is in a directory of root or of this user that no other user can enter ([`lock::take`]).
//!
//! | module | contents |
//! | --- | --- |
//! | `error` | reasons why a file cannot be written or used, as messages for users |
//! | `ownership` | the users who could change a file or a directory |
//! | `directory` | paths below a directory, followed by the rule; directories created; checks of trust |
//! | `whole_file` | a draft that takes the place of a file |
//! | `output` | a file that the user names: replaced, or written to if it is a pipe or a device |
//! | `lock` | a lock that only root or this user can take |
//! | `journal` | a value that is on the disk before a change is made, as one file of JSON |

#![cfg(target_os = "linux")]

pub mod directory;
pub mod error;
pub mod journal;
pub mod lock;
pub mod output;
mod ownership;
pub mod whole_file;
