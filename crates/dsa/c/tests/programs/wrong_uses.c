// Each wrong use has a defined answer, and a sentence; none of them is a crash.
#include "check.h"
#include <errno.h>
#include <stdalign.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8192 };

static alignas(4096) unsigned char from[BYTES], to[BYTES];
static skd_client *client;
static skd_operation copy;

static skd_client *opened(void) {
    skd_client *one = NULL;
    CHECK(skd_open(NULL, &one) == 0);
    return one;
}

static void handles(void) {
    skd_client *freed = opened();
    skd_job *job = NULL;
    skd_set *set = NULL;
    skd_batch *batch = NULL;
    CHECK(skd_submit(client, &copy, path_here(), &job) == 0 && skd_job_wait(job, NULL) == 0);
    CHECK(skd_set_create(&set) == 0 && skd_batch_create(&batch) == 0);
    CHECK(skd_close(freed) == 0);
    REFUSED(EBADF, "`client` is not a skd_client", skd_close(freed));
    REFUSED(EBADF, "given back", skd_copy(freed, to, from, 1));
    CHECK(skd_queues(freed) == -EBADF && skd_drain(freed, 0) == -EBADF);
    // Another one has its slot now, and not its handle.
    skd_client *again = opened();
    CHECK(again != freed && skd_queues(freed) == -EBADF && skd_close(again) == 0);

    // Handles of other kinds, and numbers that are not handles.
    REFUSED(EBADF, "is a skd_job, and not a skd_client", skd_copy((skd_client *)job, to, from, 1));
    REFUSED(EBADF, "is a skd_client, and not a skd_job", skd_job_wait((skd_job *)client, NULL));
    REFUSED(EBADF, "is not a skd_job", skd_job_free((skd_job *)(void *)from));
    REFUSED(EBADF, "is a skd_batch", skd_set_add((skd_set *)batch, job, 1));
    REFUSED(EBADF, "is not a skd_batch", skd_batch_count((skd_batch *)(void *)&client));
    REFUSED(EBADF, "is a skd_set", skd_set_add(set, (skd_job *)set, 1));

    // A job that was given back while a set has it.
    skd_end end;
    CHECK(skd_set_add(set, job, 5) == 0 && skd_job_free(job) == 0);
    CHECK(skd_set_poll(set, &end, 1) == 1 && end.tag == 5 && end.error == -EBADF);
    CHECK(skd_job_poll(job, NULL) == -EBADF && skd_job_free(job) == -EBADF);
    CHECK(skd_job_abandon(job) == -EBADF && skd_job_members(job) == -EBADF);
    CHECK(skd_set_free(set) == 0 && skd_set_free(set) == -EBADF && skd_set_count(set) == -EBADF);
    CHECK(skd_batch_free(batch) == 0 && skd_batch_free(batch) == -EBADF);
    CHECK(skd_batch_clear(batch) == -EBADF && skd_batch_add(batch, &copy) == -EBADF);
}

static void null_pointers(void) {
    uint32_t crc;
    skd_job *job = NULL;
    REFUSED(EINVAL, "`client` is NULL", skd_open(NULL, NULL));
    REFUSED(EINVAL, "`client` is NULL", skd_copy(NULL, to, from, 1));
    REFUSED(EINVAL, "`destination` is NULL", skd_copy(client, NULL, from, 1));
    REFUSED(EINVAL, "`source` is NULL", skd_copy(client, to, NULL, 1));
    REFUSED(EINVAL, "`crc` is NULL", skd_crc32c(client, 0, from, 1, NULL));
    REFUSED(EINVAL, "`source` is NULL", skd_crc32c(client, 0, NULL, 1, &crc));
    REFUSED(EINVAL, "`operation` is NULL", skd_run(client, NULL, SKD_CPU, NULL));
    REFUSED(EINVAL, "`job` is NULL", skd_submit(client, &copy, SKD_CPU, NULL));
    REFUSED(EINVAL, "`job` is NULL", skd_job_poll(NULL, NULL));
    REFUSED(EINVAL, "`ends` is NULL", skd_set_wait(NULL, NULL, 1));
    REFUSED(EINVAL, "`queue` is NULL", skd_queue_of(client, 0, NULL));
    REFUSED(EINVAL, "`statistics` is NULL", skd_get_statistics(client, NULL));
    REFUSED(EINVAL, "`descriptor` is NULL", skd_raw_submit(client, 0, NULL, &job));
    REFUSED(EINVAL, "`record` is NULL", skd_record_text(from, NULL, NULL, 0));
    skd_operation half = skd_dualcast_of(to, NULL, from, 64);
    REFUSED(EINVAL, "`destination2` is NULL", skd_run(client, &half, SKD_CPU, NULL));
    CHECK(skd_close(NULL) == 0);
}

static void arguments(void) {
    skd_operation wrong = copy;
    skd_job *job = NULL;
    wrong.bytes = 0;
    REFUSED(EINVAL, "the size is 0", skd_run(client, &wrong, SKD_CPU, NULL));
    REFUSED(EINVAL, "the size is 0", skd_submit(client, &wrong, SKD_CPU, &job));
    wrong.bytes = UINT64_MAX;
    REFUSED(EINVAL, "passes the end", skd_run(client, &wrong, SKD_AUTOMATIC, NULL));
    wrong = copy, wrong.opcode = 99;
    REFUSED(EINVAL, "code 99", skd_run(client, &wrong, SKD_CPU, NULL));
    wrong = copy, wrong.flags = 1u << 20;
    REFUSED(EINVAL, "unknown flags 0x100000", skd_run(client, &wrong, SKD_CPU, NULL));
    wrong = copy, wrong.reserved2 = 1;
    REFUSED(EINVAL, "reserved", skd_run(client, &wrong, SKD_CPU, NULL));
    REFUSED(EINVAL, "`path` is 7", skd_run(client, &copy, 7, NULL));
    skd_tags tags = {0, 0, 0, 0, {0, 0, 0}};
    wrong = skd_dif_of(SKD_DIF_INSERT, to, from, 513, 0, tags);
    REFUSED(EINVAL, "multiple of 512", skd_run(client, &wrong, SKD_CPU, NULL));
    wrong = skd_create_delta_of(to, 80, from + 1, from + 9, 64);
    REFUSED(EBADMSG, "multiples of 8", skd_run(client, &wrong, SKD_CPU, NULL));
    if (path_here() == SKD_CPU) {
        REFUSED(ENODEV, "no work queue is open", skd_run(client, &copy, SKD_DEVICE, NULL));
        REFUSED(ENODEV, "no work queue is open", skd_submit(client, &copy, SKD_DEVICE, &job));
    }
}

static void versions_of_structures(void) {
    skd_client *one = NULL;
    skd_options options = skd_options_new();
    skd_outcome outcome = skd_outcome_new();
    skd_operation operation = copy;
    options.size = 8;
    REFUSED(EINVAL, "states a size of 8 bytes, and skd_options", skd_open(&options, &one));
    options = skd_options_new(), options.submission = 3;
    REFUSED(EINVAL, "submission is 3", skd_open(&options, &one));
    options = skd_options_new(), options.wait = 9;
    REFUSED(EINVAL, "wait is 9", skd_open(&options, &one));
    options = skd_options_new(), options.flags = 64;
    REFUSED(EINVAL, "flags is 64", skd_open(&options, &one));
    options = skd_options_new(), options.queues = "wq7.7";
    REFUSED(ENODEV, "wq7.7: no such work queue", skd_open(&options, &one));
    options = skd_options_new(), options.thresholds_file = "/nowhere/thresholds.toml";
    REFUSED(EINVAL, "/nowhere/thresholds.toml", skd_open(&options, &one));
    operation.size += 8;
    REFUSED(EINVAL, "another version", skd_run(client, &operation, SKD_CPU, &outcome));
    outcome.size = 0;
    memset(to, 0, 64);
    REFUSED(EINVAL, "skd_outcome", skd_run(client, &copy, SKD_CPU, &outcome));
    // Refused before anything is done.
    CHECK(to[0] == 0 && from[0] != 0);
    skd_queue queue = skd_queue_new();
    queue.size = 1;
    REFUSED(EINVAL, "skd_queue", skd_queue_of_system(0, &queue));
    skd_statistics statistics = skd_statistics_new();
    statistics.size--;
    REFUSED(EINVAL, "skd_statistics", skd_get_statistics(client, &statistics));
}

#ifndef WITHOUT_FOREIGN_MEMORY
// Memory that is not mapped, or may not be written: an answer with its address, by device and CPU.
static void foreign_memory(void) {
    char address[40];
    unsigned char *hole = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(hole != MAP_FAILED);
    snprintf(address, sizeof address, "%#lx cannot be read", (unsigned long)(uintptr_t)hole);
    skd_operation read = skd_copy_of(to, hole, BYTES);
    skd_outcome outcome = skd_outcome_new();
    REFUSED(EFAULT, address, skd_run(client, &read, path_here(), &outcome));
    CHECK(outcome.error == -EFAULT);
    skd_job *job = NULL;
    CHECK(skd_submit(client, &read, path_here(), &job) == 0);
    REFUSED(EFAULT, address, skd_job_wait(job, NULL));
    CHECK(skd_job_free(job) == 0);
    CHECK(mprotect(hole, BYTES, PROT_READ) == 0);
    snprintf(address, sizeof address, "%#lx cannot be written", (unsigned long)(uintptr_t)hole);
    skd_operation write = skd_copy_of(hole, from, BYTES);
    REFUSED(EFAULT, address, skd_run(client, &write, path_here(), NULL));
    REFUSED(EFAULT, address, skd_fill(client, hole, 1, BYTES));
    // In a list the others are done.
    skd_batch *batch = NULL;
    CHECK(skd_batch_create(&batch) == 0 && skd_batch_add(batch, &copy) == 0);
    CHECK(skd_batch_add(batch, &write) == 1 && skd_batch_add(batch, &copy) == 2);
    CHECK(skd_batch_submit(client, batch, path_here(), &job) == 0);
    REFUSED(EFAULT, "member 1 of the batch", skd_job_wait(job, NULL));
    CHECK(skd_job_member(job, 0, NULL) == 0 && skd_job_member(job, 2, NULL) == 0);
    REFUSED(EFAULT, address, skd_job_member(job, 1, &outcome));
    CHECK(skd_job_free(job) == 0 && skd_batch_free(batch) == 0 && munmap(hole, BYTES) == 0);
}
#endif

static void records(void) {
    alignas(64) unsigned char descriptor[64] = {0}, record[64];
    skd_job *job = NULL;
    if (path_here() != SKD_DEVICE)
        return;
    uint64_t at = (uint64_t)(uintptr_t)record + 8;
    memcpy(descriptor + 8, &at, 8);
    REFUSED(EINVAL, "flags 2 and 3", skd_raw_submit(client, 0, descriptor, &job));
    descriptor[4] = 0x0c;
    REFUSED(EINVAL, "not aligned to 32 bytes", skd_raw_submit(client, 0, descriptor, &job));
    at = 4096;
    memcpy(descriptor + 8, &at, 8);
    REFUSED(EFAULT, "record at 0x1000", skd_raw_submit(client, 0, descriptor, &job));
    descriptor[0] = 1;
    REFUSED(EINVAL, "PASID", skd_raw_submit(client, 0, descriptor, &job));
}

// A child has no queue, and no jobs of its parent; the CPU does what it asks for.
static void forks(void) {
    skd_job *job = NULL;
    skd_set *set = NULL;
    skd_operation large = skd_copy_of(to, from, BYTES);
    CHECK(skd_submit(client, &large, path_here(), &job) == 0 && skd_set_create(&set) == 0);
    CHECK(skd_set_add(set, job, 1) == 0);
    // One that was not looked at: the child cannot know its end.
    skd_job *unseen = NULL;
    CHECK(skd_submit(client, &large, path_here(), &unseen) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        skd_statistics statistics = skd_statistics_new();
        skd_job *own = NULL;
        skd_end end;
        int ended = skd_job_wait(job, NULL);
        CHECK(ended == 0 || ended == -ECHILD);
        CHECK(skd_set_wait(set, &end, 1) == 1 && end.error == ended);
        CHECK(skd_job_free(job) == 0 && skd_set_free(set) == 0);
        if (path_here() == SKD_DEVICE) {
            REFUSED(ECHILD, "belongs to the parent", skd_job_wait(unseen, NULL));
            CHECK(skd_job_free(unseen) == 0);
            REFUSED(ENODEV, "came of a fork", skd_run(client, &large, SKD_DEVICE, NULL));
            REFUSED(ENODEV, "came of a fork", skd_submit(client, &large, SKD_DEVICE, &own));
            CHECK(skd_drain(client, 0) == -ECHILD);
            alignas(64) unsigned char descriptor[64] = {0};
            REFUSED(ECHILD, "came of a fork", skd_raw_submit(client, 0, descriptor, &own));
        }
        CHECK(skd_submit(client, &large, SKD_AUTOMATIC, &own) == 0);
        CHECK(skd_job_wait(own, NULL) == 0 && skd_job_free(own) == 0);
        CHECK(skd_copy(client, to, from, BYTES) == 0 && memcmp(to, from, BYTES) == 0);
        CHECK(skd_get_statistics(client, &statistics) == 0);
        CHECK(path_here() == SKD_CPU || statistics.reasons[SKD_FORKED].count == 2);
        CHECK(skd_close(client) == 0);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(skd_job_wait(job, NULL) == 0 && skd_job_free(job) == 0 && skd_set_free(set) == 0);
    CHECK(skd_job_wait(unseen, NULL) == 0 && skd_job_free(unseen) == 0);
    CHECK(skd_copy(client, to, from, BYTES) == 0);
}

int main(void) {
    CHECK(skd_open(NULL, &client) == 0);
    put_pattern(from, BYTES);
    copy = skd_copy_of(to, from, 4096);
    handles();
    null_pointers();
    arguments();
    versions_of_structures();
#ifndef WITHOUT_FOREIGN_MEMORY
    foreign_memory();
#endif
    records();
    forks();
    CHECK(skd_close(client) == 0);
    printf("wrong uses are refused\n");
    return 0;
}
