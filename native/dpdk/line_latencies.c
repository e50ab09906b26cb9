// Latencies of one line of memory in cycles of the time stamp counter: loads that hit L1, atomic additions
// of one core, and the way of a line from one core to another.
//
//     line_latencies CPU OTHER_CPU

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { ROUNDS = 11, STEPS = 1000000 };

static _Alignas(64) _Atomic long turn;
static int other_cpu;

static void refuse(int cpu) {
  fprintf(stderr, "CPU %d cannot be used\n", cpu);
  exit(1);
}

static cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

static double load_cycles(void) {
  static _Alignas(64) void *cell = &cell;
  void *volatile *at = (void *volatile *)&cell;
  unsigned long long start = __rdtsc();
  for (int i = 0; i < STEPS; i++) at = (void *volatile *)*at;
  return at ? (double)(__rdtsc() - start) / STEPS : 0;
}

static double atomic_cycles(void) {
  static _Alignas(64) _Atomic long counter;
  unsigned long long start = __rdtsc();
  for (int i = 0; i < STEPS; i++) atomic_fetch_add(&counter, 1);
  return (double)(__rdtsc() - start) / STEPS;
}

// Answers each odd value with the next even one.
static void *answer(void *unused) {
  for (long next = 1; next < 2L * STEPS; next += 2) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != next) {}
    atomic_store_explicit(&turn, next + 1, memory_order_release);
  }
  return unused;
}

// One way: the line goes to the other core and comes back in each step.
static double transfer_cycles(void) {
  pthread_t thread;
  // Begun where it stays: a spinning thread of a real-time class would let it off this CPU never.
  pthread_attr_t there;
  cpu_set_t set = only(other_cpu);
  pthread_attr_init(&there);
  pthread_attr_setaffinity_np(&there, sizeof set, &set);
  atomic_store(&turn, 0);
  if (pthread_create(&thread, &there, answer, NULL)) refuse(other_cpu);
  unsigned long long start = __rdtsc();
  for (long next = 1; next < 2L * STEPS; next += 2) {
    atomic_store_explicit(&turn, next, memory_order_release);
    while (atomic_load_explicit(&turn, memory_order_acquire) != next + 1) {}
  }
  double cycles = (double)(__rdtsc() - start) / STEPS / 2;
  pthread_join(thread, NULL);
  return cycles;
}

// Ticks of the time stamp counter in a second, as a tenth of a second shows.
static double tsc_hz(void) {
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  unsigned long long start = __rdtsc();
  double seconds;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec);
  } while (seconds < 0.1);
  return (double)(__rdtsc() - start) / seconds;
}

static double least(double (*measured)(void), int rounds) {
  double best = measured();
  while (--rounds > 0) {
    double again = measured();
    if (again < best) best = again;
  }
  return best;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s CPU OTHER_CPU\n", arguments[0]);
    return 2;
  }
  int cpu = atoi(arguments[1]);
  cpu_set_t set = only(cpu);
  if (sched_setaffinity(0, sizeof set, &set)) refuse(cpu);
  other_cpu = atoi(arguments[2]);
  printf("tsc_mhz %.1f\n", tsc_hz() / 1e6);
  printf("load %.1f\n", least(load_cycles, ROUNDS));
  printf("atomic %.1f\n", least(atomic_cycles, ROUNDS));
  printf("transfer %.1f\n", least(transfer_cycles, 3));
  return 0;
}
