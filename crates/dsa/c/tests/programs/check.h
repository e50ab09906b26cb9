// Ends a test program with status 1 and says where, unless a condition holds.
#ifndef CHECK_H
#define CHECK_H

#include <skipline_dsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__,            \
                    #condition, skd_error_text());                             \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

// A call that fails with an errno, and whose sentence says something.
#define REFUSED(number, words, call)                                           \
    do {                                                                       \
        CHECK((call) == -(number));                                            \
        CHECK(strstr(skd_error_text(), words) != NULL);                        \
    } while (0)

// Where operations go: to a device in a run that has one, else to the CPU.
static inline int path_here(void) {
    return getenv("ON_DEVICES") != NULL ? SKD_DEVICE : SKD_CPU;
}

// Bytes that tell where they are.
static inline void put_pattern(unsigned char *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)(i * 131 + i / 256 * 7 + 7);
}

// Whether who did an operation is who was to.
static inline int is_done_here(const skd_outcome *outcome, uint64_t bytes) {
    return path_here() == SKD_DEVICE ? outcome->device_bytes == bytes && outcome->cpu_bytes == 0
                                     : outcome->cpu_bytes == bytes && outcome->device_bytes == 0;
}

#endif
