// What decode steps take from the host's memory: nothing, once the first ones have made everything they need.
#include "catch.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "vulkan_devices.hpp"

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>
#include <lamina/transformer.hpp>

#include <dlfcn.h>
#include <link.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <span>

using namespace lamina;

namespace {

std::atomic<uint64_t> allocations = 0;
std::atomic<const void *> last_caller = nullptr;         // the code that allocated last
std::atomic<uintptr_t> plugin_begin = 0, plugin_end = 0; // the code of the CPU executor
std::atomic<bool> by_plugin = false;                     // whether it was among those who allocated

void *allocate(size_t bytes, size_t alignment, const void *caller) {
    ++allocations;
    last_caller = caller;
    const auto at = reinterpret_cast<uintptr_t>(caller);
    if (plugin_begin <= at && at < plugin_end) by_plugin = true;
    void *const out = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (out == nullptr) throw std::bad_alloc();
    return out;
}

} // namespace

// The symbols of a program come before those of libraries, so these serve plugins and drivers, too.
void *operator new(size_t bytes) {
    return allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__, __builtin_return_address(0));
}
void *operator new(size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

// An untrained language model whose texts never end by themselves.
ModelDescription language_model(int64_t vocabulary) {
    std::vector<std::string> tokens{"<s>", "</s>"};
    while (tokens.size() < static_cast<size_t>(vocabulary)) tokens.push_back("t" + std::to_string(tokens.size()));
    const DecoderOnly model{
        .embedding = {.d_model = 32, .vocabulary = vocabulary},
        .decoder = {.layer = {.d_model = 32, .heads = 2, .ffn = 64}, .layers = 2},
        .generator = {.d_model = 32, .vocabulary = vocabulary, .output = Generator::Output::logits}};
    const TextVocabularies text{.target = tokens, .max_length = 20};
    ModelDescription built = build(model, {.name = "words", .seed = 5, .text = text});
    built.weights.at("generator.bias").f32()[1] = -1e4F; // "</s>"
    return built;
}

void find_plugin() {
    const auto look_at = [](dl_phdr_info *library, size_t, void *) {
        if (std::strstr(library->dlpi_name, "cpu_fallback") == nullptr) return 0;
        for (const ElfW(Phdr) & part : std::span(library->dlpi_phdr, library->dlpi_phnum))
            if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
                plugin_begin = library->dlpi_addr + part.p_vaddr;
                plugin_end = plugin_begin + part.p_memsz;
            }
        return 1;
    };
    (void)::dl_iterate_phdr(look_at, nullptr);
}

// How often memory was allocated between one step and the next, and by whom last.
struct Step {
    uint64_t allocations;
    const void *last;
};

// The file that holds this code.
std::string module_of(const void *code) {
    Dl_info module{};
    return ::dladdr(code, &module) != 0 ? module.dli_fname : "?";
}

struct Way {
    const char *name;
    GenerateOptions options;
};

std::vector<Way> ways() {
    const auto with = [](const auto &change) {
        GenerateOptions options;
        options.max_length = 20;
        change(options);
        return options;
    };
    return {
        {"greedy", with([](auto &) {})},
        {"4 beams", with([](auto &o) { o.beams = 4; })},
        {"sampled", with([](auto &o) { o.temperature = 1, o.top_k = 20, o.top_p = 0.9; })},
        {"sampled from all tokens", with([](auto &o) { o.temperature = 2, o.beams = 3; })},
        {"4 sampled beams", with([](auto &o) { o.temperature = 1, o.beams = 4, o.beams_compete = true; })},
        {"repetition penalty", with([](auto &o) { o.repetition_penalty = 1.2; })},
        {"4 beams, repetition penalty", with([](auto &o) { o.beams = 4, o.repetition_penalty = 1.2; })},
    };
}

// The steps of two texts, one of which begins with a prompt, after others like them.
class Steps {
  public:
    Steps(const Device &device, int64_t vocabulary) : runtime_(options()) {
        find_plugin();
        session_.emplace(runtime_.session(runtime_.load(language_model(vocabulary)), runtime_.device(device.id)));
        for (int i = 0; i < 40; ++i) texts_.front() += " t" + std::to_string(2 + i * 7 % 20);
        seen_.reserve(1000);
    }

    std::vector<Step> generate(const GenerateOptions &how) {
        return steps_of([&] { (void)session_->generate(texts_, how); });
    }
    std::vector<Step> write_batch(const GenerateOptions &how) {
        Batch batch(*session_);
        return steps_of([&] {
            for (const std::string &text : texts_) (void)batch.add(text, how);
            while (!batch.empty()) (void)batch.step();
        });
    }

  private:
    RuntimeOptions options() {
        RuntimeOptions with;
        with.plugin_folders = {LAMINA_PLUGIN_DIR};
        with.cache = false; // or variants would be proved in the background
        with.working = [this] { seen_.push_back({allocations, last_caller}); }; // before a graph runs
        return with;
    }
    template <class Action> std::vector<Step> steps_of(const Action &write) {
        write(); // makes the programs
        seen_.clear();
        write();
        std::vector<Step> out;
        for (size_t i = 1; i < seen_.size(); ++i)
            out.push_back({seen_[i].allocations - seen_[i - 1].allocations, seen_[i].last});
        return out;
    }

    std::vector<Step> seen_;
    Runtime runtime_;
    std::optional<Session> session_;
    std::vector<std::string> texts_{"", "t3"};
};

void check_last(const std::vector<Step> &steps, uint64_t allocations_of_a_step) {
    REQUIRE(steps.size() > 15);
    for (size_t i = steps.size() - 15; i < steps.size(); ++i) {
        INFO("step " << i << "; the last allocation by " << module_of(steps[i].last));
        CHECK(steps[i].allocations == allocations_of_a_step);
    }
}

} // namespace

TEST_CASE("a decode step allocates no memory of the host") {
    // On one processor: of more threads, one might take part in a layer for the first time at any step.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    for (const Device &device : test::devices_of_each_kind(test::runtime()))
        for (const int64_t vocabulary : {28, 3000}) { // all scores of a step are read, or only the candidates
            Steps steps(device, vocabulary);
            for (const auto &[name, options] : ways()) {
                INFO(device.id << ", " << vocabulary << " tokens, " << name);
                check_last(steps.generate(options), 0);
                if (options.beams.value_or(1) == 1)
                    check_last(steps.write_batch(options), 1); // the list that step() returns
            }
        }
    CHECK(by_plugin); // or its allocations are not counted
}
