#include "small_model.hpp"

#include "../conformance/drivers.hpp"
#include "base/random.hpp"
#include "conformance/verdict.hpp"
#include "cpu/backend.hpp"

#include <functional>

using namespace lamina;

namespace test {
namespace {

const char *const json = R"({"format": "lamina/1", "name": "small", "graphs": {"main": {
    "inputs": {"ids": {"dtype": "i32", "dims": "B T"}, "position": {"dtype": "i32", "dims": "B"}},
    "layers": [
        {"name": "embedding", "type": "embedding", "inputs": {"ids": "ids"}},
        {"name": "positions", "type": "positional_encoding", "inputs": {"offset": "position"}},
        {"name": "query", "type": "linear"},
        {"name": "key", "type": "linear", "inputs": {"x": "positions"}},
        {"name": "value", "type": "linear", "inputs": {"x": "positions"}},
        {"name": "attention", "type": "attention",
         "inputs": {"q": "query", "k": "key", "v": "value", "position": "position"},
         "params": {"heads": 2, "causal": true}},
        {"name": "out", "type": "linear"},
        {"name": "norm", "type": "layer_norm"}],
    "outputs": {"y": "norm"}}}})";

Tensor weight(const std::string &name, int64_t rows) {
    Tensor t(TensorType{DType::f32, {rows, 16}});
    lamina::Random random(1, name);
    for (float &v : t.f32()) v = static_cast<float>(random.normal() / 4);
    return t;
}

} // namespace

SmallModel::SmallModel() : plugins(test::plugins()) {
    std::map<std::string, Tensor, std::less<>> weights{{"embedding.table", weight("table", 10)},
                                                       {"query.weight", weight("query", 16)},
                                                       {"key.weight", weight("key", 16)},
                                                       {"value.weight", weight("value", 16)},
                                                       {"out.weight", weight("out", 16)}};
    model = model::Model::parse(json, model::Weights::of(std::move(weights)), {}, "small");
}

plan::GraphPlan SmallModel::plan() const {
    const plan::GraphShapes shapes{{{"ids", {DType::i32, {2, 4}}}, {"position", {DType::i32, {2}}}}, 8};
    return plan::plan_graph(*model, model->graphs.at("main"), *plugins, shapes);
}

Tensor SmallModel::run_on(plan::Backend &backend, const plan::ProgramOptions &options) const {
    const auto program = backend.compile(plan(), options);
    const Tensor ids = Tensor::of({2, 4}, std::array<int32_t, 8>{1, 2, 3, 4, 5, 6, 7, 8});
    program->write(program->plan().inputs.at("ids"), ids.bytes());
    program->write(program->plan().inputs.at("position"), Tensor(TensorType{DType::i32, {2}}).bytes());
    program->run();
    Tensor out(TensorType{DType::f32, {2, 4, 16}});
    program->read(program->plan().outputs.at("y"), out.bytes());
    return out;
}

bool SmallModel::is_right(const Tensor &output) const {
    static const Tensor expected = run_on(*cpu::make_backend(plugins, model->weights, nullptr));
    return compare(output, expected, lamina_tolerance{1e-4, 1e-5, LAMINA_F32, 0}, "y").passed;
}

} // namespace test
