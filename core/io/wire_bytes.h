// SPDX-License-Identifier: Apache-2.0
// Fields of protocol buffers with lengths of 64 bits, of which protozero reads the lower 32 only.
#pragma once

#include <cstddef>
#include <protozero/pbf_reader.hpp>
#include <span>

namespace dmlop {

// Takes the bytes of the field at which a message is. Throws protozero::end_of_buffer_exception if
// the message has fewer.
inline std::span<const std::byte> TakeBytes(protozero::pbf_reader& message) {
  const protozero::data_view rest = message.data();
  const char* at = rest.data();
  const char* const end = at + rest.size();
  const uint64_t size = protozero::decode_varint(&at, end);
  if (size > static_cast<uint64_t>(end - at)) throw protozero::end_of_buffer_exception();
  message = {at + size, static_cast<size_t>(end - at) - size};
  return std::as_bytes(std::span(at, size));
}

inline void SkipField(protozero::pbf_reader& message) {
  if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
    TakeBytes(message);
  } else {
    message.skip();
  }
}

}  // namespace dmlop
