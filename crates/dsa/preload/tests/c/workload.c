/* Large calls through an allocator, in a constructor, in threads and in children; prints a checksum. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 200000, TURNS = 12 };

static unsigned long sum(const unsigned char *bytes, size_t count)
{
	unsigned long result = 5381;
	for (size_t at = 0; at < count; at++)
		result = result * 33 + bytes[at];
	return result;
}

static unsigned long work(unsigned seed)
{
	unsigned long result = seed;
	unsigned char *grown = NULL;
	size_t count = 0;
	for (int turn = 1; turn <= TURNS; turn++) {
		size_t more = 3000 + (seed * 7919u + turn * 104729u) % (MOST / TURNS);
		grown = realloc(grown, count + more);
		memset(grown + count, (int)(seed + turn), more);
		memmove(grown + 1, grown, count + more - 1);
		grown[0] = (unsigned char)turn;
		count += more;
		unsigned char *other = calloc(count, 1);
		memcpy(other, grown, count);
		other[count - 1] ^= (unsigned char)(turn & 1);
		result = result * 31 + (unsigned)(memcmp(other, grown, count) != 0);
		if (mempcpy(grown, other, count) != grown + count)
			abort();
		free(other);
	}
	result += sum(grown, count);
	free(grown);
	return result;
}

static unsigned long before_main;

__attribute__((constructor)) static void construct(void)
{
	before_main = work(99);
}

static void *in_thread(void *result)
{
	*(unsigned long *)result = work((unsigned)*(unsigned long *)result);
	return NULL;
}

int main(int count, char **arguments)
{
	unsigned long results[4] = {1, 2, 3, 4};
	pthread_t threads[4];
	if (count > 1 && strcmp(arguments[1], "overflow") == 0) {
		unsigned char *small = malloc(9999), *large = calloc(10000, 1);
		memcpy(small, large, (size_t)atoi(arguments[2]));
		printf("%d\n", small[0]);
		return 0;
	}
	printf("constructor %lx\nmain %lx\n", before_main, work(0));
	for (int number = 0; number < 4; number++)
		pthread_create(&threads[number], NULL, in_thread, &results[number]);
	for (int number = 0; number < 4; number++) {
		pthread_join(threads[number], NULL);
		printf("thread %lx\n", results[number]);
	}
	fflush(stdout);
	if (fork() == 0) {
		printf("child %lx\n", work(5));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	/* A child that shares this memory becomes another program. */
	if (vfork() == 0) {
		static unsigned char from[MOST], to[MOST];
		memcpy(to, from, sizeof(to));
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	int status = 1;
	wait(&status);
	printf("vfork %d\nmain %lx\n", status, work(6));
	printf("year %d\n", gmtime(&(time_t){time(NULL)})->tm_year / 1000);
	return 0;
}
