#include "architectures/task.hpp"

#include "base/utf8.hpp"

#include <array>
#include <utility>

namespace lamina::architectures {
namespace {

// The ends of the names of transformers' classes.
constexpr std::array<std::pair<std::string_view, Task>, 13> classes{{
    {"ForCTC", Task::speech},
    {"ForCausalLM", Task::words},
    {"ForConditionalGeneration", Task::words},
    {"ForImageClassification", Task::images},
    {"ForImageClassificationWithTeacher", Task::images},
    {"ForMaskedLM", Task::words},
    {"ForPreTraining", Task::words},
    {"ForQuestionAnswering", Task::answers},
    {"ForSequenceClassification", Task::texts},
    {"ForTokenClassification", Task::tokens},
    {"LMHeadModel", Task::words},
    {"MTModel", Task::words},
    {"Model", Task::none},
}};

} // namespace

std::optional<Task> task_of(const Config &config) {
    for (const std::string &name : config.texts("architectures")) {
        if (name.ends_with("ForMultipleChoice")) // whose weights are named like those of classes of tokens
            config.fail("architectures", in_quotes(name) + " scores each of several choices, which is not supported");
        for (const auto &[end, task] : classes)
            if (name.ends_with(end)) return task;
    }
    return std::nullopt;
}

int64_t label_count(const Config &config) {
    if (const auto labels = config.find("id2label")) return static_cast<int64_t>(labels->members().size());
    if (config.is_null("num_labels")) config.fail("num_labels", "null is not a number of labels");
    return config.integer("num_labels", 2); // without names, which are not written for two classes
}

} // namespace lamina::architectures
