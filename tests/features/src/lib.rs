//! Nothing but features of dependencies, so that cargo compiles each crate once.
//!
//! Cargo decides on the features of a dependency for all crates that one command builds. What is built
//! alone beside the tests (the Python module, `skipline-dsa` with its library) would ask for fewer of them,
//! and everything that depends on such a crate, the whole simulator, would be compiled again. Both depend
//! on this crate, whose manifest lists the features that the rest of the workspace asks for.
