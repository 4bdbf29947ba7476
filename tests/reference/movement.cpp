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

struct Windows {
  const Numbers& sizes;
  const Numbers& strides;
  const Numbers& dilations;
  const Numbers& padding_before;
  const Numbers& padding_after;

  explicit Windows(const OperatorDesc& desc)
      : sizes(Get<Numbers>(desc, "WindowSizes")),
        strides(Get<Numbers>(desc, "Strides")),
        dilations(Get<Numbers>(desc, "Dilations")),
        padding_before(Get<Numbers>(desc, "StartPadding")),
        padding_after(Get<Numbers>(desc, "EndPadding")) {}

  // Positions of the window along each spatial dimension.
  Dims BlocksOf(const Dims& input_sizes) const {
    Dims blocks;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t padded = input_sizes[d + 2] + int64_t{padding_before[d]} + padding_after[d];
      const int64_t reach = int64_t{dilations[d]} * (sizes[d] - 1);
      blocks.push_back((padded - reach - 1) / strides[d] + 1);
    }
    return blocks;
  }
};

// UNF-6 to UNF-9.
Expectation Unfold(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  const Dims& sizes = inputs[0].layout.sizes;
  const Windows windows(desc);
  const Dims window(windows.sizes.begin(), windows.sizes.end());
  const size_t n = index.size() - 3;  // behind the leading 1s of an output of the input's rank
  const int64_t row = index[n + 1];
  const Dims tap = IndexOf(window, row % Product(window));
  const Dims block = IndexOf(windows.BlocksOf(sizes), index[n + 2]);

  Dims source = {index[n], row / Product(window)};
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t position = block[d] * windows.strides[d] + tap[d] * windows.dilations[d] -
                             int64_t{windows.padding_before[d]};
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
