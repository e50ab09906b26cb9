// C++: owners of handles, and failures as exceptions.
#include "check.h"
#include <cerrno>
#include <skipline_dsa.hpp>
#include <vector>

using skipline::dsa::client;
using skipline::dsa::error;
using skipline::dsa::job;

// The header's functions with the type checks of C++, and jobs that outlive their client.
static job begun(const std::vector<unsigned char> &from, std::vector<unsigned char> &to) {
    client short_lived;
    skd_batch *batch = nullptr;
    CHECK(skd_batch_create(&batch) == 0);
    skd_operation copy = skd_copy_of(to.data(), from.data(), from.size());
    skd_operation compare = skd_compare_of(to.data(), from.data(), from.size());
    CHECK(skd_batch_add(batch, &copy) == 0 && skd_batch_add_behind_fence(batch, &compare) == 1);
    job both = short_lived.submit(batch, path_here());
    CHECK(skd_batch_free(batch) == 0);
    return both;
}

int main() {
    std::vector<unsigned char> from(10000), to(10000);
    put_pattern(from.data(), from.size());
    job both = begun(from, to);
    skd_outcome outcome = both.wait();
    CHECK(is_done_here(&outcome, 20000) && from == to);
    CHECK(both.has_ended() && both.member(1).answer == SKD_EQUAL);

    skd_options options = skd_options_new();
    options.flags = SKD_NO_ENVIRONMENT | SKD_THRESHOLDS_GIVEN;
    options.synchronous_bytes = options.asynchronous_bytes = UINT64_MAX;
    client one(&options);
    client moved = std::move(one);
    moved.copy(to.data(), from.data(), 5000);
    CHECK(moved.statistics().reasons[SKD_SMALL].bytes == 5000);
    CHECK(moved.crc32c("123456789", 9) == 0xe3069283);
    CHECK(moved.run(skd_fill_of(to.data(), 0, 8), SKD_CPU).cpu_bytes == 8 && to[7] == 0);
    {
        job waited_for = moved.submit(skd_copy_of(to.data(), from.data(), 10000), path_here());
        waited_for = moved.submit(skd_copy_of(to.data(), from.data(), 10000), path_here());
        CHECK(waited_for.get() != nullptr);
        job other(waited_for.release());
    }
    CHECK(from == to);
    try {
        moved.run(skd_copy_of(nullptr, from.data(), 1));
        CHECK(false);
    } catch (const error &failed) {
        CHECK(failed.code().value() == EINVAL);
        CHECK(strstr(failed.what(), "`destination` is NULL") != nullptr);
    }
    std::printf("owners give back what they own\n");
}
