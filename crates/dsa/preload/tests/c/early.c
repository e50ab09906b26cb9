/* A library whose constructor runs before that of the library under test: its calls are done by plain loops. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

static void expect(int is_right)
{
	if (!is_right)
		abort();
}

__attribute__((constructor)) static void construct(void)
{
	enum { BYTES = 100000 };
	static unsigned char one[BYTES + 1], other[BYTES + 1];
	for (int at = 0; at < BYTES; at++)
		one[at] = (unsigned char)(at * 131 + at / 256);
	expect(memcpy(other, one, BYTES) == other);
	expect(memcmp(one, other, BYTES) == 0 && bcmp(one, other, BYTES) == 0);
	expect(memcmp(one, other, 0) == 0 && memcpy(other, one, 0) == other);
	expect(memmove(other + 1, other, BYTES) == other + 1 && other[0] == one[0]);
	for (int at = 0; at < BYTES; at++)
		expect(other[at + 1] == one[at]);
	expect(memmove(other, other + 1, BYTES) == other);
	expect(memcmp(one, other, BYTES) == 0);
	other[BYTES - 1] = (unsigned char)(one[BYTES - 1] + 1);
	int sign = one[BYTES - 1] < other[BYTES - 1] ? -1 : 1;
	expect(memcmp(one, other, BYTES) * sign > 0 && memcmp(other, one, BYTES) * sign < 0);
	expect(mempcpy(other, one, BYTES) == other + BYTES && other[BYTES - 1] == one[BYTES - 1]);
	expect(memset(other, 0x1207, BYTES) == other && other[0] == 7 && other[BYTES - 1] == 7);
}
