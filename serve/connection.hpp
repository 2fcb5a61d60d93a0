// The connections of a server. All of this belongs to the thread of the loop, but for the threads that answer.
#pragma once

#include "http.hpp"
#include "http1.hpp"
#include "outbox.hpp"
#include "workers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace lamina::serve {

class Connection;
using Clock = std::chrono::steady_clock;

// What the connections share.
struct Hub {
    Hub(HttpOptions how, HttpHandlers who)
        : options(std::move(how)), handlers(std::move(who)), workers(options.threads) {}

    const HttpOptions options;
    const HttpHandlers handlers;
    boost::asio::io_context loop{1};
    std::set<std::shared_ptr<Connection>> all{};
    std::atomic<size_t> open = 0, bodies = 0; // connections; bytes of requests and responses that are here
    bool ending = false;
    Workers workers; // last: its threads use all of the above

    // Of those that `counts` chooses and that wait for their clients, not for the server, the one that has to go where
    // something runs out; or null.
    [[nodiscard]] std::shared_ptr<Connection> slowest(const std::function<bool(const Connection &)> &counts) const;
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(Hub &hub, boost::asio::ip::tcp::socket socket, std::string address)
        : hub_(hub), socket_(std::move(socket)), address_(std::move(address)), reader_(hub.options.largest_body) {}

    void begin() { read(); }
    void end(); // after the request that it is busy with
    void close();
    void expect_progress(Clock::time_point now); // ends what the client is too slow with

    [[nodiscard]] const std::string &address() const { return address_; }
    [[nodiscard]] size_t held() const { return held_; } // bytes of Hub::bodies
    [[nodiscard]] bool waits() const;                   // for the client
    // Who has to go first is least: clients that are slow with what they have begun, and of these, as of the others,
    // the one that has kept the server waiting the longest.
    [[nodiscard]] std::pair<bool, Clock::time_point> precedence(Clock::time_point now) const;

  private:
    // answering: a thread has the request. sending: the response. lingering: it has been sent, and the connection ends.
    enum class Phase { idle, head, body, answering, sending, lingering, closed };
    void enter(Phase phase);

    void read();
    void received(size_t bytes);
    void client_ended(bool broken);
    void go_on(); // with what has been received
    void admit(Request head);
    [[nodiscard]] bool take_body();
    void hand_over();
    // On a thread of the workers.
    void answer(std::shared_ptr<Request> request, Outbox &outbox);
    void on_loop(std::function<void()> work);
    void respond(Response response);
    void begin_stream(const Response &response);
    void flush(); // what the outbox has
    void refuse(int status, const std::string &why);
    void send(std::string text, std::string more = {});
    void write();
    void written(size_t bytes);
    void finish_response();
    void hold(size_t bytes);
    void moved(size_t bytes);
    void make_room(bool may_give_way);
    void give_way();
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    void guarded(const std::function<void()> &work);

    Hub &hub_;
    boost::asio::ip::tcp::socket socket_;
    const std::string address_;
    RequestReader reader_;
    std::array<char, size_t{8} << 10> incoming_{};
    std::shared_ptr<Outbox> outbox_; // of the request that is answered

    Phase phase_ = Phase::idle;
    // Since when the client would have been waited for, had it taken a second for every HttpOptions::rate bytes.
    Clock::time_point since_ = Clock::now();
    size_t thrown_away_ = 0; // bytes
    bool reading_ = false, writing_ = false;
    bool used_ = false;  // has had a request
    bool ended_ = false; // by the client, which sends nothing more
    // Of the request that is answered:
    std::string path_;
    bool keep_ = false, without_body_ = false, chunked_ = false, complete_ = true; // complete: nothing will be added
    std::deque<std::string> out_;                                                  // what is to be sent
    size_t sent_ = 0;                                                              // bytes of its first
    size_t held_ = 0;
};

} // namespace lamina::serve
