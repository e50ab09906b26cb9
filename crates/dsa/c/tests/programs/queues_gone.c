// What becomes of operations whose queues are disabled: below `skipline-dsa run`, by its own attributes.
#include "check.h"
#include <errno.h>
#include <stdalign.h>

enum { BYTES = 8192 };

static alignas(4096) unsigned char from[BYTES], to[BYTES];

static skd_client *opened(const char *queues) {
    skd_client *client = NULL;
    skd_options options = skd_options_new();
    options.queues = queues;
    CHECK(skd_open(&options, &client) == 0 && skd_queues(client) == 1);
    return client;
}

static void disable(const char *queue) {
    FILE *unbind = fopen("/sys/bus/dsa/drivers/user/unbind", "w");
    CHECK(unbind != NULL && fputs(queue, unbind) >= 0 && fclose(unbind) == 0);
}

static void copies_by_the_cpu(const skd_client *client, int path) {
    skd_outcome outcome = skd_outcome_new();
    skd_operation copy = skd_copy_of(to, from, BYTES);
    memset(to, 0, BYTES);
    CHECK(skd_run(client, &copy, path, &outcome) == 0 && memcmp(to, from, BYTES) == 0);
    CHECK(outcome.cpu_bytes == BYTES && outcome.device_bytes == 0);
}

// A posted write to a queue that has gone is lost, without an answer.
static void a_dedicated_queue(void) {
    skd_client *client = opened("wq0.0");
    skd_job *job = NULL;
    skd_queue queue = skd_queue_new();
    skd_statistics statistics = skd_statistics_new();
    alignas(64) unsigned char descriptor[64] = {0};
    alignas(32) unsigned char record[32];
    uint64_t at = (uint64_t)(uintptr_t)record;
    descriptor[4] = 0x0c;
    memcpy(descriptor + 8, &at, 8);
    disable("wq0.0");
    CHECK(skd_queue_of(client, 0, &queue) == 0 && queue.is_enabled == 0);
    CHECK(skd_raw_submit(client, 0, descriptor, &job) == 0);
    REFUSED(ENODEV, "wq0.0 was disabled before the descriptor ended", skd_job_wait(job, NULL));
    CHECK(skd_job_free(job) == 0);
    copies_by_the_cpu(client, SKD_DEVICE);
    copies_by_the_cpu(client, SKD_AUTOMATIC);
    CHECK(skd_get_statistics(client, &statistics) == 0);
    CHECK(statistics.reasons[SKD_LOST].count == 2);
    CHECK(skd_drain(client, SKD_FOREVER) == 0 && skd_close(client) == 0);
}

// A shared queue that has gone answers as a full one does.
static void a_shared_queue(void) {
    skd_client *client = opened("wq0.1");
    skd_job *job = NULL;
    alignas(64) unsigned char descriptor[64] = {0};
    alignas(32) unsigned char record[32];
    uint64_t at = (uint64_t)(uintptr_t)record;
    descriptor[4] = 0x0c;
    memcpy(descriptor + 8, &at, 8);
    disable("wq0.1");
    REFUSED(ENODEV, "wq0.1 is disabled", skd_raw_submit(client, 0, descriptor, &job));
    copies_by_the_cpu(client, SKD_AUTOMATIC);
    copies_by_the_cpu(client, SKD_DEVICE);
    CHECK(skd_drain(client, SKD_FOREVER) == 0 && skd_close(client) == 0);
}

int main(void) {
    put_pattern(from, BYTES);
    a_dedicated_queue();
    a_shared_queue();
    printf("queues that go are told\n");
    return 0;
}
