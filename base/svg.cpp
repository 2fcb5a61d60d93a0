#include "base/svg.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <charconv>

namespace lamina {
namespace {

// Escapes text for XML. Control characters and invalid UTF-8, which XML does not allow, become U+FFFD.
std::string escape(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8_length(text, at);
        const std::string_view whole = text.substr(at, std::max(length, size_t{1}));
        const char c = text[at];
        at += whole.size();
        if (length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') ||
            whole == "\xEF\xBF\xBE" || whole == "\xEF\xBF\xBF") // U+FFFE and U+FFFF are no characters of XML
            out += "\xEF\xBF\xBD";
        else if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else
            out += whole;
    }
    return out;
}

std::string attribute(std::string_view name, double value) {
    return " " + std::string(name) + "=\"" + decimal(value) + "\"";
}

} // namespace

std::string decimal(double value) {
    char digits[64];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::fixed, 2);
    if (end.ec != std::errc()) return "0"; // beyond 10^60, far outside of any page
    std::string_view text(digits, static_cast<size_t>(end.ptr - digits));
    while (text.back() == '0') text.remove_suffix(1);
    if (text.back() == '.') text.remove_suffix(1);
    return text == "-0" ? "0" : std::string(text);
}

Svg::Svg(double width, double height, std::string_view title, std::string_view style_sheet) {
    const std::string w = decimal(width), h = decimal(height);
    body_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" + w + "\" height=\"" + h +
            "\" viewBox=\"0 0 " + w + " " + h + "\">\n<title>" + escape(title) + "</title>\n<style>\n" +
            std::string(style_sheet) + "</style>\n";
}

void Svg::rect(Point corner, double width, double height, std::string_view attributes) {
    body_ += "<rect" + attribute("x", corner.x) + attribute("y", corner.y) + attribute("width", width) +
             attribute("height", height) + " " + std::string(attributes) + "/>\n";
}

void Svg::line(Point from, Point to, std::string_view attributes) {
    body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
             attribute("y2", to.y) + " " + std::string(attributes) + "/>\n";
}

void Svg::polyline(std::span<const Point> points, std::string_view attributes) {
    body_ += "<polyline points=\"";
    for (size_t i = 0; i < points.size(); ++i)
        body_ += (i == 0 ? "" : " ") + decimal(points[i].x) + "," + decimal(points[i].y);
    body_ += "\" " + std::string(attributes) + "/>\n";
}

void Svg::path(std::string_view data, std::string_view attributes) {
    body_ += "<path d=\"" + std::string(data) + "\" " + std::string(attributes) + "/>\n";
}

void Svg::text(Point at, std::string_view words, std::string_view attributes) {
    body_ += "<text" + attribute("x", at.x) + attribute("y", at.y) + " " + std::string(attributes) + ">" +
             escape(words) + "</text>\n";
}

} // namespace lamina
