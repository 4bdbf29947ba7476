// SPDX-License-Identifier: Apache-2.0
// Random elements of tensors of any type.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/fuzz/entropy.h"
#include "core/tensor/tensor.h"

namespace dmlop {

enum class InputClass : uint8_t {
  kOrdinary,      // in the domain of the function, of moderate magnitude
  kTies,          // few small numbers: equal elements, results half-way between two others
  kCancellation,  // large numbers of both signs beside small ones
  kEnds,          // the least and the largest numbers, zeros of both signs, ones
  kSubnormals,    // beside ordinary numbers, and the least normal ones
  kInfinities,    // a few among ordinary numbers
  kNan,           // likewise
  kBelowZero,     // indices that count from the end
};
inline constexpr size_t kInputClasses = 8;
std::string_view Name(InputClass value_class);  // "ordinary", "NaN"

// The numbers that a tensor may have, both bounds included.
struct ValueDomain {
  double least = -1;
  double most = 1;
  bool is_whole = false;    // whole numbers only
  bool is_limited = false;  // all classes keep to the domain, not only ordinary numbers

  friend bool operator==(const ValueDomain&, const ValueDomain&) = default;
};

void FillByClass(RandomEngine& engine, InputClass value_class, const ValueDomain& domain,
                 const TensorView& view);

// Calls visit(std::byte*) for each element in row-major order.
template <typename Visit>
void ForEachElement(const TensorView& view, Visit&& visit) {
  Dims index = Dims::Filled(view.layout.rank(), 0);
  const auto width = static_cast<int64_t>(ByteWidth(view.type));
  for (int64_t left = view.layout.element_count(); left > 0; --left) {
    visit(view.data + OffsetOf(view.layout, index) * width);
    Advance(view.layout.sizes, index);
  }
}

// Writes a whole number, modulo 2^width of an integer type.
void SetWhole(DataType type, int64_t number, std::byte* element);

// A kind of float, drawn in the range of a type with this largest number and least subnormal.
struct FloatFamily {
  const char* name;
  double (*draw)(RandomEngine& engine, double max, double least);
};
extern const FloatFamily kFamilies[6];

// Fills every element, mostly with values of one kind and occasionally with those of another. Kinds
// are families of floats, a few small numbers, special values, and all bit patterns.
void FillRandomly(RandomEngine& engine, const TensorView& view);

}  // namespace dmlop
