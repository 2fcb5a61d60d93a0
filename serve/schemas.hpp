// What requests and responses look like, as the files in openapi/ say it. Each field of a request is said there once:
// readers refuse all others, and /openapi.json shows it.
//
//     {"operations": {"POST /v1/score": {...}},                    how the document describes a route
//      "schemas": {"ScoreRequest": {"properties": {...}, ...}},    JSON Schemas, which may refer to each other
//      "groups": {"Cut": {...}}}                                   properties of all schemas that name them: "x-groups"
//
// A schema of a request has no other properties ("additionalProperties": false). Those that are not required may be
// null as well, which is as if they were not there, unless it is a form ("x-form"). {"x-ignored": true} is a property
// that never changes an answer, and
// {"x-only": VALUE} one that may only have the value that changes nothing, or null. The group "Sampling" has the
// numbers of sampling.hpp.
#pragma once

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <lamina/sampling.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

// The properties of a request.
struct Fields {
    struct Only {
        std::string field, value; // value: as JSON; of lists and objects only "[]" and "{}"
    };
    std::vector<std::string> supported, ignored;
    std::vector<Only> only;
};

// Of a schema that has no other properties. Throws std::logic_error if there is no such schema.
[[nodiscard]] const Fields &fields_of(std::string_view schema);

// All schemas, as /openapi.json has them.
[[nodiscard]] const Json &schemas();

// What a number of sampling may be at least in a request. Where 0 means all, so does -1, as vLLM has it.
[[nodiscard]] inline double least_in_request(const SamplingOption &option) {
    return option.is_whole() && option.least == 0 && !option.ends_only ? -1 : option.least;
}

// By "METHOD PATH".
[[nodiscard]] const std::map<std::string, JsonView, std::less<>> &operations();

} // namespace lamina::serve
