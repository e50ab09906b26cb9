/* Loads the lines of a standard trace from an array of WINDOW_BYTES, LOADS of them, in the order that
 * RANDOM chooses. For simulators that watch programs: the loop touches no other memory.
 */
#include "freestanding.h"

enum { LINE_BYTES = 64 };

static volatile unsigned char window[WINDOW_BYTES] __attribute__((aligned(WINDOW_BYTES)));

static int run(void)
{
	u64 state = random_state;

	for (u64 i = 0; i != LOADS; i++) {
		u64 z = i;

		if (RANDOM) {
			z = (state += 0x9E3779B97F4A7C15UL);
			z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;
			z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;
			z ^= z >> 31;
		}
		(void)window[(z & (WINDOW_BYTES / LINE_BYTES - 1)) * LINE_BYTES];
	}
	return 0;
}
