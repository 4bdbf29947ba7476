// SPDX-License-Identifier: Apache-2.0
#include "core/io/json.h"

#include <fmt/format.h>

#include <span>

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/io/file.h"
#include "core/io/json_tree_builder.h"

namespace dmlop {

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
