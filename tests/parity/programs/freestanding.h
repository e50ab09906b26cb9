/* What the programs of this folder share: a start without a C library, the exit, random numbers.
 *
 * No instruction and no datum of these programs straddles a cache line: the assembler keeps
 * instructions within aligned bundles of 64 bytes, data are aligned to their size. Simulators
 * that treat straddling references differently must therefore agree on them exactly.
 */
typedef unsigned long u64;

__asm__(".bundle_align_mode 6");

static u64 random_state = 42;

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline u64 random_number(void)
{
	u64 z = (random_state += 0x9E3779B97F4A7C15UL);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;
	return z ^ (z >> 31);
}

/* Returns what is to be the exit code: 0 if the program computed what it should. */
static int run(void);

/* The kernel leaves the stack aligned to 16 bytes where a function expects a return address. */
__attribute__((force_align_arg_pointer, noreturn)) void _start(void)
{
	long exit_group = 231;

	__asm__ volatile("syscall" : : "a"(exit_group), "D"(run()) : "rcx", "r11", "memory");
	__builtin_unreachable();
}
