/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that say which they are, and what became of a stream of them.
 *
 * A frame has its stream, its number, its length and a checksum of all its bytes (CRC-32C); what
 * fills it differs from frame to frame, so that bytes of another one do not pass.
 */
#ifndef GUESTS_FRAMES_H
#define GUESTS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/* Ethernet header, stream, number, length and checksum, in words of 8 bytes. */
#define LEAST_FRAME_BYTES 64
#define MOST_FRAME_BYTES 1518

struct lengths {
	unsigned int least, most; /* drawn evenly */
};

struct verdict {
	uint64_t whole;
	uint64_t damaged;    /* checksum, length or stream is wrong */
	uint64_t disordered; /* behind a later one */
	uint64_t doubled;
};

/* One direction of a pair of virtqueues. */
struct stream {
	uint64_t id;
	uint64_t packets; /* that will be sent */
	uint64_t sent;
	uint64_t received; /* damaged ones, too */
	uint64_t expected; /* the number after the highest one seen */
	uint8_t *seen;     /* a bit for each number */
	struct verdict verdict;
};

int stream_start(struct stream *stream, uint64_t id, uint64_t packets);

/* Writes the frame of a number into a packet; false if it has no room. */
bool frame_write(struct rte_mbuf *packet, uint64_t stream, uint64_t number,
	const struct lengths *lengths);

/* Judges a packet that has arrived where a stream ends. */
void frame_judge(struct stream *stream, const struct rte_mbuf *packet,
	const struct lengths *lengths);

#endif
