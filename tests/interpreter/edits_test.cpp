// The test of the test: mistakes in the source of kernels that drivers may let pass, each of which must be caught.
#include "catch.hpp"
#include "edited_layer.hpp"
#include "interpreter/device.hpp"
#include "kernels.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

using namespace lamina;

namespace {

struct Mistake {
    const char *layer, *kernel, *file, *text, *becomes;
    const char *message; // a part of it
};

const std::vector<Mistake> mistakes{
    {"softmax", "softmax", "common/workgroup_sum.glsl", "i < PARTS; ++i) {", "i <= PARTS; ++i) {",
     "in 'workgroup_maximum': it accesses workgroup_part[0][64], but the array has length 64"},
    {"linear", "product_registers", "product/registers.glsl", "r < TILE_ROWS; ++r) sum[r] = vec4(0.0)",
     "r <= TILE_ROWS; ++r) sum[r] = vec4(0.0)", "in 'main': it accesses sum["},
    {"linear", "product_few_rows_subgroup", "product/few_rows.glsl", "i < parts", "i <= parts",
     "in 'joined': it reads partial[0][2].x, which nothing has written"},
    {"linear", "product_few_rows", "product/few_rows.glsl", "#endif\n    barrier();", "#endif\n",
     "which invocation 0 writes, with no barrier in between"},
    {"linear", "product_few_rows", "product/few_rows.glsl", "        barrier();\n", "",
     "it reads partial[0][32].x, which nothing has written"},
    {"layer_norm", "layer_norm", "common/workgroup_sum.glsl", "[PART] = part;\n    barrier();\n    float sum",
     "[PART / 2u] = part;\n    barrier();\n    float sum",
     "invocation 1 of workgroup (0, 0, 0), in 'workgroup_sum': it writes workgroup_part[0][0], which invocation 0 "
     "writes, too, with no barrier in between"},
    {"activation", "activation", "activation/activation.comp", "workgroup_number() * 256u", "workgroup_number() * 255u",
     "which invocation 63 of workgroup (0, 0, 0) writes, too, and nothing orders workgroups"},
    {"linear", "product_tiled", "product/tiled.glsl", "barrier(); // the previous", "if (low < 8u) barrier(); //",
     "it waits at a barrier, but invocation 8 waits elsewhere, in 'main'"},
    {"conv1d", "conv1d", "conv1d/conv1d.comp", "x_tile[16u * LINE]", "x_tile[15u * LINE]",
     "it accesses x_tile[255], but the array has length 255"},
    {"linear", "product_registers", "product/registers.glsl",
     "[[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) sum[r] = vec4(0.0);", "",
     "it reads sum[0].x, which nothing has written"},
    {"softmax", "softmax", "softmax/softmax.comp", "row * cols", "(row + 1u) * cols", "in 'row_maximum': it reads x["},
    {"linear", "product_few_rows", "product/few_rows.glsl", "k += 64u", "k += 0u", "it runs without end"},
    {"linear", "product_tiled", "product/product.glsl", "n / across % down", "n / (across - across) % down",
     "it divides by zero"},
    {"linear", "product_tiled", "product/tiled.glsl", "x_tile[DEPTH * X_LINE]", "x_tile[(DEPTH - 1u) * X_LINE]",
     "it accesses x_tile[135], but the array has length 135"},
    {"linear", "product_packed", "product/product_packed.comp", "item % SHARE)", "item % SHARE + 64u)",
     "its subgroup takes a value from lane 64, which is not there"},
    // With cooperative matrices.
    {"linear", "product_matrix", "product/product_matrix.comp", "store();\n        barrier();", "store();",
     "its subgroup reads memory[1152].x, which invocation 0 writes, with no barrier in between"},
    {"linear", "product_matrix", "product/product_matrix.comp", "W_LOW - W_HIGH + at, LINE",
     "W_LOW - W_HIGH + at, LINE * 2u", "its subgroup accesses memory[1280], but the array has length 1280"},
    {"attention", "attention_matrix", "attention/attention_matrix.comp", "LOW = ONE_PRODUCT ? 2u",
     "LOW = ONE_PRODUCT ? 1u",
     "its subgroup accesses a cooperative matrix whose lines do not begin at multiples of 16 bytes"},
    {"attention", "attention_matrix", "attention/attention_matrix.comp", "LINE = 10u", "LINE = 11u",
     "its subgroup accesses a cooperative matrix whose lines do not begin at multiples of 16 bytes"},
    {"linear", "product_matrix", "product/product_matrix.comp", "next != 0u && multiplies",
     "next != 0u && gl_LocalInvocationID.x != 7u",
     "it waits for an operation of its subgroup, but invocation 7 waits elsewhere"},
    {"linear", "product_matrix", "product/product_matrix.comp", "own_row = gl_SubgroupID",
     "own_row = gl_LocalInvocationID.x / 20u",
     "its subgroup accesses a cooperative matrix, but invocation 40 has another pointer"},
    {"attention", "attention_matrix", "attention/attention_matrix.comp", "multiply(true);\n            barrier();",
     "multiply(true);", "it reads product["},
};

// Builds leave out kernels that their tools cannot compile.
bool is_left_out(const abi::Layer &layer, std::string_view name) {
    const std::span kernels(layer.contract->kernels, layer.contract->n_kernels);
    return std::ranges::any_of(kernels, [&](const lamina_kernel &k) { return k.name == name && k.words == 0; });
}

} // namespace

TEST_CASE("mistakes with shared memory, local arrays, barriers and buffers are caught, and the message says where") {
    for (const Mistake &m : mistakes) {
        INFO(m.file << ": " << m.text << " -> " << m.becomes);
        const abi::Layer &layer = test::plugins()->layer(m.layer);
        const auto edit = test::edit(m.file, m.text, m.becomes); // wants the text in the file, in every build
        if (is_left_out(layer, m.kernel)) continue;
        const test::EditedLayer edited(layer, m.kernel, edit);
        const std::string fault = edited.fault();
        CHECK_THAT(fault, matchers::contains(std::string("kernel '") + m.kernel + "'"));
        CHECK_THAT(fault, matchers::contains(m.message));
    }
}

TEST_CASE("no kernel agrees with its reference without one of its barriers") {
    std::set<std::pair<std::string, size_t>> all, caught;
    const auto device = interpreter::make_device(test::plugins());
    for (const auto &[id, layer] : test::plugins()->layers())
        for (const uint32_t k : test::kernels_in(test::cases_of(layer), layer, *device)) {
            const std::string kernel = layer.contract->kernels[k].name;
            for (const test::Edit &edit : test::edits(layer, kernel, "barrier();", "")) {
                const std::pair barrier{edit.file, edit.at};
                if (caught.contains(barrier)) continue; // with another kernel that includes this file
                const test::EditedLayer edited(layer, kernel, edit);
                if (!edited.differs()) continue; // a function of an included file that this kernel does not call
                all.insert(barrier);
                if (!edited.fault().empty()) caught.insert(barrier);
            }
        }
    CHECK(all.size() > 20);
    for (const auto &[file, at] : all) {
        INFO(file << ", at character " << at);
        CHECK(caught.contains({file, at}));
    }
}
