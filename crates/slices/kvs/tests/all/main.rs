//! The real binary: comparisons of placements, and the server with clients, one module per question.

mod beside_redis;
mod clients;
mod comparison;
mod endings;
mod protocol;
mod reference;
mod server;
