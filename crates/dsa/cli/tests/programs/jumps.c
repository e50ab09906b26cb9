/* Handlers that never return: they jump behind sigsetjmp, as programs do that probe memory or the CPU. */

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static sigjmp_buf back;
static char *forbidden;

static void jump(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}

static void install(int signal, int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = jump;
  action.sa_flags = flags;
  sigaction(signal, &action, NULL);
}

static int is_blocked(int signal) {
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  return sigismember(&now, signal);
}

/* Faults at a depth of the stack; 1 if the handler has jumped. */
static int probe(int depth, int is_instruction) {
  volatile char used[2000];
  memset((char *)used, depth, sizeof used);
  if (depth > 0) return probe(depth - 1, is_instruction) + (used[0] != depth);
  if (sigsetjmp(back, 1)) return 1;
  if (is_instruction) __asm__ volatile("ud2");
  *forbidden = 1;
  return 0;
}

static void *run(void *unused) {
  int jumped = 0;
  /* Deeper, less deep, and so deep that what an earlier handler left is written over. */
  const int depths[] = {0, 8, 3, 40, 0, 1};
  for (unsigned at = 0; at < sizeof depths / sizeof *depths; at++) {
    jumped += probe(depths[at], 0) + probe(depths[at], 1);
    if (is_blocked(SIGSEGV) || is_blocked(SIGILL)) abort();
  }
  printf("%d\n", jumped);
  return unused;
}

int main(void) {
  forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  install(SIGSEGV, 0);
  install(SIGILL, 0);
  run(NULL);
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, NULL);
  install(SIGSEGV, SA_ONSTACK);
  install(SIGILL, SA_ONSTACK);
  run(NULL);
  return 0;
}
