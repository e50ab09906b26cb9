// Jobs, sets of jobs, lists of operations and descriptors of the program's own, under way together.
#include "check.h"
#include <errno.h>
#include <stdalign.h>

enum { JOBS = 40, BYTES = 8192 };

#ifndef ROUNDS
#define ROUNDS 20
#endif

static unsigned char from[JOBS][BYTES], to[JOBS][BYTES];
static skd_client *client;

static void single_jobs(void) {
    skd_outcome outcome = skd_outcome_new();
    skd_operation copy = skd_copy_of(to[0], from[0], BYTES);
    skd_job *job = NULL;
    CHECK(skd_submit(client, &copy, path_here(), &job) == 0 && job != NULL);
    CHECK(skd_job_members(job) == 1);
    int polled;
    while ((polled = skd_job_poll(job, &outcome)) == -EAGAIN)
        ;
    CHECK(polled == 0 && is_done_here(&outcome, BYTES) && memcmp(to[0], from[0], BYTES) == 0);
    // The end can be asked for again.
    CHECK(skd_job_wait(job, &outcome) == 0 && skd_job_poll(job, NULL) == 0);
    CHECK(skd_job_member(job, 0, &outcome) == 0 && is_done_here(&outcome, BYTES));
    REFUSED(ENOENT, "no operation 1", skd_job_member(job, 1, NULL));
    CHECK(skd_job_free(job) == 0);

    CHECK(skd_submit(client, &copy, path_here(), &job) == 0);
    while ((polled = skd_job_wait_for(job, 1000, &outcome)) == -ETIMEDOUT)
        ;
    CHECK(polled == 0 && skd_job_free(job) == 0);
    CHECK(skd_job_free(NULL) == 0 && skd_job_abandon(NULL) == 0);
    CHECK(skd_submit(client, &copy, path_here(), &job) == 0);
    CHECK(skd_job_wait(job, NULL) == 0 && skd_job_abandon(job) == 0);
}

// Each end is there once, with its tag, also if jobs are more than a set can tell of at a time.
static void sets_of_jobs(void) {
    skd_set *set = NULL;
    CHECK(skd_set_create(&set) == 0 && skd_set_count(set) == 0);
    skd_end ends[7];
    CHECK(skd_set_wait(set, ends, 7) == 0 && skd_set_poll(set, ends, 7) == 0);
    REFUSED(EINVAL, "`count` is 0", skd_set_poll(set, ends, 0));
    for (int i = 0; i < JOBS; i++) {
        memset(to[i], 0, BYTES);
        skd_operation copy = skd_copy_of(to[i], from[i], BYTES - (uint64_t)i);
        skd_job *job = NULL;
        CHECK(skd_submit(client, &copy, path_here(), &job) == 0);
        CHECK(skd_set_add(set, job, (uint64_t)i) == 0);
    }
    CHECK(skd_set_count(set) == JOBS);
    int seen[JOBS] = {0}, left = JOBS;
    while (left > 0) {
        int found = left % 2 == 0 ? skd_set_wait(set, ends, 7)
                                  : skd_set_wait_for(set, UINT64_C(60000000000), ends, 7);
        CHECK(found > 0 && found <= 7);
        left -= found;
        for (int i = 0; i < found; i++) {
            CHECK(ends[i].error == 0 && ends[i].tag < JOBS);
            seen[ends[i].tag]++;
            CHECK(memcmp(to[ends[i].tag], from[ends[i].tag], BYTES - ends[i].tag) == 0);
            CHECK(skd_job_free(ends[i].job) == 0);
        }
    }
    for (int i = 0; i < JOBS; i++)
        CHECK(seen[i] == 1);
    CHECK(skd_set_free(set) == 0 && skd_set_free(NULL) == 0);
}

static void lists(void) {
    skd_batch *batch = NULL;
    skd_job *job = NULL;
    skd_outcome outcome = skd_outcome_new();
    CHECK(skd_batch_create(&batch) == 0);
    REFUSED(EINVAL, "no operations", skd_batch_submit(client, batch, SKD_AUTOMATIC, &job));
    skd_operation thrown = skd_copy_of(NULL, NULL, 0);
    CHECK(skd_batch_add(batch, &thrown) == 0 && skd_batch_count(batch) == 1);
    CHECK(skd_batch_clear(batch) == 0 && skd_batch_count(batch) == 0);
    // Each copy reads what the one before has written: fences keep them in order.
    put_pattern(from[0], BYTES);
    for (int i = 0; i < 5; i++) {
        skd_operation copy = skd_copy_of(to[i], i == 0 ? from[0] : to[i - 1], BYTES);
        CHECK((i == 0 ? skd_batch_add : skd_batch_add_behind_fence)(batch, &copy) == i);
    }
    skd_operation compare = skd_compare_of(to[4], from[1], BYTES);
    CHECK(skd_batch_add_behind_fence(batch, &compare) == 5);
    CHECK(skd_batch_submit(client, batch, path_here(), &job) == 0 && skd_batch_free(batch) == 0);
    CHECK(skd_batch_free(NULL) == 0 && skd_job_members(job) == 6);
    CHECK(skd_job_wait(job, &outcome) == 0 && is_done_here(&outcome, 6 * BYTES));
    CHECK(memcmp(to[4], from[0], BYTES) == 0);
    CHECK(skd_job_member(job, 5, &outcome) == 0 && outcome.answer == SKD_DIFFERS);
    CHECK(outcome.value == 0);
    REFUSED(ENOENT, "allowed: 0 to 5", skd_job_member(job, 6, &outcome));
    CHECK(skd_job_free(job) == 0);
}

// Where there is a queue: a descriptor as hardware has it, and what the device says of a wrong one.
static void descriptors(void) {
    alignas(64) unsigned char descriptor[64] = {0};
    alignas(32) unsigned char record[32];
    char text[200];
    uint64_t at = (uint64_t)(uintptr_t)record, address = (uint64_t)(uintptr_t)from[2];
    uint32_t size = 4096;
    descriptor[4] = 0x0c, descriptor[7] = SKD_COPY;
    memcpy(descriptor + 8, &at, 8);
    memcpy(descriptor + 16, &address, 8);
    address = (uint64_t)(uintptr_t)to[2];
    memcpy(descriptor + 24, &address, 8);
    memcpy(descriptor + 32, &size, 4);
    skd_job *job = NULL;
    if (path_here() != SKD_DEVICE) {
        REFUSED(ENOENT, "no queue does", skd_raw_submit(client, 0, descriptor, &job));
        return;
    }
    skd_outcome outcome = skd_outcome_new();
    memset(to[2], 0, BYTES);
    for (uint32_t queue = 0; queue < 2; queue++) {
        CHECK(skd_raw_submit(client, queue, descriptor, &job) == 0);
        CHECK(skd_job_wait(job, &outcome) == 0 && outcome.record[0] == 1);
        CHECK(outcome.device_bytes == 4096 && memcmp(to[2], from[2], 4096) == 0);
        CHECK(skd_job_free(job) == 0);
    }
    REFUSED(ENOENT, "allowed: 0 to 1", skd_raw_submit(client, 2, descriptor, &job));
    // Sizes of 0 are what a device refuses; it says so in the record.
    memset(descriptor + 32, 0, 4);
    CHECK(skd_raw_submit(client, 1, descriptor, &job) == 0);
    REFUSED(EBADMSG, "transfer size 0, bytes 32 to 35", skd_job_wait(job, &outcome));
    CHECK(outcome.error == -EBADMSG && skd_job_free(job) == 0);
    CHECK(skd_record_text(descriptor, record, text, sizeof text) > 40 && strstr(text, "0x13"));
}

// A dedicated queue is for one: the second client does without, and says why.
static void queues_of_others(void) {
    char why[200] = "";
    skd_client *second = NULL;
    if (path_here() != SKD_DEVICE)
        return;
    CHECK(skd_open(NULL, &second) == 0 && skd_queues(second) == 1);
    CHECK(skd_left_out(second, 0, why, sizeof why) > 20);
    CHECK(strstr(why, "wq0.0") != NULL && strstr(why, "another one has it open") != NULL);
    CHECK(skd_close(second) == 0);
}

// Sentences need no queue.
static void sentences(void) {
    unsigned char descriptor[64] = {0}, record[32] = {0x11};
    char text[8] = "xxxxxxx";
    descriptor[7] = SKD_COPY;
    CHECK(skd_record_text(descriptor, record, NULL, 0) > 20);
    CHECK(skd_record_text(descriptor, record, text, 4) > 20 && strcmp(text, "mem") == 0);
    CHECK(text[4] == 'x');
}

int main(void) {
    CHECK(skd_open(NULL, &client) == 0);
    for (int i = 0; i < JOBS; i++) {
        put_pattern(from[i], BYTES);
        memset(from[i], i, 8);
    }
    single_jobs();
    for (int round = 0; round < ROUNDS; round++)
        sets_of_jobs();
    lists();
    descriptors();
    queues_of_others();
    sentences();
    CHECK(skd_drain(client, UINT64_C(60000000000)) == 0 && skd_close(client) == 0);
    printf("jobs are right\n");
    return 0;
}
