#include "architectures/axial_rotary.hpp"

#include <cmath>

namespace lamina::architectures {
namespace {

double base_of(const Config &config) {
    config.ignore({"original_max_position_embeddings", "partial_rotary_factor"});
    double theta = config.real("rope_theta");
    for (const char *key : {"rope_parameters", "rope_scaling"}) { // the second one counts
        const auto object = config.object(key);
        if (!object || object->view().members().size() == 0) continue;
        const char *type = object->has("rope_type") ? "rope_type" : "type";
        // Releases of transformers that knew no "axial" wrote "default".
        if (const std::string found = object->text(type, "axial"); found != "axial" && found != "default")
            object->fail(type, "expected axial or default");
        theta = object->real("rope_theta", config.real("rope_theta"));
    }
    if (!(theta > 0)) config.fail("rope_theta", "expected a number above 0");
    return theta;
}

} // namespace

Rotary axial_rotary(const Config &config, int64_t channels, bool alternating) {
    if (config.integer("head_dim", channels) != channels)
        config.fail("head_dim", "expected " + std::to_string(channels) + ", or no such key");
    const double theta = base_of(config);
    Rotary out{.coordinates = 2};
    for (int64_t axis = 0; axis < out.coordinates; ++axis)
        for (int64_t i = 0; i < channels / 4; ++i) {
            const int64_t power = 4 * i + (alternating ? 2 * axis : 0);
            out.frequencies.push_back(
                static_cast<float>(std::pow(theta, -static_cast<double>(power) / static_cast<double>(channels))));
            out.axes.push_back(axis);
        }
    return out;
}

} // namespace lamina::architectures
