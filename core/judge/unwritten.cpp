// SPDX-License-Identifier: Apache-2.0
// Elements that a device has not written: one value, or an untouched pattern, where others belong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "core/judge/evidence.h"
#include "core/judge/place_variation.h"

namespace dmlop {
namespace {

class UnwrittenSearch : public std::enable_shared_from_this<UnwrittenSearch> {
 public:
  explicit UnwrittenSearch(const Evidence& evidence)
      : evidence_(evidence), sizes_(evidence.expected.sizes), strides_(PackedStrides(sizes_)) {}

  std::vector<Hypothesis> All() {
    const auto value = MostFrequent(evidence_.actual, SampleOf(evidence_, kLooked).wrong);
    if (!value) return {};
    value_ = *value;
    elements_ = Those(evidence_.wrong, [&](int64_t element) { return IsUnwritten(element); });
    if (IsByChance() || IsAnotherValue()) return {};
    AddBox();
    AddRun();
    AddBlocks();
    return std::move(found_);
  }

 private:
  static constexpr size_t kLooked = 1000;

  // The value that most elements have; none if it is only one of many.
  static std::optional<ElementBytes> MostFrequent(const PackedOutput& output,
                                                  const std::vector<int64_t>& elements) {
    std::map<ElementBytes, int> counts;
    for (const int64_t element : elements) ++counts[output.Bytes(element)];
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    return most == counts.end() || most->second < 2 ? std::nullopt : std::optional(most->first);
  }

  // Returns whether nearly all should have one value: where a device has another one, which memory
  // does not have of itself, it has written.
  bool IsAnotherValue() const {
    if (IsUntouchedPattern()) return false;
    const auto right = MostFrequent(evidence_.expected, elements_);
    const auto others = std::ranges::count_if(
        elements_, [&](int64_t element) { return evidence_.expected.Bytes(element) != right; });
    return 10 * others <= std::ssize(elements_);
  }

  // Integers are equal by chance where there are few values, and beside one another where wrong
  // elements are many. A value of 0 is a surprise in every element; another one is given by the
  // first, and is a surprise in the others.
  bool IsByChance() const {
    if (IsFloat(evidence_.actual.type)) return false;
    const size_t given = value_ == ElementBytes{} ? 0 : 1;
    const auto surprising = static_cast<double>(elements_.size() - given);
    const auto neighbours = static_cast<double>(elements_.size() - 1);
    return std::pow(ShareOfValue(evidence_, value_), surprising) *
               std::pow(ShareOfBox(), neighbours) >=
           kByChance;
  }

  // Returns the share of the output that lies between the elements.
  double ShareOfBox() const {
    double share = 1;
    const std::vector<Stretch> box = StretchesOf(sizes_, elements_);
    for (size_t d = 0; d < box.size(); ++d) {
      share *= static_cast<double>(box[d].last - box[d].first + 1) / static_cast<double>(sizes_[d]);
    }
    return share;
  }

  bool IsUnwritten(int64_t element) const { return evidence_.actual.Bytes(element) == value_; }

  // Returns whether hardly any wrong element of a part has another value, the sign of zeros aside.
  template <typename IsIn>
  bool IsAlone(IsIn&& is_in) const {
    constexpr size_t kOneOtherOf = 50;
    const bool is_zero = ValueOf(evidence_.actual.type, value_.data()) == 0;
    const std::vector<int64_t> all = Those(evidence_.wrong, is_in);
    const auto others = Those(all, [&](int64_t element) {
      return !(is_zero ? evidence_.actual.Value(element) == 0 : IsUnwritten(element));
    });
    return others.size() * kOneOtherOf <= all.size();
  }

  template <typename IsIn>
  void Add(const std::string& detail, std::string_view where, IsIn is_in) {
    const std::string shown = ValueText(evidence_.actual.type, value_);
    const std::string value = value_ == ElementBytes{} ? "" : "=" + shown;
    Hypothesis hypothesis{{(detail.empty() ? "not-written" : "not-written:" + detail) + value},
                          fmt::format("not written, or all {}, {}", shown, where),
                          nullptr,
                          nullptr};
    hypothesis.compute = [self = shared_from_this(), is_in](std::span<const int64_t> elements) {
      std::vector<VariedElement> varied;
      for (const int64_t element : elements) {
        varied.push_back(
            {is_in(element) ? self->value_ : self->evidence_.expected.Bytes(element), element});
      }
      return varied;
    };
    found_.push_back(std::move(hypothesis));
  }

  // --- boxes -------------------------------------------------------------------------------------

  // At coordinates that have hardly any other value.
  void AddBox() {
    const std::vector<Stretch> box = StretchesOf(sizes_, elements_);
    const auto is_in = [this, box](int64_t element) { return IsIn(box, IndexOf(sizes_, element)); };
    if (!IsAlone(is_in)) return;
    const std::string text = BoxText(sizes_, box);
    Add(IsAll(box) && IsUntouchedPattern() ? "" : text, "in " + text, is_in);
  }

  bool IsAll(std::span<const Stretch> box) const {
    for (size_t d = 0; d < box.size(); ++d) {
      if (box[d].first > 0 || box[d].last + 1 < sizes_[d] || box[d].step > 1) return false;
    }
    return true;
  }

  // Zeros, NaN, or bytes that are all the same, such as memory has before it is written.
  bool IsUntouchedPattern() const {
    const size_t width = ByteWidth(evidence_.actual.type);
    return std::isnan(ValueOf(evidence_.actual.type, value_.data())) ||
           std::all_of(value_.begin(), value_.begin() + static_cast<std::ptrdiff_t>(width),
                       [&](std::byte byte) { return byte == value_[0]; });
  }

  // --- runs and blocks ---------------------------------------------------------------------------

  // Adds the run of elements from one place in memory to another.
  void AddRun() {
    const int64_t first = elements_.front(), last = elements_.back();
    const auto is_in = [=](int64_t element) { return element >= first && element <= last; };
    if (!IsAlone(is_in)) return;
    Add(fmt::format("{}..{}", first, last),
        fmt::format("in elements {}..{} in row-major order, counted from 0", first, last), is_in);
  }

  // In aligned blocks that are wrong for the most part, in a box that has hardly any other value:
  // random elements rarely fill one.
  void AddBlocks() {
    std::vector<Stretch> box = StretchesOf(sizes_, elements_);
    for (Stretch& stretch : box) stretch.step = 1;
    if (!IsAlone([&](int64_t element) { return IsIn(box, IndexOf(sizes_, element)); })) return;
    const std::string text = BoxText(sizes_, box);
    Add("blocks," + text, "in blocks in " + text, [this](int64_t element) {
      return IsUnwritten(element) && (IsInRun(element) || IsInTile(element));
    });
  }

  bool IsInRun(int64_t element) const {
    const int64_t begin = element / kLength * kLength;
    return IsBlock({begin}, {std::min(kLength, evidence_.count() - begin)}, {1});
  }

  bool IsInTile(int64_t element) const {
    const Dims index = IndexOf(sizes_, element);
    std::vector<size_t> axes;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] > 1) axes.push_back(d);
    }
    for (const size_t d : axes) {
      if (IsTile(index, {&d, 1}, kLength)) return true;
    }
    return axes.size() > 1 && IsTile(index, std::span(axes).last(2), kSide);
  }

  // The last tile of an axis overlaps with the one before if there is not enough left for it.
  bool IsTile(Dims begin, std::span<const size_t> axes, int64_t side) const {
    Dims tile = Dims::Filled(sizes_.size(), 1);
    for (const size_t d : axes) {
      tile[d] = std::min(side, sizes_[d]);
      begin[d] = std::min(begin[d] / side * side, sizes_[d] - tile[d]);
    }
    return IsBlock(begin, tile, strides_);
  }

  bool IsBlock(const Dims& begin, const Dims& sizes, const Dims& strides) const {
    constexpr int64_t kFewest = 4;
    const int64_t count = Product(sizes);
    int64_t wrong = 0;
    Dims index = Dims::Filled(sizes.size(), 0);
    for (int64_t k = 0; k < count; ++k, Advance(sizes, index)) {
      const int64_t element = OffsetOf({sizes, strides}, begin) + OffsetOf({sizes, strides}, index);
      if (!IsUnwritten(element)) return false;
      wrong += evidence_.expected.Bytes(element) != value_;
    }
    return count >= kFewest && 4 * wrong >= count;
  }

  static constexpr int64_t kLength = 4;
  static constexpr int64_t kSide = 4;

  const Evidence& evidence_;
  Dims sizes_;
  Dims strides_;
  ElementBytes value_{};
  std::vector<int64_t> elements_;  // the wrong ones with that value
  std::vector<Hypothesis> found_;
};

}  // namespace

std::vector<Hypothesis> UnwrittenOf(const Evidence& evidence) {
  return std::make_shared<UnwrittenSearch>(evidence)->All();
}

}  // namespace dmlop
