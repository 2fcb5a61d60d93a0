// What answers /: a page for people to chat on, its files at /page/..., and /status, which it reads.
#include "images.hpp"
#include "page_files.hpp" // made from page/
#include "refusal.hpp"
#include "route.hpp"

#include <algorithm>

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

std::string type_of_file(std::string_view name) {
    if (name.ends_with(".html")) return "text/html; charset=utf-8";
    if (name.ends_with(".css")) return "text/css; charset=utf-8";
    if (name.ends_with(".svg")) return "image/svg+xml";
    return "text/javascript; charset=utf-8";
}

Response page_file(std::string_view name) {
    const auto *const found = std::ranges::find(page_files, name, &TextFile::name);
    if (found == page_files.end()) throw Refusal(404, "the page has no file '" + std::string(name) + "'");
    Response out{.type = type_of_file(name), .body = std::string(found->text)};
    // Nothing but these files may run in it, and no text ever becomes HTML. Images that a person has chosen are shown
    // from data URLs: these ask nobody, and what is in an image never runs.
    out.headers["Content-Security-Policy"] =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'";
    out.headers["Cache-Control"] = "no-cache"; // or a newer server would have a page of parts that do not fit
    out.headers["Referrer-Policy"] = "no-referrer";
    return out;
}

uint64_t parameters_of(const ModelContents &model) {
    uint64_t out = 0;
    for (const auto &[name, weight] : model.weights) out += static_cast<uint64_t>(element_count(weight.type.shape));
    return out;
}

} // namespace

Response Api::show_page(const Call &) { return page_file("index.html"); }

Response Api::show_page_file(const Call &call) { return page_file(call.part); }

Response Api::show_status(const Call &) {
    Json models = Json::array();
    for (const std::shared_ptr<Engine> &each : models_.loaded()) {
        const Engine &engine = *each;
        Json graphs = Json::array();
        for (const auto &[graph, contents] : engine.contents().graphs) graphs.push_back(graph_name(engine, graph));
        models.push_back({{"name", engine.name()},
                          {"device", engine.device().id},
                          {"parameters", parameters_of(engine.contents())},
                          {"longest", engine.longest()},
                          {"graphs", std::move(graphs)},
                          {"proved", proved_as_json(engine.proved())},
                          {"modalities", modalities_of(engine)},
                          {"endpoints", endpoints_of(engine)}});
    }
    const size_t body = std::min(std::ranges::find(routes(), "/v1/chat/completions", &Route::pattern)->largest_body,
                                 options_.largest_body);
    return {.body = Json{{"version", options_.version},
                         {"device", device_as_json(device_)},
                         {"limits", {{"body", body}, {"images", most_images}, {"pixels", most_pixels}}},
                         {"models", std::move(models)}}
                        .in_one_line()};
}

} // namespace lamina::serve
