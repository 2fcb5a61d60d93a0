// Faulty descriptors, which are refused before any of the plugin's functions are called.
#include "abi/descriptor.hpp"

#include "catch.hpp"
#include "test_layer.hpp"

#include <functional>

using namespace lamina::abi;
using test::TestLayer;

namespace {

// The fault found in a sound layer after `breaks` has changed it.
std::string fault_after(const std::function<void(TestLayer &)> &breaks) {
    TestLayer layer;
    breaks(layer);
    return fault_of(*layer.layer().contract);
}

} // namespace

TEST_CASE("a sound descriptor has no fault") {
    CHECK(fault_after([](TestLayer &) {}).empty());
    CHECK(fault_of_prefix(TestLayer().contract.prefix).empty());
}

TEST_CASE("a foreign prefix is refused with what was expected and found") {
    lamina_prefix prefix = TestLayer().contract.prefix;
    SECTION("magic") {
        prefix.magic = 7;
        CHECK_THAT(fault_of_prefix(prefix), matchers::contains("found 7"));
    }
    SECTION("another ABI") {
        prefix.abi_major = LAMINA_ABI_MAJOR + 1;
        CHECK_THAT(fault_of_prefix(prefix), matchers::contains("ABI major version: expected 1, found 2"));
    }
    SECTION("another sanitizer") {
        prefix.sanitizer ^= 1u;
        CHECK_THAT(fault_of_prefix(prefix), matchers::contains("sanitizer"));
    }
    SECTION("an unknown kind") {
        prefix.kind = 3;
        CHECK_THAT(fault_of_prefix(prefix), matchers::contains("unknown kind 3"));
    }
    SECTION("a descriptor that is cut short") {
        prefix.struct_size = offsetof(lamina_layer, plan); // the last field of version 1.0
        CHECK_THAT(fault_of_prefix(prefix), matchers::contains("the size of the descriptor: expected at least"));
    }
    SECTION("a longer descriptor is a later minor version, and is taken") {
        prefix.struct_size += 64, prefix.abi_minor += 1;
        CHECK(fault_of_prefix(prefix).empty());
    }
}

TEST_CASE("element sizes of lists must be at least those of version 1.0") {
    TestLayer layer;
    lamina_layer contract = *layer.layer().contract;
    CHECK(fault_of_sizes(contract).empty());
    contract.port_size += 8; // a later minor version
    CHECK(fault_of_sizes(contract).empty());
    contract.port_size = sizeof(lamina_port) - 8;
    CHECK_THAT(fault_of_sizes(contract), matchers::contains("the size of a port: expected at least the 56 bytes"));
    contract.port_size = sizeof(lamina_port), contract.states = nullptr;
    CHECK_THAT(fault_of_sizes(contract), matchers::contains("a null list of states"));
}

TEST_CASE("a kernel that the build left out is no fault, and one without SPIR-V is") {
    CHECK(fault_after([](TestLayer &l) { l.kernels.push_back({"left_out", nullptr, 0}); }).empty());
    CHECK_THAT(fault_after([](TestLayer &l) {
                   l.kernels.push_back({"broken", nullptr, 7});
               }),
               matchers::contains("'broken' is not SPIR-V"));
}

TEST_CASE("names must be lower_case and unique") {
    CHECK_THAT(fault_after([](auto &l) { l.contract.id = "Layer Norm"; }), matchers::contains("id"));
    CHECK_THAT(fault_after([](auto &l) { l.params[1].name = "heads"; }), matchers::contains("'heads' appears twice"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[2].name = "query"; }), matchers::contains("'query' appears twice"));
    CHECK_THAT(fault_after([](auto &l) { l.weights[0].name = ""; }), matchers::contains("no lower_case name"));
    CHECK_THAT(fault_after([](auto &l) { l.variants.push_back(l.variants[0]); }),
               matchers::contains("'baseline' appears twice"));
}

TEST_CASE("a port may follow one of its own list, and a state an optional input") {
    CHECK(fault_after([](auto &l) { l.states[0] = lamina::plugin::goes_with(l.states[0], "lengths"); }).empty());
    CHECK(fault_after([](auto &l) { l.states[0] = lamina::plugin::goes_with(l.states[0], "source lengths"); }).empty());
    CHECK_THAT(fault_after([](auto &l) { l.states[0] = lamina::plugin::goes_with(l.states[0], "lengths nothing"); }),
               matchers::contains("follows 'nothing', which is not an optional input"));
    for (const char *input : {"query", "nothing"})
        CHECK_THAT(fault_after([&](auto &l) { l.states[0] = lamina::plugin::goes_with(l.states[0], input); }),
                   matchers::contains(std::string("follows '") + input + "', which is not an optional input"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[0].follows = "source"; }),
               matchers::contains("follows 'source', which is not listed before it"));
}

TEST_CASE("a choice follows an optional input like it, and comes with a margin") {
    namespace plugin = lamina::plugin;
    const auto fault = [](const lamina_port &given, const lamina_port &chosen, bool margin) {
        return fault_after([&](TestLayer &l) {
            l.inputs.push_back(given);
            l.outputs.push_back(chosen);
            if (margin) l.outputs.push_back(plugin::margin(plugin::output("margin", "B T 1", "")));
        });
    };
    const lamina_port given = plugin::optional(plugin::indices("given", "B T heads", "0 S", ""));
    const lamina_port best = plugin::chosen(plugin::indices("best", "B T heads", "0 S", ""), "given");
    CHECK(fault(given, best, true).empty());
    CHECK_THAT(fault(given, best, false), matchers::contains("says how clear the choice is"));
    CHECK_THAT(fault(given, plugin::indices("best", "B T heads", "0 S", ""), true),
               matchers::contains("says how clear the choice is"));
    CHECK_THAT(fault(plugin::indices("given", "B T heads", "0 S", ""), best, true),
               matchers::contains("follows 'given', which is not an optional input"));
    for (const lamina_port &other :
         {plugin::indices("given", "B T heads", "0 T", ""), plugin::indices("given", "B heads", "0 S", ""),
          plugin::input("given", "B T heads", "")})
        CHECK_THAT(fault(plugin::optional(other), best, true),
                   matchers::contains("expected I32 with the same dims and values in both"));
    CHECK_THAT(fault_after([](TestLayer &l) { l.inputs[0].flags |= LAMINA_MARGIN; }),
               matchers::contains("only F32 outputs say how clear a choice is"));
}

TEST_CASE("parameters need a valid kind, choices, range and default") {
    CHECK_THAT(fault_after([](auto &l) { l.params[0].kind = 9; }), matchers::contains("unknown kind 9"));
    CHECK_THAT(fault_after([](auto &l) { l.params[3].choices = nullptr; }), matchers::contains("choices"));
    CHECK_THAT(fault_after([](auto &l) { l.params[0].choices = "a|b"; }), matchers::contains("choices"));
    CHECK_THAT(fault_after([](auto &l) { l.params[0].dflt = 65; }),
               matchers::contains("the default is outside the range"));
    CHECK_THAT(fault_after([](auto &l) { l.params[0].min = 70; }), matchers::contains("min is greater than max"));
    CHECK_THAT(fault_after([](auto &l) { l.params[0].follows = "kv_heads"; }),
               matchers::contains("is not listed before it"));
}

TEST_CASE("ports need valid dims, dtypes, values and what they follow") {
    CHECK_THAT(fault_after([](auto &l) { l.inputs[0].dims = ""; }), matchers::contains("no dims"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[0].dims = "B (T)"; }), matchers::contains("malformed"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[0].dtypes = 0; }),
               matchers::contains("no dtype that this host knows"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[0].dtypes = LAMINA_F32 | LAMINA_Q8_0; }),
               matchers::contains("only weights are stored in blocks"));
    CHECK(fault_after([](auto &l) { l.weights[0].dtypes = LAMINA_Q8_0; }).empty());
    CHECK_THAT(fault_after([](auto &l) { l.inputs[0].values = "0 B"; }), matchers::contains("I32"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[2].values = "0"; }), matchers::contains("LO HI"));
    CHECK_THAT(fault_after([](auto &l) { l.inputs[1].follows = "lengths"; }), matchers::contains("'lengths'"));
    CHECK_THAT(fault_after([](auto &l) { l.outputs[0].follows = "y"; }), matchers::contains("follows"));
}

TEST_CASE("a layer without outputs, kernels, variants, cases or functions is refused") {
    CHECK_FALSE(fault_after([](auto &l) { l.outputs.clear(); }).empty());
    CHECK_THAT(fault_after([](auto &l) { l.kernels.clear(); }), matchers::contains("no kernels"));
    CHECK_THAT(fault_after([](auto &l) { l.variants.clear(); }), matchers::contains("no variants"));
    CHECK_THAT(fault_after([](auto &l) { l.cases.clear(); }), matchers::contains("no conformance cases"));
    CHECK_FALSE(fault_after([](auto &l) { l.contract.reference = nullptr; }).empty());
    CHECK_FALSE(fault_after([](auto &l) { l.contract.plan = nullptr; }).empty());
}

TEST_CASE("the baseline needs no device feature") {
    CHECK_THAT(fault_after([](auto &l) { l.variants[0].needs = LAMINA_FEATURE_FLOAT16; }),
               matchers::contains("must not need any features"));
}

TEST_CASE("a tolerance too loose to prove anything is refused") {
    const auto with = [](double rtol, double atol, uint32_t arithmetic) {
        return fault_after([=](auto &l) { l.tolerances.push_back(test::tolerance(rtol, atol, arithmetic)); });
    };
    CHECK(with(1e-3, 1e-3, LAMINA_F32).empty());
    CHECK_THAT(with(1.1e-3, 0, LAMINA_F32), matchers::contains("looser than a plugin may declare"));
    CHECK_THAT(with(0, 1.1e-3, LAMINA_F32), matchers::contains("looser"));
    CHECK(with(2e-2, 0, LAMINA_F16).empty());
    CHECK_THAT(with(2.1e-2, 0, LAMINA_F16), matchers::contains("looser"));
    CHECK(with(1e-1, 1e-2, LAMINA_Q8_0).empty());
    CHECK_THAT(with(1.1e-1, 0, LAMINA_Q8_0), matchers::contains("looser"));
    CHECK_THAT(with(0, 1.1e-2, LAMINA_Q8_0), matchers::contains("looser"));
    CHECK_THAT(with(std::numeric_limits<double>::quiet_NaN(), 0, LAMINA_F32), matchers::contains("looser"));
    CHECK_THAT(with(-1, 0, LAMINA_F32), matchers::contains("looser"));
}

TEST_CASE("every variant's arithmetic has a tolerance") {
    CHECK_THAT(fault_after([](auto &l) { l.variants.push_back(test::variant("half", "", 0, LAMINA_F16)); }),
               matchers::contains("'half' has no tolerance"));
}

TEST_CASE("an executor's kernels name their layer and have a function") {
    lamina_cpu_kernel kernel{};
    kernel.layer = "linear", kernel.signature = "x: C -> y: C";
    kernel.run = [](const lamina_call *, const lamina_host *) -> lamina_status { return LAMINA_OK; };
    lamina_executor executor{};
    executor.id = "cpu_fallback", executor.kernels = &kernel, executor.n_kernels = 1;
    CHECK(fault_of(executor).empty());
    kernel.run = nullptr;
    CHECK_THAT(fault_of(executor), matchers::contains("no function"));
    executor.kernel_size = sizeof kernel, executor.kernels = nullptr;
    CHECK_THAT(fault_of_sizes(executor), matchers::contains("null list"));
}

TEST_CASE("the capacity of a state must be one of its own dims that the host can choose") {
    const auto capacity = [](const char *name, const char *dims) {
        return fault_after([&](TestLayer &l) { l.states = {lamina::plugin::state("cache", dims, name, "")}; });
    };
    CHECK(capacity("M", "B M C").empty());
    CHECK(capacity(nullptr, "B C").empty());
    CHECK_THAT(capacity("M", "B K C"), matchers::contains("capacity 'M' is not a name in its dims (B K C)"));
    CHECK_THAT(capacity("T", "B T C"), matchers::contains("capacity 'T' is determined by 'query'"));
    CHECK_THAT(capacity("heads", "B heads"), matchers::contains("capacity 'heads' is a parameter"));
    CHECK_THAT(fault_after([](TestLayer &l) { l.inputs[0].capacity = "T"; }),
               matchers::contains("only states may have a capacity"));
}

TEST_CASE("the declared work is made of names of the contract, and of its ports") {
    const auto fault = [](const char *work) { return fault_after([&](TestLayer &l) { l.contract.work = work; }); };
    CHECK(fault("2*C*heads bias:1 cache:M").empty());
    CHECK_THAT(fault("2*Q"), matchers::contains("work '2*Q'") && matchers::contains("the name 'Q'"));
    CHECK_THAT(fault("2*eps"), matchers::contains("the name 'eps'")); // not a whole number
    CHECK_THAT(fault("gate:2*C"), matchers::contains("there is no port 'gate'"));
    CHECK_THAT(fault("2*"), matchers::contains("malformed expression"));
}
