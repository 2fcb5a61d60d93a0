// Prints docs/portability.md: statistics of RADV's compiler for every kernel on several AMD chips.
#include "chip.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace portability;

namespace {

struct Range {
    uint64_t least = UINT64_MAX, greatest = 0;

    void take(uint64_t value) {
        least = std::min(least, value);
        greatest = std::max(greatest, value);
    }
    [[nodiscard]] std::string text() const {
        return least == greatest ? std::to_string(least) : std::to_string(least) + "–" + std::to_string(greatest);
    }
};

// All builds of one kernel on one chip.
struct Row {
    size_t builds = 0;
    Range vector_registers, shared_bytes, subgroups, spilled_vector, spilled_scalar, scratch_bytes;

    void take(const Statistics &s) {
        ++builds;
        vector_registers.take(s.vector_registers);
        shared_bytes.take(s.shared_bytes);
        subgroups.take(s.subgroups);
        spilled_vector.take(s.spilled_vector);
        spilled_scalar.take(s.spilled_scalar);
        scratch_bytes.take(s.scratch_bytes);
    }
};

constexpr const char *head = R"(# Portability

This page is about GPUs that the project could not run on. It shows what their compilers make of Lamina's kernels.

## What is checked, and what is not
- Every kernel is valid SPIR-V for Vulkan 1.1, according to `spirv-val`.
- Neither the AMD driver below nor MoltenVK has cooperative matrices, so the rest of this page is about the other
  kernels. The lavapipe of Debian 13's backports has them, and `lamina check` passes there.
- SPIRV-Cross can translate every other kernel to Metal's shading language, as MoltenVK does on Apple's GPUs. Apple's own
  compiler has not seen the result. MoltenVK before 1.3 leaves specialization constants that size arrays at their
  default values, so no plan sets such a constant to more than its default.
- Every other kernel compiles for the AMD chips below, with every set of specialization constants that the conformance
  cases need, and no values are spilled to memory.
- **Nothing was run on any of them.** To find out whether the numbers are right on a device, run `lamina check` there.
  The runtime also checks a kernel before it uses it.

The compilers of NVIDIA, Intel, Arm and Qualcomm come only with their drivers, so they are not covered.

The tests `portability` and `portability_CHIP` check all of this. The command that writes this page is

    build/bin/portability_table > docs/portability.md
)";

constexpr const char *legend = R"(
The chips are GCN 5 (vega10), RDNA 1 (navi10), RDNA 2 (navi21) and RDNA 3 (gfx1100). Each cell has two numbers:
**vector registers per invocation / subgroups that a SIMD unit can hold at a time**. The column's title gives the most
subgroups that any of these kernels reaches. With more subgroups, the GPU can hide more of the time it waits for
memory; a kernel that uses much shared memory or many registers leaves room for few, and has to do more work per load.
A kernel is built once for each set of specialization constants, hence the ranges. *Scalar spills* go to vector
registers, not to memory. Spills to memory would be shown in bold.
)";

// Compiles everything for one chip and prints a line per build. Runs in a separate process, because drivers read the
// environment once.
void compile_all(const std::string &chip, std::FILE *out) {
    std::string why_not;
    const auto opened = Chip::open(chip, why_not);
    if (opened == nullptr) throw lamina::Error(lamina::ErrorCode::no_device, chip + ": " + why_not);
    std::ostringstream lines;
    lines << opened->driver() << '\n';
    for (const Build &build : builds_on(opened->capabilities())) {
        const Statistics s = opened->compile(build);
        lines << build.kernel_name() << ' ' << s.vector_registers << ' ' << s.shared_bytes << ' ' << s.subgroups << ' '
              << s.spilled_vector << ' ' << s.spilled_scalar << ' ' << s.scratch_bytes << '\n';
    }
    std::fputs(lines.str().c_str(), out);
}

// The output of compile_all() in a child process. Throws Error if it fails there.
std::string lines_of(const std::string &chip) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw lamina::Error(lamina::ErrorCode::failure, "no pipe");
    const pid_t child = fork();
    if (child == 0) {
        std::FILE *out = fdopen(ends[1], "w");
        try {
            compile_all(chip, out);
        } catch (const std::exception &e) {
            std::cerr << "portability_table: " << e.what() << '\n';
            _exit(1);
        }
        std::fclose(out);
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (child < 0 || status != 0) throw lamina::Error(lamina::ErrorCode::failure, "compiling for " + chip + " failed");
    return text;
}

using Rows = std::map<std::string, Row>; // by kernel

Rows rows_of(std::istream &lines) {
    Rows rows;
    for (std::string kernel; lines >> kernel;) {
        Statistics s;
        lines >> s.vector_registers >> s.shared_bytes >> s.subgroups >> s.spilled_vector >> s.spilled_scalar >>
            s.scratch_bytes;
        rows[kernel].take(s);
    }
    return rows;
}

std::string cell(const Row &row) {
    std::string text = row.vector_registers.text() + " / " + row.subgroups.text();
    if (row.spilled_vector.greatest != 0 || row.scratch_bytes.greatest != 0)
        text += ", **" + row.spilled_vector.text() + " spilled, scratch " + row.scratch_bytes.text() + "**";
    if (row.spilled_scalar.greatest != 0) text += ", *scalar spills " + row.spilled_scalar.text() + "*";
    return text;
}

uint64_t most_subgroups(const Rows &rows) {
    uint64_t most = 0;
    for (const auto &[kernel, row] : rows) most = std::max(most, row.subgroups.greatest);
    return most;
}

void print(const std::vector<std::string> &chips) {
    std::vector<Rows> columns;
    std::string driver;
    for (const std::string &chip : chips) {
        std::istringstream lines(lines_of(chip));
        std::getline(lines, driver);
        columns.push_back(rows_of(lines));
    }
    std::cout << head << "\n## AMD, compiled by RADV of " << driver << '\n'
              << legend << "\n| kernel | builds | shared bytes |";
    for (size_t i = 0; i < chips.size(); ++i)
        std::cout << ' ' << chips[i] << ", of " << most_subgroups(columns[i]) << " |";
    std::cout << "\n| --- | --- | --- |";
    for (size_t i = 0; i < chips.size(); ++i) std::cout << " --- |";
    std::cout << '\n';
    for (const auto &[kernel, first] : columns.front()) {
        std::cout << "| " << kernel << " | " << first.builds << " | " << first.shared_bytes.text() << " |";
        for (const Rows &column : columns) std::cout << ' ' << cell(column.at(kernel)) << " |";
        std::cout << '\n';
    }
}

} // namespace

int main() {
    std::istringstream words(LAMINA_CHIPS);
    const std::vector<std::string> chips{std::istream_iterator<std::string>(words), {}};
    try {
        print(chips);
    } catch (const std::exception &e) {
        std::cerr << "portability_table: " << e.what() << '\n';
        return 1;
    }
}
