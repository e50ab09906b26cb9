/*
 * libskipline_dsa: copies, fills, comparisons, CRCs, deltas and protection information on a data
 * streaming accelerator (DSA) where it is faster, else on the CPU, with the same results. See
 * skipline_dsa(3).
 *
 * - Functions return 0 or a count, or a negative errno. -EINVAL is also the answer to a pointer that
 *   is NULL and must not be; -ENOTRECOVERABLE is a fault of the library itself. skd_error_text()
 *   returns why the last function that failed in this thread did so.
 * - Handles (skd_client, skd_job, skd_set, skd_batch, skd_ring) are numbers that look like pointers. A
 *   handle that was given back, or never was one, gives -EBADF; one that another thread is using,
 *   -EBUSY.
 * - Structures begin with their size, which the functions skd_..._new() set. A structure of another
 *   size is refused with -EINVAL: the program was built against another version. Those without a size
 *   (skd_end, skd_ring_copy, skd_ring_end) never change.
 * - The library never prints, never ends the process, and starts no threads. It handles SIGSEGV and
 *   SIGBUS, to find memory that cannot be accessed, and passes all other signals on.
 * - C++ programs can use skipline_dsa.hpp.
 */

#ifndef SKIPLINE_DSA_H
#define SKIPLINE_DSA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Descriptors are submitted by an instruction if processor and system allow it, else by write(2).
#define SKD_SUBMIT_AUTOMATICALLY 0

// Descriptors are submitted by MOVDIR64B or ENQCMD, also if CPUID does not report them.
#define SKD_SUBMIT_BY_INSTRUCTION 1

// Descriptors are submitted by write(2).
#define SKD_SUBMIT_BY_WRITE 2

// A thread that waits polls, and yields the CPU to other threads after a while.
#define SKD_WAIT_POLL 0

// A thread that waits sleeps in UMWAIT if the processor has it, else it polls.
#define SKD_WAIT_LINE 1

// Flag of `skd_options`: the variables SKIPLINE_DSA_QUEUES and SKIPLINE_DSA_THRESHOLDS are ignored.
#define SKD_NO_ENVIRONMENT 1

// Flag of `skd_options`: `synchronous_bytes` and `asynchronous_bytes` are the thresholds of all
// operations.
#define SKD_THRESHOLDS_GIVEN 2

// In place of a time limit: the call waits without a limit.
#define SKD_FOREVER UINT64_MAX

// Does nothing.
#define SKD_NO_OP 0

// Drain: ends after all descriptors that were submitted to one queue before; skd_drain() waits for
// all queues.
#define SKD_DRAIN 2

// Copies `bytes` from `source` to `destination`. The ranges may overlap.
#define SKD_COPY 3

// Fills `destination` with the eight bytes of `pattern`, the least significant first. With
// SKD_PATTERN_16 the pattern has 16 bytes, and its second half is `pattern_high`.
#define SKD_FILL 4

// Finds the first byte in which `source` and `source2` differ.
#define SKD_COMPARE 5

// Finds the first byte in which `source` differs from `pattern`, of eight bytes.
#define SKD_COMPARE_PATTERN 6

// Writes a record of the differences of `source2` from `source`, of at most `record_bytes`, at
// `destination`.
// Addresses and `bytes` are multiples of 8, `record_bytes` is at least 80, `bytes` at most 524288.
#define SKD_CREATE_DELTA 7

// Writes the differences in a record of `record_bytes` at `source` over the `bytes` at `destination`.
#define SKD_APPLY_DELTA 8

// Copies from `source` to `destination` and `destination2`, whose addresses are equal in their lowest
// 12 bits.
#define SKD_DUALCAST 9

// Loads the address translations of `source` (version 2 of the hardware).
#define SKD_FETCH_TRANSLATIONS 10

// Computes the CRC of `source`. `seed` is the CRC of the bytes before it, 0 if there are none. The CRC
// is CRC-32C unless flags choose another one.
#define SKD_CRC 16

// Copies from `source` to `destination`, and computes the CRC.
#define SKD_COPY_CRC 17

// Checks protection information (T10 DIF) after each block of `source`, by `source_tags`. `bytes` is
// the size of the source with its protection information, here and below.
#define SKD_DIF_CHECK 18

// Copies blocks, and adds protection information by `destination_tags`.
#define SKD_DIF_INSERT 19

// Checks protection information by `source_tags`, and copies blocks without it.
#define SKD_DIF_STRIP 20

// Checks protection information by `source_tags`, and copies blocks with new protection information by
// `destination_tags`.
#define SKD_DIF_UPDATE 21

// Writes protection information of the blocks of `source` to a separate range at `destination`
// (version 2 of the hardware).
#define SKD_DIX_GENERATE 23

// Writes the lines of `source` back to memory and removes them from all caches.
#define SKD_CACHE_FLUSH 32

// Flag of `skd_operation`: the destination is written to the last-level cache, and not to memory.
#define SKD_TO_CACHE 1

// Flag of `skd_operation`: the pattern of SKD_FILL has 16 bytes (version 2 of the hardware).
#define SKD_PATTERN_16 2

// Flag of `skd_operation`: the CRC has 64 bits and the polynomial of NVMe (version 2 of the hardware).
#define SKD_CRC_64 4

// Flag of `skd_operation`: seed and result of the CRC are neither inverted nor reflected.
#define SKD_CRC_BYPASS_INVERSION 8

// Flag of `skd_operation`: data is not reflected for the CRC.
#define SKD_CRC_BYPASS_REFLECTION 16

// Bit of `dif_format`: the guard begins with 0xffff, and not with 0.
#define SKD_DIF_SEED_ONES 4

// Bit of `dif_format`: the guard is inverted.
#define SKD_DIF_INVERT_GUARD 8

// Path of an operation: a device from the threshold on, unless the ranges overlap; else the CPU.
#define SKD_AUTOMATIC 0

// Path of an operation: a device, whatever the size; -ENODEV if no queue takes the operation. A piece
// at which the device fails is executed by the CPU all the same.
#define SKD_DEVICE 1

// Path of an operation: the CPU.
#define SKD_CPU 2

// Answer: the operation is done; `value` is 0.
#define SKD_DONE 0

// Answer: ranges, or range and pattern, are equal.
#define SKD_EQUAL 1

// Answer: ranges, or range and pattern, differ; `value` is the offset of the first byte that does.
#define SKD_DIFFERS 2

// Answer: `value` is the CRC. It is the seed of an operation that continues it.
#define SKD_CRC_VALUE 3

// Answer: `value` is the size of the record of differences in bytes; 0 if the ranges are equal.
#define SKD_DELTA 4

// Answer: as SKD_DELTA, but the record had no room for all differences.
#define SKD_DELTA_CUT 5

// Answer: protection information is wrong; `dif_status` has the checks that failed, and `value` is the
// offset of the block.
#define SKD_PROTECTION 6

// The queue is for one process, which submits by posted writes (MOVDIR64B).
#define SKD_DEDICATED 0

// The queue is for all processes, which submit by ENQCMD.
#define SKD_SHARED 1

// Codes of operations are below this number.
#define SKD_OPERATIONS 33

// Numbers of reasons are below this number.
#define SKD_REASONS 11

// Reason for the CPU: the caller chose the CPU.
#define SKD_ASKED 0

// Reason for the CPU: the operation was smaller than its threshold.
#define SKD_SMALL 1

// Reason for the CPU: no work queue is open.
#define SKD_NO_QUEUE 2

// Reason for the CPU: no open queue takes the operation.
#define SKD_UNSUPPORTED 3

// Reason for the CPU: the device refused the descriptor.
#define SKD_REFUSED 4

// Reason for the CPU: the ranges overlap, and a copy that failed on a device could not be repeated.
#define SKD_OVERLAP 5

// Reason for the CPU: all queues were full.
#define SKD_FULL 6

// Reason for the CPU: the process is a child of the one that opened the client.
#define SKD_FORKED 7

// Reason for the CPU: the device reported a page absent again and again, although it is present.
#define SKD_FAULT 8

// Reason for the CPU: the device reported a hardware error.
#define SKD_HARDWARE 9

// Reason for the CPU: the descriptor was lost, as its queue or device was disabled, or had no room.
#define SKD_LOST 10

// A list of operations to submit together. They run in any order, except for fences.
typedef struct skd_batch skd_batch;

// A client: open queues, thresholds and statistics. Any number of threads may use one.
typedef struct skd_client skd_client;

// A job: an operation, a batch or a descriptor under way. Its memory belongs to the device until the
// job has ended.
typedef struct skd_job skd_job;

// Bursts of copies on one queue. One thread at a time may use one.
typedef struct skd_ring skd_ring;

// A set of jobs, each with a tag that the caller chose.
typedef struct skd_set skd_set;

// Tags of protection information, with flags for those that are fixed, checked or passed through
// (section 8.3.14 of Intel's specification of DSA).
typedef struct skd_tags {
    // Reference tag of the first block.
    uint32_t reference;
    // Application tag of the first block.
    uint16_t application;
    // Bits of the application tag that are not compared.
    uint16_t mask;
    // Flags: of a source 0x80 reference tag fixed, 0x40 not checked, 0x20 guard not checked, 0x10
    // application tag incrementing, 0x08, 0x04, 0x02 blocks whose tags are all ones are not checked;
    // of a destination 0x80, 0x10 as those, 0x40, 0x20, 0x08 reference tag, guard, application tag
    // passed through.
    uint8_t flags;
    // 0.
    uint8_t reserved[3];
} skd_tags;

// An operation. skd_operation_of() and the functions like it make one. Fields that an operation does
// not use are ignored.
typedef struct skd_operation {
    // Bytes of this structure.
    uint32_t size;
    // Code of the operation: SKD_COPY and others.
    uint32_t opcode;
    // 0, or flags: SKD_TO_CACHE and others.
    uint32_t flags;
    // Block size of DIF operations: 0 for 512 B, 1 for 520 B, 2 for 4096 B, 3 for 4104 B; plus
    // SKD_DIF_SEED_ONES and SKD_DIF_INVERT_GUARD.
    uint8_t dif_format;
    // 0.
    uint8_t reserved[3];
    // Range that is read.
    const void *source;
    // Second range that is read.
    const void *source2;
    // Range that is written.
    void *destination;
    // Second range that is written.
    void *destination2;
    // Size of the ranges, in bytes.
    uint64_t bytes;
    // Pattern of eight bytes, or the first half of a pattern of 16 bytes.
    uint64_t pattern;
    // The second half of a pattern of 16 bytes.
    uint64_t pattern_high;
    // CRC of the bytes before the source; 0 if there are none.
    uint64_t seed;
    // Size of a record of differences, in bytes.
    uint32_t record_bytes;
    // Tags of a source with protection information.
    struct skd_tags source_tags;
    // Tags of a destination with protection information.
    struct skd_tags destination_tags;
    // 0.
    uint32_t reserved2;
} skd_operation;

// Options with which a client is opened. skd_options_new() sets `size`, and 0 for all others.
typedef struct skd_options {
    // Bytes of this structure.
    uint32_t size;
    // 0, or SKD_NO_ENVIRONMENT and SKD_THRESHOLDS_GIVEN.
    uint32_t flags;
    // SKD_SUBMIT_AUTOMATICALLY (0), SKD_SUBMIT_BY_INSTRUCTION or SKD_SUBMIT_BY_WRITE.
    uint32_t submission;
    // SKD_WAIT_POLL (0) or SKD_WAIT_LINE.
    uint32_t wait;
    // How often a full queue is tried again before the operation waits or goes to the CPU; 0: 16.
    uint32_t retries;
    // 0.
    uint32_t reserved;
    // Names of queues with commas between them; an empty text opens no queue. NULL: the queues that
    // the environment names, or all that can be opened.
    const char *queues;
    // A file of thresholds, in the format of docs/reference/dsa-library.md; NULL: the file that the
    // environment names, or published sizes.
    const char *thresholds_file;
    // Size in bytes from which on a device is used if the caller waits; UINT64_MAX: never.
    uint64_t synchronous_bytes;
    // Size in bytes from which on a device is used if the caller continues meanwhile; UINT64_MAX:
    // never.
    uint64_t asynchronous_bytes;
    // Directory of devices and queues in sysfs; NULL: /sys/bus/dsa/devices.
    const char *sysfs;
    // Directory of the files of queues; NULL: /dev/dsa.
    const char *devices;
} skd_options;

// The outcome of an operation: its answer, and the bytes that devices and CPU processed.
// skd_outcome_new() makes one.
typedef struct skd_outcome {
    // Bytes of this structure.
    uint32_t size;
    // 0, or the negative errno of the operation.
    int error;
    // Answer: SKD_DONE and others.
    uint32_t answer;
    // Checks that failed, as bits: 1 guard, 2 application tag, 4 reference tag, 8 all ones.
    uint32_t dif_status;
    // Value of the answer.
    uint64_t value;
    // Bytes that devices processed.
    uint64_t device_bytes;
    // Bytes that the CPU processed.
    uint64_t cpu_bytes;
    // The completion record of the last piece, in the layout of the hardware.
    uint8_t record[32];
} skd_outcome;

// A work queue. Made by skd_queue_new().
typedef struct skd_queue {
    // Bytes of this structure.
    uint32_t size;
    // SKD_DEDICATED, SKD_SHARED.
    uint32_t mode;
    // Name of the queue, such as `wq0.1`.
    char name[24];
    // Name of the device, such as `dsa0`.
    char device[24];
    // Name that the administrator has given the queue.
    char label[64];
    // Number of descriptors that the queue has room for.
    uint32_t entries;
    // Largest batch, in descriptors; 0 and 1 if the queue takes no batches.
    uint32_t most_batch;
    // Largest transfer of a descriptor, in bytes.
    uint64_t most_transfer_bytes;
    // Operations that the queue takes: bit n is set for the operation of code n.
    uint64_t operations;
    // NUMA node of the device; -1 if the system does not report it.
    int node;
    // 1 if descriptors are submitted by an instruction, 0 if by a system call, or if the queue is not
    // open.
    uint32_t is_mapped;
    // Number of descriptors of this client that have not ended.
    uint32_t under_way;
    // 1 if the queue and its device are enabled now, else 0.
    uint32_t is_enabled;
} skd_queue;

// A copy of a burst.
typedef struct skd_ring_copy {
    // First byte that is read.
    const void *source;
    // First byte that is written.
    void *destination;
    // Number of bytes.
    uint32_t bytes;
    // Number by which the program knows the copy.
    uint32_t tag;
} skd_ring_copy;

// A copy that has ended.
typedef struct skd_ring_end {
    // Number by which the program knows the copy.
    uint32_t tag;
    // 0 if all bytes are copied; 1 if the copy has failed or was lost: nothing writes to its
    // destination any more, and the program repeats it.
    uint32_t has_failed;
} skd_ring_end;

// The state of a ring. skd_ring_status_new() makes one.
typedef struct skd_ring_status {
    // Bytes of this structure.
    uint32_t size;
    // 1 if the queue was disabled while bursts were under way, or closed because it ended none of them for
    // 30 s; else 0. It takes none any more.
    uint32_t is_gone;
    // Most copies of a burst.
    uint32_t most_copies;
    // 0.
    uint32_t reserved;
    // Bursts that the queue has taken.
    uint64_t bursts;
    // Their copies.
    uint64_t copies;
    // Copies that the device reported as failed, or did not attempt.
    uint64_t failed;
    // Copies in bursts that were lost.
    uint64_t lost;
    // Drains that were submitted to find lost bursts.
    uint64_t drains;
} skd_ring_status;

// The end of a job of a set. This structure never changes, so that it states no size.
typedef struct skd_end {
    // Tag with which the job was added.
    uint64_t tag;
    // The job. It has left the set and has to be given back; skd_job_poll() returns its result.
    struct skd_job *job;
    // 0, or the negative errno that the job failed with.
    int error;
} skd_end;

// A number of operations, or of pieces of them, and their bytes.
typedef struct skd_amount {
    // Number of operations, or of pieces of them.
    uint64_t count;
    // Sum of their bytes.
    uint64_t bytes;
} skd_amount;

// Counts since a client was opened. skd_statistics_new() makes one.
typedef struct skd_statistics {
    // Bytes of this structure.
    uint32_t size;
    // 0.
    uint32_t reserved;
    // Number of times that all queues were full, and a submission was tried again.
    uint64_t retries;
    // Number of pages that were brought in for a device.
    uint64_t pages;
    // Number of descriptors that had not ended when their job was abandoned.
    uint64_t abandoned;
    // Pieces that devices executed, by the code of the operation.
    struct skd_amount device[SKD_OPERATIONS];
    // Pieces that the CPU executed, by the code of the operation.
    struct skd_amount cpu[SKD_OPERATIONS];
    // Pieces that the CPU executed, by reason: SKD_ASKED and others.
    struct skd_amount reasons[SKD_REASONS];
} skd_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a batch without operations. It has to be given back with skd_batch_free().
int skd_batch_create(struct skd_batch **batch);

// Gives a batch back; NULL does nothing. Jobs that were begun with it continue.
int skd_batch_free(struct skd_batch *batch);

// Adds an operation, and returns its number in the batch.
int skd_batch_add(struct skd_batch *batch, const struct skd_operation *operation);

// Adds an operation that begins when all operations before it have ended, and returns its number in the
// batch.
int skd_batch_add_behind_fence(struct skd_batch *batch,
                               const struct skd_operation *operation);

// Removes all operations from a batch, which can be filled again.
int skd_batch_clear(struct skd_batch *batch);

// Returns the number of operations in a batch.
int skd_batch_count(const struct skd_batch *batch);

// Begins all operations of a batch as one job. It goes to a device if its bytes together reach the
// threshold of asynchronous operations. On success `*job` has to be given back with skd_job_free();
// skd_job_member() returns the result of each operation.
//
// -EINVAL for a batch without operations, or if the arguments of any of them are not valid on a
// device; otherwise as skd_submit(). On an error nothing is begun.
int skd_batch_submit(const struct skd_client *client,
                     const struct skd_batch *batch,
                     int path,
                     struct skd_job **job);

// Returns why the last function that failed in this thread did so, as a sentence for people: the
// request, what is wrong with it, and what is allowed. The text is empty if no function has failed,
// and valid until the next one fails in this thread.
const char *skd_error_text(void);

// Returns the version of the library as a text that lives as long as the library.
const char *skd_version(void);

// Opens a client with its queues. NULL for `options`: the queues that the environment names, or all
// that can be opened. Without any queue the CPU executes all operations. On success `*client` has to
// be closed with skd_close().
//
// -ENODEV for a named queue that is not enabled for user programs; the error of the system for a
// named queue that cannot be opened (-EACCES, -EBUSY, -EPERM). Without names, queues that cannot be
// opened are left out. -EINVAL for a file of thresholds or an attribute of a queue that cannot be
// read.
int skd_open(const struct skd_options *options,
             struct skd_client **client);

// Closes a client; NULL does nothing. Its queues stay open until its last job is given back.
//
// -EBADF if it was closed before, -EBUSY while another thread is inside a call with it.
int skd_close(struct skd_client *client);

// Writes the sizes in bytes from which on the automatic path takes a device for an operation, if the
// caller waits and if it continues meanwhile; UINT64_MAX: never. Either pointer may be NULL.
int skd_thresholds(const struct skd_client *client,
                   uint32_t operation_code,
                   uint64_t *synchronous_bytes,
                   uint64_t *asynchronous_bytes);

// Waits until all descriptors have ended that this process has submitted to any queue of a client
// before, but not longer than so many nanoseconds (SKD_FOREVER: without a limit). Jobs that were
// divided, or met absent pages, may still have pieces to begin: wait for them with skd_job_wait().
//
// -ETIMEDOUT if descriptors are still under way; -ECHILD in a child of the process that opened the
// client.
int skd_drain(const struct skd_client *client, uint64_t nanoseconds);

// Begins an operation. On success `*job` has to be given back with skd_job_free(). Until the job has
// ended, the program has to keep the memory of the operation and must not use it.
//
// -EINVAL, -ENODEV as skd_run(); all other errors are reported when the job ends.
int skd_submit(const struct skd_client *client,
               const struct skd_operation *operation,
               int path,
               struct skd_job **job);

// Returns -EAGAIN if a job has not ended; otherwise 0, or the negative errno that it failed with, as
// of skd_run(). A batch has the errno of its first operation that failed. The result can be read
// again until the job is given back. This call also begins further pieces of an operation that was
// divided or met an absent page: a job that is never polled may not end.
//
// -ECHILD in a child of the process that began the job, -EBUSY while another thread is inside a
// call with it.
int skd_job_poll(const struct skd_job *job,
                 struct skd_outcome *outcome);

// Waits for the end of a job, and returns its result as skd_job_poll() does.
int skd_job_wait(const struct skd_job *job, struct skd_outcome *outcome);

// Waits for the end of a job as skd_job_wait() does, but not longer than so many nanoseconds.
//
// -ETIMEDOUT if the job is still under way.
int skd_job_wait_for(const struct skd_job *job, uint64_t nanoseconds, struct skd_outcome *outcome);

// Returns the number of operations of a job: 1, or those of its batch.
int skd_job_members(const struct skd_job *job);

// Returns 0 or the negative errno of one operation of a job, by its number in the batch, and writes
// its outcome to `outcome`, which may be NULL.
//
// -EAGAIN before the job has ended, -ENOENT if the job has no operation of that number.
int skd_job_member(const struct skd_job *job, uint32_t number, struct skd_outcome *outcome);

// Gives a job back that has ended; NULL does nothing.
//
// -EBUSY if the job is under way: wait for it, or abandon it. In a child of the process that began
// it, it can be given back at any time.
int skd_job_free(struct skd_job *job);

// Gives a job back, whether or not it has ended; NULL does nothing. A device may still read and write
// the memory of the operation: the program has to keep it, and its contents are undefined.
int skd_job_abandon(struct skd_job *job);

// Returns the number of queues that a client has open.
int skd_queues(const struct skd_client *client);

// Describes one of the queues that a client has open, by its number: 0 to skd_queues() - 1.
//
// -ENOENT if the client has no queue of that number.
int skd_queue_of(const struct skd_client *client, uint32_t number, struct skd_queue *queue);

// Writes why an enabled queue was left out when the client was opened without names of queues. Such
// queues are numbered from 0 on. Writes at most `text_bytes` bytes, always terminated, and returns
// the bytes of the whole sentence.
//
// -ENOENT if no queue of that number was left out.
int skd_left_out(const struct skd_client *client, uint32_t number, char *text, size_t text_bytes);

// Describes one of the queues that the system has enabled for user programs, by its number from 0 on,
// whether or not this process may open it.
//
// -ENOENT if the system has no queue of that number.
int skd_queue_of_system(uint32_t number,
                        struct skd_queue *queue);

// Submits a descriptor of 64 bytes, in the layout of the hardware, to a queue of a client, by its
// number. On success `*job` has to be given back with skd_job_free(); its outcome has the
// completion record. The descriptor is not divided, not resumed after page faults, and not executed
// by the CPU. Its record is cleared before the submission. Statistics do not count it. If the job is
// abandoned, the descriptor keeps its entry of a dedicated queue.
//
// -EINVAL for a record that is not aligned to 32 bytes, or not requested (flags 2 and 3), and for
// bytes 0 to 3 that are not 0; -EFAULT for a record that this process may not write; -ENOENT if the
// client has no queue of that number; -EAGAIN if the queue is full, -ENODEV if it is disabled;
// -ECHILD in a child of the process that opened the client. On an error nothing is submitted. The
// job fails with -EBADMSG for any status but success (the sentence has status and field), and with
// -ENODEV if the queue was disabled before the descriptor ended, or has dropped it.
int skd_raw_submit(const struct skd_client *client,
                   uint32_t queue,
                   const void *descriptor,
                   struct skd_job **job);

// Describes a completion record of 32 bytes and its descriptor of 64 bytes in a sentence, with the
// field at fault. Writes at most `text_bytes` bytes, always terminated, and returns the bytes of the
// whole sentence.
//
// Limits in the sentence are those of Sapphire Rapids: 2 GiB, 1024 descriptors.
int skd_record_text(const void *descriptor,
                    const void *record,
                    char *text,
                    size_t text_bytes);

// Opens a queue by its name, for at most `most_bursts` bursts under way, of at most `most_copies`
// copies each; fewer if the queue takes fewer. A dedicated queue has no other user meanwhile. On
// success `*ring` has to be closed with skd_ring_close().
//
// -ENODEV for a queue that is not enabled for user programs, or takes no copies; the error of the
// system if it cannot be opened (-EACCES, -EBUSY, -EPERM).
int skd_ring_open(const char *queue,
                  uint32_t most_bursts,
                  uint32_t most_copies,
                  struct skd_ring **ring);

// Closes a ring; NULL does nothing. Bursts under way may still be executed: their memory is left
// to the device.
//
// -EBADF if it was closed before, -EBUSY while another thread is inside a call with it.
int skd_ring_close(struct skd_ring *ring);

// Returns the number of bursts that can be submitted now; 0 if the queue is gone.
int skd_ring_room(const struct skd_ring *ring);

// Submits a burst of copies, which begin and end in any order. Their memory has to stay until they
// have ended. Allocates nothing.
//
// -EAGAIN if there is no room for a burst, -ENODEV if the queue is gone; -EINVAL for no copies, or
// more than a burst of this ring may have; -ECHILD in a child of the process that opened the ring.
// On an error nothing is submitted.
int skd_ring_submit(struct skd_ring *ring, const struct skd_ring_copy *copies, uint32_t count);

// Writes the copies that have ended to an array of `most` elements, and returns their number. They
// are in the order of submission, in whole bursts: `most` is at least the copies of a burst.
// Allocates nothing.
//
// A burst that does not end is looked at more closely after 5 ms: it is lost if the queue or its
// device was disabled, or if a drain that was submitted later has ended. A queue that is enabled and ends
// nothing for 30 s is closed: the driver then waits for what is under way, this call with it, and the rest
// is lost. A child of a fork that has not executed another program keeps the queue open: the driver does
// not wait then, and the device may still write.
int skd_ring_poll(struct skd_ring *ring,
                  struct skd_ring_end *ends,
                  uint32_t most);

// Reads the state of a ring and its counts since it was opened.
int skd_ring_get_status(const struct skd_ring *ring, struct skd_ring_status *status);

// Runs an operation and waits for its end. Returns 0 also if ranges differ or protection information
// is wrong: `outcome` has the answer. `outcome` may be NULL.
//
// -EINVAL for arguments that are not valid on any device, -ENODEV for SKD_DEVICE if no queue takes
// the operation, -EFAULT for memory that this process may not access (the sentence has the address),
// -EBADMSG for a descriptor that a device or the CPU refuses (the sentence has status and field),
// -EIO if a device has failed within overlapping ranges. Bytes that were written before the error
// stay.
int skd_run(const struct skd_client *client,
            const struct skd_operation *operation,
            int path,
            struct skd_outcome *outcome);

// Copies `bytes`, also between ranges that overlap. Errors are those of skd_run(); 0 bytes are no
// error.
int skd_copy(const struct skd_client *client, void *destination, const void *source, size_t bytes);

// Fills `bytes` with a pattern of eight bytes, the least significant first. Errors are those of
// skd_run(); 0 bytes are no error.
int skd_fill(const struct skd_client *client, void *destination, uint64_t pattern, size_t bytes);

// Compares `bytes`. Returns 0 if they are equal, and 1 if they differ, with the offset of the first
// difference in `*offset`; `offset` may be NULL. Errors are those of skd_run(); 0 bytes are equal.
int skd_compare(const struct skd_client *client,
                const void *first,
                const void *second,
                size_t bytes,
                uint64_t *offset);

// Computes the CRC-32C (of iSCSI and NVMe/TCP) of `bytes`. `seed` is the CRC of the bytes before them,
// 0 if there are none. Errors are those of skd_run(); for 0 bytes the CRC is the seed.
int skd_crc32c(const struct skd_client *client,
               uint32_t seed,
               const void *source,
               size_t bytes,
               uint32_t *crc);

// Creates a set without jobs. It has to be given back with skd_set_free().
int skd_set_create(struct skd_set **set);

// Gives a set back; NULL does nothing. Its jobs continue, and have to be given back one by one.
int skd_set_free(struct skd_set *set);

// Adds a job with a tag, which is reported with its end.
int skd_set_add(struct skd_set *set, struct skd_job *job, uint64_t tag);

// Returns the number of jobs of a set whose ends were not taken.
int skd_set_count(const struct skd_set *set);

// Takes the ends of jobs that have ended, at most `count` of them, and returns their number.
//
// A job that was given back meanwhile ends with -EBADF.
int skd_set_poll(struct skd_set *set, struct skd_end *ends, size_t count);

// Waits until one job or more have ended, takes the ends of at most `count` of them, and returns their
// number; 0 if the set has no jobs.
int skd_set_wait(struct skd_set *set,
                 struct skd_end *ends,
                 size_t count);

// Waits as skd_set_wait() does, but not longer than so many nanoseconds.
//
// -ETIMEDOUT if no job has ended.
int skd_set_wait_for(struct skd_set *set, uint64_t nanoseconds, struct skd_end *ends, size_t count);

// Reads the counts of a client.
int skd_get_statistics(const struct skd_client *client, struct skd_statistics *statistics);

// Returns the name of an operation in the specification, such as "memory move"; NULL if no operation
// has that code. The text lives as long as the library.
const char *skd_operation_name(uint32_t operation_code);

// Returns a reason in words, such as "below the threshold"; NULL if no reason has that number. The text
// lives as long as the library.
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

// Makes options with all defaults.
static inline skd_options skd_options_new(void) {
    skd_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

// Makes an outcome for a function to fill.
static inline skd_outcome skd_outcome_new(void) {
    skd_outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    outcome.size = sizeof outcome;
    return outcome;
}

// Makes the description of a queue for a function to fill.
static inline skd_queue skd_queue_new(void) {
    skd_queue queue;
    memset(&queue, 0, sizeof queue);
    queue.size = sizeof queue;
    return queue;
}

// Makes statistics for a function to fill.
static inline skd_statistics skd_statistics_new(void) {
    skd_statistics statistics;
    memset(&statistics, 0, sizeof statistics);
    statistics.size = sizeof statistics;
    return statistics;
}

// Makes the status of a ring for a function to fill.
static inline skd_ring_status skd_ring_status_new(void) {
    skd_ring_status status;
    memset(&status, 0, sizeof status);
    status.size = sizeof status;
    return status;
}

// Makes an operation with its opcode and size. The caller sets all other fields.
static inline skd_operation skd_operation_new(uint32_t opcode, uint64_t bytes) {
    skd_operation operation;
    memset(&operation, 0, sizeof operation);
    operation.size = sizeof operation;
    operation.opcode = opcode;
    operation.bytes = bytes;
    return operation;
}

// Makes an operation that reads one range and writes another one: SKD_COPY, SKD_COPY_CRC,
// SKD_DIF_INSERT and others.
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

// Makes an operation on protection information. `tags` are those of the source for SKD_DIF_CHECK and
// SKD_DIF_STRIP, and those of the destination for SKD_DIF_INSERT and SKD_DIX_GENERATE. For
// SKD_DIF_UPDATE they are both: set `destination_tags` as well.
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
