//! Uncore events that count until they are dropped.

use perf_event::events::Raw;
use perf_event::{Builder, Counter};

use super::CounterRequest;
use crate::error::{FileError, Problem};

/// Uncore events that count until this value is dropped.
pub trait RunningCounters {
    /// Reads the count of each event since its start, in the order of the requests.
    ///
    /// # Errors
    /// If the kernel refuses the read.
    fn read(&mut self) -> Result<Vec<u64>, FileError>;
}

/// Events opened one by one, because events of different boxes cannot form a group.
pub(super) struct OpenEvents(Vec<(String, Counter)>);

impl OpenEvents {
    pub(super) fn open(requests: &[CounterRequest]) -> Result<Self, FileError> {
        let open = |request: &CounterRequest| {
            let fail = |error| FileError::new(&request.unit, Problem::from_io(&error));
            let words = request.words;
            let event = Raw::new(words.config).config1(words.config1).config2(words.config2);
            let mut builder = Builder::new(event);
            builder.attrs_mut().type_ = request.kind;
            // Boxes refuse events that exclude kernel or hypervisor: they cannot distinguish them.
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
