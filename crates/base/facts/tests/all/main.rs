//! Files of facts: how they inherit, and whether the embedded ones state each fact once.

mod built_in;
mod inheritance;
