// SPDX-License-Identifier: Apache-2.0
// The header of NumPy's .npy files (format versions 1.0, 2.0 and 3.0).
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/tensor/data_type.h"
#include "core/tensor/layout.h"

namespace dmlop {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

bool HasNpyMagic(std::span<const std::byte> bytes);

struct NpyHeader {
  DataType type;
  bool big_endian;
  bool fortran_order;
  bool is_bool;       // NumPy's, one byte each; the type is then UINT8
  bool is_bfloat16;   // 2 bytes each, the upper half of a FLOAT32, which is then the type
  Dims shape;         // may be empty (a scalar) or have zeros
  size_t data_begin;  // number of bytes before the data

  int64_t element_count() const { return Product(shape); }
  size_t element_size() const { return is_bfloat16 ? 2 : ByteWidth(type); }  // size in the file
  size_t data_size() const { return static_cast<size_t>(element_count()) * element_size(); }
};

// Throws an Error of kind kTensorFile.
template <typename... Args>
[[noreturn]] void FailTensorFile(const std::string& name, fmt::format_string<Args...> text,
                                 Args&&... args) {
  throw Error(ErrorKind::kTensorFile, "{}: {}", name,
              fmt::format(text, std::forward<Args>(args)...));
}

// The first kNpyPreambleSize bytes tell how long the whole header is, themselves included. `name`
// is the file's, for messages; failures are Errors of kind kTensorFile.
inline constexpr size_t kNpyPreambleSize = 12;
inline constexpr size_t kMaxNpyHeaderSize = 1 << 20;  // NumPy's own headers stay far below
size_t NpyHeaderSize(std::span<const std::byte> preamble, const std::string& name);

// Accepted elements: those of DirectML's types, or bfloat16 as well.
enum class NpyTypes { kOfDirectML, kAndBfloat16 };

// Parses the header at the start of `bytes`.
NpyHeader ParseNpyHeader(std::span<const std::byte> bytes, const std::string& name,
                         NpyTypes types = NpyTypes::kOfDirectML);

// Converts elements to the other byte order; an incomplete one at the end stays as it is.
void SwapByteOrder(DataType type, std::span<std::byte> elements);

// Returns the version 1.0 header that numpy.save writes for a little-endian array in C order; its
// size is a multiple of 64.
std::string FormatNpyHeader(DataType type, const Dims& shape);

}  // namespace dmlop
