// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <cstdint>
#include <cstring>

namespace dmlop {
namespace {

// The size of a multi-byte character by its first byte, and the range of its second.
struct Sequence {
  size_t size = 0;  // 0 if no character begins so
  unsigned char least_second = 0x80;
  unsigned char most_second = 0xBF;
};

Sequence SequenceFor(unsigned char first) {
  if (first < 0xC2) return {};  // 0xC0 and 0xC1 would encode ASCII again
  if (first < 0xE0) return {2};
  if (first == 0xE0) return {3, 0xA0};
  if (first == 0xED) return {3, 0x80, 0x9F};  // larger ones encode surrogates
  if (first < 0xF0) return {3};
  if (first == 0xF0) return {4, 0x90};
  if (first < 0xF4) return {4};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

bool IsAscii(const char* eight) {
  uint64_t bytes;
  std::memcpy(&bytes, eight, sizeof(bytes));
  return (bytes & 0x8080808080808080) == 0;
}

}  // namespace

size_t ValidCharacters(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (at + 8 <= text.size() && IsAscii(text.data() + at)) {
      at += 8;
      continue;
    }
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    if (byte(0) < 0x80) {
      ++at;
      continue;
    }
    const Sequence sequence = SequenceFor(byte(0));
    if (sequence.size == 0 || at + sequence.size > text.size()) return at;
    if (byte(1) < sequence.least_second || byte(1) > sequence.most_second) return at;
    for (size_t i = 2; i < sequence.size; ++i) {
      if (!ContinuesCharacter(text[at + i])) return at;
    }
    at += sequence.size;
  }
  return at;
}

}  // namespace dmlop
