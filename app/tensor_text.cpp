#include "app/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxUnabridged = 1000;  // elements
constexpr int64_t kEdge = 3;              // entries shown at each end of an abridged dimension

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

class ValuesWriter {
 public:
  ValuesWriter(const ConstTensorView& tensor, bool full)
      : tensor_(tensor),
        width_(static_cast<int64_t>(ByteWidth(tensor.type))),
        abridged_(!full && tensor.layout.element_count() > kMaxUnabridged) {}

  std::string Write() {
    if (tensor_.layout.rank() == 0) return ElementText(tensor_.type, tensor_.data) + "\n";
    if (tensor_.layout.element_count() == 0) return "[]\n";
    WriteDimension(0, 0);
    return text_ + "\n";
  }

 private:
  void WriteDimension(size_t d, int64_t offset) {
    const bool innermost = d + 1 == tensor_.layout.rank();
    // Rows stand below one another, behind the brackets that stay open.
    const std::string separator = innermost ? ", " : ",\n" + std::string(d + 1, ' ');
    const int64_t size = tensor_.layout.sizes[d];
    text_ += '[';
    for (int64_t i = 0; i < size; ++i) {
      if (i != 0) text_ += separator;
      if (abridged_ && size > 2 * kEdge && i == kEdge) {
        text_ += "...";
        i = size - kEdge - 1;
        continue;
      }
      const int64_t place = offset + i * tensor_.layout.strides[d];
      if (innermost) {
        text_ += ElementText(tensor_.type, tensor_.data + place * width_);
      } else {
        WriteDimension(d + 1, place);
      }
    }
    text_ += ']';
  }

  const ConstTensorView& tensor_;
  int64_t width_;
  bool abridged_;
  std::string text_;
};

}  // namespace

std::string ElementText(DataType type, const std::byte* element) {
  std::string text;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T value;
    std::memcpy(&value, element, sizeof(T));
    if constexpr (std::is_same_v<T, Half>) {
      text = HalfText(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      text = FloatText(value);
    } else {
      text = fmt::format("{}", value);
    }
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

std::string SizesText(const Dims& sizes) {
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

std::string IndexText(const Dims& sizes, int64_t linear) {
  return fmt::format("[{}]", fmt::join(IndexOf(sizes, linear), ", "));
}

std::string ValuesText(const ConstTensorView& tensor, bool full) {
  return ValuesWriter(tensor, full).Write();
}

std::string TensorText(std::string_view name, const ConstTensorView& tensor, bool full) {
  return fmt::format("{}: (Sizes:{}, DataType:{})\n{}", name, SizesText(tensor.layout.sizes),
                     Name(tensor.type), ValuesText(tensor, full));
}

}  // namespace dmlop
