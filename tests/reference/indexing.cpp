// SPDX-License-Identifier: Apache-2.0
// Operators whose places depend on values.

#include <algorithm>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;

uint32_t UintOf(const OperatorDesc& desc, std::string_view field) {
  return Get<uint32_t>(desc, field);
}

int64_t ProductOf(const Dims& sizes, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= sizes[d];
  return product;
}

// The row-major number of an element, which leading 1s do not change.
int64_t NumberOf(const Dims& sizes, const Dims& index) {
  return OffsetOf(PackedLayout(sizes), index);
}

Integer ValueAt(const ConstTensorView& view, const Dims& index) {
  const uint64_t bits = BitsAt(view, index);
  switch (view.type) {
    case DataType::kInt64:
      return static_cast<int64_t>(bits);
    case DataType::kInt32:
      return static_cast<int32_t>(bits);
    default:
      return bits;
  }
}

Integer ValueAt(const ConstTensorView& view, int64_t number) {
  return ValueAt(view, IndexOf(view.layout.sizes, number));
}

uint64_t ElementAt(const ConstTensorView& view, int64_t number) {
  return BitsAt(view, IndexOf(view.layout.sizes, number));
}

// IDX-2.
int64_t Clamped(Integer index, int64_t size) {
  const Integer place = index < 0 ? index + size : index;
  return static_cast<int64_t>(std::clamp<Integer>(place, 0, size - 1));
}

Dims SizesOf(const OperatorDesc& desc, std::string_view field) {
  const std::vector<uint32_t>& sizes = *Get<TensorDesc>(desc, field).sizes;
  return Dims(sizes.begin(), sizes.end());
}

// Input[a, j(Indices[x]), b].
Expectation Gather(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Dims& input = inputs[0].layout.sizes;
  const size_t axis = UintOf(desc, "Axis");
  const int64_t indices = inputs[1].layout.element_count();
  const int64_t behind = ProductOf(input, axis + 1, input.size());
  const int64_t number = NumberOf(SizesOf(desc, "OutputTensor"), index);
  const int64_t place = Clamped(ValueAt(inputs[1], number / behind % indices), input[axis]);
  const int64_t before = number / behind / indices;
  return {ElementAt(inputs[0], (before * input[axis] + place) * behind + number % behind)};
}

Expectation GatherElements(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const size_t axis = UintOf(desc, "Axis");
  Dims source = index;
  source[axis] = Clamped(ValueAt(inputs[1], index), inputs[0].layout.sizes[axis]);
  return {BitsAt(inputs[0], source)};
}

// The number of the first element of the slice that tuple `tuple` of batch `batch` chooses.
class Slices {
 public:
  Slices(const OperatorDesc& desc, Views inputs, uint32_t batch_dims)
      : indices_(inputs[1]),
        sizes_(inputs[0].layout.sizes),
        first_(sizes_.size() - UintOf(desc, "InputDimensionCount") + batch_dims),
        tuple_size_(static_cast<size_t>(inputs[1].layout.sizes.back())) {
    const Dims& of_indices = inputs[1].layout.sizes;
    const size_t first = of_indices.size() - UintOf(desc, "IndicesDimensionCount") + batch_dims;
    tuples_ = ProductOf(of_indices, first, of_indices.size() - 1);
    elements_ = ProductOf(sizes_, first_ + tuple_size_, sizes_.size());
  }

  int64_t elements() const { return elements_; }
  int64_t tuples() const { return tuples_; }

  int64_t FirstOf(int64_t batch_and_tuple) const {
    int64_t slice = batch_and_tuple / tuples_;
    for (size_t k = 0; k < tuple_size_; ++k) {
      const int64_t size = sizes_[first_ + k];
      const int64_t number = batch_and_tuple * static_cast<int64_t>(tuple_size_);
      slice = slice * size + Clamped(ValueAt(indices_, number + static_cast<int64_t>(k)), size);
    }
    return slice * elements_;
  }

 private:
  const ConstTensorView& indices_;
  const Dims& sizes_;
  size_t first_;
  size_t tuple_size_;
  int64_t tuples_;
  int64_t elements_;
};

Expectation GatherSlices(const OperatorDesc& desc, Views inputs, uint32_t batch_dims,
                         const Dims& index) {
  const Slices slices(desc, inputs, batch_dims);
  const int64_t number = NumberOf(SizesOf(desc, "OutputTensor"), index);
  const int64_t first = slices.FirstOf(number / slices.elements());
  return {ElementAt(inputs[0], first + number % slices.elements())};
}

Expectation GatherNd(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  return GatherSlices(desc, inputs, 0, index);
}

Expectation GatherNd1(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  return GatherSlices(desc, inputs, UintOf(desc, "BatchDimensionCount"), index);
}

// IDX-6: the last update of a place wins.
Expectation Scatter(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const size_t axis = UintOf(desc, "Axis");
  uint64_t bits = BitsAt(inputs[0], index);
  Dims update = index;
  for (update[axis] = 0; update[axis] < inputs[1].layout.sizes[axis]; ++update[axis]) {
    const int64_t place = Clamped(ValueAt(inputs[1], update), inputs[0].layout.sizes[axis]);
    if (place == index[axis]) bits = BitsAt(inputs[2], update);
  }
  return {bits};
}

Expectation ScatterNd(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Slices slices(desc, inputs, 0);
  const int64_t number = NumberOf(inputs[0].layout.sizes, index);
  uint64_t bits = BitsAt(inputs[0], index);
  for (int64_t tuple = 0; tuple < slices.tuples(); ++tuple) {
    const int64_t within = number - slices.FirstOf(tuple);
    if (within < 0 || within >= slices.elements()) continue;
    bits = ElementAt(inputs[2], tuple * slices.elements() + within);
  }
  return {bits};
}

Expectation MaxUnpooling(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const int64_t number = NumberOf(SizesOf(desc, "OutputTensor"), index);
  uint64_t bits = 0;
  ForEachIndex(inputs[0].layout.sizes, [&](const Dims& source) {
    if (ValueAt(inputs[1], source) == number) bits = BitsAt(inputs[0], source);
  });
  return {bits};
}

Expectation ReverseSubsequences(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const size_t axis = UintOf(desc, "Axis");
  Dims sequence = index;
  sequence[axis] = 0;
  const Integer length = ValueAt(inputs[1], sequence);
  const int64_t reversed =
      static_cast<int64_t>(std::min<Integer>(length, inputs[0].layout.sizes[axis]));
  Dims source = index;
  if (index[axis] < reversed) source[axis] = reversed - 1 - index[axis];
  return {BitsAt(inputs[0], source)};
}

Expectation OneHot(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const size_t axis = UintOf(desc, "Axis");
  Dims sequence = index;
  sequence[axis] = 0;
  Integer hot = ValueAt(inputs[0], sequence);
  if (hot < 0) hot += SizesOf(desc, "OutputTensor")[axis];
  return {ElementAt(inputs[1], hot == index[axis] ? 1 : 0)};
}

constexpr NamedOracle kOracles[] = {
    {"GATHER", Gather},
    {"GATHER_ELEMENTS", GatherElements},
    {"GATHER_ND", GatherNd},
    {"GATHER_ND1", GatherNd1},
    {"MAX_UNPOOLING", MaxUnpooling},
    {"ONE_HOT", OneHot},
    {"REVERSE_SUBSEQUENCES", ReverseSubsequences},
    {"SCATTER", Scatter},
    {"SCATTER_ND", ScatterNd},
};

}  // namespace

std::span<const NamedOracle> IndexingOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
