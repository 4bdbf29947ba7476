#include "app/text/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/progress.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxUnabridged = 1000;  // elements
constexpr int64_t kEdge = 3;              // entries shown at each end of an abridged dimension
constexpr size_t kPieceBytes = 1 << 16;   // of text that is passed on at once

template <typename T>
std::string FloatText(T value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

// The shortest digits that round to the same half, written as a plain number where it is not long.
std::string HalfText(Half half) {
  const double exact = static_cast<double>(ToFloat(half));
  if (!std::isfinite(exact)) return FloatText(exact);
  constexpr int kEnoughDigits = 5;
  double shortest = exact;
  for (int digits = 1; digits <= kEnoughDigits; ++digits) {
    const std::string text = fmt::format("{:.{}e}", exact, digits - 1);
    std::from_chars(text.data(), text.data() + text.size(), shortest);
    if (ToHalf(shortest) == half) break;
  }
  return FloatText(shortest);
}

template <typename T>
std::string TextOf(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return HalfText(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return FloatText(value);
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
        sink_(sink) {}

  void Write() {
    if (layout_.rank() == 0) {
      WriteElement(0);
    } else if (layout_.element_count() == 0) {
      text_ += "[]";
    } else {
      const Work work("printing", abridged_ ? 0 : kBytes * layout_.element_count());
      WriteDimension(0, 0);
    }
    text_ += '\n';
    sink_(text_);
  }

 private:
  static constexpr int64_t kBytes = sizeof(T);

  void WriteDimension(size_t d, int64_t offset) {
    const bool innermost = d + 1 == layout_.rank();
    // Rows stand below one another, behind the brackets that stay open.
    const std::string separator = innermost ? ", " : ",\n" + std::string(d + 1, ' ');
    const int64_t size = layout_.sizes[d];
    text_ += '[';
    for (int64_t i = 0; i < size; ++i) {
      if (i != 0) text_ += separator;
      if (abridged_ && size > 2 * kEdge && i == kEdge) {
        text_ += fmt::format("... {}:{} ...", kEdge, size - kEdge);
        i = size - kEdge - 1;
        continue;
      }
      const int64_t place = offset + i * layout_.strides[d];
      innermost ? WriteElement(place) : WriteDimension(d + 1, place);
    }
    text_ += ']';
    if (innermost) AddDone(size * kBytes);
  }

  void WriteElement(int64_t place) {
    if (bits_) {
      text_ += "0x" + BitsText(kDataTypeOf<T>, ElementBits(data_[place]));
    } else {
      text_ += TextOf(data_[place]);
    }
    if (text_.size() < kPieceBytes) return;
    sink_(text_);
    text_.clear();
  }

  const T* data_;
  const Layout& layout_;
  const bool abridged_;
  const bool bits_;
  const TextSink& sink_;
  std::string text_;
};

}  // namespace

std::string ElementText(DataType type, const std::byte* element) {
  std::string text;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T value;
    std::memcpy(&value, element, sizeof(T));
    text = TextOf(value);
  });
  return text;
}

std::string ElementJson(DataType type, const std::byte* element) {
  const std::string text = ElementText(type, element);
  if (text == "-0") return "-0.0";  // an integer would lose the sign
  const bool number = text.find_first_of("nf") == std::string::npos;  // neither nan nor inf
  return number ? text : '"' + text + '"';
}

std::string NumberText(double value) {
  return FloatText(value);
}

std::string NumberText(DataType type, double value) {
  if (type == DataType::kFloat32) return FloatText(static_cast<float>(value));
  if (type == DataType::kFloat16) return HalfText(ToHalf(value));
  return FloatText(value);
}

std::string BitsText(DataType type, uint64_t bits) {
  constexpr uint64_t kNibble = 15;
  return HasNibbles(type) ? fmt::format("{:X}", bits & kNibble)
                          : fmt::format("{:0{}X}", bits, 2 * ByteWidth(type));
}

std::string SizesText(const Dims& sizes) {
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

std::string IndexText(const Dims& sizes, int64_t linear) {
  return fmt::format("[{}]", fmt::join(IndexOf(sizes, linear), ", "));
}

void WriteValues(const ConstTensorView& tensor, const ValuesForm& form, const TextSink& sink) {
  VisitDataType(AllTypes(), tensor.type,
                [&]<typename T>() { ValuesWriter<T>(tensor, form, sink).Write(); });
}

void WriteTensor(std::string_view name, const ConstTensorView& tensor, const ValuesForm& form,
                 const TextSink& sink) {
  sink(fmt::format("{}: (Sizes:{}, DataType:{})\n", name, SizesText(tensor.layout.sizes),
                   Name(tensor.type)));
  WriteValues(tensor, form, sink);
}

}  // namespace dmlop
