/* Sorts random numbers in place: scans from both ends, and a recursion on the stack. */
#include "freestanding.h"

enum { COUNT = 1000 };

static u64 numbers[COUNT];

static void quicksort(u64 *from, long count)
{
	while (count > 1) {
		u64 pivot = from[count / 2];
		long low = 0, high = count - 1;

		while (low <= high) {
			while (from[low] < pivot)
				low++;
			while (from[high] > pivot)
				high--;
			if (low <= high) {
				u64 swapped = from[low];

				from[low++] = from[high];
				from[high--] = swapped;
			}
		}
		quicksort(from, high + 1);
		from += low;
		count -= low;
	}
}

static int run(void)
{
	for (int i = 0; i < COUNT; i++)
		numbers[i] = random_number();
	quicksort(numbers, COUNT);
	for (int i = 1; i < COUNT; i++)
		if (numbers[i - 1] > numbers[i])
			return 1;
	return 0;
}
