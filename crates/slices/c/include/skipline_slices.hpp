// Memory in chosen slices for containers of C++17: skipline::slice_resource. Header only; link with
// libskipline_slices. See skipline_slices(3).
#ifndef SKIPLINE_SLICES_HPP
#define SKIPLINE_SLICES_HPP

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <skipline_slices.h>

namespace skipline {

// Counts of a resource's allocations, in slices and from the upstream resource.
struct slice_resource_statistics {
    // Objects in the owner's slices.
    std::size_t placed;
    // Objects, and their bytes, that are larger than a line or aligned to more: they cannot be in one
    // slice, and come from the upstream resource.
    std::size_t upstream, upstream_bytes;
};

// Objects of up to a line in the slices of one owner of a memory: nodes of lists, trees and hash
// tables. Larger arrays, as of vectors, span all slices anyway; they come from the upstream resource,
// and are counted. If the owner's slices are full, std::bad_alloc is thrown: no object is silently
// placed in other slices. Any number of threads may use a resource at once. It owns
// neither the memory nor the owner's claim; both have to outlive it.
class slice_resource : public std::pmr::memory_resource {
  public:
    slice_resource(skl_memory *memory, int owner,
                   std::pmr::memory_resource *upstream = std::pmr::get_default_resource()) noexcept
        : memory_(memory), owner_(owner), upstream_(upstream) {}
    slice_resource(const slice_resource &) = delete;
    slice_resource &operator=(const slice_resource &) = delete;

    slice_resource_statistics statistics() const noexcept {
        return {placed_.load(std::memory_order_relaxed), others_.load(std::memory_order_relaxed),
                other_bytes_.load(std::memory_order_relaxed)};
    }
    std::pmr::memory_resource *upstream_resource() const noexcept { return upstream_; }

  private:
    static bool fits(std::size_t bytes, std::size_t alignment) noexcept {
        return bytes <= SKL_LINE_BYTES && alignment <= SKL_LINE_BYTES;
    }

    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (!fits(bytes, alignment)) {
            void *object = upstream_->allocate(bytes, alignment);
            others_.fetch_add(1, std::memory_order_relaxed);
            other_bytes_.fetch_add(bytes, std::memory_order_relaxed);
            return object;
        }
        // Objects are aligned to their size, rounded up.
        void *object = nullptr;
        if (skl_memory_allocate(memory_, owner_, bytes < alignment ? alignment : bytes, &object) < 0)
            throw std::bad_alloc();
        placed_.fetch_add(1, std::memory_order_relaxed);
        return object;
    }

    void do_deallocate(void *object, std::size_t bytes, std::size_t alignment) override {
        if (fits(bytes, alignment))
            skl_memory_free(memory_, object);
        else
            upstream_->deallocate(object, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
        const auto *same = dynamic_cast<const slice_resource *>(&other);
        return same != nullptr && same->memory_ == memory_ && same->owner_ == owner_ &&
               same->upstream_->is_equal(*upstream_);
    }

    skl_memory *memory_;
    int owner_;
    std::pmr::memory_resource *upstream_;
    std::atomic<std::size_t> placed_{0}, others_{0}, other_bytes_{0};
};

} // namespace skipline

#endif
