// Rows of element-wise functions: adjacent elements in, adjacent elements out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/exact/functions.h"
#include "core/tensor/data_type.h"
#include "core/tensor/element.h"

namespace dmlop {

inline constexpr size_t kMaxElementInputs = 3;

// Rows are computed in blocks of so many elements: whole vectors of every type and instruction set.
inline constexpr int64_t kRowBlock = 64;

// What a function takes besides elements.
struct ElementParameters {
  std::array<double, 8> numbers{};    // FLOAT attributes, also where `integers` stand for them
  std::array<int64_t, 2> integers{};  // bounds, or a sequence, of integers; UINT64 by its bits
};

// The bounds of CLIP, THRESHOLD and CLIP_GRAD as their FLOAT attributes limit elements of `type`.
ElementParameters FloatBounds(DataType type, float min, float max);

// The same for bounds of the elements' type.
ElementParameters TypedBounds(DataType type, const ElementBytes& min, const ElementBytes& max);

// Bounds, or a sequence, of integers; UINT64 by its bits.
ElementParameters IntegerBounds(int64_t min, int64_t max);

// Computes `count` elements, a multiple of kRowBlock. `to` may be one of `from`, where elements
// have the same width.
using RowFunction = void(const ElementParameters& parameters, int64_t count, std::byte* to,
                         const std::byte* const* from);

// A function for some types of elements. It computes with types of its own: elements of others are
// converted before and after. To integers of its own, floats are their bits.
struct ElementWiseRow {
  ElementWiseFunction function;
  DataTypeSet types;                           // of the first input as it is stored
  std::array<DataType, kMaxElementInputs> in;  // what the row takes, as far as it has inputs,
  DataType out;                                // and gives
  RowFunction* compute;
  // The same past the caches, to where a line begins. What it writes becomes visible to other
  // threads with FlushStreams. Null for rows whose results are converted.
  RowFunction* stream = nullptr;
  // Rounding before it or after it makes no difference.
  bool commutes_with_rounding = false;
  // A bound, for functions that are approximated in FLOAT64. 0: what is rounded at most once more,
  // to the type of the output, is the right result.
  double relative_error = 0.0;
  // The types of the output as it is stored, where rows are told apart by them.
  DataTypeSet outputs = {};
};

// The row of `function`, which is not kCast, from a first input of `type` to `output`. There must
// be one.
const ElementWiseRow& RowFor(ElementWiseFunction function, DataType type, DataType output);

}  // namespace dmlop
