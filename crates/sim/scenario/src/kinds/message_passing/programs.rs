//! The programs of ranks, with their buffers and the channels between them.

use super::{MessagePassingPlan, MessagePattern};
use crate::contract::build::Builder;
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::{CoreId, LINE_BYTES, LineAddr};
use workload::app::message_passing::channel::{MessageChannel, Target};
use workload::app::message_passing::{SharedChannel, Step};
use workload::host_memory::Arena;

impl MessagePassingPlan {
    /// Allocates buffers and channels, and builds the program of each rank.
    pub(super) fn programs<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> Vec<Vec<Step>> {
        let cores = builder.tenant.cores.clone();
        let buffers: Vec<LineAddr> = cores.iter().map(|&core| self.buffer(builder, core)).collect();
        match self.keys.pattern {
            MessagePattern::PingPong => self.ping_pong(builder, &buffers),
            MessagePattern::RemoteWrite => self.remote_write(builder, &buffers),
            MessagePattern::AllReduce => self.all_reduce(builder, &buffers),
        }
    }

    /// Allocates a rank's own data, which the rank has written before time zero if the run is warm.
    fn buffer<T: Tracer>(&self, builder: &mut Builder<'_, T>, core: CoreId) -> LineAddr {
        let bytes = self.keys.message_bytes;
        // Chunks of an all-reduce are whole lines: the last may end behind the data.
        let spare = builder.tenant.cores.len() as u64 * LINE_BYTES;
        let first = builder.memory.contiguous_region(bytes + spare).line(0);
        if self.is_warm {
            let lines = (0..bytes / LINE_BYTES).map(|line| first.step(line));
            builder.caches.fill(core, lines);
        }
        first
    }

    fn channel<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        direct: Option<LineAddr>,
    ) -> SharedChannel {
        let bytes = self.keys.segment_bytes;
        let target = direct.map_or_else(
            || {
                let all = u64::from(self.keys.segments) * bytes;
                let region = builder.memory.contiguous_region(all);
                let first = region.line(0);
                let segment = |number| first.step(number * bytes / LINE_BYTES);
                Target::Segments((0..u64::from(self.keys.segments)).map(segment).collect())
            },
            Target::Direct,
        );
        let mut arena = Arena::new(builder.memory.region(2 * LINE_BYTES));
        let lines = (arena.place(LINE_BYTES), arena.place(LINE_BYTES));
        Rc::new(RefCell::new(MessageChannel::new(target, bytes, lines)))
    }

    fn ping_pong<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        buffers: &[LineAddr],
    ) -> Vec<Vec<Step>> {
        let bytes = self.keys.message_bytes;
        let pair = |pair: &[LineAddr]| {
            let (there, back) = (self.channel(builder, None), self.channel(builder, None));
            let (ping, pong) = (pair[0], pair[1]);
            let first = vec![send(&there, bytes, ping), receive(&back, bytes, ping)];
            [first, vec![receive(&there, bytes, pong), send(&back, bytes, pong)]]
        };
        buffers.chunks(2).flat_map(pair).collect()
    }

    fn remote_write<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        buffers: &[LineAddr],
    ) -> Vec<Vec<Step>> {
        let bytes = self.keys.message_bytes;
        let pair = |pair: &[LineAddr]| {
            let channel = self.channel(builder, Some(pair[1]));
            [vec![send(&channel, bytes, pair[0])], vec![receive(&channel, bytes, pair[1])]]
        };
        buffers.chunks(2).flat_map(pair).collect()
    }

    /// The ring algorithm: in each step a rank hands a chunk to the next one. After one round each rank has
    /// the sum of one chunk; after another all have all sums.
    fn all_reduce<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
        buffers: &[LineAddr],
    ) -> Vec<Vec<Step>> {
        let ranks = buffers.len();
        let lines = (self.keys.message_bytes / LINE_BYTES).div_ceil(ranks as u64);
        let chunk = lines * LINE_BYTES;
        let channels: Vec<SharedChannel> =
            buffers.iter().map(|_| self.channel(builder, None)).collect();
        let program = |rank: usize| {
            let scratch = builder.memory.contiguous_region(chunk).line(0);
            let at = |number: usize| buffers[rank].step((number % ranks) as u64 * lines);
            let (next, previous) = (&channels[rank], &channels[(rank + ranks - 1) % ranks]);
            let exchange = |send, to, sum, messages| Step {
                send: Some((Rc::clone(next), chunk, send)),
                receive: Some((Rc::clone(previous), chunk, to)),
                sum,
                messages,
            };
            let scatter = (0..ranks - 1).map(|step| {
                let (own, other) = (rank + ranks - step, rank + ranks - step - 1);
                exchange(at(own), scratch, Some(at(other)), (0, 0))
            });
            let gather = (0..ranks - 1).map(|step| {
                let is_last = step + 2 == ranks;
                let messages = if is_last { (1, self.keys.message_bytes) } else { (0, 0) };
                let (own, other) = (rank + ranks + 1 - step, rank + ranks - step);
                exchange(at(own), at(other), None, messages)
            });
            scatter.chain(gather).collect()
        };
        (0..ranks).map(program).collect()
    }
}

fn send(channel: &SharedChannel, bytes: u64, first: LineAddr) -> Step {
    let send = Some((Rc::clone(channel), bytes, first));
    Step { send, receive: None, sum: None, messages: (0, 0) }
}

fn receive(channel: &SharedChannel, bytes: u64, first: LineAddr) -> Step {
    let receive = Some((Rc::clone(channel), bytes, first));
    Step { send: None, receive, sum: None, messages: (1, bytes) }
}
