/* Finds queues as programs do that load libaccel-config by its name, and submits to a shared one.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct accfg_ctx;
struct accfg_device;
struct accfg_wq;

static void *library;

static void *function_named(const char *name) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(3);
  }
  return found;
}

#define CALL(result, name, ...) ((result (*)())function_named("accfg_" name))(__VA_ARGS__)

static void submit(const char *path) {
  int file = open(path, O_RDWR);
  void *page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (file < 0 || page == MAP_FAILED) {
    perror(path);
    exit(4);
  }
  static _Alignas(64) unsigned char noop[64];
  static _Alignas(32) volatile unsigned char record[32];
  uint64_t address = (uint64_t)record;
  noop[4] = 0x0c; /* record valid and requested */
  memcpy(noop + 8, &address, sizeof address);
  unsigned char retry;
  do {
    /* ENQCMD RAX, [RDX] */
    __asm__ volatile(".byte 0xf2, 0x0f, 0x38, 0xf8, 0x02; setz %0"
                     : "=r"(retry)
                     : "a"(page), "d"(noop)
                     : "memory", "cc");
  } while (retry);
  while (record[0] == 0) {
  }
  printf("status %d\n", record[0]);
}

int main(void) {
  struct accfg_ctx *ctx;
  library = dlopen("libaccel-config.so.1", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  if (CALL(int, "new", &ctx) != 0) return 5;
  struct accfg_device *device = CALL(struct accfg_device *, "device_get_first", ctx);
  for (; device != NULL; device = CALL(struct accfg_device *, "device_get_next", device)) {
    printf("%s state %d version %#x numa %d gen_cap %#llx\n",
           CALL(const char *, "device_get_devname", device), CALL(int, "device_get_state", device),
           CALL(unsigned, "device_get_version", device), CALL(int, "device_get_numa_node", device),
           CALL(unsigned long long, "device_get_gen_cap", device));
    struct accfg_wq *wq = CALL(struct accfg_wq *, "wq_get_first", device);
    for (; wq != NULL; wq = CALL(struct accfg_wq *, "wq_get_next", wq)) {
      int mode = CALL(int, "wq_get_mode", wq), state = CALL(int, "wq_get_state", wq);
      char path[64] = "";
      if (state != 1) continue;
      CALL(int, "wq_get_user_dev_path", wq, path, sizeof path);
      printf("%s mode %d type %d size %llu group %d name %s: %s\n",
             CALL(const char *, "wq_get_devname", wq), mode, CALL(int, "wq_get_type", wq),
             CALL(unsigned long long, "wq_get_size", wq), CALL(int, "wq_get_group_id", wq),
             CALL(const char *, "wq_get_type_name", wq), path);
      if (mode == 0) submit(path);
    }
  }
  CALL(struct accfg_ctx *, "unref", ctx);
  return 0;
}
