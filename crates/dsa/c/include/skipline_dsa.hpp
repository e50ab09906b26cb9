// Owners of handles of libskipline_dsa for C++17: a client, and jobs that are waited for before their
// memory goes. Header only; link with libskipline_dsa. See skipline_dsa(3).
#ifndef SKIPLINE_DSA_HPP
#define SKIPLINE_DSA_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <skipline_dsa.h>
#include <system_error>
#include <utility>

namespace skipline {
namespace dsa {

// The failure of a call: the errno as code, and the sentence of the library.
class error : public std::system_error {
  public:
    explicit error(int number)
        : std::system_error(number, std::generic_category(), skd_error_text()) {}
};

// Returns the value of a call; throws an error if the call failed.
inline int check(int value) {
    if (value < 0)
        throw error(-value);
    return value;
}

// A job. The destructor waits for its end, so that the memory of the operation may be freed then.
class job {
  public:
    job() noexcept = default;
    explicit job(skd_job *handle) noexcept : handle_(handle) {}
    job(job &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    job &operator=(job &&other) noexcept {
        if (this != &other) {
            end();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    job(const job &) = delete;
    job &operator=(const job &) = delete;
    ~job() { end(); }

    // Whether the job has ended, with success or not.
    bool has_ended() const {
        int polled = skd_job_poll(handle_, nullptr);
        return polled != -EAGAIN && polled != -EBUSY;
    }
    // Waits for the end, and returns the outcome.
    skd_outcome wait() const {
        skd_outcome outcome = skd_outcome_new();
        check(skd_job_wait(handle_, &outcome));
        return outcome;
    }
    // Returns the outcome of one operation of a batch.
    skd_outcome member(std::uint32_t number) const {
        skd_outcome outcome = skd_outcome_new();
        check(skd_job_member(handle_, number, &outcome));
        return outcome;
    }
    skd_job *get() const noexcept { return handle_; }
    // Gives the handle to the caller, who has to give it back.
    skd_job *release() noexcept { return std::exchange(handle_, nullptr); }

  private:
    void end() noexcept {
        if (handle_ != nullptr) {
            skd_job_wait(handle_, nullptr);
            skd_job_free(handle_);
        }
    }

    skd_job *handle_ = nullptr;
};

// A client: open queues, thresholds and statistics.
class client {
  public:
    explicit client(const skd_options *options = nullptr) { check(skd_open(options, &handle_)); }
    client(client &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    client &operator=(client &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    client(const client &) = delete;
    client &operator=(const client &) = delete;
    ~client() { skd_close(handle_); }

    skd_outcome run(const skd_operation &operation, int path = SKD_AUTOMATIC) const {
        skd_outcome outcome = skd_outcome_new();
        check(skd_run(handle_, &operation, path, &outcome));
        return outcome;
    }
    job submit(const skd_operation &operation, int path = SKD_AUTOMATIC) const {
        skd_job *begun = nullptr;
        check(skd_submit(handle_, &operation, path, &begun));
        return job(begun);
    }
    job submit(const skd_batch *batch, int path = SKD_AUTOMATIC) const {
        skd_job *begun = nullptr;
        check(skd_batch_submit(handle_, batch, path, &begun));
        return job(begun);
    }
    void copy(void *destination, const void *source, std::size_t bytes) const {
        check(skd_copy(handle_, destination, source, bytes));
    }
    std::uint32_t crc32c(const void *source, std::size_t bytes, std::uint32_t seed = 0) const {
        std::uint32_t crc = 0;
        check(skd_crc32c(handle_, seed, source, bytes, &crc));
        return crc;
    }
    skd_statistics statistics() const {
        skd_statistics now = skd_statistics_new();
        check(skd_get_statistics(handle_, &now));
        return now;
    }
    skd_client *get() const noexcept { return handle_; }

  private:
    skd_client *handle_ = nullptr;
};

} // namespace dsa
} // namespace skipline

#endif
