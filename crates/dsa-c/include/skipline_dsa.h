/*
 * libskipline_dsa: copies, fills, comparisons, CRCs, deltas and protection information by a data
 * streaming accelerator (DSA) where that pays, else by the CPU, with the same results. See
 * skipline_dsa(3).
 *
 * - Functions return 0 or a count, or a negative errno. A pointer that must not be NULL and is gives
 *   -EINVAL, -ENOTRECOVERABLE is a fault of the library itself. skd_error_text() says why the last
 *   function that failed in this thread did.
 * - Handles (skd_client, skd_job, skd_set, skd_batch) are numbers that look like pointers. One that
 *   was given back, or never was one, gives -EBADF, and one that another thread is using -EBUSY.
 * - Structures begin with their size, which the functions skd_..._new() set. One of another size is
 *   refused with -EINVAL: the program was built against another version.
 * - The library never prints, never ends the process, and starts no threads. It handles SIGSEGV and
 *   SIGBUS, to tell memory that cannot be accessed, and passes on what is not its own.
 * - For C++ there is skipline_dsa.hpp.
 */

#ifndef SKIPLINE_DSA_H
#define SKIPLINE_DSA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Descriptors are submitted by an instruction where processor and system have it, else by write(2).
#define SKD_SUBMIT_AUTOMATICALLY 0

// By MOVDIR64B or ENQCMD, also if CPUID does not name them.
#define SKD_SUBMIT_BY_INSTRUCTION 1

// By write(2).
#define SKD_SUBMIT_BY_WRITE 2

// A thread that waits looks again and again, and lets other threads have the CPU after a while.
#define SKD_WAIT_POLL 0

// It sleeps in UMWAIT where the processor can.
#define SKD_WAIT_LINE 1

// Flag of `skd_options`: SKIPLINE_DSA_QUEUES and SKIPLINE_DSA_THRESHOLDS are not looked at.
#define SKD_NO_ENVIRONMENT 1

// Flag of `skd_options`: `synchronous_bytes` and `asynchronous_bytes` hold for all operations.
#define SKD_THRESHOLDS_GIVEN 2

// In place of a time limit: none.
#define SKD_FOREVER UINT64_MAX

// Nothing.
#define SKD_NO_OP 0

// Waits for what was submitted to one queue before; skd_drain() does so for all.
#define SKD_DRAIN 2

// Copies `bytes` from `source` to `destination`, which may overlap.
#define SKD_COPY 3

// Fills `destination` with `pattern`, the least significant byte first; with SKD_PATTERN_16 of 16
// bytes, whose second half is `pattern_high`.
#define SKD_FILL 4

// Finds the first byte in which `source` and `source2` differ.
#define SKD_COMPARE 5

// Finds the first byte in which `source` differs from `pattern`, of eight bytes.
#define SKD_COMPARE_PATTERN 6

// Records at `destination`, in `record_bytes` at most, in what `source2` differs from `source`.
// Addresses and `bytes` are multiples of 8, `record_bytes` is at least 80, `bytes` at most 524288.
#define SKD_CREATE_DELTA 7

// Writes the differences of a record of `record_bytes` at `source` over `destination`, of `bytes`.
#define SKD_APPLY_DELTA 8

// Copies from `source` to `destination` and `destination2`, whose addresses are equal in their lowest
// 12 bits.
#define SKD_DUALCAST 9

// Loads the translations of `source` (version 2 of the hardware).
#define SKD_FETCH_TRANSLATIONS 10

// Computes the CRC of `source` behind bytes whose CRC is `seed`; 0: of none. CRC-32C unless flags ask
// for another one.
#define SKD_CRC 16

// Copies from `source` to `destination`, and computes the CRC.
#define SKD_COPY_CRC 17

// Checks protection information (T10 DIF) behind each block of `source`, by `source_tags`. `bytes` are
// those of the source, protection information included, here and below.
#define SKD_DIF_CHECK 18

// Copies blocks, and adds protection information by `destination_tags`.
#define SKD_DIF_INSERT 19

// Checks protection information by `source_tags`, and copies blocks without it.
#define SKD_DIF_STRIP 20

// Checks protection information by `source_tags`, and copies blocks with new one by
// `destination_tags`.
#define SKD_DIF_UPDATE 21

// Writes protection information of the blocks of `source` to `destination`, apart from them (version 2
// of the hardware).
#define SKD_DIX_GENERATE 23

// Writes the lines of `source` back to memory, and out of the caches.
#define SKD_CACHE_FLUSH 32

// Flag of `skd_operation`: what it writes goes to the last-level cache, and not to memory.
#define SKD_TO_CACHE 1

// The pattern of SKD_FILL has 16 bytes (version 2 of the hardware).
#define SKD_PATTERN_16 2

// The CRC has 64 bits, with the polynomial of NVMe (version 2 of the hardware).
#define SKD_CRC_64 4

// Seed and result of the CRC are neither inverted nor reflected.
#define SKD_CRC_BYPASS_INVERSION 8

// Data is not reflected for the CRC.
#define SKD_CRC_BYPASS_REFLECTION 16

// Bit of `dif_format` beside the block: the guard begins with 0xffff, and not with 0.
#define SKD_DIF_SEED_ONES 4

// The guard is inverted.
#define SKD_DIF_INVERT_GUARD 8

// To a device from the threshold on and where that cannot do harm, else to the CPU.
#define SKD_AUTOMATIC 0

// To a device, whatever the size; -ENODEV without a queue for it. What the device fails at is done by
// the CPU all the same.
#define SKD_DEVICE 1

// To the CPU.
#define SKD_CPU 2

// An operation is done; `value` is 0.
#define SKD_DONE 0

// Ranges, or range and pattern, are equal.
#define SKD_EQUAL 1

// They differ; `value` is the offset of the first byte that does.
#define SKD_DIFFERS 2

// `value` is the CRC, which is the seed of one that goes on behind.
#define SKD_CRC_VALUE 3

// `value` is the size of the record of differences; 0: there is no difference.
#define SKD_DELTA 4

// As SKD_DELTA; the record had no room for all differences.
#define SKD_DELTA_CUT 5

// Protection information is wrong: `dif_status` says what, and `value` is the offset of the block.
#define SKD_PROTECTION 6

// A queue of one process, by posted writes.
#define SKD_DEDICATED 0

// A queue of all processes, by ENQCMD.
#define SKD_SHARED 1

// Codes of operations go from 0 to this less one.
#define SKD_OPERATIONS 33

// Reasons go from 0 to this less one.
#define SKD_REASONS 11

// Why the CPU did an operation: the caller asked for the CPU.
#define SKD_ASKED 0

// It was smaller than the threshold.
#define SKD_SMALL 1

// There is no queue.
#define SKD_NO_QUEUE 2

// No queue takes the operation.
#define SKD_UNSUPPORTED 3

// The device refused the descriptor.
#define SKD_REFUSED 4

// Source and destination overlap, which a device could not repeat if it failed.
#define SKD_OVERLAP 5

// All queues were full.
#define SKD_FULL 6

// The process came of a fork, and has no portal.
#define SKD_FORKED 7

// The device found a page absent that is there, again and again.
#define SKD_FAULT 8

// The device reported a hardware error.
#define SKD_HARDWARE 9

// The descriptor was lost: its queue or device has gone, or had no room for it.
#define SKD_LOST 10

// A list that is being put together. Members run in any order, but for fences.
typedef struct skd_batch skd_batch;

// Queues, thresholds and statistics together. Any number of threads may use one.
typedef struct skd_client skd_client;

// What was begun. Its memory is the device's until it has ended.
typedef struct skd_job skd_job;

// Jobs, each with a number of the caller's.
typedef struct skd_set skd_set;

// Tags of protection information, and which of them are fixed, checked or passed through: the flags of
// section 8.3.14 of Intel's specification of DSA.
typedef struct skd_tags {
    // Reference tag of the first block.
    uint32_t reference;
    // Application tag of the first block.
    uint16_t application;
    // Bits of the application tag that do not count.
    uint16_t mask;
    // Flags: of a source 0x80 reference tag fixed, 0x40 not checked, 0x20 guard not checked, 0x10
    // application tag incrementing, 0x08, 0x04, 0x02 blocks whose tags are all ones are not checked;
    // of a destination 0x80, 0x10 as those, 0x40, 0x20, 0x08 reference tag, guard, application tag
    // passed through.
    uint8_t flags;
    // 0.
    uint8_t reserved[3];
} skd_tags;

// An operation. Made by skd_operation_of() and its relatives; what an operation does not use is not
// looked at.
typedef struct skd_operation {
    // Bytes of this structure.
    uint32_t size;
    // Which operation: SKD_COPY and others.
    uint32_t opcode;
    // SKD_TO_CACHE and others.
    uint32_t flags;
    // Block of DIF operations: 0 512 B, 1 520 B, 2 4096 B, 3 4104 B; and SKD_DIF_SEED_ONES,
    // SKD_DIF_INVERT_GUARD.
    uint8_t dif_format;
    // 0.
    uint8_t reserved[3];
    // What is read.
    const void *source;
    // What is read as well.
    const void *source2;
    // What is written.
    void *destination;
    // What is written as well.
    void *destination2;
    // Size.
    uint64_t bytes;
    // Pattern, or its first half.
    uint64_t pattern;
    // The second half of a pattern of 16 bytes.
    uint64_t pattern_high;
    // CRC of what is before.
    uint64_t seed;
    // Bytes of a record of differences.
    uint32_t record_bytes;
    // Tags of a source with protection information.
    struct skd_tags source_tags;
    // Tags of a destination with protection information.
    struct skd_tags destination_tags;
    // 0.
    uint32_t reserved2;
} skd_operation;

// What a client is made of. Made by skd_options_new(), which sets the size and 0 for all others.
typedef struct skd_options {
    // Bytes of this structure.
    uint32_t size;
    // SKD_NO_ENVIRONMENT, SKD_THRESHOLDS_GIVEN.
    uint32_t flags;
    // SKD_SUBMIT_AUTOMATICALLY and others.
    uint32_t submission;
    // SKD_WAIT_POLL, SKD_WAIT_LINE.
    uint32_t wait;
    // Times that a full shared queue is tried before another way is taken; 0: 16.
    uint32_t retries;
    // 0.
    uint32_t reserved;
    // Names of queues with commas between them; an empty text: none. NULL: those of the
    // environment, or all that can be opened.
    const char *queues;
    // A file of thresholds, as docs/dsa-library.md describes it; NULL: that of the environment, or
    // published sizes.
    const char *thresholds_file;
    // Size in bytes from which a device pays if the caller waits; UINT64_MAX: never.
    uint64_t synchronous_bytes;
    // The same if the caller goes on meanwhile.
    uint64_t asynchronous_bytes;
    // In place of /sys/bus/dsa/devices, if not NULL.
    const char *sysfs;
    // In place of /dev/dsa, if not NULL.
    const char *devices;
} skd_options;

// What an operation came to, and who did it. Made by skd_outcome_new().
typedef struct skd_outcome {
    // Bytes of this structure.
    uint32_t size;
    // 0, or the negative errno of the operation.
    int error;
    // What it came to: SKD_DONE and others.
    uint32_t answer;
    // Bits: 1 guard, 2 application tag, 4 reference tag, 8 all ones.
    uint32_t dif_status;
    // As `answer` says.
    uint64_t value;
    // Bytes that a device did.
    uint64_t device_bytes;
    // Bytes that the CPU did.
    uint64_t cpu_bytes;
    // The completion record of its last part, as hardware lays it out.
    uint8_t record[32];
} skd_outcome;

// A work queue. Made by skd_queue_new().
typedef struct skd_queue {
    // Bytes of this structure.
    uint32_t size;
    // SKD_DEDICATED, SKD_SHARED.
    uint32_t mode;
    // Its name, like `wq0.1`.
    char name[24];
    // The name of its device, like `dsa0`.
    char device[24];
    // The name that its administrator gave it.
    char label[64];
    // Descriptors that it holds.
    uint32_t entries;
    // Largest batch, in descriptors; 0 and 1: none.
    uint32_t most_batch;
    // Largest transfer of a descriptor, in bytes.
    uint64_t most_transfer_bytes;
    // Operations that it takes: bit n for the operation of code n.
    uint64_t operations;
    // NUMA node of its device; -1 if the system names none.
    int node;
    // Whether descriptors get to it by an instruction, and not by a system call; 0 of a queue that
    // is not open.
    uint32_t is_mapped;
    // Descriptors of this client that have not ended.
    uint32_t under_way;
    // Whether it and its device are enabled now.
    uint32_t is_enabled;
} skd_queue;

// The end of a job of a set. This structure stays as it is.
typedef struct skd_end {
    // The number that the job was added with.
    uint64_t tag;
    // The job, which has left the set and is to be given back. skd_job_poll() says what it came to.
    struct skd_job *job;
    // 0, or the negative errno that it failed with.
    int error;
} skd_end;

// Operations, or parts of them, and their bytes.
typedef struct skd_amount {
    // How many.
    uint64_t count;
    // Their bytes.
    uint64_t bytes;
} skd_amount;

// Counts since a client was opened. Made by skd_statistics_new().
typedef struct skd_statistics {
    // Bytes of this structure.
    uint32_t size;
    // 0.
    uint32_t reserved;
    // Times that a full shared queue was tried again.
    uint64_t retries;
    // Pages brought in for a device.
    uint64_t pages;
    // Records that were left to a device that had not ended.
    uint64_t abandoned;
    // What devices did, by the code of the operation.
    struct skd_amount device[SKD_OPERATIONS];
    // What the CPU did, likewise.
    struct skd_amount cpu[SKD_OPERATIONS];
    // What the CPU did, by reason: SKD_ASKED and others.
    struct skd_amount reasons[SKD_REASONS];
} skd_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A list without members, to be given back with skd_batch_free().
int skd_batch_create(struct skd_batch **batch);

// Gives a list back; NULL does nothing. Jobs that were begun with it go on.
int skd_batch_free(struct skd_batch *batch);

// Adds an operation: its number in the list.
int skd_batch_add(struct skd_batch *batch, const struct skd_operation *operation);

// Adds an operation that begins when all before it have ended: its number in the list.
int skd_batch_add_behind_fence(struct skd_batch *batch, const struct skd_operation *operation);

// Takes all operations out of a list, which can be filled again.
int skd_batch_clear(struct skd_batch *batch);

// Operations of a list.
int skd_batch_count(const struct skd_batch *batch);

// Begins all operations of a list as one job. It goes to a device if its bytes together reach the
// threshold of asynchronous operations. On success `*job` is to be given back with skd_job_free();
// skd_job_member() says how each operation has ended.
//
// -EINVAL for a list without operations, and for arguments of any of them that no device takes;
// else as skd_submit(). Nothing is begun then.
int skd_batch_submit(const struct skd_client *client,
                     const struct skd_batch *batch,
                     int path,
                     struct skd_job **job);

// Why the last function that failed in this thread did so, as a sentence for people: what was asked,
// what is wrong with it, what is allowed. An empty text if none has failed. It is valid until the next
// one fails in this thread.
const char *skd_error_text(void);

// The library's version as a text that lives as long as the library.
const char *skd_version(void);

// Opens queues; NULL for `options`: what the environment says, or all queues that can be opened.
// Without any the CPU does everything. On success `*client` is to be closed with skd_close().
//
// -ENODEV for a queue that was asked for by name and is not enabled for user programs, what the
// system says about one that cannot be opened (-EACCES, -EBUSY, -EPERM); queues that no name asks
// for are left out then. -EINVAL for a file of thresholds or an attribute of a queue that cannot
// be read.
int skd_open(const struct skd_options *options, struct skd_client **client);

// Gives a client back; NULL does nothing. Its queues stay open until its last job is given back.
//
// -EBADF if it was given back before, -EBUSY while another thread is inside a call with it.
int skd_close(struct skd_client *client);

// From which size in bytes on the automatic path takes a device for an operation; UINT64_MAX: never.
// Either pointer may be NULL.
int skd_thresholds(const struct skd_client *client,
                   uint32_t operation_code,
                   uint64_t *synchronous_bytes,
                   uint64_t *asynchronous_bytes);

// Waits until devices have ended all descriptors that this process has submitted to any queue of a
// client before, but not longer than so many nanoseconds (SKD_FOREVER: without a limit). What is
// left of jobs that were divided, or met absent pages, may still have to be begun: jobs are waited
// for with skd_job_wait().
//
// -ETIMEDOUT, -ECHILD in a child of the process that opened the client.
int skd_drain(const struct skd_client *client, uint64_t nanoseconds);

// Begins an operation. On success `*job` is to be given back with skd_job_free(). Until it has
// ended the program leaves the operation's memory alone, and keeps it.
//
// -EINVAL, -ENODEV as skd_run(); what else goes wrong is told with the job's end.
int skd_submit(const struct skd_client *client,
               const struct skd_operation *operation,
               int path,
               struct skd_job **job);

// Looks whether a job has ended: -EAGAIN if not; else 0 or the negative errno that it failed with,
// as of skd_run(). A list fails as its first member that does. The end can be asked for again
// until the job is given back. What is left of an operation that was divided, or met an absent
// page, is begun here: a job that is not looked at may not end.
//
// -ECHILD in a child of the process that began the job, -EBUSY while another thread is inside a
// call with it.
int skd_job_poll(const struct skd_job *job, struct skd_outcome *outcome);

// Waits for the end of a job: as skd_job_poll().
int skd_job_wait(const struct skd_job *job, struct skd_outcome *outcome);

// Waits for the end of a job, but not longer than so many nanoseconds: -ETIMEDOUT leaves it under way.
int skd_job_wait_for(const struct skd_job *job,
                     uint64_t nanoseconds,
                     struct skd_outcome *outcome);

// Operations of a job: more than 1 for a list alone.
int skd_job_members(const struct skd_job *job);

// How an operation of a job has ended, by its number in the list: 0 or its negative errno, and
// `outcome`, which may be NULL.
//
// -EAGAIN before the job has ended, -ENOENT if there is no operation of that number.
int skd_job_member(const struct skd_job *job, uint32_t number, struct skd_outcome *outcome);

// Gives a job back that has ended; NULL does nothing.
//
// -EBUSY if it is under way: wait for it, or abandon it. In a child of the process that began it,
// it can be given back at any time.
int skd_job_free(struct skd_job *job);

// Gives a job back, whether or not it has ended. A device may read and write the operation's
// memory still: it has to stay, and its contents are undefined. NULL does nothing.
int skd_job_abandon(struct skd_job *job);

// Queues that a client has open.
int skd_queues(const struct skd_client *client);

// One of the queues that a client has open, by number: from 0 to skd_queues() less one.
//
// -ENOENT if there is none of that number.
int skd_queue_of(const struct skd_client *client, uint32_t number, struct skd_queue *queue);

// Writes why an enabled queue that no name asked for was left out when the client was opened, by
// number from 0 on: at most `text_bytes` bytes, always terminated. Returns the bytes of the whole
// sentence.
//
// -ENOENT if there is none of that number.
int skd_left_out(const struct skd_client *client, uint32_t number, char *text, size_t text_bytes);

// One of the queues that the system has enabled for user programs, by number from 0 on, whether or not
// this process may open it.
//
// -ENOENT if there is none of that number.
int skd_queue_of_system(uint32_t number,
                        struct skd_queue *queue);

// Submits a descriptor of 64 bytes, as hardware lays it out, to one of a client's queues by its
// number. On success `*job` is to be given back with skd_job_free(); its outcome has the
// completion record. Nothing is divided, resumed behind page faults, or done by the CPU: what the
// device says is the end. The record is cleared first. Statistics do not count it, and one that is
// abandoned keeps its entry of a dedicated queue.
//
// -EINVAL for a record that is not aligned to 32 bytes, or not asked for (flags 2 and 3), and for
// bytes 0 to 3 that are not 0; -EFAULT for a record that this process may not write; -ENOENT for a
// queue that is not there; -EAGAIN if the queue is full, -ENODEV if it is disabled; -ECHILD in a
// child of the process that opened the client. Nothing is submitted then. The job fails with
// -EBADMSG for any other status than success (the sentence has status and field), with -ENODEV if
// the queue was disabled before it ended.
int skd_raw_submit(const struct skd_client *client,
                   uint32_t queue,
                   const void *descriptor,
                   struct skd_job **job);

// Writes what a completion record of 32 bytes says of its descriptor of 64 as a sentence, with the
// field at fault: at most `text_bytes` bytes, always terminated. Returns the bytes of the whole
// sentence.
//
// Limits in the sentence are those of Sapphire Rapids: 2 GiB, 1024 descriptors.
int skd_record_text(const void *descriptor, const void *record, char *text, size_t text_bytes);

// Runs an operation and waits for its end: 0, also if ranges differ or protection information is
// wrong, which `outcome` says. It may be NULL.
//
// -EINVAL for arguments that no device takes, -ENODEV for SKD_DEVICE without a queue that takes
// it, -EFAULT for memory that this process may not access (the sentence has the address), -EBADMSG
// for a descriptor that a device or the CPU refuses (the sentence has status and field), -EIO if a
// device has failed within overlapping ranges. What was written until then stays.
int skd_run(const struct skd_client *client,
            const struct skd_operation *operation,
            int path,
            struct skd_outcome *outcome);

// Copies `bytes`, also between ranges that overlap. Errors as of skd_run(); nothing to do for 0 bytes.
int skd_copy(const struct skd_client *client,
             void *destination,
             const void *source,
             size_t bytes);

// Fills `bytes` with a pattern of eight, the least significant first. Errors as of skd_run();
// nothing to do for 0 bytes.
int skd_fill(const struct skd_client *client, void *destination, uint64_t pattern, size_t bytes);

// Compares `bytes`: 0 if they are equal, 1 if they differ, first at `*offset`, which may be NULL.
// Errors as of skd_run(); no bytes are equal.
int skd_compare(const struct skd_client *client,
                const void *first,
                const void *second,
                size_t bytes,
                uint64_t *offset);

// The CRC-32C (of iSCSI and NVMe/TCP) of `bytes` behind others whose CRC is `seed`; 0: of none.
// Errors as of skd_run(); no bytes leave the seed.
int skd_crc32c(const struct skd_client *client,
               uint32_t seed,
               const void *source,
               size_t bytes,
               uint32_t *crc);

// A set without jobs, to be given back with skd_set_free().
int skd_set_create(struct skd_set **set);

// Gives a set back; NULL does nothing. Its jobs go on, and are to be given back one by one.
int skd_set_free(struct skd_set *set);

// Adds a job, with a number that its end will have.
int skd_set_add(struct skd_set *set, struct skd_job *job, uint64_t tag);

// Jobs of a set whose ends were not taken.
int skd_set_count(const struct skd_set *set);

// Takes the ends of jobs that have ended, `count` of them at most: how many there were.
//
// A job that was given back meanwhile ends with -EBADF.
int skd_set_poll(struct skd_set *set, struct skd_end *ends, size_t count);

// Waits until one job or more have ended, and takes the ends of `count` of them at most: how many
// there were; 0 if the set has no jobs.
int skd_set_wait(struct skd_set *set, struct skd_end *ends, size_t count);

// As skd_set_wait(), but not longer than so many nanoseconds: -ETIMEDOUT if none has ended.
int skd_set_wait_for(struct skd_set *set, uint64_t nanoseconds, struct skd_end *ends, size_t count);

// What a client has counted.
int skd_get_statistics(const struct skd_client *client, struct skd_statistics *statistics);

// The name of an operation as the specification has it, like "memory move"; NULL if there is none
// of that code. It lives as long as the library.
const char *skd_operation_name(uint32_t operation_code);

// A reason in words, like "below the threshold"; NULL if there is none of that number. It lives as
// long as the library.
const char *skd_reason_text(uint32_t reason);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SKIPLINE_DSA_H */

#ifndef SKD_INLINE
#define SKD_INLINE
#ifdef __cplusplus
extern "C" {
#endif

// Options that are all at their defaults.
static inline skd_options skd_options_new(void) {
    skd_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

static inline skd_outcome skd_outcome_new(void) {
    skd_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    outcome.size = sizeof outcome;
    return outcome;
}

static inline skd_queue skd_queue_new(void) {
    skd_queue queue;
    memset(&queue, 0, sizeof queue);
    queue.size = sizeof queue;
    return queue;
}

static inline skd_statistics skd_statistics_new(void) {
    skd_statistics statistics;
    memset(&statistics, 0, sizeof statistics);
    statistics.size = sizeof statistics;
    return statistics;
}

// An operation with all but opcode and size left to the caller.
static inline skd_operation skd_operation_new(uint32_t opcode, uint64_t bytes) {
    skd_operation operation;
    memset(&operation, 0, sizeof operation);
    operation.size = sizeof operation;
    operation.opcode = opcode;
    operation.bytes = bytes;
    return operation;
}

// One that reads a range and writes another one: SKD_COPY, SKD_COPY_CRC, SKD_DIF_INSERT and others.
static inline skd_operation skd_operation_of(uint32_t opcode, void *destination, const void *source,
                                             uint64_t bytes) {
    skd_operation operation = skd_operation_new(opcode, bytes);
    operation.source = source;
    operation.destination = destination;
    return operation;
}

static inline skd_operation skd_copy_of(void *destination, const void *source, uint64_t bytes) {
    return skd_operation_of(SKD_COPY, destination, source, bytes);
}

static inline skd_operation skd_fill_of(void *destination, uint64_t pattern, uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_FILL, destination, NULL, bytes);
    operation.pattern = pattern;
    return operation;
}

static inline skd_operation skd_compare_of(const void *first, const void *second, uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_COMPARE, NULL, first, bytes);
    operation.source2 = second;
    return operation;
}

static inline skd_operation skd_compare_pattern_of(const void *source, uint64_t pattern,
                                                   uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_COMPARE_PATTERN, NULL, source, bytes);
    operation.pattern = pattern;
    return operation;
}

static inline skd_operation skd_dualcast_of(void *destination, void *destination2,
                                            const void *source, uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_DUALCAST, destination, source, bytes);
    operation.destination2 = destination2;
    return operation;
}

static inline skd_operation skd_create_delta_of(void *record, uint32_t most_record_bytes,
                                                const void *original, const void *changed,
                                                uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_CREATE_DELTA, record, original, bytes);
    operation.source2 = changed;
    operation.record_bytes = most_record_bytes;
    return operation;
}

static inline skd_operation skd_apply_delta_of(void *destination, uint64_t bytes, const void *record,
                                               uint32_t record_bytes) {
    skd_operation operation = skd_operation_of(SKD_APPLY_DELTA, destination, record, bytes);
    operation.record_bytes = record_bytes;
    return operation;
}

static inline skd_operation skd_crc_of(uint64_t seed, const void *source, uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_CRC, NULL, source, bytes);
    operation.seed = seed;
    return operation;
}

static inline skd_operation skd_copy_crc_of(void *destination, uint64_t seed, const void *source,
                                            uint64_t bytes) {
    skd_operation operation = skd_operation_of(SKD_COPY_CRC, destination, source, bytes);
    operation.seed = seed;
    return operation;
}

// SKD_DIF_CHECK, SKD_DIF_STRIP: `tags` are the source's; SKD_DIF_INSERT, SKD_DIX_GENERATE: the
// destination's. SKD_DIF_UPDATE has both: set `destination_tags` as well.
static inline skd_operation skd_dif_of(uint32_t opcode, void *destination, const void *source,
                                       uint64_t bytes, uint8_t dif_format, skd_tags tags) {
    skd_operation operation = skd_operation_of(opcode, destination, source, bytes);
    operation.dif_format = dif_format;
    operation.source_tags = tags;
    operation.destination_tags = tags;
    return operation;
}

#ifdef __cplusplus
}
#endif
#endif
