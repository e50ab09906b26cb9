// QUEUE SEED COUNT: ENQCMD and MOVDIR64B in random encodings: registers, scales, displacements, prefixes that mean
// nothing; with random registers and flags around them, and random descriptors within a buffer. Finds that nothing
// changes but what the instruction changes, and that each accepted descriptor has a record.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REGISTERS = 16, STACK_POINTER = 4, ARENA = 1 << 16, STATUS_FLAGS = 0x8d5, ZERO = 0x40, CARRY = 1 };

// Registers before and after, flags last; the code, and a place for a register.
uint64_t before[REGISTERS + 1], after[REGISTERS + 1], scratch;
void *code;
void execute(void);

asm(".intel_syntax noprefix\n.globl execute\nexecute:\n"
    "push rbx\npush rbp\npush r12\npush r13\npush r14\npush r15\n"
    "push qword ptr [rip + before + 128]\npopfq\n"
    "mov rax, [rip + before]\nmov rcx, [rip + before + 8]\nmov rdx, [rip + before + 16]\nmov rbx, [rip + before + 24]\n"
    "mov rbp, [rip + before + 40]\nmov rsi, [rip + before + 48]\nmov rdi, [rip + before + 56]\n"
    "mov r8, [rip + before + 64]\nmov r9, [rip + before + 72]\nmov r10, [rip + before + 80]\n"
    "mov r11, [rip + before + 88]\nmov r12, [rip + before + 96]\nmov r13, [rip + before + 104]\n"
    "mov r14, [rip + before + 112]\nmov r15, [rip + before + 120]\n"
    "call [rip + code]\n"
    "mov [rip + after], rax\nmov [rip + after + 8], rcx\nmov [rip + after + 16], rdx\nmov [rip + after + 24], rbx\n"
    "mov [rip + after + 40], rbp\nmov [rip + after + 48], rsi\nmov [rip + after + 56], rdi\n"
    "mov [rip + after + 64], r8\nmov [rip + after + 72], r9\nmov [rip + after + 80], r10\n"
    "mov [rip + after + 88], r11\nmov [rip + after + 96], r12\nmov [rip + after + 104], r13\n"
    "mov [rip + after + 112], r14\nmov [rip + after + 120], r15\n"
    "pushfq\npop qword ptr [rip + after + 128]\n"
    "pop r15\npop r14\npop r13\npop r12\npop rbp\npop rbx\nret\n.att_syntax\n");

static uint64_t state;

static uint64_t draw(void) { // splitmix64
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
}

static uint32_t below(uint32_t end) { return (uint32_t)(draw() >> 33) % end; }

// Writes an instruction whose memory operand is at `address` and whose register has `portal`; sets the registers.
static uint8_t *encode(uint8_t *at, int is_command, uint64_t portal, uint64_t address) {
    static const uint8_t idle[] = {0x2e, 0x3e, 0x26, 0x36};
    int to = below(REGISTERS), base = below(REGISTERS), index = below(REGISTERS), scale = below(4), size = below(3);
    while (to == STACK_POINTER) to = below(REGISTERS);
    while (base == STACK_POINTER || base == to) base = below(REGISTERS);
    // Register 4 as index: none. Registers of the base and of the portal are taken.
    int has_index = below(2) && index != STACK_POINTER && index != to && index != base;
    // Bases 5 and 13 need a displacement.
    if (size == 0 && base % 8 == 5) size = 1;
    int32_t displacement = size == 0 ? 0 : size == 1 ? (int8_t)draw() : (int32_t)draw();
    before[to] = portal;
    uint64_t offset = (int64_t)displacement + (has_index ? before[index] << scale : 0);
    before[base] = address - offset;
    for (int count = below(3); count > 0; count--) *at++ = idle[below(4)];
    *at++ = is_command ? 0xf2 : 0x66;
    int rex = (to > 7) << 2 | (has_index && index > 7) << 1 | (base > 7);
    if (rex || below(2)) *at++ = 0x40 | rex | below(2) << 3;
    *at++ = 0x0f, *at++ = 0x38, *at++ = 0xf8;
    int needs_sib = has_index || base % 8 == 4 || below(4) == 0;
    *at++ = size << 6 | to % 8 << 3 | (needs_sib ? 4 : base % 8);
    if (needs_sib) *at++ = scale << 6 | (has_index ? index % 8 : 4) << 3 | base % 8;
    if (size == 1) *at++ = (uint8_t)displacement;
    if (size == 2) memcpy(at, &displacement, 4), at += 4;
    *at++ = 0xc3;
    return at;
}

int main(int words, char **word) {
    int file = words == 4 ? open(word[1], O_RDWR) : -1;
    uint8_t *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t portal = (uintptr_t)mmap(0, 4096, PROT_WRITE, MAP_SHARED, file, 0);
    uint8_t *arena = aligned_alloc(4096, ARENA);
    if (file < 0 || page == MAP_FAILED || portal == (uintptr_t)MAP_FAILED) return 2;
    state = strtoull(word[2], 0, 10);
    long accepted = 0, refused = 0;
    for (long turn = 0, count = atol(word[3]); turn < count; turn++) {
        int is_command = below(8) != 0;
        for (int at = 0; at < REGISTERS; at++) before[at] = draw();
        before[REGISTERS] = 0x202 | (draw() & STATUS_FLAGS);
        // The descriptor lies anywhere, also across a line and a page.
        static uint8_t memory[3 * 4096];
        uint8_t *own = memory + below(sizeof memory - 64);
        struct { uint32_t pasid, flags; uint64_t record, first, second; uint32_t bytes; uint8_t rest[28]; } descriptor;
        for (size_t at = 0; at < sizeof descriptor; at += 8) ((uint64_t *)&descriptor)[at / 8] = draw();
        uint8_t *record = arena + below(ARENA / 64) * 32;
        static const uint8_t codes[] = {0, 2, 3, 4, 5, 6, 0x10, 0x11, 0x20, 0x30};
        descriptor.pasid = 0;
        descriptor.flags = (uint32_t)codes[below(10)] << 24 | 0xc | (below(4) ? 0 : 1u << below(24));
        descriptor.record = (uintptr_t)record;
        descriptor.first = (uintptr_t)arena + ARENA / 2 + below(ARENA / 4);
        descriptor.second = (uintptr_t)arena + ARENA / 2 + below(ARENA / 4);
        descriptor.bytes = below(ARENA / 4);
        if (below(4)) memset(descriptor.rest, 0, sizeof descriptor.rest);
        memcpy(own, &descriptor, 64);
        record[0] = 0;
        code = page + below(4096 - 32);
        encode(code, is_command, portal + 64 * below(64), (uintptr_t)own);
        execute();
        for (int at = 0; at < REGISTERS; at++) {
            if (at == STACK_POINTER || after[at] == before[at]) continue;
            printf("turn %ld: register %d changed\n", turn, at);
            return 1;
        }
        uint64_t flags = after[REGISTERS] & STATUS_FLAGS, wanted = before[REGISTERS] & STATUS_FLAGS;
        if (is_command) wanted = flags & ZERO;
        if (flags != wanted) return printf("turn %ld: flags %#lx, not %#lx\n", turn, flags, wanted), 1;
        int is_taken = is_command && !(flags & ZERO);
        if (is_taken != (*(volatile uint8_t *)record != 0)) return printf("turn %ld: a record is missing\n", turn), 1;
        *(is_taken ? &accepted : &refused) += 1;
    }
    printf("accepted %ld, refused %ld\n", accepted, refused);
    return 0;
}
