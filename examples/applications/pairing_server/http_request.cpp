// SPDX-License-Identifier: MIT
#include "http_request.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/none.hpp>

#include <algorithm>

namespace pairing {

namespace http = boost::beast::http;

namespace {

/// The path of `/path?query`, or of `http://host/path?query`, which clients of proxies send.
std::string_view path_of(std::string_view target) {
    constexpr std::string_view scheme = "http://";
    if (target.starts_with(scheme)) {
        const auto slash = target.find('/', scheme.size());
        target = slash == std::string_view::npos ? "/" : target.substr(slash);
    }
    return target.substr(0, target.find('?'));
}

} // namespace

std::string_view name_of(http_status which) noexcept {
    switch (which) {
    case http_status::ok:
        return "OK";
    case http_status::bad_request:
        return "Bad Request";
    case http_status::not_found:
        return "Not Found";
    case http_status::method_not_allowed:
        return "Method Not Allowed";
    case http_status::request_timeout:
        return "Request Timeout";
    case http_status::header_too_large:
        return "Request Header Fields Too Large";
    case http_status::unavailable:
        return "Service Unavailable";
    }
    return "";
}

std::span<char> http_request_decoder::space() noexcept {
    if (request_ || refusal_) {
        return {};
    }
    return std::span(head_).subspan(size_);
}

void http_request_decoder::commit(std::size_t count) {
    const std::string_view end_of_head = "\r\n\r\n";
    // The end may have begun in the bytes before.
    const std::size_t from = size_ - std::min(size_, end_of_head.size() - 1);
    size_ += count;
    const std::string_view head(head_.data(), size_);
    if (head.find(end_of_head, from) != std::string_view::npos) {
        parse();
    } else if (size_ == head_.size()) {
        refusal_ = http_status::header_too_large;
    }
}

void http_request_decoder::parse() {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(largest_head);
    parser.body_limit(boost::none); // the body is not read
    boost::beast::error_code error;
    parser.put(boost::asio::buffer(head_.data(), size_), error);
    if (error || !parser.is_header_done()) {
        refusal_ = http_status::bad_request;
        return;
    }
    const auto& parsed = parser.get();
    const std::string_view target(parsed.target().data(), parsed.target().size());
    if (parsed.version() >= 11 && parsed.find(http::field::host) == parsed.end()) {
        refusal_ = http_status::bad_request;
    } else if (parsed.method() != http::verb::get && parsed.method() != http::verb::head) {
        refusal_ = http_status::method_not_allowed;
    } else {
        request_ = {.is_head = parsed.method() == http::verb::head,
                    .path = std::string(path_of(target))};
    }
}

} // namespace pairing
