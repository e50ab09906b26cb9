/* copies COUNT BYTES [CODE]: copies so many times between two buffers, prints a checksum, ends with a code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
	int copies = atoi(arguments[1]);
	size_t bytes = (size_t)atol(arguments[2]);
	char *from = malloc(bytes), *to = malloc(bytes);
	if (!from || !to)
		return 100;
	for (size_t at = 0; at < bytes; at++)
		from[at] = to[at] = (char)at;
	unsigned long sum = 0;
	for (int turn = 0; turn < copies; turn++) {
		from[0] = (char)turn;
		memcpy(to, from, bytes);
		sum += (unsigned char)to[0];
	}
	printf("%lu\n", sum);
	return count > 3 ? atoi(arguments[3]) : 0;
}
