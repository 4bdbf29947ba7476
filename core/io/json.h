// SPDX-License-Identifier: Apache-2.0
// JSON text as a tree that knows the position of everything. Comments and trailing commas are
// accepted, as by DxDispatch; duplicate keys are kept, for the reader to report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace dmlop {

enum class JsonKind : uint8_t { kNull, kBoolean, kInteger, kFraction, kString, kArray, kObject };

// Returns the kind with its article, for messages: "a string", "an integer", ...
std::string_view Describe(JsonKind kind);

class JsonDocument;

// A value of a document, which must outlive the cursor. Cheap to copy.
class JsonCursor {
 public:
  JsonKind kind() const;
  bool is_object() const { return kind() == JsonKind::kObject; }
  bool is_array() const { return kind() == JsonKind::kArray; }
  bool is_string() const { return kind() == JsonKind::kString; }
  bool is_null() const { return kind() == JsonKind::kNull; }

  // Returns the text as written, such as "1e2" for a number.
  std::string_view token() const;
  const std::string& string() const;  // only for a string
  bool boolean() const;               // only for a boolean

  // Return elements of an array, or members of an object in the order of the text.
  std::optional<JsonCursor> first_child() const;
  std::optional<JsonCursor> next() const;  // the following sibling
  size_t child_count() const;
  std::vector<JsonCursor> children() const;

  // Returns the name under which this value is a member.
  const std::string& key() const;
  size_t key_offset() const;

  // Returns the member of an object with that name.
  std::optional<JsonCursor> Find(std::string_view name) const;

  size_t offset() const;        // position of the first byte in the document's text
  std::string pointer() const;  // JSON pointer from the document's root

 private:
  friend class JsonDocument;
  JsonCursor(const JsonDocument* document, uint32_t node) : document_(document), node_(node) {}

  const JsonDocument* document_;
  uint32_t node_;
};

// A text may begin with this. It is not shown, and takes no column.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The position of a byte in a text, for people: both count from 1, columns in characters.
struct TextPosition {
  size_t line;
  size_t column;
};

class JsonDocument {
 public:
  // Longer texts are refused: so much data belongs into a tensor file.
  static constexpr size_t kMaxBytes = size_t{64} << 20;
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kMaxValues = size_t{1} << 22;

  // Returns nothing if the text is not well-formed, which is reported. The text behind the document
  // is not checked; it may even be a NUL byte.
  static std::optional<JsonDocument> Parse(std::string text, Diagnostics& diagnostics);

  JsonCursor root() const { return JsonCursor(this, 0); }
  const std::string& text() const { return *text_; }

  // Returns the position of the first thing that follows the document, other than comments.
  std::optional<size_t> trailing_offset() const { return trailing_offset_; }

 private:
  friend class JsonCursor;
  friend class JsonTreeBuilder;

  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct Node {
    uint32_t begin, end;    // byte positions in the text
    uint32_t parent, next;  // indices of nodes
    uint32_t first_child;
    uint32_t key, string;  // indices of strings_
    uint32_t key_begin;    // for an element of an array, its index
    JsonKind kind;
  };

  std::shared_ptr<const std::string> text_;  // shared, so that a copy keeps tokens valid
  std::vector<Node> nodes_;
  std::vector<std::string> strings_;
  std::optional<size_t> trailing_offset_;
};

// Finds positions in a text, fast if they come in the order of the text.
class PositionFinder {
 public:
  explicit PositionFinder(std::string_view text);

  TextPosition Find(size_t offset);

 private:
  std::string_view text_;
  size_t start_;  // after a byte order mark
  size_t at_;     // the last offset found, and its position
  TextPosition position_{1, 1};
};

}  // namespace dmlop
