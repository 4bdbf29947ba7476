// SPDX-License-Identifier: Apache-2.0
// Rules that turn the values of indices into places in the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Ties a tensor that is walked, element by element, to the data that it is read from or written to,
// and to the indices that say where.
struct IndexLinks {
  static constexpr size_t kNone = SIZE_MAX;

  // The dimensions of the data and of the indices that share the coordinate of a walked dimension.
  struct Dim {
    size_t data = kNone;
    size_t index = kNone;
  };
  std::vector<Dim> dims;  // one for each dimension of the walked tensor

  // The dimensions of the data whose coordinates the indices choose, one for each index of a tuple.
  std::vector<size_t> chosen;
  size_t tuple = kNone;  // the dimension of the indices that holds a tuple

  // The walked dimension whose coordinate a place depends on.
  size_t position = kNone;
};

// Consecutive elements whose indices are a fixed step apart.
struct PlaceRun {
  int64_t count;
  int64_t index;  // offset of the first element's index
  int64_t index_step;
  int64_t position;  // position of the first element; see IndexLinks
  int64_t position_step;
};

class PlaceRule {
 public:
  static constexpr int64_t kNowhere = -1;

  virtual ~PlaceRule() = default;

  // Sets the offset of each element of a run in the data, relative to where the dimensions that it
  // shares with the data lead; kNowhere for an element without a place.
  virtual void Find(const PlaceRun& run, int64_t* offsets) const = 0;
};

// Each index of a tuple chooses a coordinate of the data and is clamped to its dimension (IDX-2).
std::unique_ptr<PlaceRule> ChosenPlaces(const IndexLinks& links, const Layout& data,
                                        const ConstTensorView& index);

// The index is the row-major number of one of the data's elements; one beyond them leads nowhere.
std::unique_ptr<PlaceRule> CountedPlaces(const Layout& data, const ConstTensorView& index);

// Reverses the first elements along the axis, as many as the index says.
std::unique_ptr<PlaceRule> ReversedPlaces(int64_t size, int64_t stride,
                                          const ConstTensorView& lengths);

// The value is `on` at the index, which counts from the end if it is negative, and 0 elsewhere.
std::unique_ptr<PlaceRule> OneHotPlaces(int64_t size, int64_t on, const ConstTensorView& index);

// --- stray indices -------------------------------------------------------------------------------

// Finds indices outside the dimension that they index, and warns of them (IDX-5).

struct StrayIndices {
  int64_t count = 0;
  int64_t first = 0;        // row-major number of the first one
  std::string first_value;  // in decimal
};

// The k-th index of a row-major walk belongs to a dimension of size sizes[k % sizes.size()].
StrayIndices FindStrayIndices(const ConstTensorView& indices, std::span<const int64_t> sizes);

// Warns if any of the indices `all` were found to be stray. `path` is that of their tensor;
// `what_happens` says whether they are clamped or not used.
void WarnOfStray(const StrayIndices& stray, std::string_view path, const Layout& all,
                 std::string_view what_happens, Diagnostics& diagnostics);

}  // namespace dmlop
