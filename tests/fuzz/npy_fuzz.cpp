// SPDX-License-Identifier: Apache-2.0
// The bytes are a .npy file: its header is read, its elements, and how they fit a desc. The number
// of bytes decides the file's place in memory and the desc.

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/io/npy.h"
#include "core/io/tensor_file.h"
#include "tests/fuzz/check.h"
#include "tests/reference/element.h"

namespace dmlop {
namespace {

using Bytes = std::span<const std::byte>;

// A separate copy, so that reading past the file is reading past an allocation.
struct FileBytes {
  std::vector<std::byte> memory;
  size_t begin;

  FileBytes(Bytes file, size_t offset) : memory(offset), begin(offset) {
    memory.insert(memory.end(), file.begin(), file.end());
    memory.shrink_to_fit();
  }
  Bytes bytes() const { return Bytes(memory).subspan(begin); }
};

// The element's bits in the file, by the definition of the format.
uint64_t BitsInFile(Bytes file, const NpyHeader& header, int64_t number) {
  const size_t width = ByteWidth(header.type);
  const Bytes element =
      file.subspan(header.data_begin + static_cast<size_t>(number) * width, width);
  uint64_t bits = 0;
  for (size_t i = 0; i < width; ++i) {
    bits = bits << 8 | std::to_integer<uint64_t>(element[header.big_endian ? i : width - 1 - i]);
  }
  return bits;
}

// The number of an element in the file's order.
int64_t NumberOf(const NpyHeader& header, const Dims& index) {
  const auto strides =
      header.fortran_order ? FortranStrides(header.shape) : PackedStrides(header.shape);
  return OffsetOf({header.shape, strides}, index);
}

void CheckElements(Bytes file, const NpyHeader& header, const ConstTensorView& view) {
  reference::ForEachIndex(header.shape, [&](const Dims& index) {
    Require(reference::BitsAt(view, index) == BitsInFile(file, header, NumberOf(header, index)),
            "an element is not what the file has");
  });
}

// Checks that the header that the program writes for the array reads back the same.
void CheckFormat(const NpyHeader& header) {
  const std::string text = FormatNpyHeader(header.type, header.shape);
  const NpyHeader again = ParseNpyHeader(std::as_bytes(std::span(text)), "written");
  Require(again.type == header.type && again.shape == header.shape && !again.big_endian &&
              !again.fortran_order && again.data_begin == text.size(),
          "the header that is written says something else: " + text);
}

// Loads the file as a tensor whose last dimensions are packed and whose others overlap: elements
// that share a place must have equal values.
void CheckFit(const LoadedTensor& tensor, size_t overlapping) {
  const Dims& sizes = tensor.view.layout.sizes;
  const bool fits_desc =
      !sizes.empty() && sizes.size() <= kMaxRank &&
      std::all_of(sizes.begin(), sizes.end(), [](auto size) { return size > 0; });
  if (!fits_desc) return;
  TensorDesc desc;
  desc.data_type = tensor.view.type;
  desc.sizes.emplace(sizes.begin(), sizes.end());
  desc.strides.emplace();
  for (const int64_t stride : PackedStrides(sizes)) {
    desc.strides->push_back(desc.strides->size() < overlapping ? 1 : static_cast<uint32_t>(stride));
  }
  const LoadedTensor fitted = FitToDesc(tensor, desc, "fuzz.npy");
  const Layout layout = LayoutOf(desc);
  const size_t extent = static_cast<size_t>(Extent(layout));
  std::vector<std::optional<uint64_t>> places(extent);
  reference::ForEachIndex(layout.sizes, [&](const Dims& index) {
    const uint64_t bits = reference::BitsAt(fitted.view, index);
    auto& place = places[static_cast<size_t>(OffsetOf(layout, index))];
    Require(!place || *place == bits, "different values in one place");
    place = bits;
  });
}

void CheckInput(Bytes input) {
  const FileBytes memory(input, input.size() % 16);
  const Bytes file = memory.bytes();
  NpyHeaderSize(file, "fuzz.npy");
  const NpyHeader header = ParseNpyHeader(file, "fuzz.npy");
  CheckFormat(header);
  const LoadedTensor tensor = FromNpyBytes(file, nullptr, "fuzz.npy");
  CheckElements(file, header, tensor.view);
  CheckFit(tensor, input.size() / 16 % 4);
}

}  // namespace
}  // namespace dmlop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    dmlop::CheckInput({reinterpret_cast<const std::byte*>(data), size});
  } catch (const dmlop::Error&) {
    // Rejects the input.
  }
  return 0;
}
