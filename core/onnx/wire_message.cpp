// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/wire_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/io/wire_bytes.h"

namespace dmlop {

using Type = protozero::pbf_wire_type;

template <typename Body>
auto WireMessage::Guarded(Body&& body) {
  try {
    return body();
  } catch (const protozero::end_of_buffer_exception&) {
    Fail("is cut off: a field goes beyond the end of its message");
  } catch (const protozero::exception&) {
    Fail("is damaged: no field of a message begins");
  }
}

void WireMessage::FailAt(std::string_view what) const {
  const auto* at = reinterpret_cast<const std::byte*>(reader_.data().data());
  throw Error(ErrorKind::kTensorFile, "{}: {}, at byte {} of {}", name_, what, at - file_.data(),
              file_.size());
}

void WireMessage::Expect(Type type, std::string_view what) const {
  if (reader_.wire_type() != type) Fail("is damaged: field {} is not {}", tag(), what);
}

WireField::WireField(uint32_t tag_, std::string_view& text)
    : tag(tag_), take([&text](WireMessage& message) { text = message.Text(); }) {}

WireField::WireField(uint32_t tag_, std::vector<std::string_view>& texts)
    : tag(tag_), take([&texts](WireMessage& message) { texts.push_back(message.Text()); }) {}

WireField::WireField(uint32_t tag_, int64_t& number)
    : tag(tag_), take([&number](WireMessage& message) { number = message.Integer(); }) {}

void WireMessage::Read(std::initializer_list<WireField> fields) {
  while (Guarded([&] { return reader_.next(); })) {
    const auto* field = std::ranges::find(fields, tag(), &WireField::tag);
    if (field != fields.end()) {
      field->take(*this);
    } else {
      Guarded([&] { SkipField(reader_); });
    }
  }
}

std::span<const std::byte> WireMessage::Bytes() {
  Expect(Type::length_delimited, "text, bytes or a message");
  return Guarded([&] { return TakeBytes(reader_); });
}

std::string_view WireMessage::Text() {
  const std::span<const std::byte> bytes = Bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() > kLongestText) {
    Fail("has a text of {} bytes; {} are the most", text.size(), kLongestText);
  }
  if (ValidCharacters(text) != text.size()) Fail("has a text that is not UTF-8");
  return text;
}

int64_t WireMessage::Integer() {
  Expect(Type::varint, "an integer");
  return Guarded([&] { return reader_.get_int64(); });
}

float WireMessage::Float() {
  Expect(Type::fixed32, "a number of 32 bits");
  return Guarded([&] { return reader_.get_float(); });
}

void WireMessage::EachInteger(const std::function<void(int64_t)>& take) {
  if (reader_.wire_type() != Type::length_delimited) return take(Integer());
  Guarded([&] {
    for (const int64_t number : reader_.get_packed_int64()) take(number);
  });
}

void WireMessage::EachFloat(const std::function<void(float)>& take) {
  if (reader_.wire_type() != Type::length_delimited) return take(Float());
  Guarded([&] {
    for (const float number : reader_.get_packed_float()) take(number);
  });
}

}  // namespace dmlop
