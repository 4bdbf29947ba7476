#include "core/io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/utf8.h"
#include "core/io/json_scanner.h"

namespace dmlop {

// Receives the parser's events and builds the tree. The parser says what it read but not where, so
// a scanner walks the same text token by token beside it.
class JsonTreeBuilder {
 public:
  using Json = nlohmann::json;

  JsonTreeBuilder(JsonDocument& document, Diagnostics& diagnostics)
      : document_(document), diagnostics_(diagnostics), scanner_(document.text()) {}

  bool null() { return Leaf(JsonKind::kNull); }
  bool boolean(bool) { return Leaf(JsonKind::kBoolean); }
  bool number_integer(Json::number_integer_t) { return Leaf(JsonKind::kInteger); }
  bool number_unsigned(Json::number_unsigned_t) { return Leaf(JsonKind::kInteger); }
  bool number_float(Json::number_float_t, const std::string&) {
    if (!Leaf(JsonKind::kInteger)) return false;
    // An integer beyond 64 bits arrives here too.
    JsonDocument::Node& node = document_.nodes_.back();
    const std::string_view token(document_.text().data() + node.begin, node.end - node.begin);
    if (token.find_first_of(".eE") != token.npos) node.kind = JsonKind::kFraction;
    return true;
  }
  bool string(std::string& value) {
    if (!Leaf(JsonKind::kString)) return false;
    document_.nodes_.back().string = Keep(value);
    return true;
  }
  bool binary(Json::binary_t&) { return false; }  // not in JSON text

  bool start_object(size_t) { return Open(JsonKind::kObject); }
  bool start_array(size_t) { return Open(JsonKind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    key_begin_ = static_cast<uint32_t>(scanner_.NextValue().begin);
    key_ = Keep(name);
    return true;
  }

  std::optional<size_t> TrailingOffset() {
    const JsonScanner::Token token = scanner_.Next();
    return token.begin == token.end ? std::nullopt : std::optional(token.begin);
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) {
    diagnostics_.Error("JSON-1", "", Explain(error.what()), PlaceOfError(position, error.what()));
    return false;
  }

 private:
  static constexpr uint32_t kNone = JsonDocument::kNone;

  struct Level {
    uint32_t node;
    uint32_t last_child = kNone;
  };

  // `position` counts the bytes read. People look at the start of the token that is wrong, but
  // within a string at the byte itself.
  size_t PlaceOfError(size_t position, std::string_view message) {
    const size_t last_read = std::min(position == 0 ? 0 : position - 1, document_.text().size());
    if (message.find("invalid string") != message.npos) return last_read;
    JsonScanner::Token token = scanner_.Next();
    while (token.first != '\0' && token.end <= last_read) token = scanner_.Next();
    return token.begin;
  }

  // The library's message without its own prefix, place and quotation of the text.
  static std::string Explain(std::string message) {
    for (const std::string_view lead_in : {"syntax error ", "] "}) {
      const size_t found = message.find(lead_in);
      if (found == std::string::npos) continue;
      message.erase(0, found + lead_in.size());
      break;
    }
    const size_t quotation = message.find("; last read: '");
    if (quotation != std::string::npos) {
      const size_t end = message.rfind('\'');
      message.erase(quotation, end == std::string::npos ? end : end + 1 - quotation);
    }
    return "not well-formed JSON: " + message;
  }

  uint32_t Keep(std::string& value) {
    document_.strings_.push_back(std::move(value));
    return static_cast<uint32_t>(document_.strings_.size() - 1);
  }

  uint32_t Append(JsonKind kind, const JsonScanner::Token& token) {
    auto& nodes = document_.nodes_;
    const uint32_t node = static_cast<uint32_t>(nodes.size());
    const uint32_t parent = open_.empty() ? kNone : open_.back().node;
    nodes.push_back({static_cast<uint32_t>(token.begin), static_cast<uint32_t>(token.end), parent,
                     kNone, kNone, std::exchange(key_, kNone), kNone, key_begin_, kind});
    if (!open_.empty()) {
      Level& level = open_.back();
      (level.last_child == kNone ? nodes[parent].first_child : nodes[level.last_child].next) = node;
      level.last_child = node;
    }
    return node;
  }

  // True where the document may have one more value.
  bool HasRoom(const JsonScanner::Token& token) {
    if (document_.nodes_.size() < JsonDocument::kMaxValues) return true;
    return Refuse(token, fmt::format("more than {} values (bind a tensor file for that many)",
                                     JsonDocument::kMaxValues));
  }

  bool Refuse(const JsonScanner::Token& token, std::string_view message) {
    diagnostics_.Error("JSON-1", "", std::string(message), token.begin);
    return false;
  }

  bool Leaf(JsonKind kind) {
    const JsonScanner::Token token = scanner_.NextValue();
    if (!HasRoom(token)) return false;
    Append(kind, token);
    return true;
  }

  bool Open(JsonKind kind) {
    const JsonScanner::Token token = scanner_.NextValue();
    if (open_.size() == JsonDocument::kMaxDepth) {
      return Refuse(token, fmt::format("nested more than {} deep", JsonDocument::kMaxDepth));
    }
    if (!HasRoom(token)) return false;
    open_.push_back({Append(kind, token)});
    return true;
  }

  bool Close() {
    document_.nodes_[open_.back().node].end = static_cast<uint32_t>(scanner_.NextValue().end);
    open_.pop_back();
    return true;
  }

  JsonDocument& document_;
  Diagnostics& diagnostics_;
  JsonScanner scanner_;
  std::vector<Level> open_;
  uint32_t key_ = kNone;
  uint32_t key_begin_ = 0;
};

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
  size_t index = 0;
  for (auto child = parent.first_child(); child->node_ != node_; child = child->next()) ++index;
  return fmt::format("{}/{}", parent.pointer(), index);
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
  JsonDocument document;
  document.text_ = std::make_shared<const std::string>(std::move(text));
  const size_t nul = document.text().find('\0');  // the parser takes it for the end
  Diagnostics of_text;
  JsonTreeBuilder builder(document, of_text);
  const bool well_formed =
      nlohmann::json::sax_parse(ForParser(std::string_view(document.text()).substr(0, nul)),
                                &builder, nlohmann::json::input_format_t::json,
                                /*strict=*/false, /*ignore_comments=*/true);
  if (!well_formed && nul != std::string::npos && of_text.list().front().offset >= nul) {
    diagnostics.Error("JSON-1", "", "not well-formed JSON: a NUL byte", nul);
  } else {
    diagnostics.AppendAll(of_text);
  }
  if (!well_formed) return std::nullopt;
  document.trailing_offset_ = builder.TrailingOffset();
  if (!document.trailing_offset_ && nul != std::string::npos) document.trailing_offset_ = nul;
  // The parser does not look into comments.
  const std::string_view own =
      std::string_view(document.text())
          .substr(0, document.trailing_offset_.value_or(document.text().size()));
  const size_t valid = ValidCharacters(own);
  if (valid < own.size()) {
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
