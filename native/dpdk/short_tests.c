// Preloaded, it lets DPDK's own performance tests end ten times sooner: they run for so many of these
// seconds, and divide by them. Rates that they print are a tenth of the true ones.

#include <dlfcn.h>
#include <stdint.h>

uint64_t rte_get_tsc_hz(void);

uint64_t rte_get_tsc_hz(void) {
  static uint64_t (*real)(void);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "rte_get_tsc_hz");
  return real() / 10;
}
