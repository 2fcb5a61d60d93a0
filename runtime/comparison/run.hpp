// A program that a comparison runs step by step.
#pragma once

#include "conformance/values.hpp"
#include "plan/program.hpp"

#include <lamina/lamina.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace lamina::comparison {

// What a layer gives: its outputs, then those of its states that are not left out.
inline std::vector<int32_t> results_of(const plan::Step &step) {
    std::vector<int32_t> out = step.out;
    std::ranges::copy_if(step.state, std::back_inserter(out), [](int32_t t) { return t != plan::none; });
    return out;
}

// A program that is run step by step, with its own states. Programs of a backend share states by name, so they are set
// before every run. They begin with arbitrary numbers, as another text might leave them.
class Run {
  public:
    // `again`: whether steps keep the states that they begin with, for before() and again().
    Run(std::unique_ptr<plan::Program> program, bool again) : program_(std::move(program)), again_(again) {
        const auto &tensors = plan().tensors;
        for (size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].kind == plan::PlannedTensor::Kind::state) states_.push_back(static_cast<int32_t>(i));
    }

    void begin() {
        for (const int32_t t : states_) {
            const plan::PlannedTensor &state = plan().tensors[static_cast<size_t>(t)];
            after_[t] = conformance::make_values(state.type, conformance::Values::normal, false, {}, 1, state.name);
        }
    }
    // Takes over the states that another program of the graph left.
    void continue_from(const Run &other) {
        for (const int32_t t : states_)
            after_[t] = other.read(other.plan().tensor(plan().tensors[static_cast<size_t>(t)].name));
    }
    // Continues from the states that the last step left. An input that is not given keeps its value.
    void step(const TensorMap &inputs) {
        for (const auto &[name, tensor] : inputs) program_->write(plan().inputs.at(name), tensor.bytes());
        if (again_) before_ = after_;
        run_from(after_);
    }
    // The last step once more.
    void again() { run_from(before_); }
    // Runs one layer on the inputs and states that it had in the last step of `whole`.
    void step_within(const Run &whole) {
        for (const auto &[name, index] : plan().inputs)
            program_->write(index, whole.read(whole.plan().tensor(name)).bytes());
        for (const int32_t t : states_)
            before_[t] = whole.before(whole.plan().tensor(plan().tensors[static_cast<size_t>(t)].name));
        run_from(before_);
    }
    // States may be large, and step_within() brings others.
    void forget_states() {
        before_.clear();
        after_.clear();
    }

    [[nodiscard]] const plan::GraphPlan &plan() const { return program_->plan(); }
    [[nodiscard]] std::string variant(size_t step) const { return program_->variant(step); }
    // The value of a state before the last step.
    [[nodiscard]] const Tensor &before(int32_t state) const { return before_.at(state); }
    // Any tensor after the last step.
    [[nodiscard]] Tensor read(int32_t tensor) const {
        if (const auto state = after_.find(tensor); state != after_.end()) return state->second;
        return read_now(tensor);
    }
    [[nodiscard]] std::vector<Tensor> read(const std::vector<int32_t> &tensors) const {
        std::vector<Tensor> out;
        for (const int32_t t : tensors) out.push_back(read(t));
        return out;
    }

  private:
    using States = std::map<int32_t, Tensor>; // by tensor of the plan

    void run_from(const States &states) {
        for (const auto &[t, state] : states) program_->write(t, state.bytes());
        program_->run();
        for (const int32_t t : states_) after_[t] = read_now(t);
    }
    [[nodiscard]] Tensor read_now(int32_t tensor) const {
        Tensor out(plan().tensors[static_cast<size_t>(tensor)].type);
        program_->read(tensor, out.bytes());
        return out;
    }

    std::unique_ptr<plan::Program> program_;
    bool again_;
    std::vector<int32_t> states_; // of the plan
    States before_, after_;       // the last step
};

} // namespace lamina::comparison
