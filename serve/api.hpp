// From a request to a response: who may ask, which function answers, and what is said when something is wrong.
#pragma once

#include "answer_form.hpp"
#include "budget.hpp"
#include "engine.hpp"
#include "gate.hpp"
#include "http.hpp"
#include "metrics.hpp"
#include "models.hpp"
#include "origins.hpp"
#include "request_log.hpp"
#include "rerank_request.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::serve {

struct AnswerRequest;
struct EmbeddingRequest;
struct Writing;

struct ApiOptions {
    std::vector<std::string> keys;       // any of them opens the door; none: it is open
    std::vector<std::string> admin_keys; // these, too, and that to loading and unloading models; none: that is shut
    std::vector<std::string> origins;    // of pages that may use the server: Origins
    bool local = true;                   // only this machine can connect
    size_t most = 256;                   // requests that wait or run
    size_t largest_body = SIZE_MAX;      // bytes of a request, which HttpOptions sees to
    size_t bodies = size_t{256} << 20;   // bytes of a response of /infer, with the outputs that it is made of
    std::chrono::seconds longest{600};   // that a request may take
    BatchOptions batch;                  // of the answers that a model writes side by side, if there is memory
    bool smaller_caches = true;          // Engine::Options
    bool shortens = false;               // conversations that are too long, unless a request says otherwise
    size_t guess_ahead = 0;              // GenerateOptions
    bool cuts = false;                   // texts to be read that are too long, unless a request says otherwise
    size_t most_models = 0;              // ModelsOptions
    std::filesystem::path request_log;   // empty: none
    std::string version;                 // of Lamina
    std::function<void(const std::string &line)> log; // errors of the server itself
};

class Api {
  public:
    // `device`: of models that say nothing else.
    Api(ApiOptions options, const Runtime &runtime, Device device)
        : options_(std::move(options)), device_(std::move(device)), origins_(options_.origins),
          models_(runtime, {options_.most_models, options_.batch, options_.smaller_caches, options_.log}, metrics_) {
        if (!options_.request_log.empty()) log_.emplace(options_.request_log, options_.log);
    }

    [[nodiscard]] Models &models() { return models_; }

    // As HttpHandlers has them. All that can be said without the body is said before it is read: that a key is wrong,
    // that there is no such path, that the queue is full; and what needs no time is answered then.
    [[nodiscard]] std::optional<Response> at_once(const Request &head);
    [[nodiscard]] Response answer(const Request &request);
    [[nodiscard]] Response refuse(const std::string &path, int status, const std::string &why);
    // Of the server, for /metrics.
    std::function<Metrics::Gauges()> gauges = [] { return Metrics::Gauges(); };

    // Takes no new requests, and waits until all others are answered.
    void finish() {
        gate_.close();
        gate_.wait_until_empty();
    }

  private:
    struct Route;
    struct Call;
    struct Use;
    static const std::vector<Route> &routes();

    struct Found;
    [[nodiscard]] static Found find(const Request &request);
    [[nodiscard]] Owner owner_of(const Request &request);
    // Throw Refusal if this client, or the page that asks through it, may not ask this.
    void admit_page(const Request &request) const;
    void admit(const Request &request, const Route &route) const;
    void record(const Request &request, const std::string &pattern, int status, Metrics::Seconds time, const Use &use);

    // read(json) of a request, when there is memory for it: values of JSON take many times the bytes that they are
    // written with.
    template <class Read> [[nodiscard]] auto parsed(const Request &request, std::string_view json, const Read &read) {
        const auto memory = take(json_memory_, JsonText::memory_for(json), request);
        return read(json);
    }
    template <class Read> [[nodiscard]] auto parsed(const Request &request, const Read &read) {
        return parsed(request, request.body, read);
    }
    // work(), when there is memory for what it makes of a request's texts: prompts and tokens.
    template <class Work> [[nodiscard]] auto with_texts(const Request &request, const Work &work) {
        constexpr size_t of_byte = 128; // each of which may be a token
        const auto memory = take(text_memory_, of_byte * request.body.size(), request);
        return work();
    }

    // ---- In openai_api.cpp ----
    [[nodiscard]] Response embeddings(const Call &call);
    [[nodiscard]] Response embeddings_of_windows(const Call &call, Engine &engine, const EmbeddingRequest &request);
    [[nodiscard]] Response told_vectors(const Call &call, const EmbeddingRequest &request, Tensor vectors,
                                        size_t tokens);
    [[nodiscard]] bool cuts(std::optional<bool> wanted) const { return wanted.value_or(options_.cuts); }
    // (N, C), when the engine has them. `tokens`: of the texts, which are in this field.
    [[nodiscard]] Tensor vectors_of(const Call &call, Engine &engine, const std::shared_ptr<Embedding> &work,
                                    size_t tokens, const std::string &field);
    [[nodiscard]] std::shared_ptr<void> memory_for_json(const Tensor &vectors, const Request &request);

    // ---- In models_api.cpp ----
    [[nodiscard]] Response list_models(const Call &call);
    [[nodiscard]] Response show_model(const Call &call);
    [[nodiscard]] Json as_json(const Models::Listed &listed, const std::string &name) const;
    [[nodiscard]] Response load_model(const Call &call);
    [[nodiscard]] Response unload_model(const Call &call);

    // ---- In rerank_api.cpp ----
    struct Ranked {
        RerankRequest request;
        std::vector<double> scores; // of its documents, in their order
        size_t tokens;
    };
    [[nodiscard]] Ranked ranked(const Call &call, RerankRequest request, const std::string &field);
    [[nodiscard]] Response rerank(const Call &call);
    [[nodiscard]] Response score(const Call &call);

    // ---- In tei_api.cpp ----
    [[nodiscard]] Engine &only_engine(const Call &call, bool (Engine::*can)() const, const std::string &what);
    [[nodiscard]] Response tei_embed(const Call &call);
    [[nodiscard]] Response tei_rerank(const Call &call);

    // ---- In predict_api.cpp ----
    [[nodiscard]] Response tei_predict(const Call &call);

    // ---- In answers_api.cpp ----
    [[nodiscard]] Response completions(const Call &call);
    [[nodiscard]] Response chat_completions(const Call &call);
    [[nodiscard]] Response responses(const Call &call);
    [[nodiscard]] Response messages(const Call &call);
    [[nodiscard]] Response count_tokens(const Call &call);
    // The conversation, as the template of the model takes it.
    [[nodiscard]] static std::map<std::string, std::string> variables_of(const Engine &engine,
                                                                         const AnswerRequest &chat);
    struct Prompts;
    [[nodiscard]] bool shortens(const AnswerRequest &chat) const;
    [[nodiscard]] Prompts prompts_of(const Call &call, const AnswerRequest &chat);
    [[nodiscard]] Prompts prompts_in(const Engine &engine, const AnswerRequest &chat, ShortenedChat found);
    [[nodiscard]] ShortenedChat text_of(const Engine &engine, const AnswerRequest &chat) const;
    [[nodiscard]] ShortenedChat chat_with_images(const Engine &engine, const AnswerRequest &chat,
                                                 const Request &request);
    [[nodiscard]] Response write(const Call &call, const AnswerRequest &request, const Prompts &prompts,
                                 const AnswerForm &form);
    [[nodiscard]] Response whole(const Call &call, Writing &writing);
    [[nodiscard]] Response stream(const Call &call, const std::shared_ptr<Writing> &writing);
    void send_events(Writing &writing, const std::function<bool()> &left, const Send &send, Use &use);

    // ---- In adapters_api.cpp ----
    [[nodiscard]] Response list_adapters(const Call &call);
    // If the request wants a mix of adapters, the call has it from then on in place of its model.
    void mix_adapters(const Call &call, const AnswerRequest &request);

    // ---- In tokens_api.cpp ----
    [[nodiscard]] Engine &engine_called_or_only(const Call &call, const std::string &name); // "": the only one
    [[nodiscard]] Response tokenize_text(const Call &call);
    [[nodiscard]] Response detokenize_ids(const Call &call);
    [[nodiscard]] Response apply_template(const Call &call);

    // ---- In props_api.cpp ----
    [[nodiscard]] Response show_props(const Call &call);

    // ---- In slots_api.cpp ----
    [[nodiscard]] Response show_slots(const Call &call);

    // ---- In transcription_api.cpp ----
    [[nodiscard]] Response transcriptions(const Call &call);

    // ---- In open_inference_api.cpp ----
    [[nodiscard]] Response server_metadata(const Call &call);
    [[nodiscard]] Response live(const Call &call);
    [[nodiscard]] Response ready(const Call &call);
    [[nodiscard]] Response graph_metadata_of(const Call &call);
    [[nodiscard]] Response graph_ready(const Call &call);
    [[nodiscard]] Response infer(const Call &call);
    struct Graph {
        Engine *engine;
        std::string name;
        const ModelGraph *graph;
    };
    [[nodiscard]] Graph graph_called(const Call &call, const std::string &name);

    // ---- In page_api.cpp ----
    [[nodiscard]] Response show_page(const Call &call);
    [[nodiscard]] Response show_page_file(const Call &call);
    [[nodiscard]] Response show_status(const Call &call);

    // ---- In openapi_api.cpp ----
    [[nodiscard]] Response show_openapi(const Call &call);

    [[nodiscard]] Response show_metrics(const Call &call);

    [[nodiscard]] std::string told(const std::exception &why) const; // what a client may know of it
    [[nodiscard]] std::string without_paths(std::string text) const; // of models
    // The model of this name or alias, which stays until the call has been answered. A call that waits or runs loads it
    // if need be, where the server does that.
    [[nodiscard]] Engine &engine_called(const Call &call, const std::string &name);
    [[nodiscard]] Engine &engine_that_writes(const Call &call, const std::string &name);
    void count(const Call &call, const Usage &tokens); // of the model that it called
    // ---- Waiting for an engine, while looking whether the client is still there ----
    [[nodiscard]] Work::Clock::time_point soon(const Work &work) const; // when to look next
    [[nodiscard]] Refusal too_late() const;
    // Throws Refusal if the client has left or time is up, as all of these do.
    void expect_time(const Request &request) const;
    // Waits until there is so much.
    [[nodiscard]] std::shared_ptr<void> take(Budget &budget, size_t amount, const Request &request) const;
    // The work is left then, too.
    void expect_client(Work &work, const std::function<bool()> &left) const;
    // Returns when the work is done. Throws what the engine threw, and what expect_client() throws.
    void await(Work &work, const Request &request) const;

    const ApiOptions options_;
    const Device device_;
    const Origins origins_;
    const std::time_t began_ = std::time(nullptr);
    std::atomic<uint64_t> requests_ = 0;
    Metrics metrics_;
    Gate gate_{options_.most};
    Budget json_memory_{size_t{256} << 20},
        text_memory_{size_t{256} << 20}; // bytes; the largest request takes nearly all
    // Bytes, of answers that are not written yet: what each has of the request; how likely its tokens were; its
    // grammar; its images; the audio that it is of.
    static constexpr size_t most_answer_memory = size_t{256} << 20;
    Budget request_memory_{most_answer_memory}, answer_memory_{most_answer_memory}, grammar_memory_{most_answer_memory};
    Budget vector_memory_{most_answer_memory}; // bytes of vectors that are not sent yet
    Budget image_memory_{4 * most_answer_memory}, audio_memory_{4 * most_answer_memory};
    // Requests whose grammars, images and audio are read: only then it is known what memory these take.
    Budget grammars_{2}, images_{1}, audio_{1};
    Budget mixing_{1}; // likewise requests whose mixes of adapters are made
    std::optional<RequestLog> log_;
    Models models_; // last, so that they end first
};

} // namespace lamina::serve
