// A model of four layers that uses all kinds of memory of a program: weights, a constant, scratch, states, inputs,
// outputs.
#pragma once

#include "model/model.hpp"
#include "plan/program.hpp"

#include "abi/library.hpp"
#include <lamina/tensor.hpp>

#include <memory>

namespace test {

struct SmallModel {
    std::shared_ptr<const lamina::abi::Registry> plugins;
    std::shared_ptr<const lamina::model::Model> model;

    SmallModel();
    [[nodiscard]] lamina::plan::GraphPlan plan() const;
    // Compiles the plan, writes the inputs, runs it and reads the output, (2, 4, 16).
    [[nodiscard]] lamina::Tensor run_on(lamina::plan::Backend &backend,
                                        const lamina::plan::ProgramOptions &options = {}) const;
    // Whether the output agrees with the references.
    [[nodiscard]] bool is_right(const lamina::Tensor &output) const;
};

} // namespace test
