// Every operation, one after the other, with results that are known: on a device if there is one.
#include "check.h"
#include <errno.h>
#include <stdalign.h>

enum { BYTES = 16384 };

static alignas(4096) unsigned char first[BYTES], second[BYTES], third[2 * BYTES], record[BYTES];
static skd_client *client;

static skd_outcome done(skd_operation operation) {
    skd_outcome outcome = skd_outcome_new();
    CHECK(skd_run(client, &operation, path_here(), &outcome) == 0);
    CHECK(outcome.error == 0 && is_done_here(&outcome, operation.bytes));
    return outcome;
}

static uint32_t crc32c(const unsigned char *bytes, size_t count) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void moves(void) {
    put_pattern(first, BYTES);
    skd_operation copy = skd_copy_of(second, first, BYTES);
    copy.flags = SKD_TO_CACHE;
    CHECK(done(copy).answer == SKD_DONE && memcmp(first, second, BYTES) == 0);

    done(skd_dualcast_of(third, third + BYTES, first, 5000));
    CHECK(memcmp(third, first, 5000) == 0 && memcmp(third + BYTES, first, 5000) == 0);

    done(skd_fill_of(second, UINT64_C(0x0807060504030201), 1003));
    for (size_t i = 0; i < 1003; i++)
        CHECK(second[i] == i % 8 + 1);
    CHECK(second[1003] == first[1003]);
    done(skd_operation_of(SKD_CACHE_FLUSH, NULL, second, 4096));

    // Within ranges that overlap: as memmove does.
    put_pattern(second, BYTES);
    done(skd_copy_of(second + 100, second, 9000));
    CHECK(memcmp(second + 100, first, 9000) == 0);
}

static void comparisons(void) {
    memcpy(second, first, BYTES);
    CHECK(done(skd_compare_of(first, second, BYTES)).answer == SKD_EQUAL);
    second[9999] ^= 1;
    skd_operation compare = skd_compare_of(first, second, BYTES);
    skd_outcome differs = skd_outcome_new();
    CHECK(skd_run(client, &compare, path_here(), &differs) == 0);
    CHECK(differs.answer == SKD_DIFFERS && differs.value == 9999);

    memset(second, 7, 4096);
    CHECK(done(skd_compare_pattern_of(second, UINT64_C(0x0707070707070707), 4096)).answer ==
          SKD_EQUAL);

    memcpy(second, first, BYTES);
    second[8] ^= 1, second[4000] ^= 1;
    skd_outcome delta = done(skd_create_delta_of(record, 100, first, second, 8192));
    CHECK(delta.answer == SKD_DELTA && delta.value == 20);
    memcpy(third, first, 8192);
    done(skd_apply_delta_of(third, 8192, record, 20));
    CHECK(memcmp(third, second, 8192) == 0);
    for (int i = 0; i < 12; i++)
        second[i * 8] ^= 2;
    CHECK(done(skd_create_delta_of(record, 80, first, second, 8192)).answer == SKD_DELTA_CUT);
}

static void checksums(void) {
    CHECK(crc32c((const unsigned char *)"123456789", 9) == 0xe3069283);
    skd_outcome crc = done(skd_crc_of(0, first, BYTES));
    CHECK(crc.answer == SKD_CRC_VALUE && crc.value == crc32c(first, BYTES));
    // Two parts, one behind the other.
    uint64_t half = done(skd_crc_of(0, first, 5000)).value;
    CHECK(done(skd_copy_crc_of(second, half, first + 5000, BYTES - 5000)).value == crc.value);
    CHECK(memcmp(second, first + 5000, BYTES - 5000) == 0);
    skd_operation plain = skd_crc_of(0, first, 100);
    plain.flags = SKD_CRC_BYPASS_INVERSION | SKD_CRC_BYPASS_REFLECTION;
    CHECK(done(plain).value != done(skd_crc_of(0, first, 100)).value);
}

static void protection(void) {
    skd_tags tags;
    memset(&tags, 0, sizeof tags);
    tags.reference = 77, tags.application = 0x1234;
    done(skd_dif_of(SKD_DIF_INSERT, third, first, 4 * 512, 0, tags));
    CHECK(memcmp(third + 520, first + 512, 512) == 0 && third[519] == 77 && third[516 + 520 + 3] == 78);
    skd_outcome right = done(skd_dif_of(SKD_DIF_CHECK, NULL, third, 4 * 520, 0, tags));
    CHECK(right.answer == SKD_DONE);
    skd_tags others = tags;
    others.reference = 1000;
    skd_operation update = skd_dif_of(SKD_DIF_UPDATE, second, third, 4 * 520, 0, tags);
    update.destination_tags = others;
    done(update);
    CHECK(second[518] == 1000 / 256 && second[519] == 1000 % 256);
    done(skd_dif_of(SKD_DIF_STRIP, record, second, 4 * 520, 0, others));
    CHECK(memcmp(record, first, 4 * 512) == 0);

    third[520 + 3] ^= 1;
    skd_operation check = skd_dif_of(SKD_DIF_CHECK, NULL, third, 4 * 520, 0, tags);
    skd_outcome wrong = skd_outcome_new();
    CHECK(skd_run(client, &check, path_here(), &wrong) == 0);
    CHECK(wrong.answer == SKD_PROTECTION && wrong.value == 520 && wrong.dif_status & 1);
}

// What devices of version 1 do not have: the CPU does it.
static void version_two(void) {
    skd_outcome outcome = skd_outcome_new();
    skd_operation fill = skd_fill_of(second, 1, 64);
    fill.flags = SKD_PATTERN_16, fill.pattern_high = 2;
    CHECK(skd_run(client, &fill, SKD_CPU, &outcome) == 0);
    CHECK(second[0] == 1 && second[8] == 2 && second[24] == 2);
    skd_operation wide = skd_crc_of(0, "123456789", 9);
    wide.flags = SKD_CRC_64;
    CHECK(skd_run(client, &wide, SKD_CPU, &outcome) == 0);
    CHECK(outcome.value == UINT64_C(0xae8b14860a799888));
    skd_tags tags;
    memset(&tags, 0, sizeof tags);
    skd_operation dix = skd_dif_of(SKD_DIX_GENERATE, second, first, 1024, 0, tags);
    CHECK(skd_run(client, &dix, SKD_AUTOMATIC, &outcome) == 0);
    CHECK(second[7] == 0 && second[15] == 1);
    skd_operation fetch = skd_operation_of(SKD_FETCH_TRANSLATIONS, NULL, first, BYTES);
    CHECK(skd_run(client, &fetch, SKD_AUTOMATIC, &outcome) == 0);
}

static void short_calls(void) {
    uint64_t offset = 99;
    uint32_t crc = 0;
    memset(second, 0, BYTES);
    CHECK(skd_copy(client, second, first, BYTES) == 0 && memcmp(first, second, BYTES) == 0);
    CHECK(skd_compare(client, first, second, BYTES, &offset) == 0 && offset == 99);
    second[12000] ^= 1;
    CHECK(skd_compare(client, first, second, BYTES, &offset) == 1 && offset == 12000);
    CHECK(skd_compare(client, first, second, BYTES, NULL) == 1);
    CHECK(skd_fill(client, second, 0, BYTES) == 0 && second[12000] == 0);
    CHECK(skd_crc32c(client, 0, first, BYTES, &crc) == 0 && crc == crc32c(first, BYTES));
    CHECK(skd_copy(client, NULL, NULL, 0) == 0 && skd_fill(client, NULL, 1, 0) == 0);
    CHECK(skd_crc32c(client, 5, NULL, 0, &crc) == 0 && crc == 5);
    CHECK(skd_compare(client, NULL, NULL, 0, NULL) == 0);
}

static void what_is_known(void) {
    skd_statistics statistics = skd_statistics_new();
    CHECK(skd_get_statistics(client, &statistics) == 0);
    const skd_amount *copies =
        path_here() == SKD_DEVICE ? &statistics.device[SKD_COPY] : &statistics.cpu[SKD_COPY];
    CHECK(copies->count >= 3 && copies->bytes >= 2 * BYTES + 9000);
    CHECK(statistics.reasons[SKD_ASKED].count >= 2);
    CHECK(strcmp(skd_operation_name(SKD_COPY), "memory move") == 0);
    CHECK(skd_operation_name(1) == NULL && skd_operation_name(99) == NULL);
    CHECK(strcmp(skd_reason_text(SKD_SMALL), "below the threshold") == 0);
    CHECK(skd_reason_text(SKD_REASONS) == NULL);

    uint64_t synchronous = 0, asynchronous = 0;
    CHECK(skd_thresholds(client, SKD_COPY, &synchronous, &asynchronous) == 0);
    CHECK(synchronous == 4096 && asynchronous == 128);
    CHECK(skd_thresholds(client, SKD_CRC, NULL, NULL) == 0);

    skd_queue queue = skd_queue_new();
    int queues = skd_queues(client);
    CHECK(queues == (path_here() == SKD_DEVICE ? 2 : 0));
    for (int i = 0; i < queues; i++) {
        CHECK(skd_queue_of(client, (uint32_t)i, &queue) == 0);
        CHECK(strncmp(queue.name, "wq0.", 4) == 0 && strcmp(queue.device, "dsa0") == 0);
        CHECK(queue.entries > 0 && queue.is_enabled == 1 && queue.under_way == 0);
        CHECK(queue.operations >> SKD_COPY & 1);
        CHECK(skd_queue_of_system((uint32_t)i, &queue) == 0 && queue.is_mapped == 0);
    }
    REFUSED(ENOENT, "does not exist", skd_queue_of(client, (uint32_t)queues, &queue));
    CHECK(skd_queue_of_system(1000, &queue) == -ENOENT);
    REFUSED(ENOENT, "0 queues are left out", skd_left_out(client, 0, NULL, 0));
    CHECK(skd_drain(client, SKD_FOREVER) == 0);
    done(skd_operation_new(SKD_NO_OP, 0));
    done(skd_operation_new(SKD_DRAIN, 0));
}

int main(void) {
    CHECK(skd_version()[0] != '\0' && skd_error_text()[0] == '\0');
    CHECK(skd_open(NULL, &client) == 0);
    moves();
    comparisons();
    checksums();
    protection();
    version_two();
    short_calls();
    what_is_known();
    CHECK(skd_close(client) == 0);
    printf("operations are right\n");
    return 0;
}
