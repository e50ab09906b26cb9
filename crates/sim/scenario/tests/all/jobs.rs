//! A job from the text of a scenario, as the command line makes one from a file.

use scenario::{InputError, Job, Scenario, builtin};

/// The scenario `text`, which names its platform; facts that it replaces are those of the platform.
pub fn job_of(text: &str, seed: u64) -> Result<Job, InputError> {
    const FILE: &str = "a.toml";
    let scenario = Scenario::read(FILE, text, &[])?;
    let name = scenario.platform_name().to_owned();
    let platform = builtin::platform_with(FILE, &name, &scenario.platform_facts())?;
    Job::new(FILE, scenario, platform, &name, seed)
}
