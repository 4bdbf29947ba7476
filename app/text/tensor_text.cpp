// SPDX-License-Identifier: Apache-2.0
#include "app/text/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxUnabridged = 1000;  // in elements
constexpr int64_t kEdge = 3;              // entries shown at each end of an abridged dimension
constexpr size_t kPieceBytes = 1 << 16;   // size of the text passed on at once

// The shortest digits that round to the same half, in plain notation if that is short.
std::string HalfText(Half half) {
  const double exact = static_cast<double>(ToFloat(half));
  if (!std::isfinite(exact)) return NumberText(exact);
  constexpr int kEnoughDigits = 5;
  double shortest = exact;
  for (int digits = 1; digits <= kEnoughDigits; ++digits) {
    // A tie between two texts may go to either of them.
    for (const double near : {exact, std::nextafter(exact, 2 * exact)}) {
      const std::string text = fmt::format("{:.{}e}", near, digits - 1);
      std::from_chars(text.data(), text.data() + text.size(), shortest);
      if (ToHalf(shortest) == half) return NumberText(shortest);
    }
  }
  return NumberText(exact);
}

template <typename T>
std::string TextOf(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return HalfText(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return NumberText(value);
  } else {
    return fmt::format("{}", value);
  }
}

template <typename T>
class ValuesWriter {
 public:
  ValuesWriter(const ConstTensorView& tensor, const ValuesForm& form, const TextSink& sink)
      : data_(tensor.elements<T>()),
        layout_(tensor.layout),
        abridged_(!form.full && tensor.layout.element_count() > kMaxUnabridged),
        bits_(form.bits),
        columns_(form.columns),
        sink_(sink) {}

  void Write() {
    if (layout_.rank() == 0) {
      text_ += CellAt(0);
    } else if (layout_.element_count() == 0) {
      text_ += "[]";
    } else {
      const Work work("printing", abridged_ ? 0 : kBytes * layout_.element_count());
      MeasureCells();
      WriteDimension(0, 0);
    }
    text_ += '\n';
    sink_(text_);
  }

 private:
  static constexpr int64_t kBytes = sizeof(T);

  // Calls visit(i) for the entries of a dimension that are shown, and leave_out() for the gap.
  template <typename Visit, typename LeaveOut>
  void ForEachShown(size_t d, Visit&& visit, LeaveOut&& leave_out) const {
    const int64_t size = layout_.sizes[d];
    for (int64_t i = 0; i < size; ++i) {
      if (abridged_ && size > 2 * kEdge && i == kEdge) {
        leave_out();
        i = size - kEdge;
      }
      visit(i);
    }
  }

  // Columns are aligned if there are several rows, or if a row takes several lines.
  void MeasureCells() {
    size_t widest = 0;
    size_t row = 0;
    MeasureDimension(0, 0, widest, row);
    const bool is_one_line = layout_.element_count() == layout_.sizes.back() && row < columns_;
    width_ = is_one_line ? 0 : widest;
  }

  void MeasureDimension(size_t d, int64_t offset, size_t& widest, size_t& row) const {
    row = 2 * layout_.rank();
    const auto measure = [&](int64_t i) {
      const int64_t place = offset + i * layout_.strides[d];
      if (d + 1 < layout_.rank()) return MeasureDimension(d + 1, place, widest, row);
      const size_t width = CellAt(place).size();
      widest = std::max(widest, width);
      row += width + kSeparator.size();
    };
    ForEachShown(d, measure, [&] { row += kLeftOut.size() + kSeparator.size(); });
  }

  void WriteDimension(size_t d, int64_t offset) {
    if (d + 1 == layout_.rank()) return WriteRow(d, offset);
    // Rows are below one another, indented by the open brackets.
    const std::string separator = ",\n" + std::string(d + 1, ' ');
    bool is_first = true;
    const auto separate = [&] {
      if (!is_first) text_ += separator;
      is_first = false;
    };
    text_ += '[';
    ForEachShown(
        d,
        [&](int64_t i) {
          separate();
          WriteDimension(d + 1, offset + i * layout_.strides[d]);
        },
        [&] {
          separate();
          text_ += kLeftOut;
        });
    text_ += ']';
  }

  // Takes as many lines as necessary, without breaking a number.
  void WriteRow(size_t d, int64_t offset) {
    const size_t closing = layout_.rank();  // brackets, or a bracket and a comma
    size_t column = d + 1;
    bool is_first = true;
    const auto write = [&](const std::string& cell, size_t width) {
      const size_t size = std::max(cell.size(), width);
      if (!is_first && column + kSeparator.size() + size + closing > columns_) {
        text_ += ",\n" + std::string(d + 1, ' ');
        column = d + 1;
      } else if (!is_first) {
        text_ += kSeparator;
        column += kSeparator.size();
      }
      text_.append(size - cell.size(), ' ');
      text_ += cell;
      column += size;
      is_first = false;
      PassOn();
    };
    text_ += '[';
    ForEachShown(
        d, [&](int64_t i) { write(CellAt(offset + i * layout_.strides[d]), width_); },
        [&] { write(std::string(kLeftOut), 0); });
    text_ += ']';
    AddDone(layout_.sizes[d] * kBytes);
  }

  std::string CellAt(int64_t place) const {
    if (bits_) return "0x" + BitsText(kDataTypeOf<T>, ElementBits(data_[place]));
    return TextOf(data_[place]);
  }

  void PassOn() {
    if (text_.size() < kPieceBytes) return;
    sink_(text_);
    text_.clear();
  }

  static constexpr std::string_view kSeparator = ", ";
  static constexpr std::string_view kLeftOut = "...";

  const T* data_;
  const Layout& layout_;
  const bool abridged_;
  const bool bits_;
  const size_t columns_;
  const TextSink& sink_;
  size_t width_ = 0;  // width of a cell
  std::string text_;
};

Json ValuesFrom(const ConstTensorView& tensor, size_t d, int64_t offset) {
  if (d == tensor.layout.rank()) {
    return ElementJson(tensor.type,
                       tensor.data + offset * static_cast<int64_t>(ByteWidth(tensor.type)));
  }
  Json values = Json::array();
  for (int64_t i = 0; i < tensor.layout.sizes[d]; ++i) {
    values.push_back(ValuesFrom(tensor, d + 1, offset + i * tensor.layout.strides[d]));
  }
  return values;
}

}  // namespace

std::string ElementText(DataType type, const std::byte* element) {
  std::string text;
  VisitDataType(AllTypes(), type, [&]<typename T>() { text = TextOf(ElementOf<T>(element)); });
  return text;
}

std::string NumberText(DataType type, double value) {
  if (type == DataType::kFloat32) return NumberText(static_cast<float>(value));
  if (type == DataType::kFloat16) return HalfText(ToHalf(value));
  return NumberText(value);
}

std::string BitsText(DataType type, uint64_t bits) {
  constexpr uint64_t kNibble = 15;
  return HasNibbles(type) ? fmt::format("{:X}", bits & kNibble)
                          : fmt::format("{:0{}X}", bits, 2 * ByteWidth(type));
}

std::string IndexText(const Dims& sizes, int64_t linear) {
  return fmt::format("[{}]", fmt::join(IndexOf(sizes, linear), ", "));
}

Json TensorJson(const ConstTensorView& tensor, bool full) {
  const Dims& sizes = tensor.layout.sizes;
  Json json = {{"dataType", Name(tensor.type)},
               {"sizes", std::vector<int64_t>(sizes.begin(), sizes.end())}};
  const bool is_shown = full || tensor.layout.element_count() <= kMaxUnabridged;
  json["values"] = is_shown ? ValuesFrom(tensor, 0, 0) : Json(nullptr);
  return json;
}

void WriteValues(const ConstTensorView& tensor, const ValuesForm& form, const TextSink& sink) {
  VisitDataType(AllTypes(), tensor.type,
                [&]<typename T>() { ValuesWriter<T>(tensor, form, sink).Write(); });
}

void WriteTensor(std::string_view name, const ConstTensorView& tensor, const ValuesForm& form,
                 const TextSink& sink) {
  sink(fmt::format("{}: (Sizes:{}, DataType:{})\n", name, ToString(tensor.layout.sizes),
                   Name(tensor.type)));
  WriteValues(tensor, form, sink);
}

}  // namespace dmlop
