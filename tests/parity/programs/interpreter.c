/* Calls 256 different functions in random order: the instructions themselves miss. */
#include "freestanding.h"

enum { CALLS = 3000, WORDS = 4096 };

static u64 memory[WORDS];

#define FOUR(what, n) what(n) what(n + 1) what(n + 2) what(n + 3)
#define SIXTEEN(what, n) FOUR(what, n) FOUR(what, n + 4) FOUR(what, n + 8) FOUR(what, n + 12)
#define SIXTY_FOUR(what, n) \
	SIXTEEN(what, n) SIXTEEN(what, n + 16) SIXTEEN(what, n + 32) SIXTEEN(what, n + 48)
#define ALL(what) \
	SIXTY_FOUR(what, 0) SIXTY_FOUR(what, 64) SIXTY_FOUR(what, 128) SIXTY_FOUR(what, 192)

/* The number is in each body, so that no two of them can be merged. */
#define OPERATION(n) \
	case n: \
		memory[(argument + (n)) % WORDS] += argument ^ (u64)(n) * 0x10001; \
		memory[(argument >> 20) % WORDS] ^= argument + (n); \
		break;

static int run(void)
{
	u64 done = 0;

	for (int i = 0; i < CALLS; i++) {
		u64 argument = random_number();

		switch (argument >> 56) {
			ALL(OPERATION)
		}
		done++;
	}
	return done != CALLS;
}
