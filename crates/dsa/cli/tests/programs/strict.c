/* A handler for once, as `signal` installs it in programs of one standard; then, if a queue is
 * named, a write of 64 bytes to its page, which the same signal is behind. */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;

static void catch(int number) {
  struct sigaction now;
  sigaction(number, NULL, &now);
  /* The action is the default one again before the handler runs, and the signal is not blocked. */
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  siglongjmp(back, now.sa_handler == SIG_DFL && !sigismember(&mask, number) ? 1 : 2);
}

int main(int count, char **words) {
  char *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | 0x20 /* anonymous */, -1, 0);
  signal(SIGBUS, catch);
  signal(SIGSEGV, catch);
  int jumped = sigsetjmp(back, 1);
  if (jumped == 0) *(volatile char *)forbidden = 1;
  if (jumped != 1) return 3;
  puts("caught");
  if (count < 2) return 0;
  int file = open(words[1], O_RDWR);
  void *page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return 4;
  static struct {
    _Alignas(64) unsigned char bytes[64];
  } noop;
  static _Alignas(32) volatile unsigned char record[32];
  uint64_t address = (uint64_t)record;
  noop.bytes[4] = 0x0c; /* record valid and requested */
  memcpy(noop.bytes + 8, &address, sizeof address);
  unsigned char retry;
  do {
    /* ENQCMD RAX, [RDX] */
    __asm__ volatile(".byte 0xf2, 0x0f, 0x38, 0xf8, 0x02; setz %0"
                     : "=r"(retry)
                     : "a"(page), "d"(&noop)
                     : "memory", "cc");
  } while (retry);
  while (record[0] == 0) {
  }
  puts("submitted");
  return record[0] == 1 ? 0 : 5;
}
