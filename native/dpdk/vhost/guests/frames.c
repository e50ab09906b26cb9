/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash_crc.h>

struct header {
	uint8_t addresses[12];
	uint16_t type; /* EtherType for local experiments */
	uint16_t bytes;
	uint64_t stream;
	uint64_t number;
	uint32_t checksum;
	uint32_t filler;
} __rte_packed;

static const struct header empty = {
	.addresses = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1 },
	.type = RTE_BE16(0x88b5),
};

int
stream_start(struct stream *stream, uint64_t id, uint64_t packets)
{
	*stream = (struct stream){ .id = id, .packets = packets };
	stream->seen = calloc(packets / 8 + 1, 1);
	return stream->seen == NULL ? -ENOMEM : 0;
}

/* Spreads a number over a word by a multiplication. */
static uint64_t
mix(uint64_t stream, uint64_t number)
{
	uint64_t word = (number + (stream << 56)) * UINT64_C(0x9e3779b97f4a7c15);

	return word ^ word >> 29;
}

static uint16_t
bytes_of(uint64_t stream, uint64_t number, const struct lengths *lengths)
{
	return lengths->least + mix(stream, number) % (lengths->most - lengths->least + 1);
}

/* The checksum of the whole frame, with 0 in the place of the checksum. */
static uint32_t
checksum(const struct header *header)
{
	struct header copy = *header;

	copy.checksum = 0;
	return rte_hash_crc(header + 1, header->bytes - sizeof(*header),
		rte_hash_crc(&copy, sizeof(copy), 0));
}

bool
frame_write(struct rte_mbuf *packet, uint64_t stream, uint64_t number,
	const struct lengths *lengths)
{
	uint16_t bytes = bytes_of(stream, number, lengths), at;
	char *frame = rte_pktmbuf_append(packet, bytes);
	struct header *header = (struct header *)frame;
	uint64_t word = mix(stream, number);

	if (frame == NULL)
		return false;
	*header = empty;
	header->bytes = bytes;
	header->stream = stream;
	header->number = number;
	for (at = sizeof(*header); at + sizeof(word) <= bytes; at += sizeof(word)) {
		memcpy(frame + at, &word, sizeof(word));
		word += UINT64_C(0x0101010101010101);
	}
	memcpy(frame + at, &word, bytes - at);
	header->checksum = checksum(header);
	return true;
}

/* vhost uses one segment for each frame: a packet with several is damaged. */
static bool
is_whole(const struct stream *stream, const struct rte_mbuf *packet, const struct lengths *lengths)
{
	const struct header *header = rte_pktmbuf_mtod(packet, const struct header *);

	return packet->nb_segs == 1 && packet->data_len >= sizeof(*header) &&
		header->bytes == packet->data_len && header->stream == stream->id &&
		header->number < stream->packets &&
		header->bytes == bytes_of(header->stream, header->number, lengths) &&
		header->checksum == checksum(header);
}

void
frame_check(struct stream *stream, const struct rte_mbuf *packet, const struct lengths *lengths)
{
	const struct header *header = rte_pktmbuf_mtod(packet, const struct header *);
	struct verdict *verdict = &stream->verdict;
	uint8_t *seen, bit;

	stream->received++;
	if (!is_whole(stream, packet, lengths)) {
		verdict->damaged++;
		return;
	}
	seen = &stream->seen[header->number / 8];
	bit = 1 << header->number % 8;
	if (*seen & bit) {
		verdict->doubled++;
		return;
	}
	*seen |= bit;
	verdict->whole++;
	if (header->number < stream->expected)
		verdict->disordered++;
	else
		stream->expected = header->number + 1;
}
