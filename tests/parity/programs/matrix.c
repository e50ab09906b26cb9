/* Multiplies matrices the naive way: one of them is walked down its columns. */
#include "freestanding.h"

enum { N = 20 };

static u64 a[N][N], b[N][N], product[N][N];

static int run(void)
{
	u64 of_sums = 0, sum_of_product = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = random_number();
			b[i][j] = random_number();
		}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			for (int k = 0; k < N; k++)
				product[i][j] += a[i][k] * b[k][j];
	for (int k = 0; k < N; k++) {
		u64 column = 0, row = 0;

		for (int i = 0; i < N; i++) {
			column += a[i][k];
			row += b[k][i];
		}
		of_sums += column * row;
	}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			sum_of_product += product[i][j];
	return of_sums != sum_of_product;
}
