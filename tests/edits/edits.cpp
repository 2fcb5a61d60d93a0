// Edits kernels at random and says which edits nothing catches: neither the interpreter nor lavapipe, on the cases that
// `lamina check` runs.
//
//     edits SURVIVORS EACH [SEED [KERNEL]]     EACH: edits of every kernel
//
// SURVIVORS lists the edits that may survive, each with the reason. The status is 1 if another one does. Each edit is
// tried in a process of its own, because a driver may die of it.
#include "conformance/check.hpp"
#include "conformance/kernel_cases.hpp"
#include "interpreter/device.hpp"
#include "kernels.hpp"
#include "random_edit.hpp"
#include "vulkan/device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lamina;
using namespace lamina::conformance;

namespace {

constexpr double most_work_at_first = 1e5; // of a case that is interpreted; in the end, test::most_work
constexpr rlim_t most_seconds = 120;       // of an edit

struct Subject {
    const abi::Layer *layer;
    uint32_t kernel; // its number
    [[nodiscard]] std::string name() const { return layer->contract->kernels[kernel].name; }
};

// Every kernel of the build with all layers that have it.
std::vector<std::vector<Subject>> subjects() {
    std::vector<std::vector<Subject>> out;
    std::map<std::string, size_t> places;
    for (const auto &[id, layer] : test::plugins()->layers())
        for (uint32_t k = 0; k < layer.contract->n_kernels; ++k)
            if (layer.contract->kernels[k].words != 0) {
                const Subject s{&layer, k};
                const auto [place, fresh] =
                    places.try_emplace(test::sources_of(layer, s.name()).front() + s.name(), out.size());
                if (fresh) out.emplace_back();
                out[place->second].push_back(s);
            }
    return out;
}

std::vector<plan::Variant> variants_with(const Subject &subject, plan::Device &device, const Case &c) {
    std::vector<plan::Variant> out;
    const abi::LayerCall call = call_of(*subject.layer, c);
    for (const plan::Variant &variant : device.variants(*subject.layer))
        for (const plan::Pipeline &pipeline : device.pipelines(call, variant.name))
            if (pipeline.kernel == subject.kernel && (out.empty() || out.back().name != variant.name))
                out.push_back(variant);
    return out;
}

// A case in which variants dispatch the kernel.
struct Trial {
    Case c;
    double work;
    std::vector<plan::Variant> variants;
};

// Those of `lamina check`, the smallest first.
std::vector<Trial> trials_of(const Subject &subject, plan::Device &device) {
    const abi::Layer &layer = *subject.layer;
    const std::vector<Case> cases = cases_of(layer, CheckOptions{}).cases;
    std::vector<Trial> out;
    const auto add = [&](const Case &c, const std::vector<plan::Variant> &variants) {
        if (!variants.empty()) out.push_back({c, work_of(call_of(layer, c)), variants});
    };
    for (const Case &c : cases) add(c, variants_with(subject, device, c));
    for (const KernelCase &k : kernel_cases(layer, device, cases)) {
        std::vector<plan::Variant> variants = variants_with(subject, device, k.c);
        std::erase_if(variants, [&](const plan::Variant &v) { return v.name != k.variant.name; });
        add(k.c, variants);
    }
    std::ranges::stable_sort(out, {}, &Trial::work);
    return out;
}

// What a device finds in the cases that take from `least` to `most` multiplications; "" if nothing.
std::string found_by(plan::Device &device, const Subject &subject, const abi::Layer &edited, double least,
                     double most) {
    for (const Trial &trial : trials_of(subject, device)) {
        if (trial.work < least || trial.work >= most) continue;
        for (const CaseResult &r : check_case(device, edited, trial.c, trial.variants))
            if (r.status == CaseResult::Status::failed) return device.id() + ": " + r.why;
    }
    return "";
}

std::shared_ptr<plan::Device> lavapipe() {
    std::string why_not;
    static const auto instance = vulkan::Instance::create({.pipeline_cache = false}, why_not);
    if (instance != nullptr)
        for (const vulkan::DeviceInfo &info : instance->devices())
            if (info.kind == vulkan::DeviceInfo::Kind::software) return instance->open(info.index, test::plugins());
    throw Error(ErrorCode::no_device, "lavapipe is not installed");
}

// "-": not an edit at all, because it does not compile or gives the same code. "": it survives. Else what caught it.
std::string judge(const Subject &subject, const test::Edit &edit) try {
    const test::EditedLayer edited(*subject.layer, subject.name(), edit);
    if (!edited.differs()) return "-";
    const auto interpreter = interpreter::make_device(test::plugins());
    std::string found = found_by(*interpreter, subject, edited.layer(), 0, most_work_at_first);
    if (found.empty()) found = found_by(*lavapipe(), subject, edited.layer(), 0, HUGE_VAL);
    if (found.empty()) found = found_by(*interpreter, subject, edited.layer(), most_work_at_first, test::most_work);
    return found;
} catch (const Error &e) {
    if (e.code() == ErrorCode::no_device) throw;
    return e.what(); // the plan is refused
} catch (const std::runtime_error &) {
    return "-";
}

// The same with each layer that has the kernel, until one of them catches it.
std::string judge(const std::vector<Subject> &uses, const test::Edit &edit) {
    std::string found;
    for (size_t i = 0; i < uses.size() && found.empty(); ++i) found = judge(uses[i], edit);
    return found;
}

// What is wrong with the kernel as it is, in the smallest case on each device; "" if nothing. Where nothing runs, every
// edit would seem to be caught.
std::string fault_without_edit(const Subject &subject) {
    for (const auto &device : {interpreter::make_device(test::plugins()), lavapipe()})
        for (const Trial &trial : trials_of(subject, *device)) {
            for (const CaseResult &r : check_case(*device, *subject.layer, trial.c, trial.variants))
                if (r.status != CaseResult::Status::passed) return device->id() + ": " + r.why;
            break;
        }
    return "";
}

// What a function returns, in a process of its own.
std::string apart(const std::function<std::string()> &function) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("pipe");
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{most_seconds, most_seconds};
        setrlimit(RLIMIT_CPU, &limit);
        const std::string text = function() + "\n";
        const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(written ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (text.empty() && !WIFSIGNALED(status)) throw std::runtime_error("the edit could not be tried");
    if (text.empty() && WTERMSIG(status) == SIGKILL) return "not decided: it took too long"; // an endless loop, perhaps
    if (text.empty()) return "the driver died of signal " + std::to_string(WTERMSIG(status));
    text.pop_back();
    return text;
}

// The edits in a file of survivors: lines that are neither indented, as reasons are, nor comments.
std::set<std::string> survivors_in(const char *file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error(std::string(file) + ": cannot be read");
    std::set<std::string> out;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() && line.front() != ' ' && line.front() != '#') out.insert(line);
    return out;
}

} // namespace

int main(int argc, char **argv) try {
    const std::span<char *> arguments(argv, static_cast<size_t>(argc));
    if (arguments.size() < 3) throw std::runtime_error("expected SURVIVORS EACH [SEED [KERNEL]]");
    const std::set<std::string> known = survivors_in(arguments[1]);
    const size_t each = std::stoul(arguments[2]);
    const uint64_t seed = arguments.size() > 3 ? std::stoull(arguments[3]) : 1;
    size_t tried = 0, caught = 0, undecided = 0, unknown = 0;
    for (const std::vector<Subject> &uses : subjects()) {
        const Subject &subject = uses.front();
        if (arguments.size() > 4 && subject.name() != arguments[4]) continue;
        if (const std::string fault = apart([&] { return fault_without_edit(subject); }); !fault.empty())
            throw std::runtime_error(subject.name() + " fails without an edit: " + fault);
        Random random(seed, subject.name());
        std::set<std::string> seen;
        for (int draws = 0; seen.size() < each && draws < 400; ++draws) {
            const auto edit = test::random_edit(test::sources_of(*subject.layer, subject.name()), random);
            if (!edit || seen.contains(name_of(*edit))) continue;
            const std::string found = apart([&] { return judge(uses, *edit); });
            if (found == "-") continue;
            seen.insert(name_of(*edit)), ++tried;
            const bool is_undecided = found.starts_with("not decided");
            undecided += is_undecided ? 1 : 0;
            caught += found.empty() || is_undecided ? 0 : 1;
            const bool is_known = known.contains(name_of(*edit));
            unknown += found.empty() && !is_known ? 1 : 0;
            std::cout << subject.name() << " | " << name_of(*edit) << " | "
                      << (!found.empty() ? found
                          : is_known     ? "survives, as listed"
                                         : "SURVIVES")
                      << std::endl;
        }
        if (seen.size() < each) std::cout << subject.name() << ": only " << seen.size() << " edits\n";
    }
    std::cout << tried << " edits of " << subjects().size() << " kernels: " << caught << " caught, "
              << tried - caught - undecided - unknown << " survive for a reason that is listed, " << unknown
              << " for none, " << undecided << " are not decided\n";
    return unknown == 0 ? 0 : 1;
} catch (const std::exception &e) {
    std::cerr << e.what() << '\n';
    return 2;
}
