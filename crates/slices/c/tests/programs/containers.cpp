// Containers of C++ in chosen slices: containers TABLE LATENCIES
#include "emulated.h"
#include <list>
#include <map>
#include <set>
#include <skipline_slices.hpp>
#include <string>
#include <unordered_map>
#include <vector>

struct alignas(32) Aligned {
    char bytes[32];
};

static void nodes_are_in_the_owners_slices(const skl_slice_map *map, emulated &all, int owner) {
    skipline::slice_resource resource(all.memory, owner);
    {
        std::pmr::list<int> list(&resource);
        std::pmr::map<int, long> tree(&resource);
        std::pmr::set<Aligned *> set(&resource);
        for (int i = 0; i < 5000; i++) {
            list.push_back(i);
            tree[i * 7 % 5000] = i;
        }
        for (const int &value : list)
            CHECK(emulated_slice(&all, map, &value) == 6);
        for (const auto &pair : tree)
            CHECK(emulated_slice(&all, map, &pair) == 6);
        CHECK(list.size() == 5000 && tree.size() == 5000 && set.empty());
        CHECK(resource.statistics().placed == 10000 && resource.statistics().upstream == 0);
    }
    skl_memory_statistics statistics;
    CHECK(skl_memory_get_owner_statistics(all.memory, owner, &statistics) == 0);
    CHECK(statistics.objects == 0 && statistics.used_lines == 0);
}

static void larger_objects_come_from_upstream(emulated &all, int owner) {
    skipline::slice_resource resource(all.memory, owner);
    std::pmr::unordered_map<int, int> table(&resource);
    std::pmr::vector<char> bytes(4096, 'x', &resource);
    for (int i = 0; i < 1000; i++)
        table[i] = i;
    CHECK(resource.statistics().upstream > 1 && resource.statistics().upstream_bytes > 4096);
    CHECK(resource.statistics().placed >= 1000);
    // Alignments of up to a line are kept, larger ones are another resource's.
    for (std::size_t alignment = 1; alignment <= 256; alignment *= 2) {
        void *object = resource.allocate(3, alignment);
        CHECK(reinterpret_cast<std::uintptr_t>(object) % alignment == 0);
        CHECK((skl_memory_slice(all.memory, object) == 6) == (alignment <= SKL_LINE_BYTES));
        resource.deallocate(object, 3, alignment);
    }
}

static void full_slices_throw(const skl_slice_map *map, emulated &all, int owner) {
    skipline::slice_resource resource(all.memory, owner, std::pmr::null_memory_resource());
    std::pmr::list<std::pmr::string> list(&resource);
    bool thrown = false;
    try {
        for (;;)
            list.emplace_back("short");
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown && emulated_slice(&all, map, &list.back()) == 6);
    skipline::slice_resource same(all.memory, owner, std::pmr::null_memory_resource());
    skipline::slice_resource other(all.memory, owner);
    CHECK(resource.is_equal(same) && !resource.is_equal(other));
    CHECK(!resource.is_equal(*std::pmr::new_delete_resource()));
}

int main(int count, char **arguments) {
    char error[200];
    skl_slice_map *map = nullptr;
    CHECK(count == 3 && skl_slice_map_open(arguments[1], &map, error, sizeof error) == 0);
    emulated all = open_emulated(map);
    std::uint16_t slice = 6;
    int owner = skl_memory_claim(all.memory, &slice, 1, nullptr, 0);
    CHECK(owner >= 0);
    nodes_are_in_the_owners_slices(map, all, owner);
    larger_objects_come_from_upstream(all, owner);
    full_slices_throw(map, all, owner);
    close_emulated(&all);
    skl_slice_map_close(map);
    std::printf("slice-aware\n");
    return 0;
}
