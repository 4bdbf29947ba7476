// SPDX-License-Identifier: Apache-2.0
#include "core/engine/index/stray_indices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "core/base/counted.h"
#include "core/base/parallel.h"
#include "core/kernels/index/index_value.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kGrain = 1 << 13;  // indices for a thread

template <typename T>
class Search {
 public:
  Search(const ConstTensorView& indices, std::span<const int64_t> sizes)
      : indices_(indices.elements<T>()),
        nest_(Merged(LoopNest<1>{indices.layout.sizes, {indices.layout.strides}})),
        sizes_(sizes) {}

  StrayIndices Find() {
    ParallelFor(Product(nest_.sizes), kGrain, /*bytes=*/0, [&](int64_t begin, int64_t end) {
      const StrayIndices found = FindIn(begin, end);
      if (found.count == 0) return;
      const std::scoped_lock lock(mutex_);
      if (all_.count == 0 || found.first < all_.first) {
        all_.first = found.first;
        all_.first_value = found.first_value;
      }
      all_.count += found.count;
    });
    return all_;
  }

 private:
  StrayIndices FindIn(int64_t begin, int64_t end) const {
    StrayIndices found;
    size_t of_tuple = static_cast<size_t>(begin) % sizes_.size();
    Walk<1> walk(nest_, begin);
    for (int64_t k = begin; k < end; ++k, walk.Next()) {
      const T index = indices_[walk.offset(0)];
      const bool is_inside = ResolveIndex(index, sizes_[of_tuple]).is_inside;
      if (++of_tuple == sizes_.size()) of_tuple = 0;
      if (is_inside) continue;
      if (found.count++ > 0) continue;
      found.first = k;
      found.first_value = fmt::format("{}", index);
    }
    return found;
  }

  const T* indices_;
  LoopNest<1> nest_;
  std::span<const int64_t> sizes_;
  std::mutex mutex_;
  StrayIndices all_;
};

}  // namespace

StrayIndices FindStrayIndices(const ConstTensorView& indices, std::span<const int64_t> sizes) {
  StrayIndices found;
  VisitDataType(IndexTypes(), indices.type,
                [&]<typename T>() { found = Search<T>(indices, sizes).Find(); });
  return found;
}

void WarnOfStray(const StrayIndices& stray, std::string_view path, const Layout& all,
                 std::string_view what_happens, Diagnostics& diagnostics) {
  if (stray.count == 0) return;
  const Dims first = IndexOf(all.sizes, stray.first);
  diagnostics.Warning("IDX-5", std::string(path),
                      fmt::format("{} of {} {} out of range and {}; the first is {} at [{}]; "
                                  "such elements judge no device",
                                  stray.count, Counted(all.element_count(), "index"),
                                  ForCount(stray.count, "is", "are"), what_happens,
                                  stray.first_value, fmt::join(first.begin(), first.end(), ", ")));
}

}  // namespace dmlop
