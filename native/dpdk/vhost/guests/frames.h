/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that can be identified, and the verdict on a stream of them.
 *
 * A frame has its stream, its number, its length and a checksum of all its bytes (CRC-32C). Its
 * filling differs from frame to frame, so that bytes of another frame are noticed.
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
	unsigned int least, most; /* lengths in bytes are drawn evenly between them */
};

struct verdict {
	uint64_t whole;
	uint64_t damaged;    /* checksum, length or stream is wrong */
	uint64_t disordered; /* received after a later frame */
	uint64_t doubled;
};

/* A stream: one direction of a pair of virtqueues. */
struct stream {
	uint64_t id;
	uint64_t packets; /* number of frames to send */
	uint64_t sent;
	uint64_t received; /* with the damaged ones */
	uint64_t expected; /* the number after the highest one seen */
	uint8_t *seen;     /* a bit for each number */
	struct verdict verdict;
};

/* Prepares a stream of so many packets. -ENOMEM. */
int stream_start(struct stream *stream, uint64_t id, uint64_t packets);

/* Writes the frame with a number into a packet; false if the packet has no room. */
bool frame_write(struct rte_mbuf *packet, uint64_t stream, uint64_t number,
	const struct lengths *lengths);

/* Checks a packet that has arrived at the end of a stream, and counts it in the verdict. */
void frame_check(struct stream *stream, const struct rte_mbuf *packet,
	const struct lengths *lengths);

#endif
