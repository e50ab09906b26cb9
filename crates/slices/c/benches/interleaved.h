// Times several subjects in turn, round by round, so that what else the machine does meets all alike.
#ifndef INTERLEAVED_H
#define INTERLEAVED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 2001 };

typedef struct subject {
    const char *name;
    void (*round)(void *state);
    void *state;
    // Times of the rounds in ns per item, in the order in which they ran.
    double times[ROUNDS];
} subject;

static inline double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static inline uint64_t next_random(uint64_t *state) {
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static int by_value(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// First decile, median, ninth decile.
static inline void spread(double values[ROUNDS], double found[3]) {
    qsort(values, ROUNDS, sizeof values[0], by_value);
    for (int i = 0; i < 3; i++)
        found[i] = values[(1 + 4 * i) * (ROUNDS - 1) / 10];
}

// Runs and prints all subjects, and each one's ratio to the first, round by round.
static inline void report(const char *unit, size_t items, subject *subjects, size_t count) {
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            double start = now_ns();
            subjects[i].round(subjects[i].state);
            subjects[i].times[round] = (now_ns() - start) / (double)items;
        }
    }
    static double first[ROUNDS], ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        first[round] = subjects[0].times[round];
    for (size_t i = 0; i < count; i++) {
        for (int round = 0; round < ROUNDS; round++)
            ratios[round] = subjects[i].times[round] / first[round];
        double own[3], ratio[3];
        spread(subjects[i].times, own);
        spread(ratios, ratio);
        printf("%-44s %6.2f %6.2f %6.2f ns per %s; %.2f of the first (%.2f to %.2f)\n",
               subjects[i].name, own[0], own[1], own[2], unit, ratio[1], ratio[0], ratio[2]);
    }
}

#endif
