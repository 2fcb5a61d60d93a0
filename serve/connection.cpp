#include "connection.hpp"

#include "refusal.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace lamina::serve {

namespace asio = boost::asio;
using boost::system::error_code;

std::shared_ptr<Connection> Hub::slowest(const std::function<bool(const Connection &)> &counts) const {
    const auto now = Clock::now();
    std::shared_ptr<Connection> out;
    for (const auto &each : all)
        if (each->waits() && counts(*each) && (!out || each->precedence(now) < out->precedence(now))) out = each;
    return out;
}

// ---- Phases and time ----

void Connection::enter(Phase phase) {
    phase_ = phase;
    since_ = Clock::now();
}

bool Connection::waits() const {
    return phase_ == Phase::sending ? !out_.empty() : phase_ != Phase::answering && phase_ != Phase::closed;
}

std::pair<bool, Clock::time_point> Connection::precedence(Clock::time_point now) const {
    constexpr std::chrono::milliseconds fair{250}; // is on its way that long without being slow
    const bool between_requests = phase_ == Phase::idle && used_;
    return {between_requests || now - since_ < fair, since_};
}

void Connection::moved(size_t bytes) {
    const std::chrono::duration<double> earned(static_cast<double>(bytes) / static_cast<double>(hub_.options.rate));
    since_ = std::min(Clock::now(), since_ + std::chrono::duration_cast<Clock::duration>(earned));
}

std::optional<Clock::time_point> Connection::deadline() const {
    if (!waits()) return std::nullopt;
    const HttpOptions &o = hub_.options;
    switch (phase_) {
    case Phase::idle:
        return since_ + (used_ ? o.idle : o.head);
    case Phase::head:
        return since_ + o.head;
    case Phase::lingering:
        return since_ + o.lingering;
    default:
        return since_ + o.patience;
    }
}

void Connection::expect_progress(Clock::time_point now) {
    if (const auto until = deadline(); !until || now < *until) return;
    if (phase_ == Phase::head) return refuse(408, "the headers of the request did not come in time");
    if (phase_ == Phase::body) return refuse(408, "the body of the request comes too slowly");
    close();
}

void Connection::end() {
    keep_ = false;
    if (phase_ == Phase::idle || phase_ == Phase::head || phase_ == Phase::body) close();
}

void Connection::close() {
    const auto self = shared_from_this();
    if (phase_ == Phase::closed) return;
    enter(Phase::closed);
    if (outbox_) outbox_->leave();
    error_code ignored;
    socket_.close(ignored);
    hold(0);
    hub_.all.erase(self);
    hub_.open = hub_.all.size();
}

// Whatever goes wrong on a connection ends it, and no other one.
void Connection::guarded(const std::function<void()> &work) {
    try {
        work();
    } catch (const Refusal &why) {
        refuse(why.status(), why.what());
    } catch (const std::exception &) { // no memory
        close();
    }
}

// ---- The memory that bodies take ----

void Connection::hold(size_t bytes) {
    hub_.bodies += bytes - held_;
    held_ = bytes;
}

void Connection::make_room(bool may_give_way) {
    const auto counts = [&](const Connection &each) { return each.held() > 0 && (may_give_way || &each != this); };
    while (hub_.bodies > hub_.options.bodies) {
        const auto slowest = hub_.slowest(counts);
        if (!slowest) return;
        slowest->give_way();
    }
}

void Connection::give_way() {
    if (phase_ == Phase::body) return refuse(503, "too many large requests at a time; try again later");
    close();
}

// ---- Receiving ----

void Connection::read() {
    const size_t room = std::min(reader_.room(), incoming_.size());
    if (reading_ || ended_ || room == 0 || phase_ == Phase::closed) return;
    reading_ = true;
    socket_.async_read_some(asio::buffer(incoming_.data(), room),
                            [self = shared_from_this()](const error_code &why, size_t bytes) {
                                self->reading_ = false;
                                if (self->phase_ == Phase::closed) return;
                                self->guarded([&] {
                                    if (why) return self->client_ended(why != asio::error::eof);
                                    self->received(bytes);
                                });
                                self->read();
                            });
}

void Connection::received(size_t bytes) {
    if (phase_ == Phase::idle) enter(Phase::head);
    if (phase_ == Phase::body) moved(bytes);
    if (phase_ == Phase::lingering) {
        if ((thrown_away_ += bytes) > hub_.options.lingering_bytes) close();
        return;
    }
    reader_.add({incoming_.data(), bytes});
    go_on();
}

// A client that has ended its side may still receive what it has asked for.
void Connection::client_ended(bool broken) {
    ended_ = true;
    if (outbox_) outbox_->leave();
    if (broken || (phase_ != Phase::answering && phase_ != Phase::sending)) close();
}

void Connection::go_on() {
    if (phase_ == Phase::head)
        if (const Request *head = reader_.head()) admit(*head);
    if (phase_ == Phase::body && take_body()) hand_over();
    if (ended_ && (phase_ == Phase::idle || phase_ == Phase::head || phase_ == Phase::body)) close();
}

void Connection::admit(Request head) {
    used_ = true;
    head.address = address_;
    path_ = head.path;
    keep_ = reader_.keeps_alive() && !hub_.ending;
    chunked_ = reader_.takes_chunks();
    without_body_ = head.method == "HEAD";
    if (std::optional<Response> response = hub_.handlers.at_once(head)) {
        keep_ = keep_ && !reader_.has_body();
        if (keep_) (void)reader_.take();
        return respond(*std::move(response));
    }
    reader_.expect_fair_body();
    enter(Phase::body);
    if (reader_.asks_to_continue()) send(std::string(go_on_sending));
}

bool Connection::take_body() {
    const bool whole = reader_.read_body();
    hold(reader_.body_bytes());
    make_room(true);
    return whole && phase_ == Phase::body;
}

// ---- Answering ----

void Connection::hand_over() {
    enter(Phase::answering);
    outbox_ = std::make_shared<Outbox>();
    if (ended_) outbox_->leave();
    // Its body takes memory until it is answered, also if the client leaves before.
    const std::shared_ptr<Request> request(new Request(reader_.take()), [&hub = hub_, bytes = held_](Request *done) {
        delete done;
        hub.bodies -= bytes;
    });
    held_ = 0;
    request->address = address_;
    request->arrived = std::chrono::steady_clock::now(); // with its body, which has a time of its own
    request->left = [outbox = outbox_] { return outbox->left(); };
    hub_.workers.add([self = shared_from_this(), request, outbox = outbox_]() mutable {
        self->answer(std::move(request), *outbox);
        self->on_loop([] {}); // the loop's thread destroys it
    });
}

void Connection::on_loop(std::function<void()> work) {
    asio::post(hub_.loop, [self = shared_from_this(), work = std::move(work)] { self->guarded(work); });
}

void Connection::answer(std::shared_ptr<Request> request, Outbox &outbox) {
    const auto response = std::make_shared<Response>(hub_.handlers.answer(*request));
    request.reset();
    auto stream = std::exchange(response->stream, nullptr);
    if (!stream) return on_loop([this, response] { respond(std::move(*response)); });
    on_loop([this, response] { begin_stream(*response); });
    stream([&](std::string_view piece) {
        const Outbox::Added added = outbox.add(piece);
        if (added == Outbox::Added::first) on_loop([this] { flush(); });
        return added != Outbox::Added::left;
    });
    stream = nullptr; // with all that it holds
    outbox.finish();
    on_loop([this] { flush(); });
}

void Connection::respond(Response response) {
    if (phase_ == Phase::closed) return;
    enter(Phase::sending);
    outbox_.reset();
    complete_ = true;
    keep_ = keep_ && !hub_.ending;
    hold(response.body.size());
    std::string head = response_head(response, Framing::length, keep_);
    if (without_body_) response.body.clear();
    send(std::move(head), std::move(response.body));
    make_room(false);
}

void Connection::begin_stream(const Response &response) {
    if (phase_ == Phase::closed) return;
    enter(Phase::sending);
    hold(0);
    complete_ = false;
    keep_ = keep_ && chunked_ && !hub_.ending;
    send(response_head(response, chunked_ ? Framing::chunks : Framing::until_close, keep_));
}

void Connection::flush() {
    if (phase_ != Phase::sending || complete_ || !out_.empty()) return;
    auto [text, finished] = outbox_->take();
    complete_ = finished;
    if (!text.empty()) send(chunked_ ? chunk(text) : std::move(text));
    if (!finished) return;
    outbox_.reset();
    if (chunked_) send(std::string(last_chunk));
    if (out_.empty()) finish_response();
}

void Connection::refuse(int status, const std::string &why) {
    if (phase_ == Phase::closed || phase_ == Phase::sending) return close();
    reader_.abandon();
    keep_ = false;
    respond(hub_.handlers.refuse(path_, status, why));
}

// ---- Sending ----

void Connection::send(std::string text, std::string more) {
    if (out_.empty() && phase_ == Phase::sending) enter(Phase::sending); // the client's time begins now
    for (std::string *each : {&text, &more})
        if (!each->empty()) out_.push_back(std::move(*each));
    write();
}

void Connection::write() {
    if (writing_ || out_.empty() || phase_ == Phase::closed) return;
    writing_ = true;
    std::array<asio::const_buffer, 2> next{asio::buffer(out_.front()) + sent_};
    if (out_.size() > 1) next[1] = asio::buffer(out_[1]);
    socket_.async_write_some(next, [self = shared_from_this()](const error_code &why, size_t bytes) {
        self->writing_ = false;
        if (self->phase_ == Phase::closed) return;
        self->guarded([&] { why ? self->close() : self->written(bytes); });
    });
}

void Connection::written(size_t bytes) {
    if (phase_ == Phase::sending) moved(bytes);
    for (sent_ += bytes; !out_.empty() && sent_ >= out_.front().size(); out_.pop_front()) sent_ -= out_.front().size();
    if (!out_.empty()) return write();
    if (phase_ != Phase::sending) return;
    if (!complete_) return flush();
    finish_response();
}

void Connection::finish_response() {
    hold(0);
    if (keep_) {
        path_.clear();
        without_body_ = false;
        enter(reader_.empty() ? Phase::idle : Phase::head);
        go_on();
        return read();
    }
    if (ended_) return close();
    error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    enter(Phase::lingering); // closing at once would take the response away from a client that is still sending
    reader_.abandon();
    read();
}

} // namespace lamina::serve
