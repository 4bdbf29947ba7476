// SPDX-License-Identifier: Apache-2.0
// A message of protocol buffers in the bytes of a file, read field by field. Nothing is copied, and
// no byte is trusted: what does not fit is an Error of kind kTensorFile that names its place.
#pragma once

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dmlop {

class WireMessage;

// The number of a field, and what takes each value of it: a variable, a list of texts, or a
// function that reads it from the message.
struct WireField {
  WireField(uint32_t tag_, std::string_view& text);
  WireField(uint32_t tag_, std::vector<std::string_view>& texts);
  WireField(uint32_t tag_, int64_t& number);
  WireField(uint32_t tag_, std::invocable auto read)
      : tag(tag_), take([read](WireMessage&) { read(); }) {}

  uint32_t tag;
  std::function<void(WireMessage&)> take;
};

class WireMessage {
 public:
  // `file` is the whole file, called `name`, in which the message lies; both must outlive it.
  WireMessage(std::span<const std::byte> message, std::span<const std::byte> file,
              const std::string& name)
      : file_(file),
        name_(name),
        reader_(reinterpret_cast<const char*>(message.data()), message.size()) {}

  // Reads the message to its end; fields that are not listed are skipped.
  void Read(std::initializer_list<WireField> fields);

  // The value of the current field, which must be of that kind.
  std::span<const std::byte> Bytes();
  std::string_view Text();  // characters in UTF-8, at most kLongestText bytes
  WireMessage Message() { return Within(Bytes()); }
  int64_t Integer();
  float Float();

  // A message in bytes of the same file.
  WireMessage Within(std::span<const std::byte> bytes) const { return {bytes, file_, name_}; }

  // Calls take(number) for each number of a repeated field, packed or not.
  void EachInteger(const std::function<void(int64_t)>& take);
  void EachFloat(const std::function<void(float)>& take);

  // Fails at the current place: "x.onnx: ... at byte 12".
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) const {
    FailAt(fmt::format(text, std::forward<Args>(args)...));
  }

  static constexpr size_t kLongestText = 64 << 10;

 private:
  uint32_t tag() const { return static_cast<uint32_t>(reader_.tag()); }
  [[noreturn]] void FailAt(std::string_view what) const;
  template <typename Body>
  auto Guarded(Body&& body);
  void Expect(protozero::pbf_wire_type type, std::string_view what) const;

  std::span<const std::byte> file_;
  const std::string& name_;
  protozero::pbf_reader reader_;
};

}  // namespace dmlop
