// Descriptors, completion records and the instructions that submit, for the programs in this folder.
#pragma once
#include <stdint.h>

enum { NO_OP, BATCH, DRAIN, MOVE, FILL, COMPARE, COMPARE_PATTERN, CREATE_DELTA, APPLY_DELTA, DUALCAST };
enum { CRC = 0x10, COPY_CRC, DIF_CHECK, DIF_INSERT, DIF_STRIP, DIF_UPDATE, CACHE_FLUSH = 0x20 };
enum { RECORDED = 0xc /* the record's address is valid, a record is requested */, SUCCESS = 1 };

struct descriptor {
    uint32_t pasid, flags; // The opcode is the highest byte of the flags.
    uint64_t record, first, second;
    uint32_t bytes, handle;
    uint8_t rest[24];
} __attribute__((aligned(64)));

struct record {
    volatile uint8_t status;
    uint8_t result, rest[2];
    uint32_t done;
    uint64_t fault;
    uint32_t value, more[3];
} __attribute__((aligned(32)));

// Submits to a shared queue. Returns 1 if the queue was full.
static inline int enqueue(void *portal, const struct descriptor *descriptor) {
    uint8_t retry;
    asm volatile("sfence; .byte 0xf2, 0x0f, 0x38, 0xf8, 0x02; setz %0" // ENQCMD
                 : "=q"(retry) : "a"(portal), "d"(descriptor) : "memory", "cc");
    return retry;
}

// Submits to a dedicated queue.
static inline void post(void *portal, const struct descriptor *descriptor) {
    asm volatile("sfence; .byte 0x66, 0x0f, 0x38, 0xf8, 0x02" // MOVDIR64B
                 ::"a"(portal), "d"(descriptor) : "memory");
}
