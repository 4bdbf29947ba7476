// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/slice.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace dmlop {
namespace {

constexpr int64_t kMostSubscript = std::numeric_limits<int64_t>::max();

struct Subscript {
  enum class Kind { kIndex, kRange, kEllipsis };

  Kind kind;
  size_t offset;                      // position in the text
  std::optional<int64_t> start = {};  // for an index, the index itself
  std::optional<int64_t> stop = {};
  int64_t step = 1;
};

class SliceParser {
 public:
  explicit SliceParser(std::string_view text) : text_(text) {}

  std::vector<Subscript> Parse() {
    if (!Accept("[")) Fail("expected '['");
    std::vector<Subscript> subscripts;
    do {
      subscripts.push_back(ParseSubscript());
      if (!Accept(",")) break;
    } while (!Sees("]"));  // a trailing comma is allowed
    if (!Accept("]")) Fail("expected ',' or ']'");
    SkipSpaces();
    if (at_ != text_.size()) Fail("text after the slice");
    return subscripts;
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const { throw SliceError(at_, message); }

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool Sees(std::string_view token) {
    SkipSpaces();
    return text_.substr(at_).starts_with(token);
  }

  bool Accept(std::string_view token) {
    if (!Sees(token)) return false;
    at_ += token.size();
    return true;
  }

  Subscript ParseSubscript() {
    SkipSpaces();
    const size_t offset = at_;
    if (Accept("...")) return {Subscript::Kind::kEllipsis, offset};
    if (Accept("*")) return {Subscript::Kind::kRange, offset};
    Subscript subscript{Subscript::Kind::kIndex, offset, ParseNumber()};
    if (subscript.start && Accept("..")) {
      subscript.kind = Subscript::Kind::kRange;
      subscript.stop = BehindLast();
      return subscript;
    }
    if (!Accept(":")) {
      if (!subscript.start) Fail("expected an index, a range such as 2:5, or ...");
      return subscript;
    }
    subscript.kind = Subscript::Kind::kRange;
    subscript.stop = ParseNumber();
    if (!Accept(":")) return subscript;
    SkipSpaces();
    const size_t step_offset = at_;
    subscript.step = ParseNumber().value_or(1);
    if (subscript.step == 0) throw SliceError(step_offset, "a step cannot be 0");
    return subscript;
  }

  int64_t BehindLast() {
    const std::optional<int64_t> last = ParseNumber();
    if (!last || *last < 0) Fail("expected the last index of the range");
    return std::min(*last, kMostSubscript - 1) + 1;
  }

  // Numbers beyond 64 bits become the largest, which is beyond every tensor as well.
  std::optional<int64_t> ParseNumber() {
    SkipSpaces();
    size_t end = at_;
    const bool negative = end < text_.size() && text_[end] == '-';
    if (negative) ++end;
    const size_t digits = end;
    int64_t value = 0;
    for (; end < text_.size() && text_[end] >= '0' && text_[end] <= '9'; ++end) {
      const int digit = text_[end] - '0';
      value = value > (kMostSubscript - digit) / 10 ? kMostSubscript : value * 10 + digit;
    }
    if (end == digits) {
      if (negative) throw SliceError(end, "expected a number after '-'");
      return std::nullopt;
    }
    at_ = end;
    return negative ? -value : value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The selection of a range in a dimension: `count` coordinates from `start` on, `step` apart.
struct Coordinates {
  int64_t start;
  int64_t count;
};

Coordinates CoordinatesOf(const Subscript& range, int64_t size) {
  const bool forward = range.step > 0;
  const int64_t low = forward ? 0 : -1;
  const int64_t high = forward ? size : size - 1;
  const auto cut = [&](int64_t place) {
    return std::clamp(place < 0 ? place + size : place, low, high);
  };
  const int64_t start = range.start ? cut(*range.start) : forward ? low : high;
  const int64_t stop = range.stop ? cut(*range.stop) : forward ? high : low;
  const int64_t length = forward ? stop - start : start - stop;
  const int64_t step = forward ? range.step : -range.step;
  return {start, length > 0 ? (length - 1) / step + 1 : 0};
}

class Selection {
 public:
  explicit Selection(const ConstTensorView& view)
      : view_(view), selected_{view.data, view.type, {}} {}

  ConstTensorView Apply(const std::vector<Subscript>& subscripts) {
    const auto is_ellipsis = [](const Subscript& s) {
      return s.kind == Subscript::Kind::kEllipsis;
    };
    const auto ellipsis = std::find_if(subscripts.begin(), subscripts.end(), is_ellipsis);
    CheckCount(subscripts, ellipsis != subscripts.end());
    const size_t behind = static_cast<size_t>(subscripts.end() - ellipsis);
    for (const Subscript& subscript : subscripts) {
      if (is_ellipsis(subscript)) {
        if (&subscript != &*ellipsis) throw SliceError(subscript.offset, "'...' is given twice");
        TakeWhole(view_.layout.rank() - (behind - 1));
      } else if (subscript.kind == Subscript::Kind::kIndex) {
        TakeIndex(subscript);
      } else {
        TakeRange(subscript);
      }
    }
    TakeWhole(view_.layout.rank());
    return selected_;
  }

 private:
  void CheckCount(const std::vector<Subscript>& subscripts, bool has_ellipsis) const {
    const size_t rank = view_.layout.rank();
    const size_t count = subscripts.size() - (has_ellipsis ? 1 : 0);
    if (count <= rank) return;
    throw SliceError(
        subscripts[subscripts.size() - (count - rank)].offset,
        fmt::format("there {} only {}", ForCount(rank, "is", "are"), Counted(rank, "dimension")));
  }

  void TakeWhole(size_t end) {
    for (; dimension_ < end; ++dimension_) {
      selected_.layout.sizes.push_back(view_.layout.sizes[dimension_]);
      selected_.layout.strides.push_back(view_.layout.strides[dimension_]);
    }
  }

  void TakeIndex(const Subscript& subscript) {
    const int64_t size = view_.layout.sizes[dimension_];
    const int64_t index = *subscript.start < 0 ? *subscript.start + size : *subscript.start;
    if (index < 0 || index >= size) {
      throw SliceError(
          subscript.offset,
          fmt::format("there is no such index in dimension {} of size {}", dimension_, size));
    }
    Advance(index);
    ++dimension_;
  }

  void TakeRange(const Subscript& subscript) {
    const Coordinates range = CoordinatesOf(subscript, view_.layout.sizes[dimension_]);
    const int64_t stride = view_.layout.strides[dimension_];
    if (range.count > 0) Advance(range.start);
    selected_.layout.sizes.push_back(range.count);
    // With a single element, the step may be any number, and is ignored.
    selected_.layout.strides.push_back(range.count > 1 ? stride * subscript.step : stride);
    ++dimension_;
  }

  void Advance(int64_t coordinate) {
    const int64_t width = static_cast<int64_t>(ByteWidth(view_.type));
    selected_.data += coordinate * view_.layout.strides[dimension_] * width;
  }

  const ConstTensorView& view_;
  ConstTensorView selected_;
  size_t dimension_ = 0;
};

}  // namespace

ConstTensorView Select(const ConstTensorView& view, std::string_view text) {
  return Selection(view).Apply(SliceParser(text).Parse());
}

}  // namespace dmlop
