// SPDX-License-Identifier: Apache-2.0
#include "core/compare/wrong_elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "core/base/integers.h"
#include "core/base/text.h"
#include "core/tensor/layout.h"

namespace dmlop {
namespace {

constexpr size_t kFewRuns = 3;

// Calls visit(index, number, is_first) for the wrong elements in row-major order; `is_first` of a
// row, along which only the last coordinate changes.
template <typename Visit>
void ForEachIndex(const Dims& sizes, const WrongElements& wrong, Visit&& visit) {
  Dims index = Dims::Filled(sizes.size(), 0);
  Range row{0, 0};
  wrong.ForEach([&](int64_t number) {
    const bool is_first = !row.Contains(number);
    if (is_first) {
      index = IndexOf(sizes, number);
      row.begin = number - index.back();
      row.end = row.begin + sizes.back();
    }
    index.back() = number - row.begin;
    visit(index, number, is_first);
  });
}

// Returns the period of the longest kind: the least k so that bits k apart are equal.
int64_t PeriodOf(const std::vector<bool>& bits) {
  std::vector<size_t> border(bits.size() + 1, 0);  // of each prefix, as Knuth, Morris and Pratt do
  for (size_t i = 1, length = 0; i < bits.size(); ++i) {
    while (length > 0 && bits[i] != bits[length]) length = border[length];
    if (bits[i] == bits[length]) ++length;
    border[i + 1] = length;
  }
  return static_cast<int64_t>(bits.size() - border.back());
}

// Returns the first runs of set bits among the first `count`, one more than few at most.
std::vector<Range> RunsOf(const std::vector<bool>& bits, int64_t count) {
  std::vector<Range> runs;
  for (int64_t at = 0; at < count && runs.size() <= kFewRuns; ++at) {
    if (!bits[static_cast<size_t>(at)]) continue;
    const int64_t begin = at;
    while (at < count && bits[static_cast<size_t>(at)]) ++at;
    runs.push_back({begin, at});
  }
  return runs;
}

std::string RunText(const Range& run) {
  return run.count() == 1 ? fmt::format("{}", run.begin)
                          : fmt::format("{}..{}", run.begin, run.end - 1);
}

std::string RunsText(const std::vector<Range>& runs) {
  std::vector<std::string> texts;
  for (const Range& run : runs) texts.push_back(RunText(run));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The coordinates that wrong elements have along one dimension.
class Coordinates {
 public:
  Coordinates(std::string name, int64_t size)
      : name_(std::move(name)), size_(size), present_(static_cast<size_t>(size)) {}

  void Add(int64_t coordinate) { present_[static_cast<size_t>(coordinate)] = true; }

  void Finish() {
    runs_ = RunsOf(present_, size_);
    for (int64_t i = 0; i < size_; ++i) {
      if (!present_[static_cast<size_t>(i)]) continue;
      ++count_;
      last_ = i;
      if (step_ != 1) step_ = std::gcd(step_, i - first());
    }
  }

  const std::string& name() const { return name_; }
  int64_t size() const { return size_; }
  int64_t count() const { return count_; }
  int64_t first() const { return runs_.front().begin; }
  int64_t extent() const { return last_ + 1 - first(); }
  bool is_whole() const { return count_ == size_; }
  bool is_single() const { return count_ == 1 && size_ > 1; }

  std::string BoxText() const {
    return extent() == size_ && size_ > 1 ? "*" : RunText({first(), first() + extent()});
  }

  // Returns what they have in common besides being one, or nothing.
  std::string PatternText() const {
    if (is_whole() || is_single()) return "";
    if (runs_.size() == 1) return RunPatternText();
    if (step_ > 1 && (count_ > 2 || IsEveryOfItsStep())) {
      return fmt::format("{} mod {} = {}", name_, step_, first() % step_);
    }
    if (runs_.size() <= kFewRuns) return fmt::format("{} in {}", name_, RunsText(runs_));
    return PeriodText();
  }

 private:
  bool IsEveryOfItsStep() const { return first() < step_ && first() + extent() + step_ > size_; }

  std::string RunPatternText() const {
    if (first() == 0) return fmt::format("the first {} of {}", count_, name_);
    if (first() + count_ == size_) return fmt::format("the last {} of {}", count_, name_);
    return fmt::format("{} in {}", name_, RunText(runs_[0]));
  }

  std::string PeriodText() const {
    constexpr int64_t kMostSize = 1 << 20;  // a period takes eight bytes for each coordinate
    const int64_t period = size_ > kMostSize ? size_ : PeriodOf(present_);
    if (2 * period > size_) return "";
    const std::vector<Range> runs = RunsOf(present_, period);
    if (runs.size() > kFewRuns) return "";
    return fmt::format("{} mod {} in {}", name_, period, RunsText(runs));
  }

  std::string name_;
  int64_t size_;
  std::vector<bool> present_;
  std::vector<Range> runs_;  // only the first ones if there are many
  int64_t count_ = 0;
  int64_t last_ = 0;
  int64_t step_ = 0;  // greatest common divisor of their distances; 0 if there is only one
};

// Finds the blocks that wrong elements form: along each dimension the greatest common divisor of
// the coordinates at which a right element follows a wrong one, or a wrong one a right one.
class Blocks {
 public:
  Blocks(const Dims& sizes, const WrongElements& wrong)
      : sizes_(sizes), strides_(PackedStrides(sizes)), wrong_(wrong) {}

  void Add(const Dims& index, int64_t number) {
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (steps_[d] == 1) continue;
      const int64_t at = index[d];
      if (at > 0 && !wrong_.Contains(number - strides_[d])) Limit(d, at);
      if (at + 1 < sizes_[d] && !wrong_.Contains(number + strides_[d])) Limit(d, at + 1);
    }
  }

  // Returns the size of tiles along a dimension none of which is right in part: a power of two of
  // at most `extent`, or the dimension's size.
  int64_t TileSize(size_t d, int64_t extent) const {
    if (steps_[d] == 0) return sizes_[d];
    return std::min(steps_[d] & -steps_[d],
                    static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(extent))));
  }

 private:
  void Limit(size_t d, int64_t edge) { steps_[d] = std::gcd(steps_[d], edge); }

  const Dims& sizes_;
  const Dims strides_;
  const WrongElements& wrong_;
  std::array<int64_t, Dims::kMaxCount> steps_{};
};

// One walk over the wrong elements, and the words for what it found.
class Description {
 public:
  Description(const Dims& sizes, const WrongElements& wrong)
      : sizes_(sizes), wrong_(wrong), blocks_(sizes, wrong) {
    for (size_t d = 0; d < sizes.size(); ++d)
      axes_.emplace_back(AxisName(sizes.size(), d), sizes[d]);
    ForEachIndex(sizes, wrong, [&](const Dims& index, int64_t number, bool is_first) {
      Add(index, number, is_first);
    });
    for (Coordinates& axis : axes_) axis.Finish();
  }

  std::string BoxText() const {
    std::vector<std::string> parts;
    for (const Coordinates& axis : axes_) parts.push_back(axis.BoxText());
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }

  std::string Text() const {
    if (count_ == wrong_.element_count()) return count_ == 1 ? "the only element" : "every element";
    if (count_ == 1) return "one element";
    std::vector<std::string> parts = CommonParts();
    if (const std::string text = TilesText(); !text.empty()) parts.push_back(text);
    if (parts.empty() || !IsGrid()) {
      if (const std::string text = OrderText(parts.empty()); !text.empty()) return text;
    }
    const std::string share = ShareText();
    if (parts.empty()) return fmt::format("spread over {} of the box", share);
    return fmt::format("{}; {} there", fmt::join(parts, ", "), share);
  }

 private:
  void Add(const Dims& index, int64_t number, bool is_first_of_row) {
    if (count_++ == 0) first_ = number;
    step_ = step_ == 1 ? 1 : std::gcd(step_, number - first_);
    last_ = number;
    const size_t last = axes_.size() - 1;
    for (size_t d = is_first_of_row ? 0 : last; d <= last; ++d) axes_[d].Add(index[d]);
    blocks_.Add(index, number);
  }

  // True if every combination of the coordinates is wrong.
  bool IsGrid() const {
    int64_t product = 1;
    for (const Coordinates& axis : axes_) product *= axis.count();
    return product == count_;
  }

  // A few elements at random seem to have patterns; more of them at each coordinate do not.
  bool IsSure(const Coordinates& axis) const {
    constexpr int64_t kElementsOfACoordinate = 4;
    return IsGrid() || count_ >= kElementsOfACoordinate * axis.count();
  }

  std::string PatternOf(const Coordinates& axis) const {
    const std::string text = IsSure(axis) ? axis.PatternText() : "";
    const bool has_none = text.empty() && IsGrid() && !axis.is_whole() && !axis.is_single();
    return has_none ? fmt::format("{} of {} values of {}", axis.count(), axis.size(), axis.name())
                    : text;
  }

  std::vector<std::string> CommonParts() const {
    std::vector<std::string> parts;
    if (const std::string same = SameText(); !same.empty()) parts.push_back(same);
    for (const Coordinates& axis : axes_) {
      if (const std::string text = PatternOf(axis); !text.empty()) parts.push_back(text);
    }
    return parts;
  }

  // The coordinates that all have: "all have n = 1, c = 2" or "channel 7 only".
  std::string SameText() const {
    std::vector<std::string> same;
    for (const Coordinates& axis : axes_) {
      if (axis.is_single()) same.push_back(fmt::format("{} = {}", axis.name(), axis.first()));
    }
    if (same.size() == 1 && same[0].starts_with("c"))
      return fmt::format("channel {} only", axes_[1].first());
    return same.empty() ? "" : fmt::format("all have {}", fmt::join(same, ", "));
  }

  // Returns what they have in common in their row-major order, or nothing. That they have equal
  // distances is said only if nothing else can be.
  std::string OrderText(bool is_all) const {
    if (count_ == last_ - first_ + 1) {
      if (first_ == 0) return fmt::format("the first {} elements in row-major order", count_);
      if (last_ + 1 == wrong_.element_count()) {
        return fmt::format("the last {} elements in row-major order", count_);
      }
      return fmt::format("elements {}..{} in row-major order", first_, last_);
    }
    if (!is_all || step_ == 1 || count_ < 3) return "";
    if (count_ == (last_ - first_) / step_ + 1) {
      return fmt::format("every {} element in row-major order, from {} to {}", OrdinalText(step_),
                         first_, last_);
    }
    return fmt::format("elements whose number in row-major order mod {} = {}", step_,
                       first_ % step_);
  }

  static std::string OrdinalText(int64_t number) {
    constexpr std::array kEndings = {"th", "st", "nd", "rd"};
    const bool is_teen = number / 10 % 10 == 1;
    const auto digit = static_cast<size_t>(number % 10);
    return fmt::format("{}{}", number, is_teen || digit > 3 ? "th" : kEndings[digit]);
  }

  // Names tiles, unless the coordinates of the dimensions say as much.
  std::string TilesText() const {
    constexpr int64_t kLeastTile = 4;
    Dims tile;
    Dims partial;
    std::vector<std::string> names;
    for (size_t d = 0; d < axes_.size(); ++d) {
      tile.push_back(blocks_.TileSize(d, axes_[d].extent()));
      if (tile[d] == 1 || tile[d] == sizes_[d]) continue;
      partial.push_back(tile[d]);
      names.push_back(axes_[d].name());
    }
    if (Product(partial) < kLeastTile) return "";
    const int64_t tiles = CountCorners(tile);
    const bool is_news = tiles == 1 ? partial.size() > 1 : !IsGrid();
    if (!is_news) return "";
    return fmt::format("{} of {} in {}", tiles == 1 ? "a tile" : Counted(tiles, "tile"),
                       fmt::join(partial, " x "), fmt::join(names, ", "));
  }

  int64_t CountCorners(const Dims& tile) const {
    int64_t count = 0;
    ForEachIndex(sizes_, wrong_, [&](const Dims& index, int64_t, bool) {
      bool is_corner = true;
      for (size_t d = 0; d < tile.size(); ++d) is_corner &= index[d] % tile[d] == 0;
      count += is_corner;
    });
    return count;
  }

  std::string ShareText() const {
    if (count_ == PlaceCount()) return "every element";
    const double share = static_cast<double>(count_) / static_cast<double>(PlaceCount());
    const double percent = std::min(100 * share, 99.0);  // some are right
    return fmt::format("{:.2g} % of the elements", percent);
  }

  // Returns how many elements have the patterns told.
  int64_t PlaceCount() const {
    int64_t product = 1;
    for (const Coordinates& axis : axes_) {
      const bool is_told = axis.is_single() || !PatternOf(axis).empty();
      product *= is_told ? axis.count() : axis.extent();
    }
    return product;
  }

  const Dims& sizes_;
  const WrongElements& wrong_;
  std::vector<Coordinates> axes_;
  Blocks blocks_;
  int64_t count_ = 0;
  int64_t first_ = 0;
  int64_t last_ = 0;
  int64_t step_ = 0;  // greatest common divisor of their distances
};

}  // namespace

std::string AxisName(size_t rank, size_t axis) {
  constexpr std::string_view kNames[] = {"nchw", "ncdhw"};
  if ((rank != 4 && rank != 5) || axis >= rank) return fmt::format("axis {}", axis);
  return std::string(1, kNames[rank - 4][axis]);
}

Where WhereOf(const Dims& sizes, const WrongElements& wrong) {
  if (wrong.count() == 0) return {};
  const Dims at_least_one = sizes.empty() ? Dims{1} : sizes;
  const Description description(at_least_one, wrong);
  return {description.BoxText(), description.Text()};
}

}  // namespace dmlop
