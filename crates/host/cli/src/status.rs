//! `status`: one screen about I/O and caches.

mod devices;
mod view;

use clap::Args;
use host::status::{Explanation, HostStatus, explain};
use serde::Serialize;

use crate::HostContext;
use crate::failure::HostFailure;
use crate::output::{Paint, TextOrJson, emit, emit_json};

/// Show how I/O data reaches the cache of this machine
///
/// For every socket: the last-level cache and its slices, the ways that I/O allocates in, the clock
/// of the uncore, huge pages, and each root port with its DDIO switch and the NICs and SSDs below it
/// (link, payload and read request sizes, rings). Then the groups of cache allocation with the ways
/// that they share with I/O. What could not be read is listed with the reason and what helps.
#[derive(Args)]
pub struct StatusArguments {
    /// Also answer the questions that people ask, for this machine
    #[arg(long)]
    explain: bool,

    /// Format of the output
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// The JSON output.
#[derive(Serialize)]
struct StatusReport<'a> {
    #[serde(flatten)]
    status: &'a HostStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanations: Option<Vec<Explanation>>,
}

pub fn run(arguments: &StatusArguments, context: &HostContext) -> Result<(), HostFailure> {
    let status = HostStatus::read(&context.host, context.state_dir());
    let explanations = arguments.explain.then(|| explain(&status));
    match arguments.format {
        TextOrJson::Json => emit_json(&StatusReport { status: &status, explanations })?,
        TextOrJson::Text => {
            let paint = Paint::for_stdout();
            let mut text = view::screen(&status, paint);
            if let Some(answers) = explanations {
                text += &view::answers(&answers, paint);
            }
            emit(&text)?;
        }
    }
    Ok(())
}
