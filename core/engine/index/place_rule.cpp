// SPDX-License-Identifier: Apache-2.0
#include "core/engine/index/place_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/kernels/index/index_value.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

template <template <typename> typename Rule, typename Types, typename... Parameters>
std::unique_ptr<PlaceRule> RuleFor(const ConstTensorView& index, const Parameters&... parameters) {
  std::unique_ptr<PlaceRule> rule;
  VisitDataType(Types(), index.type, [&]<typename T>() {
    rule = std::make_unique<Rule<T>>(index.elements<T>(), parameters...);
  });
  return rule;
}

struct ChosenDim {
  int64_t size;
  int64_t stride;      // stride in the data
  int64_t index_step;  // offset from the tuple's first index
};

template <typename T>
class Chosen final : public PlaceRule {
 public:
  Chosen(const T* indices, std::vector<ChosenDim> dims)
      : indices_(indices), dims_(std::move(dims)) {}

  void Find(const PlaceRun& run, int64_t* offsets) const override {
    std::fill_n(offsets, run.count, 0);
    for (const ChosenDim& dim : dims_) {
      const T* const indices = indices_ + run.index + dim.index_step;
      if (run.index_step == 1) {
        add_places_(run.count, indices, dim.size, dim.stride, offsets);
        continue;
      }
      for (int64_t i = 0; i < run.count; ++i) {
        offsets[i] += ResolveIndex(indices[i * run.index_step], dim.size).place * dim.stride;
      }
    }
  }

 private:
  const T* indices_;
  std::vector<ChosenDim> dims_;
  AddPlacesFunction<T> add_places_ = AddPlacesForIsa<T>();
};

template <typename T>
class Numbered final : public PlaceRule {
 public:
  Numbered(const T* indices, const Layout& data)
      : indices_(indices), data_(data), count_(data.element_count()), is_packed_(IsPacked(data)) {}

  void Find(const PlaceRun& run, int64_t* offsets) const override {
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t place = CountOf(indices_[run.index + i * run.index_step]);
      offsets[i] = place >= count_ ? kNowhere
                   : is_packed_    ? place
                                   : OffsetOf(data_, IndexOf(data_.sizes, place));
    }
  }

 private:
  const T* indices_;
  Layout data_;
  int64_t count_;
  bool is_packed_;
};

template <typename T>
class Reversed final : public PlaceRule {
 public:
  Reversed(const T* lengths, int64_t size, int64_t stride)
      : lengths_(lengths), size_(size), stride_(stride) {}

  void Find(const PlaceRun& run, int64_t* offsets) const override {
    for (int64_t i = 0; i < run.count; ++i) {
      const int64_t length = std::min(CountOf(lengths_[run.index + i * run.index_step]), size_);
      const int64_t position = run.position + i * run.position_step;
      offsets[i] = (position < length ? length - 1 - position : position) * stride_;
    }
  }

 private:
  const T* lengths_;
  int64_t size_;
  int64_t stride_;
};

template <typename T>
class OneHot final : public PlaceRule {
 public:
  OneHot(const T* indices, int64_t size, int64_t on) : indices_(indices), size_(size), on_(on) {}

  void Find(const PlaceRun& run, int64_t* offsets) const override {
    for (int64_t i = 0; i < run.count; ++i) {
      const ResolvedIndex hot = ResolveIndex(indices_[run.index + i * run.index_step], size_);
      const int64_t position = run.position + i * run.position_step;
      offsets[i] = hot.is_inside && hot.place == position ? on_ : 0;
    }
  }

 private:
  const T* indices_;
  int64_t size_;
  int64_t on_;
};

using UnsignedTypes = TypeList<uint64_t, uint32_t>;

}  // namespace

std::unique_ptr<PlaceRule> ChosenPlaces(const IndexLinks& links, const Layout& data,
                                        const ConstTensorView& index) {
  const int64_t step = links.tuple == IndexLinks::kNone ? 0 : index.layout.strides[links.tuple];
  std::vector<ChosenDim> dims;
  for (const size_t d : links.chosen) {
    const int64_t number = static_cast<int64_t>(dims.size());
    dims.push_back({data.sizes[d], data.strides[d], number * step});
  }
  return RuleFor<Chosen, IndexTypes>(index, dims);
}

std::unique_ptr<PlaceRule> CountedPlaces(const Layout& data, const ConstTensorView& index) {
  return RuleFor<Numbered, UnsignedTypes>(index, data);
}

std::unique_ptr<PlaceRule> ReversedPlaces(int64_t size, int64_t stride,
                                          const ConstTensorView& lengths) {
  return RuleFor<Reversed, UnsignedTypes>(lengths, size, stride);
}

std::unique_ptr<PlaceRule> OneHotPlaces(int64_t size, int64_t on, const ConstTensorView& index) {
  return RuleFor<OneHot, IndexTypes>(index, size, on);
}

// --- stray indices -------------------------------------------------------------------------------

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
