//! The live view on a terminal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use host::Unavailable;
use host::monitor::MonitorSample;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table, Wrap};

use super::Sampler;
use super::view::{
    SOCKET_HEADS, bandwidth, busy_ports, device_names, port_name, socket_row, unavailable_line,
};
use crate::failure::HostFailure;
use crate::output::bytes;
use units::narrow::{fit, whole};

/// Time to wait for a key before the screen is drawn again.
const KEY_WAIT: Duration = Duration::from_millis(100);
/// Most windows in the history.
const HISTORY: usize = 240;

/// The state behind the screen.
#[derive(Default)]
struct Screen {
    latest: Option<MonitorSample>,
    /// Percent of device writes that hit, for each socket, oldest first.
    history: Vec<Vec<u64>>,
    unavailable: Vec<Unavailable>,
}

/// Samples in the background, draws, and reads keys until q, Esc or Ctrl-C, or the last window.
pub(super) fn run(sampler: &Sampler<'_>, most: Option<u64>) -> Result<(), HostFailure> {
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let mut terminal = ratatui::try_init()?;
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let sender = sender;
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) && most.is_none_or(|most| number < most) {
                let sample = sampler.sample(true);
                let failed = sample.is_err();
                if sender.send(sample).is_err() || failed {
                    break;
                }
                number += 1;
            }
        });
        let result = show(&mut terminal, &receiver, sampler.monitor.unavailable());
        stop.store(true, Ordering::Relaxed);
        result
    });
    ratatui::try_restore()?;
    result
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    samples: &mpsc::Receiver<Result<MonitorSample, HostFailure>>,
    unavailable: &[Unavailable],
) -> Result<(), HostFailure> {
    let mut screen = Screen { unavailable: unavailable.to_vec(), ..Screen::default() };
    loop {
        loop {
            match samples.try_recv() {
                Ok(sample) => screen.take(sample?),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return Ok(()),
            }
        }
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(KEY_WAIT)? && quits(&event::read()?) {
            return Ok(());
        }
    }
}

fn quits(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

impl Screen {
    fn take(&mut self, sample: MonitorSample) {
        self.history.resize(sample.sockets.len(), Vec::new());
        for (history, socket) in self.history.iter_mut().zip(&sample.sockets) {
            let row = socket_row(socket, sample.window_ms);
            history.push(whole(row.write_hit_percent.unwrap_or(0.0)));
            if history.len() > HISTORY {
                history.remove(0);
            }
        }
        self.latest = Some(sample);
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let Some(sample) = &self.latest else {
            frame.render_widget(Paragraph::new("counting the first window…"), frame.area());
            return;
        };
        let sockets = fit::<u16, _>(sample.sockets.len());
        let notes = fit::<u16, _>((self.unavailable.len() * 2).min(6));
        let areas = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(sockets + 3),
            Constraint::Length(if self.sees_writes() { sockets * 3 } else { 0 }),
            Constraint::Min(4),
            Constraint::Length(notes),
            Constraint::Length(1),
        ])
        .split(frame.area());
        let title = format!("skipline-host monitor   windows of {:.0} ms", sample.window_ms);
        frame.render_widget(Line::from(title).bold(), areas[0]);
        draw_sockets(frame, areas[1], sample);
        self.draw_history(frame, areas[2], sample);
        draw_ports_and_groups(frame, areas[3], sample);
        let lines: Vec<Line<'_>> =
            self.unavailable.iter().map(|unread| Line::from(unavailable_line(unread))).collect();
        frame.render_widget(Paragraph::new(lines).dim().wrap(Wrap { trim: true }), areas[4]);
        frame.render_widget(Line::from("q quits").dim(), areas[5]);
    }

    fn sees_writes(&self) -> bool {
        let sockets = self.latest.iter().flat_map(|sample| &sample.sockets);
        sockets.into_iter().any(|socket| socket.pcie_write.is_some())
    }

    fn draw_history(&self, frame: &mut Frame<'_>, area: Rect, sample: &MonitorSample) {
        if !self.sees_writes() {
            return;
        }
        let rows = Layout::vertical(vec![Constraint::Length(3); self.history.len()]).split(area);
        for ((history, socket), area) in self.history.iter().zip(&sample.sockets).zip(rows.iter()) {
            let width = area.width.saturating_sub(2) as usize;
            let shown = &history[history.len().saturating_sub(width)..];
            let title = format!(" device writes that hit, socket {} (0 to 100 %) ", socket.socket);
            let line = Sparkline::default()
                .block(Block::bordered().title(title))
                .data(shown)
                .max(100)
                .style(Style::new().fg(Color::Cyan));
            frame.render_widget(line, *area);
        }
    }
}

fn draw_sockets(frame: &mut Frame<'_>, area: Rect, sample: &MonitorSample) {
    let rows = sample.sockets.iter().map(|socket| {
        let row = socket_row(socket, sample.window_ms);
        let mut cells = vec![Cell::from(row.name)];
        cells.extend(row.cells.map(Cell::from));
        Row::new(cells)
    });
    let mut heads = vec![""];
    heads.extend(SOCKET_HEADS);
    let mut widths = vec![Constraint::Length(10)];
    widths.extend(SOCKET_HEADS.map(|_| Constraint::Fill(1)));
    let table = Table::new(rows, widths)
        .header(Row::new(heads).bold())
        .block(Block::bordered().title(" lines of devices, and DRAM "));
    frame.render_widget(table, area);
}

fn draw_ports_and_groups(frame: &mut Frame<'_>, area: Rect, sample: &MonitorSample) {
    let [left, right] = Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(area);
    let ports = busy_ports(sample);
    let rows = ports.into_iter().map(|port| {
        let rates = [port.read_bytes_per_s, port.write_bytes_per_s].map(bandwidth);
        let devices = device_names(port);
        // Port and devices have a line each: one line is too narrow for both.
        let height = if devices.is_empty() { 1 } else { 2 };
        let name = format!("{}\n  {devices}", port_name(port));
        Row::new([vec![name], rates.to_vec()].concat()).height(height)
    });
    let engines = sample.engines.iter().map(|engine| {
        let rates = [engine.inbound_bytes_per_s, engine.outbound_bytes_per_s].map(bandwidth);
        Row::new([vec![format!("copy engine {}: in, out", engine.device)], rates.to_vec()].concat())
    });
    let widths = [Constraint::Fill(3), Constraint::Fill(1), Constraint::Fill(1)];
    let title =
        if sample.engines.is_empty() { " PCIe ports " } else { " PCIe ports, copy engines " };
    let table = Table::new(rows.chain(engines), widths)
        .header(Row::new(["", "read", "write"]).bold())
        .block(Block::bordered().title(title));
    frame.render_widget(table, left);
    let shares = sample
        .occupancy
        .iter()
        .map(|share| Row::new([share.group.clone(), share.domain.to_string(), bytes(share.bytes)]));
    let widths = [Constraint::Fill(2), Constraint::Length(6), Constraint::Fill(1)];
    let table = Table::new(shares, widths)
        .header(Row::new(["group", "cache", "holds"]).bold())
        .block(Block::bordered().title(" LLC by group "));
    frame.render_widget(table, right);
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::monitor::{
        CountedDevices, HitMiss, Occupancy, PciePortSample, PortDevice, SocketSample,
    };
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn window(hits: u64) -> MonitorSample {
        let counted = Some(HitMiss { hits, misses: 100_000_000 - hits });
        let socket = SocketSample {
            pcie_write: counted,
            pcie_read: counted,
            dram_read_bytes_per_s: Some(2.5e9),
            dram_write_bytes_per_s: Some(12e6),
            running_share: Some(1.0),
            ..SocketSample::default()
        };
        let bdf = "17:00.0".parse().expect("an address");
        let device = PortDevice { bdf, names: vec!["ens1f0".into()] };
        let port = PciePortSample {
            bus: Some("0000:16".into()),
            devices_of: CountedDevices::Port,
            devices: vec![device],
            read_bytes_per_s: 6.4e9,
            ..PciePortSample::default()
        };
        let held = Occupancy { group: "default".into(), domain: 0, bytes: 9 << 20 };
        MonitorSample {
            time_unix_s: 0.0,
            window_ms: 1000.0,
            sockets: vec![socket],
            ports: vec![port],
            engines: Vec::new(),
            occupancy: vec![held],
        }
    }

    #[test]
    fn the_live_view_shows_sockets_history_ports_and_groups() {
        let mut screen = Screen::default();
        screen.take(window(20_000_000));
        screen.take(window(90_000_000));
        let mut terminal = Terminal::new(TestBackend::new(100, 20)).expect("a terminal in memory");
        terminal.draw(|frame| screen.draw(frame)).expect("drawing in memory");
        insta::assert_snapshot!(terminal.backend());
    }

    #[test]
    fn copy_engines_stand_below_the_ports() {
        let engine = host::monitor::EngineSample {
            device: "dsa2".into(),
            node: None,
            inbound_bytes_per_s: 3e9,
            outbound_bytes_per_s: 2e9,
            shared_requests_per_s: 0.0,
            dedicated_requests_per_s: 0.0,
        };
        let mut screen = Screen::default();
        screen.take(MonitorSample { engines: vec![engine], ..window(1) });
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).expect("a terminal in memory");
        terminal.draw(|frame| screen.draw(frame)).expect("drawing in memory");
        let drawn = terminal.backend().to_string();
        let row = drawn.lines().find(|line| line.contains("copy engine dsa2: in, out"));
        let row = row.unwrap_or_else(|| panic!("no row: {drawn}"));
        assert!(row.contains("3.00 GB/s") && row.contains("2.00 GB/s"), "{row}");
    }

    #[test]
    fn a_terminal_of_one_cell_does_not_break_the_view() {
        let mut screen = Screen::default();
        screen.take(window(1));
        let mut terminal = Terminal::new(TestBackend::new(1, 1)).expect("a terminal in memory");
        terminal.draw(|frame| screen.draw(frame)).expect("drawing in memory");
    }
}
