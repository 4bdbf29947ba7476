#include <cstdlib>

#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Numbers = std::vector<uint32_t>;

// JOIN-6: the inputs lie one behind another along the axis.
Expectation Join(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                 const Dims& index) {
  const uint32_t axis = desc[kAxis];
  Dims source = index;
  size_t part = 0;
  while (source[axis] >= inputs[part].layout.sizes[axis]) {
    source[axis] -= inputs[part].layout.sizes[axis];
    ++part;
  }
  return {BitsAt(inputs[part], source)};
}

// SPLIT-5: an output begins where the one before it ends.
Expectation Split(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t output,
                  const Dims& index) {
  const uint32_t axis = desc[kAxis];
  const auto& outputs = Get<std::vector<TensorDesc>>(desc, "OutputTensors");
  Dims source = index;
  for (size_t before = 0; before < output; ++before) source[axis] += (*outputs[before].sizes)[axis];
  return {BitsAt(inputs[0], source)};
}

// Positions of the window along each spatial dimension.
Dims BlocksOf(const OperatorDesc& desc, const Dims& input_sizes) {
  Dims blocks;
  const Numbers& windows = Get<Numbers>(desc, "WindowSizes");
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t padded = input_sizes[d + 2] + int64_t{Get<Numbers>(desc, "StartPadding")[d]} +
                           Get<Numbers>(desc, "EndPadding")[d];
    const int64_t reach = int64_t{Get<Numbers>(desc, "Dilations")[d]} * (windows[d] - 1);
    blocks.push_back((padded - reach - 1) / Get<Numbers>(desc, "Strides")[d] + 1);
  }
  return blocks;
}

// UNF-6 to UNF-9.
Expectation Unfold(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  const Dims& sizes = inputs[0].layout.sizes;
  const Numbers& window_sizes = Get<Numbers>(desc, "WindowSizes");
  const Dims windows(window_sizes.begin(), window_sizes.end());
  const size_t n = index.size() - 3;  // behind the leading 1s of an output of the input's rank
  const int64_t row = index[n + 1];
  const Dims tap = IndexOf(windows, row % Product(windows));
  const Dims block = IndexOf(BlocksOf(desc, sizes), index[n + 2]);

  Dims source = {index[n], row / Product(windows)};
  for (size_t d = 0; d < windows.size(); ++d) {
    const int64_t position = block[d] * Get<Numbers>(desc, "Strides")[d] +
                             tap[d] * Get<Numbers>(desc, "Dilations")[d] -
                             int64_t{Get<Numbers>(desc, "StartPadding")[d]};
    if (position < 0 || position >= sizes[d + 2]) return {0};
    source.push_back(position);
  }
  return {BitsAt(inputs[0], source)};
}

// A negative stride starts at the last element of the window.
Expectation Slice(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                  const Dims& index) {
  Dims source;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t stride = Get<std::vector<int32_t>>(desc, "InputWindowStrides")[d];
    const int64_t window = Get<Numbers>(desc, "InputWindowSizes")[d];
    const int64_t start =
        Get<Numbers>(desc, "InputWindowOffsets")[d] + (stride < 0 ? window - 1 : 0);
    source.push_back(start + stride * index[d]);
  }
  return {BitsAt(inputs[0], source)};
}

// FILL-1.
Expectation Fill(const OperatorDesc& desc, std::span<const ConstTensorView>, size_t, const Dims&) {
  const Scalar& value = Get<Scalar>(desc, "Value");
  uint64_t bits = 0;
  std::memcpy(&bits, value.bytes.data(), ByteWidth(value.type));
  return {bits};
}

constexpr NamedOracle kOracles[] = {{"JOIN", Join},
                                    {"SPLIT", Split},
                                    {"UNFOLD", Unfold},
                                    {"SLICE1", Slice},
                                    {"FILL_VALUE_CONSTANT", Fill}};

}  // namespace

std::span<const NamedOracle> MovementOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
