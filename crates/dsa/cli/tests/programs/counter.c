/*
 * Counts calls of memcpy and its like by size: another way than that of the preloaded library, to check it.
 * Counts what happens from main on, and writes "FUNCTION LEAST_BYTES CALLS BYTES" lines to the file that
 * COUNTER_FILE names, if COUNTER_PROGRAM names this program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COPY, MOVE, FILL, COMPARE, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"memcpy", "memmove", "memset", "memcmp"};
static unsigned long calls[FUNCTIONS][64], counted_bytes[FUNCTIONS][64];
static int counts;

static void count(int function, size_t bytes)
{
	if (!counts)
		return;
	int class = bytes ? 63 - __builtin_clzl(bytes) : 0;
	__atomic_fetch_add(&calls[function][class], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counted_bytes[function][class], bytes, __ATOMIC_RELAXED);
}

/* Loops of its own: the C library's functions have the same names. */
static void *move_bytes(void *to, const void *from, size_t bytes)
{
	if ((size_t)to - (size_t)from < bytes) {
		const char *last = (const char *)from + bytes - 1;
		char *end = (char *)to + bytes - 1;
		size_t left = bytes;
		__asm__ volatile("std; rep movsb; cld" : "+D"(end), "+S"(last), "+c"(left) : : "memory");
	} else {
		void *at = to;
		__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
	}
	return to;
}

static void *fill_bytes(void *to, int byte, size_t bytes)
{
	void *at = to;
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(byte) : "memory");
	return to;
}

static int compare_bytes(const void *first, const void *second, size_t bytes)
{
	const unsigned char *one = first, *other = second;
	for (size_t at = 0; at < bytes; at++)
		if (one[at] != other[at])
			return one[at] - other[at];
	return 0;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	count(COPY, bytes);
	return move_bytes(to, from, bytes);
}

void *memmove(void *to, const void *from, size_t bytes)
{
	count(MOVE, bytes);
	return move_bytes(to, from, bytes);
}

void *mempcpy(void *to, const void *from, size_t bytes)
{
	count(COPY, bytes);
	return (char *)move_bytes(to, from, bytes) + bytes;
}

void *__mempcpy(void *to, const void *from, size_t bytes)
{
	return mempcpy(to, from, bytes);
}

void *memset(void *to, int byte, size_t bytes)
{
	count(FILL, bytes);
	return fill_bytes(to, byte, bytes);
}

int memcmp(const void *first, const void *second, size_t bytes)
{
	count(COMPARE, bytes);
	return compare_bytes(first, second, bytes);
}

int bcmp(const void *first, const void *second, size_t bytes)
{
	return memcmp(first, second, bytes);
}

void *__memcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
	return bytes > room ? (abort(), to) : memcpy(to, from, bytes);
}

void *__memmove_chk(void *to, const void *from, size_t bytes, size_t room)
{
	return bytes > room ? (abort(), to) : memmove(to, from, bytes);
}

void *__memset_chk(void *to, int byte, size_t bytes, size_t room)
{
	return bytes > room ? (abort(), to) : memset(to, byte, bytes);
}

void *__mempcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
	return bytes > room ? (abort(), to) : mempcpy(to, from, bytes);
}

typedef int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
		     void (*)(void), void *);

int __libc_start_main(int (*main)(int, char **, char **), int number, char **arguments, void (*begin)(void),
		      void (*end)(void), void (*linker_end)(void), void *stack)
{
	start next = (start)dlsym(RTLD_NEXT, "__libc_start_main");
	const char *wanted = getenv("COUNTER_PROGRAM");
	counts = wanted && strcmp(wanted, program_invocation_short_name) == 0;
	return next(main, number, arguments, begin, end, linker_end, stack);
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("COUNTER_FILE");
	if (!counts || !path)
		return;
	counts = 0;
	int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	for (int function = 0; function < FUNCTIONS; function++)
		for (int class = 0; class < 64; class++)
			if (calls[function][class])
				dprintf(file, "%s %lu %lu %lu\n", names[function], 1UL << class,
					calls[function][class], counted_bytes[function][class]);
	close(file);
}
