// SPDX-License-Identifier: Apache-2.0
// Rows of element-wise functions, from adjacent elements to adjacent elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/exact/functions.h"
#include "core/tensor/data_type.h"
#include "core/tensor/element.h"

namespace dmlop {

inline constexpr size_t kMaxElementInputs = 3;

// Rows are computed in blocks of this size: whole vectors of every type and instruction set.
inline constexpr int64_t kRowBlock = 64;
inline constexpr int64_t kWideRowBlock = 8;

// The arguments of a function other than elements.
struct ElementParameters {
  std::array<double, 8> numbers{};    // FLOAT attributes, even if `integers` replace them
  std::array<int64_t, 2> integers{};  // bounds, or start and delta; UINT64 by its bits
};

// Returns the bounds of CLIP, THRESHOLD and CLIP_GRAD that FLOAT attributes set for `type`.
ElementParameters FloatBounds(DataType type, float min, float max);

// Does the same for bounds given in the elements' type.
ElementParameters TypedBounds(DataType type, const ElementBytes& min, const ElementBytes& max);

// Takes bounds, or start and delta of a sequence, of integers; UINT64 by its bits.
ElementParameters IntegerBounds(int64_t min, int64_t max);

// Computes `count` elements, a multiple of kRowBlock, or of kWideRowBlock if the row computes with
// FLOAT64. `to` may be one of `from` if its elements have the same width.
using RowFunction = void(const ElementParameters& parameters, int64_t count, std::byte* to,
                         const std::byte* const* from);

// Computes `count` elements of FLOAT32, a multiple of kRowBlock, from FLOAT32, by an approximation
// that decides the rounding of nearly all of them. Sets the bits of those in `decided`, which has a
// word for each block, and clears the others.
using QuickFunction = void(int64_t count, std::byte* to, const std::byte* from, uint64_t* decided);

// A function for some types of elements. It computes with types of its own: elements of others are
// converted before and after. A row of integers takes floats as their bits.
struct ElementWiseRow {
  ElementWiseFunction function;
  DataTypeSet types;                           // stored type of the first input
  std::array<DataType, kMaxElementInputs> in;  // types that the row takes, one for each input,
  DataType out;                                // and returns
  RowFunction* compute;
  // Does the same, but writes past the caches, to the beginning of a line. Other threads see the
  // results only after FlushStreams. Null for rows whose results are converted.
  RowFunction* stream = nullptr;
  // Rounding before the function and after it give the same result.
  bool commutes_with_rounding = false;
  // Bound for functions that are approximated in FLOAT64. With 0, the result is right once it is
  // rounded to the output's type, if it has to be.
  double relative_error = 0.0;
  // Decides most results of FLOAT32 faster; null if there is no such form.
  QuickFunction* quick = nullptr;
  // The stored types of the output, if they distinguish rows.
  DataTypeSet outputs = {};
};

// Returns the row of `function`, which is not kCast, from a first input of `type` to `output`.
// There must be one.
const ElementWiseRow& RowFor(ElementWiseFunction function, DataType type, DataType output);

// --- tables --------------------------------------------------------------------------------------

// The tables of rows; see row.h.

using RowTable = std::span<const ElementWiseRow>();

// Each returns its table for the current instruction set.
RowTable ArithmeticRows, AffineRows, UnaryRows, DivisionRows, LogicalRows, SelectionRows;
RowTable TranscendentalRows, IntegerPowerRows;

// --- approximations ------------------------------------------------------------------------------

// Rounds results that are known within a relative error, where that suffices.

// Rounds FLOAT64 results, known within a relative error, to FLOAT32 or FLOAT16; `count` is a
// multiple of kWideRowBlock. Returns how many of them the error leaves undecided, and their indices
// in `unresolved`.
using RoundFunction = int64_t(double relative_error, int64_t count, std::byte* to,
                              const std::byte* from, int32_t* unresolved);
RoundFunction* RoundFunctionFor(DataType type);

}  // namespace dmlop
