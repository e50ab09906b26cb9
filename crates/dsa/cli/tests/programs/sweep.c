// QUEUE SHARED MOST DELTA: each operation at sizes from 1 byte to MOST, alone and in batches of three, on buffers of
// each; results are compared with those of loops here. DELTA is the status that delta records have to end with.
#include "descriptor.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEMBERS = 3, SPARE = 1 << 16, BLOCK = 512 };

static struct descriptor list[MEMBERS], whole;
static struct record records[MEMBERS], last;
static void *portal;
static int is_shared, members;
static long count;
static uint8_t *from[MEMBERS], *to[MEMBERS], *also[MEMBERS];

static void submit(const struct descriptor *descriptor, struct record *record) {
    if (!is_shared) post(portal, descriptor);
    while (is_shared && enqueue(portal, descriptor)) {
    }
    while (record->status == 0) asm volatile("pause");
}

static void require(int right, const char *what, size_t bytes) {
    if (right) return;
    printf("%s of %zu bytes, %d members: status %#x, result %d\n", what, bytes, members, records[0].status,
           records[0].result);
    exit(1);
}

// Submits the list, and finds that each member has ended with the status.
static void run(int opcode, size_t bytes, int status, const char *what) {
    for (int at = 0; at < MEMBERS; at++) {
        list[at].flags = (uint32_t)opcode << 24 | RECORDED;
        list[at].record = (uintptr_t)&records[at];
        list[at].bytes = (uint32_t)bytes;
        records[at].status = 0;
    }
    int is_alone = members == 1 || opcode == DRAIN;
    if (is_alone) {
        submit(list, records);
    } else {
        last.status = 0;
        whole = (struct descriptor){.flags = BATCH << 24 | RECORDED, .record = (uintptr_t)&last,
                                    .first = (uintptr_t)list, .bytes = MEMBERS};
        submit(&whole, &last);
        require(last.status == (status == SUCCESS ? SUCCESS : 5), "batch", bytes);
    }
    for (int at = 0; at < (is_alone ? 1 : members); at++) require(records[at].status == status, what, bytes);
    count += is_alone ? 1 : members;
}

// The list with operands: buffers of each member, null for none.
static void operands(uint8_t **first, uint8_t **second) {
    memset(list, 0, sizeof list);
    for (int at = 0; at < MEMBERS; at++) {
        list[at].first = first ? (uintptr_t)first[at] : 0;
        list[at].second = second ? (uintptr_t)second[at] : 0;
    }
}

static uint32_t crc32c(const uint8_t *at, size_t bytes) {
    static uint32_t table[256];
    if (table[1] == 0)
        for (uint32_t byte = 0; byte < 256; byte++)
            for (int bit = (table[byte] = byte, 0); bit < 8; bit++)
                table[byte] = table[byte] & 1 ? table[byte] >> 1 ^ 0x82f63b78 : table[byte] >> 1;
    uint32_t crc = ~0u;
    while (bytes-- > 0) crc = crc >> 8 ^ table[(crc ^ *at++) & 0xff];
    return ~crc;
}

static void set64(struct descriptor *descriptor, int at, uint64_t value) { memcpy(descriptor->rest + at - 40, &value, 8); }

static void copies(size_t bytes) {
    operands(from, to);
    run(MOVE, bytes, SUCCESS, "move");
    for (int at = 0; at < members; at++) require(!memcmp(from[at], to[at], bytes), "moved", bytes);
    operands(0, to);
    for (int at = 0; at < MEMBERS; at++) list[at].first = 0x1122334455667788;
    run(FILL, bytes, SUCCESS, "fill");
    for (int at = 0; at < members; at++)
        for (size_t byte = 0; byte < bytes; byte++)
            if (to[at][byte] != (uint8_t)(0x1122334455667788 >> byte % 8 * 8)) require(0, "filled", bytes);
    operands(to, 0);
    for (int at = 0; at < MEMBERS; at++) list[at].second = 0x1122334455667788;
    run(COMPARE_PATTERN, bytes, SUCCESS, "compare pattern");
    for (int at = 0; at < members; at++) require(records[at].result == 0, "pattern", bytes);
    operands(from, to);
    for (int at = 0; at < MEMBERS; at++) set64(&list[at], 40, (uintptr_t)also[at]);
    run(DUALCAST, bytes, SUCCESS, "dualcast");
    for (int at = 0; at < members; at++)
        require(!memcmp(from[at], to[at], bytes) && !memcmp(from[at], also[at], bytes), "dualcast data", bytes);
    operands(0, to);
    run(CACHE_FLUSH, bytes, SUCCESS, "flush");
}

static void comparisons(size_t bytes) {
    operands(from, to);
    run(COMPARE, bytes, SUCCESS, "compare");
    for (int at = 0; at < members; at++) require(records[at].result == 0, "equal", bytes);
    for (int at = 0; at < MEMBERS; at++) to[at][bytes / 2] ^= 1;
    run(COMPARE, bytes, SUCCESS, "compare");
    for (int at = 0; at < members; at++)
        require(records[at].result == 1 && records[at].done == bytes / 2, "difference", bytes);
    for (int at = 0; at < MEMBERS; at++) to[at][bytes / 2] ^= 1;
    operands(from, 0);
    run(CRC, bytes, SUCCESS, "CRC");
    for (int at = 0; at < members; at++) require(records[at].value == crc32c(from[at], bytes), "checksum", bytes);
    for (int at = 0; at < MEMBERS; at++) memset(to[at], 0, bytes);
    operands(from, to);
    run(COPY_CRC, bytes, SUCCESS, "copy and CRC");
    for (int at = 0; at < members; at++)
        require(records[at].value == crc32c(to[at], bytes) && !memcmp(from[at], to[at], bytes), "both", bytes);
}

static void deltas(size_t bytes, int status) {
    for (int at = 0; at < MEMBERS; at++)
        for (size_t byte = 0; byte < bytes; byte += 4096) to[at][byte] ^= 0x55;
    operands(from, to);
    for (int at = 0; at < MEMBERS; at++) set64(&list[at], 40, (uintptr_t)also[at]), set64(&list[at], 48, 8000);
    run(CREATE_DELTA, bytes, status, "create delta");
    if (status != SUCCESS) return;
    uint32_t size = records[0].value;
    require(size == (bytes + 4095) / 4096 * 10, "delta record", bytes);
    operands(also, from);
    for (int at = 0; at < MEMBERS; at++) set64(&list[at], 40, size);
    run(APPLY_DELTA, bytes, SUCCESS, "apply delta");
    for (int at = 0; at < members; at++) require(!memcmp(from[at], to[at], bytes), "applied", bytes);
}

static void protection(size_t bytes) {
    size_t with_tags = bytes / BLOCK * (BLOCK + 8);
    operands(from, to);
    run(DIF_INSERT, bytes, SUCCESS, "insert protection");
    operands(to, 0);
    run(DIF_CHECK, with_tags, SUCCESS, "check protection");
    operands(to, also);
    run(DIF_UPDATE, with_tags, SUCCESS, "update protection");
    for (int at = 0; at < members; at++) require(!memcmp(to[at], also[at], with_tags), "updated", bytes);
    for (int at = 0; at < MEMBERS; at++) memset(to[at], 0, bytes);
    operands(also, to);
    run(DIF_STRIP, with_tags, SUCCESS, "strip protection");
    for (int at = 0; at < members; at++) require(!memcmp(from[at], to[at], bytes), "stripped", bytes);
    also[0][BLOCK / 2] ^= 4;
    operands(also, 0);
    if (members == 1) run(DIF_CHECK, with_tags, 9, "check of damaged protection");
    also[0][BLOCK / 2] ^= 4;
}

int main(int words, char **word) {
    int file = words == 5 ? open(word[1], O_RDWR) : -1;
    portal = mmap(0, 4096, PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || portal == MAP_FAILED) return 2;
    is_shared = atoi(word[2]);
    size_t most = atol(word[3]);
    for (int at = 0; at < MEMBERS; at++) {
        uint8_t **each[] = {&from[at], &to[at], &also[at]};
        for (int part = 0; part < 3; part++) *each[part] = aligned_alloc(4096, most + most / 64 + SPARE);
        for (size_t byte = 0; byte < most; byte++) from[at][byte] = (uint8_t)(byte * 2654435761u >> 13) + at;
    }
    static const size_t sizes[] = {1, 2, 7, 64, 255, 256, 1000, 4096, 4097, 16384, 65536, 100000, 524288, 1 << 20, 2 << 20};
    for (members = 1; members <= MEMBERS; members += MEMBERS - 1) {
        for (size_t at = 0; at < sizeof sizes / sizeof *sizes && sizes[at] <= most; at++) {
            size_t bytes = sizes[at];
            copies(bytes), comparisons(bytes);
            if (bytes % 8 == 0 && bytes >= 64 && bytes <= 524288) deltas(bytes, atoi(word[4]));
            if (bytes % BLOCK == 0) protection(bytes);
        }
        operands(0, 0);
        run(NO_OP, 0, SUCCESS, "no-op");
        run(DRAIN, 0, SUCCESS, "drain");
    }
    printf("%ld done\n", count);
    return 0;
}
