//! Costs of software on a machine, as facts.

mod applications;
mod ping_pong;

pub use applications::ApplicationFacts;
pub use ping_pong::PingPongFacts;
