// What answers /: a page for people, and /status, which it reads.
#include "page.hpp" // made from page.html
#include "route.hpp"

namespace lamina::serve {
namespace {

Json device_as_json(const Device &device) {
    return {{"id", device.id}, {"name", device.name}, {"kind", device.kind}, {"driver", device.driver}};
}

Json proved_as_json(const std::vector<AdmittedVariant> &variants) {
    Json out = Json::array();
    for (const AdmittedVariant &v : variants)
        out.push_back({{"layer", v.layer},
                       {"device", v.device},
                       {"variant", v.variant},
                       {"passed", v.passed},
                       {"tried", v.tried},
                       {"cases", v.cases},
                       {"of_models", v.of_models},
                       {"admitted", v.admitted},
                       {"why", v.why}});
    return out;
}

uint64_t parameters_of(const ModelContents &model) {
    uint64_t out = 0;
    for (const auto &[name, weight] : model.weights) out += static_cast<uint64_t>(element_count(weight.type.shape));
    return out;
}

} // namespace

Response Api::show_page(const Call &) {
    Response out{.type = "text/html; charset=utf-8", .body = std::string(page)};
    // Nothing but the page itself may run in it.
    out.headers["Content-Security-Policy"] =
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    return out;
}

Response Api::show_status(const Call &) {
    Json models = Json::array();
    for (const Engine &engine : engines_) {
        Json graphs = Json::array();
        for (const auto &[graph, contents] : engine.contents().graphs) graphs.push_back(graph_name(engine, graph));
        models.push_back({{"name", engine.name()},
                          {"parameters", parameters_of(engine.contents())},
                          {"graphs", std::move(graphs)},
                          {"proved", proved_as_json(engine.proved())},
                          {"endpoints", endpoints_of(engine)}});
    }
    return {.body =
                Json{{"version", options_.version}, {"device", device_as_json(device_)}, {"models", std::move(models)}}
                    .in_one_line()};
}

} // namespace lamina::serve
