// Where elements lie in the data, as the values of indices say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/engine/index/index_links.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Elements whose indices lie one behind another.
struct PlaceRun {
  int64_t count;
  int64_t index;  // offset of the first one's index
  int64_t index_step;
  int64_t position;  // of the first one, see IndexLinks
  int64_t position_step;
};

class PlaceRule {
 public:
  static constexpr int64_t kNowhere = -1;

  virtual ~PlaceRule() = default;

  // Sets for each element of a run its offset in the data, counted from where the dimensions that
  // it shares with the data lead; kNowhere where it has no place.
  virtual void Find(const PlaceRun& run, int64_t* offsets) const = 0;
};

// Each index of a tuple chooses along its dimension of the data, clamped to it (IDX-2).
std::unique_ptr<PlaceRule> ChosenPlaces(const IndexLinks& links, const Layout& data,
                                        const ConstTensorView& index);

// The index counts the data's elements in row-major order; one beyond them is nowhere.
std::unique_ptr<PlaceRule> CountedPlaces(const Layout& data, const ConstTensorView& index);

// The first elements along the axis, as many as the index says, in reverse order.
std::unique_ptr<PlaceRule> ReversedPlaces(int64_t size, int64_t stride,
                                          const ConstTensorView& lengths);

// `on` at the index, which may be negative and count from the end of a size; else 0.
std::unique_ptr<PlaceRule> OneHotPlaces(int64_t size, int64_t on, const ConstTensorView& index);

}  // namespace dmlop
