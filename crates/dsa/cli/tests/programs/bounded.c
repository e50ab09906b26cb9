// QUEUE BYTES MEMBERS TURNS LOOKS: copies, or batches of comparisons with a pattern if there are members, whose
// records the program looks at so often with PAUSE in between, as in Intel's guide. Prints how many it gave up.
#include "descriptor.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_MEMBERS = 1024 };

static struct descriptor list[MOST_MEMBERS], whole;
static struct record records[MOST_MEMBERS], last;

int main(int count, char **words) {
    int file = count == 6 ? open(words[1], O_RDWR) : -1;
    uint32_t bytes = atoi(words[2]), members = atoi(words[3]), each = members ? members : 1;
    void *portal = mmap(0, 4096, PROT_WRITE, MAP_SHARED, file, 0);
    char *from = calloc(each, bytes), *to = malloc((size_t)each * bytes);
    if (file < 0 || portal == MAP_FAILED || !from || !to) return 2;
    int given_up = 0, wrong = 0;
    for (int turn = 0; turn < atoi(words[4]); turn++) {
        for (uint32_t at = 0; at < each; at++) {
            uint64_t second = members ? 0 : (uintptr_t)to;
            list[at] = (struct descriptor){.flags = (members ? COMPARE_PATTERN : MOVE) << 24 | RECORDED,
                                           .record = (uintptr_t)&records[at], .second = second,
                                           .first = (uintptr_t)from + (size_t)at * bytes, .bytes = bytes};
            records[at].status = 0;
        }
        whole = (struct descriptor){.flags = BATCH << 24 | RECORDED, .record = (uintptr_t)&last,
                                    .first = (uintptr_t)list, .bytes = members};
        last.status = 0;
        struct descriptor *submitted = members ? &whole : list;
        struct record *record = members ? &last : records;
        while (enqueue(portal, submitted)) {
        }
        for (int looks = atoi(words[5]); record->status == 0 && looks > 0; looks--) asm volatile("pause");
        given_up += record->status == 0;
        while (record->status == 0) sched_yield();
        wrong += record->status != 1;
    }
    printf("gave up %d, wrong %d\n", given_up, wrong);
    return 0;
}
