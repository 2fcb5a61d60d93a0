#include "http.hpp"

#include "connection.hpp"

#include "base/available_memory.hpp"
#include "base/connections.hpp"

#include <lamina/error.hpp>

#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <thread>
#include <vector>

namespace lamina::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// What clients share who are counted together: an IPv4 address, or a network of IPv6, which one client may have all of.
std::string owner_of(const asio::ip::address &address) {
    if (address.is_v4()) return address.to_string();
    const asio::ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
    return asio::ip::make_network_v6(v6, 64).canonical().to_string();
}

} // namespace

struct HttpServer::Parts {
    Hub hub;
    tcp::acceptor acceptor{hub.loop};
    asio::steady_timer sweep{hub.loop}, again{hub.loop};
    int port = 0;
    std::thread thread{};

    void listen() {
        const HttpOptions &o = hub.options;
        error_code why;
        const auto found = tcp::resolver(hub.loop).resolve(o.host, std::to_string(o.port), tcp::resolver::passive, why);
        for (const auto &each : found)
            if (listen_at(each.endpoint(), why)) return;
        throw Error(ErrorCode::failure,
                    "cannot listen on " + o.host + ":" + std::to_string(o.port) + ": " + why.message());
    }

    bool listen_at(const tcp::endpoint &where, error_code &why) {
        acceptor.close(why);
        acceptor.open(where.protocol(), why);
        if (why) return false;
        listen_alone(static_cast<Socket>(acceptor.native_handle()));
        if (where.protocol() == tcp::v6()) acceptor.set_option(asio::ip::v6_only(false), why);
        acceptor.bind(where, why);
        if (!why) acceptor.listen(tcp::acceptor::max_listen_connections, why);
        if (!why) port = acceptor.local_endpoint().port();
        return !why;
    }

    void accept() {
        acceptor.async_accept([this](const error_code &why, tcp::socket socket) {
            if (why == asio::error::operation_aborted) return;
            if (why) return make_place_for_later();
            take(std::move(socket));
            accept();
        });
    }

    // There are no descriptors left, or no memory.
    void make_place_for_later() {
        if (const auto slowest = hub.slowest([](const Connection &) { return true; })) slowest->close();
        again.expires_after(std::chrono::milliseconds(20));
        again.async_wait([this](const error_code &why) {
            if (!why) accept();
        });
    }

    void take(tcp::socket socket) {
        error_code why;
        const std::string owner = owner_of(socket.remote_endpoint(why).address());
        if (why || !make_place(owner)) return;
        socket.set_option(tcp::no_delay(true), why); // a token is a small packet that should not wait for others
        const auto connection = std::make_shared<Connection>(hub, std::move(socket), owner);
        hub.all.insert(connection);
        hub.open = hub.all.size();
        connection->begin();
    }

    [[nodiscard]] bool make_place(const std::string &owner) {
        const auto same = [&owner](const Connection &each) { return each.address() == owner; };
        const auto count = std::ranges::count_if(hub.all, [&](const auto &each) { return same(*each); });
        const bool crowd = static_cast<size_t>(count) >= hub.options.connections_of_address;
        if (!crowd && hub.all.size() < hub.options.connections) return true;
        const auto slowest = hub.slowest([&](const Connection &each) { return !crowd || same(each); });
        if (slowest) slowest->close();
        return slowest != nullptr;
    }

    void watch() {
        sweep.expires_after(std::chrono::milliseconds(200));
        sweep.async_wait([this](const error_code &why) {
            if (why) return;
            for (const auto &each : std::vector(hub.all.begin(), hub.all.end())) each->expect_progress(Clock::now());
            if (hub.ending && hub.all.empty()) return hub.loop.stop();
            watch();
        });
    }

    void end() {
        hub.ending = true;
        error_code ignored;
        acceptor.close(ignored);
        again.cancel();
        for (const auto &each : std::vector(hub.all.begin(), hub.all.end())) each->end();
        if (hub.all.empty()) hub.loop.stop();
    }
};

HttpServer::HttpServer(const HttpOptions &options, HttpHandlers handlers)
    : parts_(new Parts{.hub{options, std::move(handlers)}}) {
    Parts &p = *parts_;
    allow_connections(options.connections);
    give_back_large_blocks(size_t{1} << 20); // bodies that come and go would take memory beside each other for good
    p.listen();
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::start() {
    Parts &p = *parts_;
    p.accept();
    p.watch();
    p.thread = std::thread([&p] { p.hub.loop.run(); });
}

int HttpServer::port() const { return parts_->port; }
size_t HttpServer::connections() const { return parts_->hub.open; }
size_t HttpServer::bodies() const { return parts_->hub.bodies; }

void HttpServer::stop() {
    Parts &p = *parts_;
    if (!p.thread.joinable()) return;
    asio::post(p.hub.loop, [&p] { p.end(); });
    p.thread.join();
}

} // namespace lamina::serve
