// SPDX-License-Identifier: Apache-2.0
#include "core/io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "core/base/text.h"
#include "core/io/file.h"

namespace dmlop {

// --- reading -------------------------------------------------------------------------------------

// The reason why a text is not well-formed, and the byte at which people would look.
struct JsonFault {
  size_t offset;
  std::string message;
};

namespace {

// Each character of a document is looked at, so these are kept simple for the compiler.
bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool IsDigit(char c) {
  return '0' <= c && c <= '9';
}

bool EndsWord(char c) {
  return IsBlank(c) || c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':' ||
         c == '"' || c == '/';
}

// Returns whether a character stands for itself in a string.
bool IsPlain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

// Values of JSON or of descriptors in other notations, and the way to write them here.
constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"nan", R"("nan")"},       {"-nan", R"("nan")"},       {"inf", R"("inf")"},
    {"+inf", R"("inf")"},      {"-inf", R"("-inf")"},      {"infinity", R"("inf")"},
    {"+infinity", R"("inf")"}, {"-infinity", R"("-inf")"}, {"true", "true"},
    {"false", "false"},        {"none", "null"},           {"null", "null"},
    {"nil", "null"},           {"undefined", "null"},
};

// Returns "; write "nan"" for such a word, in any case; empty for others.
std::string HintFor(std::string_view token) {
  for (const auto& [word, here] : kWords) {
    if (EqualIgnoringCase(word, token)) return fmt::format("; write {}", here);
  }
  return "";
}

bool IsHighSurrogate(uint32_t unit) {
  return 0xD800 <= unit && unit < 0xDC00;
}

bool IsLowSurrogate(uint32_t unit) {
  return 0xDC00 <= unit && unit < 0xE000;
}

void AppendUtf8(uint32_t character, std::string& text) {
  const auto append = [&](uint32_t byte) { text += static_cast<char>(byte); };
  const auto append_rest = [&](int shift) { append(0x80 | ((character >> shift) & 0x3F)); };
  if (character < 0x80) {
    append(character);
  } else if (character < 0x800) {
    append(0xC0 | (character >> 6));
    append_rest(0);
  } else if (character < 0x10000) {
    append(0xE0 | (character >> 12));
    append_rest(6);
    append_rest(0);
  } else {
    append(0xF0 | (character >> 18));
    append_rest(12);
    append_rest(6);
    append_rest(0);
  }
}

}  // namespace

// Reads JSON text into the tree of a JsonDocument, in one pass. Accepts comments, trailing commas,
// and numbers that do not fit into a double.
class JsonTreeBuilder {
 public:
  // `text` is the beginning of the document's text.
  JsonTreeBuilder(std::string_view text, JsonDocument& document)
      : text_(text),
        document_(document),
        at_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {}

  // Reads a value. Throws a JsonFault if there is none. Strings may contain ill-formed UTF-8.
  void Build() {
    SkipBlanks();
    ReadValue(JsonDocument::kNone, {JsonDocument::kNone, 0});
    SkipBlanks();
  }

  // Returns the position after the value and the comments that follow it.
  size_t at() const { return at_; }

 private:
  struct Key {
    uint32_t string;
    uint32_t begin;
  };

  [[noreturn]] static void Fail(size_t at, std::string_view what) {
    throw JsonFault{at, fmt::format("not well-formed JSON: {}", what)};
  }

  [[noreturn]] void FailExpecting(std::string_view what) const {
    if (text_.substr(at_).starts_with("/*")) Fail(at_, "a comment without its end");
    const std::string_view token = NextToken();
    const bool is_shown =
        std::all_of(token.begin(), token.end(), [](char c) { return ' ' < c && c < '\x7F'; });
    const std::string found = token.empty()      ? ", found the end"
                              : token[0] == '"'  ? ", found a string"
                              : token[0] == '\'' ? ", found a single quote"
                              : is_shown         ? fmt::format(", found '{}'", token)
                                                 : "";
    Fail(at_, fmt::format("expected {}{}{}", what, found, HintFor(token)));
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      if (IsBlank(text_[at_])) {
        ++at_;
      } else if (text_[at_] != '/') {
        return;
      } else if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_).starts_with("/*")) {
        const size_t close = text_.find("*/", at_ + 2);
        if (close == std::string_view::npos) return;  // not a comment then
        at_ = close + 2;
      } else {
        return;
      }
    }
  }

  uint32_t ReadValue(uint32_t parent, Key key) {
    auto& nodes = document_.nodes_;
    if (nodes.size() == JsonDocument::kMaxValues) {
      throw JsonFault{at_, fmt::format("more than {} values (bind a tensor file for that many)",
                                       JsonDocument::kMaxValues)};
    }
    constexpr uint32_t kNone = JsonDocument::kNone;
    const uint32_t node = static_cast<uint32_t>(nodes.size());
    nodes.push_back({static_cast<uint32_t>(at_), 0, parent, kNone, kNone, key.string, kNone,
                     key.begin, JsonKind::kNull});
    switch (const char first = Peek()) {
      case '{':
        nodes[node].kind = JsonKind::kObject;
        ReadContainer(node, '}');
        break;
      case '[':
        nodes[node].kind = JsonKind::kArray;
        ReadContainer(node, ']');
        break;
      case '"':
        nodes[node].kind = JsonKind::kString;
        nodes[node].string = ReadString();
        break;
      case 't':
      case 'f':
        nodes[node].kind = JsonKind::kBoolean;
        ReadLiteral(first == 't' ? "true" : "false");
        break;
      case 'n':
        ReadLiteral("null");
        break;
      default:
        nodes[node].kind = ReadNumber();
    }
    nodes[node].end = static_cast<uint32_t>(at_);
    return node;
  }

  void ReadContainer(uint32_t node, char close) {
    if (depth_ == JsonDocument::kMaxDepth) {
      throw JsonFault{at_, fmt::format("nested more than {} deep", JsonDocument::kMaxDepth)};
    }
    ++depth_;
    ++at_;
    auto& nodes = document_.nodes_;
    Key key{JsonDocument::kNone, 0};
    uint32_t last = JsonDocument::kNone;
    for (SkipBlanks(); Peek() != close; SkipBlanks()) {
      if (close == '}') key = ReadKey();
      const uint32_t child = ReadValue(node, key);
      (last == JsonDocument::kNone ? nodes[node].first_child : nodes[last].next) = child;
      last = child;
      ++key.begin;
      SkipBlanks();
      if (Peek() == close) break;
      if (Peek() != ',') FailExpecting(close == '}' ? "',' or '}'" : "',' or ']'");
      ++at_;
    }
    ++at_;
    --depth_;
  }

  Key ReadKey() {
    if (Peek() != '"') FailExpecting("a name in double quotes");
    const uint32_t begin = static_cast<uint32_t>(at_);
    const uint32_t string = ReadString();
    SkipBlanks();
    if (Peek() != ':') FailExpecting("':'");
    ++at_;
    SkipBlanks();
    return {string, begin};
  }

  void ReadLiteral(std::string_view word) {
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && !EndsWord(rest[word.size()]))) {
      FailExpecting("a value");
    }
    at_ += word.size();
  }

  JsonKind ReadNumber() {
    const size_t begin = at_;
    JsonKind kind = JsonKind::kInteger;
    if (Peek() == '-') ++at_;
    const bool begins_with_zero = Peek() == '0';
    const size_t first_digit = at_;
    bool is_number = SkipDigits() && !(begins_with_zero && at_ > first_digit + 1);
    if (is_number && Peek() == '.') {
      kind = JsonKind::kFraction;
      ++at_;
      is_number = SkipDigits();
    }
    if (is_number && (Peek() == 'e' || Peek() == 'E')) {
      kind = JsonKind::kFraction;
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      is_number = SkipDigits();
    }
    if (is_number && (at_ == text_.size() || EndsWord(text_[at_]))) return kind;
    at_ = begin;
    FailExpecting("a value");
  }

  bool SkipDigits() {
    const size_t begin = at_;
    while (IsDigit(Peek())) ++at_;
    return at_ > begin;
  }

  uint32_t ReadString() {
    std::string& value = document_.strings_.emplace_back();
    ++at_;
    while (true) {
      const size_t begin = at_;
      while (at_ < text_.size() && IsPlain(text_[at_])) ++at_;
      value.append(text_, begin, at_ - begin);
      if (at_ == text_.size()) Fail(at_, "a string without its end");
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') {
        Fail(at_,
             text_[at_] == '\n' ? "a line break in a string" : "a control character in a string");
      }
      ReadEscape(value);
    }
    ++at_;
    return static_cast<uint32_t>(document_.strings_.size() - 1);
  }

  void ReadEscape(std::string& value) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    const size_t begin = at_++;
    if (const size_t known = kNames.find(Peek()); known != std::string_view::npos) {
      ++at_;
      value += kCharacters[known];
      return;
    }
    if (Peek() != 'u') Fail(begin, "an unknown escape");
    uint32_t character = ReadCodeUnit();
    if (IsHighSurrogate(character) && text_.substr(at_).starts_with("\\u")) {
      ++at_;
      const uint32_t low = ReadCodeUnit();
      if (!IsLowSurrogate(low)) Fail(begin, "half of a surrogate pair");
      character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    } else if (IsHighSurrogate(character) || IsLowSurrogate(character)) {
      Fail(begin, "half of a surrogate pair");
    }
    AppendUtf8(character, value);
  }

  // Reads the four digits after "\u", starting at the u.
  uint32_t ReadCodeUnit() {
    constexpr std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
    ++at_;
    uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const size_t digit = at_ < text_.size() ? kDigits.find(text_[at_]) : std::string_view::npos;
      if (digit == std::string_view::npos) Fail(at_, "'\\u' without four hexadecimal digits");
      unit = unit * 16 + static_cast<uint32_t>(digit % 16);
    }
    return unit;
  }

  // Returns the unexpected text, as much of it as is worth showing.
  std::string_view NextToken() const {
    constexpr size_t kShown = 20;
    size_t end = at_ + 1;
    while (end < text_.size() && end < at_ + kShown && !EndsWord(text_[at_]) &&
           !EndsWord(text_[end])) {
      ++end;
    }
    return text_.substr(at_, end - at_);
  }

  std::string_view text_;
  JsonDocument& document_;
  size_t at_;
  size_t depth_ = 0;
};

// --- the tree ------------------------------------------------------------------------------------

std::string_view Describe(JsonKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {
      "null",     "a boolean", "an integer", "a number with a fraction or an exponent",
      "a string", "an array",  "an object"};
  return kNames[static_cast<size_t>(kind)];
}

JsonKind JsonCursor::kind() const {
  return document_->nodes_[node_].kind;
}

std::string_view JsonCursor::token() const {
  const JsonDocument::Node& node = document_->nodes_[node_];
  return std::string_view(document_->text()).substr(node.begin, node.end - node.begin);
}

const std::string& JsonCursor::string() const {
  return document_->strings_[document_->nodes_[node_].string];
}

bool JsonCursor::boolean() const {
  return token() == "true";
}

std::optional<JsonCursor> JsonCursor::first_child() const {
  const uint32_t child = document_->nodes_[node_].first_child;
  if (child == JsonDocument::kNone) return std::nullopt;
  return JsonCursor(document_, child);
}

std::optional<JsonCursor> JsonCursor::next() const {
  const uint32_t sibling = document_->nodes_[node_].next;
  if (sibling == JsonDocument::kNone) return std::nullopt;
  return JsonCursor(document_, sibling);
}

size_t JsonCursor::child_count() const {
  size_t count = 0;
  for (auto child = first_child(); child; child = child->next()) ++count;
  return count;
}

std::vector<JsonCursor> JsonCursor::children() const {
  std::vector<JsonCursor> list;
  for (auto child = first_child(); child; child = child->next()) list.push_back(*child);
  return list;
}

const std::string& JsonCursor::key() const {
  return document_->strings_[document_->nodes_[node_].key];
}

size_t JsonCursor::key_offset() const {
  return document_->nodes_[node_].key_begin;
}

std::optional<JsonCursor> JsonCursor::Find(std::string_view name) const {
  if (!is_object()) return std::nullopt;
  for (auto member = first_child(); member; member = member->next()) {
    if (member->key() == name) return member;
  }
  return std::nullopt;
}

size_t JsonCursor::offset() const {
  return document_->nodes_[node_].begin;
}

std::string JsonCursor::pointer() const {
  const JsonDocument::Node& node = document_->nodes_[node_];
  if (node.parent == JsonDocument::kNone) return "";
  const JsonCursor parent(document_, node.parent);
  if (parent.is_object()) {
    std::string name;
    for (const char c : key()) name += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return parent.pointer() + "/" + name;
  }
  return fmt::format("{}/{}", parent.pointer(), node.key_begin);
}

std::optional<JsonDocument> JsonDocument::Parse(std::string text, Diagnostics& diagnostics) {
  if (text.size() > kMaxBytes) {
    diagnostics.Error("JSON-1", "",
                      fmt::format("the document has more than {} bytes (bind a tensor file for "
                                  "values that many)",
                                  kMaxBytes),
                      kMaxBytes);
    return std::nullopt;
  }
  const std::string_view kind = KindOfContent(std::as_bytes(std::span(text)));
  JsonDocument document;
  document.text_ = std::make_shared<const std::string>(std::move(text));
  // A NUL byte ends the text.
  const size_t nul = document.text().find('\0');
  JsonTreeBuilder builder(std::string_view(document.text()).substr(0, nul), document);
  try {
    builder.Build();
  } catch (const JsonFault& fault) {
    const bool is_nul = fault.offset >= nul;
    const std::string what = is_nul ? "not well-formed JSON: a NUL byte" : fault.message;
    diagnostics.Error("JSON-1", "", kind.empty() ? what : fmt::format("not JSON, but {}", kind),
                      std::min(fault.offset, nul));
    return std::nullopt;
  }
  const size_t end = builder.at();
  if (end < document.text().size()) document.trailing_offset_ = end;
  const size_t valid = ValidCharacters(std::string_view(document.text()).substr(0, end));
  if (valid < end) {
    diagnostics.Error("JSON-1", "", "not well-formed JSON: ill-formed UTF-8 byte", valid);
    return std::nullopt;
  }
  return document;
}

PositionFinder::PositionFinder(std::string_view text)
    : text_(text),
      start_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0),
      at_(start_) {}

TextPosition PositionFinder::Find(size_t offset) {
  if (offset < at_) {
    at_ = start_;
    position_ = {1, 1};
  }
  for (; at_ < std::min(offset, text_.size()); ++at_) {
    if (text_[at_] == '\n') {
      position_ = {position_.line + 1, 1};
    } else if (!ContinuesCharacter(text_[at_])) {
      ++position_.column;
    }
  }
  return position_;
}

}  // namespace dmlop
