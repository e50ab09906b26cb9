//! Events that count until their reader is dropped.

use perf_event::events::Raw;
use perf_event::{Builder, Counter};

use super::CounterRequest;
use crate::error::{FileError, Problem};

/// Events that are counting, until this is dropped.
pub trait RunningCounters {
    /// What each has counted so far, in the order of the requests.
    ///
    /// # Errors
    /// If the kernel does not say.
    fn read(&mut self) -> Result<Vec<u64>, FileError>;
}

/// Events of the kernel, each by itself: boxes share no groups.
pub(super) struct OpenEvents(Vec<(String, Counter)>);

impl OpenEvents {
    pub(super) fn open(requests: &[CounterRequest]) -> Result<Self, FileError> {
        let open = |request: &CounterRequest| {
            let fail = |error| FileError::new(&request.unit, Problem::from_io(&error));
            let words = request.words;
            let event = Raw::new(words.config).config1(words.config1).config2(words.config2);
            let mut builder = Builder::new(event);
            builder.attrs_mut().type_ = request.kind;
            // Boxes refuse events that leave out kernel or hypervisor: they cannot tell.
            builder.any_pid().one_cpu(request.cpu.0 as usize).include_kernel().include_hv();
            let mut counter = builder.build().map_err(fail)?;
            counter.enable().map_err(fail)?;
            Ok((request.unit.clone(), counter))
        };
        requests.iter().map(open).collect::<Result<_, FileError>>().map(Self)
    }
}

impl RunningCounters for OpenEvents {
    fn read(&mut self) -> Result<Vec<u64>, FileError> {
        let read = |(unit, counter): &mut (String, Counter)| {
            counter.read().map_err(|error| FileError::new(&*unit, Problem::from_io(&error)))
        };
        self.0.iter_mut().map(read).collect()
    }
}
