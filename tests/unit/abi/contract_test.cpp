// Contracts, as read by hosts and plugins of different minor versions.
#include "abi/contract.hpp"

#include "catch.hpp"
#include "test_layer.hpp"

using namespace lamina::abi;
using test::TestLayer;

TEST_CASE("contract: lists of larger elements are read as far as this host knows them") {
    struct LaterPort {
        lamina_port known;
        uint64_t later;
    };
    TestLayer layer;
    const lamina_layer sound = *layer.layer().contract;
    std::vector<LaterPort> inputs;
    for (const lamina_port &p : layer.inputs) inputs.push_back({p, 7});
    std::vector<LaterPort> weights{{layer.weights[0], 7}, {layer.weights[1], 7}}, outputs{{layer.outputs[0], 7}},
        states{{layer.states[0], 7}};
    lamina_layer foreign = sound;
    foreign.inputs = &inputs[0].known, foreign.weights = &weights[0].known;
    foreign.outputs = &outputs[0].known, foreign.states = &states[0].known;
    foreign.port_size = sizeof(LaterPort);
    const auto own = read_contract(foreign);
    CHECK(own->port_size == sizeof(lamina_port));
    CHECK(signature(*own) == signature(sound));
}

TEST_CASE("contract: what a shorter descriptor does not have is zero") {
    TestLayer layer;
    lamina_layer foreign = *layer.layer().contract;
    foreign.prefix.struct_size = offsetof(lamina_layer, check);
    foreign.check = [](const lamina_call *, const lamina_host *) -> lamina_status { return LAMINA_INTERNAL; };
    CHECK(read_contract(foreign)->check == nullptr);
}

TEST_CASE("contract: a signature holds what a CPU kernel relies on") {
    TestLayer layer;
    const std::string whole = signature(*layer.layer().contract);
    CHECK(whole == "heads eps causal activation=relu|gelu kv_heads=heads batch_first; query: sequence B T C, "
                   "source=query: sequence B S C, lengths?: i32 B; weight: heads*D C, bias?: heads*D -> "
                   "y: sequence B T heads*D; cache: B M C");
    layer.weights[1].dims = "C";
    CHECK(signature(*layer.layer().contract) != whole);
}
