// Cases of conformance, "B=2 T=37 +bias". The first word of the input is the layer.
#include "conformance/case.hpp"
#include "fuzz.hpp"
#include "places.hpp"

#include "abi/library.hpp"

void test::read(std::string_view input) {
    static const auto plugins = lamina::abi::Registry::discover({LAMINA_PLUGIN_DIR});
    const std::string_view id = input.substr(0, input.find(' '));
    const lamina::abi::Layer &layer = plugins->layer(id);
    (void)call_of(layer, lamina::conformance::parse_case(*layer.contract, input.substr(id.size())));
}
