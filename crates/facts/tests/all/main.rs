//! Files of facts: how they inherit, and whether those of the program state each fact once.

mod built_in;
mod inheritance;
