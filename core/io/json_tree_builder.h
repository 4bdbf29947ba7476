// SPDX-License-Identifier: Apache-2.0
// Reads JSON text into the tree of a JsonDocument, in one pass. Accepts comments, trailing commas,
// and numbers that do not fit into a double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/io/json.h"

namespace dmlop {

// The reason why a text is not well-formed, and the byte at which people would look.
struct JsonFault {
  size_t offset;
  std::string message;
};

class JsonTreeBuilder {
 public:
  // `text` is the beginning of the document's text.
  JsonTreeBuilder(std::string_view text, JsonDocument& document);

  // Reads a value. Throws a JsonFault if there is none. Strings may contain ill-formed UTF-8.
  void Build();

  // Returns the position after the value and the comments that follow it.
  size_t at() const { return at_; }

 private:
  struct Key {
    uint32_t string;
    uint32_t begin;
  };

  [[noreturn]] static void Fail(size_t at, std::string_view what);
  [[noreturn]] void FailExpecting(std::string_view what) const;

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks();
  uint32_t ReadValue(uint32_t parent, Key key);
  void ReadContainer(uint32_t node, char close);
  Key ReadKey();
  void ReadLiteral(std::string_view word);
  JsonKind ReadNumber();
  bool SkipDigits();
  uint32_t ReadString();
  void ReadEscape(std::string& value);
  uint32_t ReadCodeUnit();
  std::string_view NextToken() const;

  std::string_view text_;
  JsonDocument& document_;
  size_t at_;
  size_t depth_ = 0;
};

}  // namespace dmlop
