//! Slices for Python: look-ups in a slice table, nearest slices.

use crate::arguments::{self, TextArgument};
use crate::{InputError, bad_input};
use ::slices::nearest::{Latencies, SharedGoal};
use ::slices::published::named;
use ::slices::{LatencyFile, LatencyKind, SliceMap, TableFile};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scenario::builtin;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use units::narrow::fit;
use units::{Cycles, Gigahertz, SliceId};

fn refused(file: &Path, problem: &impl Display) -> PyErr {
    InputError::new_err(format!("{}: {problem}", file.display()))
}

fn read(file: &Path) -> PyResult<String> {
    let path = file.to_string_lossy();
    Python::attach(|py| py.detach(|| inputs::texts::read_keys(&path)))
        .map_err(|error| refused(file, &format!("cannot be read: {}", inputs::reason(&error))))
}

/// The slice function of a CPU model, and the physical addresses for which it is established.
#[pyclass(name = "SliceMap", module = "skipline.slices", frozen)]
pub struct PySliceMap {
    map: SliceMap,
    #[pyo3(get)]
    part: String,
    #[pyo3(get)]
    source: String,
}

#[pymethods]
impl PySliceMap {
    /// Reads a slice table.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let file = TableFile::read(&read(&path)?).map_err(|error| refused(&path, &error))?;
        let map = SliceMap::new(&file).map_err(|error| refused(&path, &error))?;
        Ok(Self { map, part: file.table.part, source: file.table.source })
    }

    /// The published function of a name like "skx-18"; the error for an unknown name lists all names.
    #[staticmethod]
    fn published(name: &str) -> PyResult<Self> {
        let known = named(name).map_err(|error| InputError::new_err(error.to_string()))?;
        let TableFile { table, .. } = known.file();
        let map = known.map();
        Ok(Self { map, part: table.part, source: table.source })
    }

    /// Number of slices; they are numbered from 0.
    #[getter]
    fn slices(&self) -> u32 {
        self.map.slices()
    }

    /// The slice of the line at a physical address.
    fn slice_of(&self, physical_address: u64) -> PyResult<u16> {
        let slice = self.map.slice_of(physical_address);
        slice.map(|slice| slice.0).map_err(|error| InputError::new_err(error.to_string()))
    }

    /// The slices of the lines at many physical addresses, as an array of unsigned 16-bit integers.
    fn slices_of<'py>(
        &self,
        py: Python<'py>,
        physical_addresses: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let addresses = addresses(py, physical_addresses)?;
        let bytes = py.detach(|| {
            let mut slices = vec![SliceId(0); addresses.len()];
            let covered = self.map.slices_of(&addresses, &mut slices);
            covered.map_err(|error| InputError::new_err(error.to_string()))?;
            Ok::<_, PyErr>(
                slices.iter().flat_map(|slice| slice.0.to_ne_bytes()).collect::<Vec<u8>>(),
            )
        })?;
        py.import("array")?.getattr("array")?.call1(("H", PyBytes::new(py, &bytes)))
    }
}

fn addresses(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    if array.len().is_ok_and(|length| length == 0) {
        // An empty buffer need not be aligned, and is refused for that.
        return Ok(Vec::new());
    }
    let refused = |problem| InputError::new_err(format!("physical_addresses: {problem}"));
    arguments::buffer::<u64>(array, 64).map_err(refused)?.to_vec(py)
}

/// Latencies from cores to slices in core cycles.
#[pyclass(name = "Latencies", module = "skipline.slices", frozen)]
pub struct PyLatencies {
    latencies: Latencies,
    #[pyo3(get)]
    part: String,
    #[pyo3(get)]
    source: String,
    kind: LatencyKind,
}

#[pymethods]
impl PyLatencies {
    /// Reads a latency file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let file = LatencyFile::read(&read(&path)?).map_err(|error| refused(&path, &error))?;
        let LatencyFile { part, source, kind, latencies } = file;
        Ok(Self { latencies, part, source, kind })
    }

    /// The latencies of a platform's ring or mesh, by the platform's name or path.
    #[staticmethod]
    fn modelled(platform: TextArgument) -> PyResult<Self> {
        let platform = &platform.0;
        let found = builtin::platform(builtin::BY_COMMAND, platform).map_err(|e| bad_input(&e))?;
        let topology = found.topology(platform).map_err(|e| bad_input(&e))?;
        let core = Gigahertz(found.cpu.core_ghz.value);
        let uncore = Gigahertz(found.cpu.uncore_ghz.value);
        let row = |core_number: u8| -> Vec<Cycles> {
            let slices = (0..topology.slices()).map(SliceId);
            // To a hundredth: the rest is rounding of the conversion between the clocks.
            let cycles =
                |slice| topology.latency(core_number, slice).in_core_cycles(core, uncore).0;
            slices.map(|slice| Cycles((cycles(slice) * 100.0).round() / 100.0)).collect()
        };
        let rows: Vec<Vec<Cycles>> = (0..fit(found.cpu.cores.value)).map(row).collect();
        let latencies = Latencies::new(&rows)
            .map_err(|error| InputError::new_err(format!("{platform}: {error}")))?;
        let source = format!("ring or mesh of the platform {platform}");
        Ok(Self { latencies, part: found.title, source, kind: LatencyKind::Modelled })
    }

    /// "measured" or "modelled".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            LatencyKind::Measured => "measured",
            LatencyKind::Modelled => "modelled",
        }
    }

    /// Number of cores; they are numbered from 0.
    #[getter]
    fn cores(&self) -> usize {
        self.latencies.cores()
    }

    /// Number of slices; they are numbered from 0.
    #[getter]
    fn slices(&self) -> usize {
        self.latencies.slices()
    }

    /// The latency of a core's read from a slice in core cycles.
    fn cycles(&self, core: usize, of_slice: u16) -> PyResult<f64> {
        let slices = self.latencies.slices();
        if usize::from(of_slice) >= slices {
            let last = slices - 1;
            return Err(InputError::new_err(format!(
                "no slice {of_slice}; there are: 0 to {last}"
            )));
        }
        Ok(self.latencies.latency(self.known_core(core)?, SliceId(of_slice)).0)
    }

    /// All slices by their latency from a core, nearest first.
    fn nearest(&self, core: usize) -> PyResult<Vec<u16>> {
        let slices = self.latencies.by_distance(self.known_core(core)?);
        Ok(slices.into_iter().map(|slice| slice.0).collect())
    }

    /// The slice with the lowest mean latency for data that several cores share.
    fn shared(&self, cores: Vec<usize>) -> PyResult<u16> {
        let known =
            cores.iter().map(|&core| self.known_core(core)).collect::<PyResult<Vec<usize>>>()?;
        let best = self.latencies.best_shared(&known, SharedGoal::Mean);
        best.map(|(slice, _)| slice.0)
            .ok_or_else(|| InputError::new_err("no cores; needed: one or more"))
    }

    /// The text of a latency file, which `read` reads back.
    fn to_toml(&self) -> String {
        LatencyFile {
            part: self.part.clone(),
            source: self.source.clone(),
            kind: self.kind,
            latencies: self.latencies.clone(),
        }
        .write()
    }
}

impl PyLatencies {
    /// Checks that there are latencies of a core.
    fn known_core(&self, core: usize) -> PyResult<usize> {
        let cores = self.latencies.cores();
        if core < cores {
            return Ok(core);
        }
        let last = cores - 1;
        Err(InputError::new_err(format!("no latencies of core {core}; there are: 0 to {last}")))
    }
}
