// SPDX-License-Identifier: Apache-2.0
#include "core/io/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/base/integers.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

constexpr size_t kVersion1Preamble = 10;
constexpr size_t kAlignment = 64;

uint32_t LittleEndian(std::span<const std::byte> bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  return value;
}

struct TypeCode {
  std::string_view code;
  DataType type;
};

constexpr TypeCode kTypeCodes[] = {
    {"f8", DataType::kFloat64},
    {"f4", DataType::kFloat32},
    {"f2", DataType::kFloat16},
    {"i8", DataType::kInt64},
    {"i4", DataType::kInt32},
    {"i2", DataType::kInt16},
    {"i1", DataType::kInt8},
    {"u8", DataType::kUint64},
    {"u4", DataType::kUint32},
    {"u2", DataType::kUint16},
    {"u1", DataType::kUint8},
    {"b1", DataType::kUint8},
    // NumPy never writes these, but others do, and DxDispatch reads them.
    {"d", DataType::kFloat64},
    {"f", DataType::kFloat32},
    {"i", DataType::kInt32},
    {"u", DataType::kUint32},
    {"h", DataType::kInt16},
    {"H", DataType::kUint16},
    {"b", DataType::kInt8},
    {"B", DataType::kUint8},
    {"?", DataType::kUint8},
    // NumPy also reads its long names.
    {"float64", DataType::kFloat64},
    {"float32", DataType::kFloat32},
    {"float16", DataType::kFloat16},
    {"int64", DataType::kInt64},
    {"int32", DataType::kInt32},
    {"int16", DataType::kInt16},
    {"int8", DataType::kInt8},
    {"uint64", DataType::kUint64},
    {"uint32", DataType::kUint32},
    {"uint16", DataType::kUint16},
    {"uint8", DataType::kUint8},
};

// ml_dtypes saves bfloat16 as void bytes, or by its name.
bool IsBfloat16(std::string_view code) {
  return code == "V2" || code == "bfloat16";
}

std::string_view HintOf(std::string_view code) {
  if (IsBfloat16(code)) return " (bfloat16 is saved so; save it as float32)";
  if (code == "V1" || code == "f1") return " (float8 is saved so; save it as float16)";
  return "";
}

// Parses the header's text: a Python dictionary of a string, a boolean and a tuple.
class DictionaryParser {
 public:
  DictionaryParser(std::string_view text, const std::string& name, NpyTypes types)
      : text_(text), name_(name), types_(types) {}

  NpyHeader Parse() {
    // Messages that quote the text would end there.
    if (text_.find('\0') != text_.npos) Malformed("a zero byte in the dictionary");
    Expect('{');
    while (!Accept('}')) {
      ParseEntry();
      if (!Accept(',')) {
        Expect('}');
        break;
      }
    }
    SkipSpaces();
    if (at_ != text_.size()) Malformed("text after the dictionary");
    if (!has_descr_) Malformed("'descr' is missing");
    if (!has_order_) Malformed("'fortran_order' is missing");
    if (!has_shape_) Malformed("'shape' is missing");
    return header_;
  }

 private:
  template <typename... Args>
  [[noreturn]] void Malformed(fmt::format_string<Args...> what, Args&&... args) const {
    FailTensorFile(name_, "not a valid .npy header: {}",
                   fmt::format(what, std::forward<Args>(args)...));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && std::string_view(" \t\n").find(text_[at_]) != text_.npos) ++at_;
  }

  bool Accept(char c) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Expect(char c) {
    if (!Accept(c)) Malformed("expected '{}' at byte {} of the dictionary", c, at_);
  }

  void ParseEntry() {
    const std::string_view key = ParseString();
    Expect(':');
    if (key == "descr") {
      Once(key, has_descr_);
      ParseType();
    } else if (key == "fortran_order") {
      Once(key, has_order_);
      header_.fortran_order = ParseBoolean();
    } else if (key == "shape") {
      Once(key, has_shape_);
      ParseShape();
    } else {
      Malformed("unknown key '{}'", key);
    }
  }

  void Once(std::string_view key, bool& seen) const {
    if (seen) Malformed("'{}' is given twice", key);
    seen = true;
  }

  std::string_view ParseString() {
    SkipSpaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) Malformed("expected a string at byte {}", at_);
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  bool ParseBoolean() {
    SkipSpaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    Malformed("'fortran_order' is neither True nor False");
  }

  void ParseType() {
    SkipSpaces();
    if (at_ < text_.size() && text_[at_] == '[') {
      FailTensorFile(name_, "has a structured dtype; expected one of numbers");
    }
    const std::string_view descr = ParseString();
    std::string_view code = descr;
    const char order = code.empty() ? '\0' : code[0];
    if (std::string_view("<>=|").find(order) != std::string_view::npos) code.remove_prefix(1);
    if (code == "O") FailTensorFile(name_, "holds Python objects (a pickle), which are not read");
    for (const TypeCode& known : kTypeCodes) {
      if (known.code != code) continue;
      header_.type = known.type;
      header_.is_bool = code == "b1";
      header_.big_endian = order == '>' && ByteWidth(known.type) > 1;
      return;
    }
    if (types_ == NpyTypes::kAndBfloat16 && IsBfloat16(code)) {
      header_.type = DataType::kFloat32;
      header_.is_bfloat16 = true;
      header_.big_endian = order == '>';
      return;
    }
    FailTensorFile(name_, "has dtype '{}', which is no DirectML data type{}", descr, HintOf(code));
  }

  [[noreturn]] void FailShape(size_t begin) const {
    constexpr size_t kShown = 40;
    const std::string_view shape = text_.substr(begin, kShown);
    const size_t end = shape.rfind(')');  // the dictionary goes on after it
    Malformed("'shape' is not a tuple of sizes: {}",
              shape.substr(0, end == shape.npos ? shape.size() : end + 1));
  }

  void ParseShape() {
    SkipSpaces();
    const size_t begins_at = at_;
    Expect('(');
    CheckedU64 bytes = 8;  // the widest type's, so that no later product can overflow
    while (!Accept(')')) {
      SkipSpaces();
      uint64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc()) FailShape(begins_at);
      at_ += static_cast<size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 writes it
      if (header_.shape.size() == Dims::kMaxCount) {
        FailTensorFile(name_, "has more than {} dimensions", Dims::kMaxCount);
      }
      bytes = CheckedMul(bytes, std::max<uint64_t>(size, 1));
      if (!bytes || *bytes > static_cast<uint64_t>(INT64_MAX)) {
        FailTensorFile(name_, "has a shape with more elements than any file can hold");
      }
      header_.shape.push_back(static_cast<int64_t>(size));
      if (Accept(',')) continue;
      // In Python, a number in parentheses is just a number.
      if (header_.shape.size() == 1) FailShape(begins_at);
      Expect(')');
      break;
    }
  }

  std::string_view text_;
  const std::string& name_;
  NpyTypes types_;
  size_t at_ = 0;
  NpyHeader header_{};
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

std::string_view CodeOf(DataType type) {
  for (const TypeCode& known : kTypeCodes) {
    if (known.type == type) return known.code;
  }
  return "";
}

}  // namespace

bool HasNpyMagic(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with(kNpyMagic);
}

size_t NpyHeaderSize(std::span<const std::byte> preamble, const std::string& name) {
  if (!HasNpyMagic(preamble)) {
    const std::string_view kind = preamble.empty() ? "empty" : KindOfContent(preamble);
    if (!kind.empty()) FailTensorFile(name, "is not a .npy file, but {}", kind);
    FailTensorFile(name, "is not a .npy file: it does not begin with \\x93NUMPY");
  }
  if (preamble.size() < kNpyPreambleSize) FailTensorFile(name, "is truncated within its header");
  const unsigned version = std::to_integer<unsigned>(preamble[6]);
  const unsigned minor = std::to_integer<unsigned>(preamble[7]);
  if (version < 1 || version > 3 || minor != 0) {
    FailTensorFile(name, "has .npy format version {}.{}; versions 1.0, 2.0 and 3.0 are read",
                   version, minor);
  }
  const size_t size = version == 1 ? kVersion1Preamble + LittleEndian(preamble.subspan(8, 2))
                                   : kNpyPreambleSize + LittleEndian(preamble.subspan(8, 4));
  if (size > kMaxNpyHeaderSize) {
    FailTensorFile(name, "has a header of {} bytes; at most {} are read", size, kMaxNpyHeaderSize);
  }
  return std::max(size, kNpyPreambleSize);
}

NpyHeader ParseNpyHeader(std::span<const std::byte> bytes, const std::string& name,
                         NpyTypes types) {
  const size_t size = NpyHeaderSize(bytes, name);
  if (bytes.size() < size) FailTensorFile(name, "is truncated within its header");
  const size_t begin = std::to_integer<int>(bytes[6]) == 1 ? kVersion1Preamble : kNpyPreambleSize;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + begin, size - begin);
  NpyHeader header = DictionaryParser(text, name, types).Parse();
  header.data_begin = size;
  return header;
}

void SwapByteOrder(DataType type, std::span<std::byte> elements) {
  const size_t width = ByteWidth(type);
  for (size_t i = 0; i + width <= elements.size(); i += width) {
    const auto element = elements.subspan(i, width);
    std::reverse(element.begin(), element.end());
  }
}

std::string FormatNpyHeader(DataType type, const Dims& shape) {
  const char order = ByteWidth(type) == 1 ? '|' : '<';
  std::string dictionary =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                  CodeOf(type), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // NumPy leaves room for the first size to grow to 21 digits in place.
  constexpr size_t kGrownDigits = 21;
  if (!shape.empty()) dictionary.append(kGrownDigits - std::to_string(shape[0]).size(), ' ');
  const size_t unpadded = kVersion1Preamble + dictionary.size() + 1;
  dictionary.append(kAlignment - unpadded % kAlignment, ' ');  // at least one, like NumPy
  dictionary.push_back('\n');

  std::string header(kNpyMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace dmlop
