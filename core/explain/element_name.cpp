// SPDX-License-Identifier: Apache-2.0
#include "core/explain/element_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <numeric>

#include "core/base/spelling.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

class Parser {
 public:
  Parser(std::string_view text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<ElementName> Parse() {
    ElementName name;
    SkipSpaces();
    name.field = TakeWhile([](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    if (name.field.empty()) return Fail("the name of a tensor");
    if (Takes('/')) {
      const auto number = ParseNumber(/*may_be_negative=*/false);
      if (!number) return std::nullopt;
      name.number = *number;
    }
    const size_t max_groups = name.number ? 1 : 2;
    return ParsePlace(std::move(name), max_groups);
  }

  // The name may have any characters, so it ends before the last bracket or before an @.
  std::optional<ElementName> ParseAnyName() {
    ElementName name;
    name.field = ModelTensorIn(text_);
    at_ = name.field.size();
    if (text_.empty()) return Fail("the name of a tensor");
    return ParsePlace(std::move(name), 1);
  }

 private:
  std::optional<ElementName> ParsePlace(ElementName name, size_t max_groups) {
    name.end = text_.size();
    while (name.groups.size() < max_groups && Peek() != '\0' &&
           (Peek() == '[' || (name.groups.empty() && Peek() != '@'))) {
      auto group = ParseGroup();
      if (!group) return std::nullopt;
      name.groups.push_back(*std::move(group));
    }
    if (Takes('@')) {
      const auto byte = ParseByte();
      if (!byte) return std::nullopt;
      name.byte = *byte;
    }
    if (at_ < text_.size()) return Fail("the end");
    return name;
  }

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  char Peek() {
    SkipSpaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool Takes(char c) {
    if (Peek() != c) return false;
    ++at_;
    SkipSpaces();
    return true;
  }

  template <typename Predicate>
  std::string TakeWhile(Predicate&& takes) {
    const size_t begin = at_;
    while (at_ < text_.size() && takes(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<ElementName::Group> ParseGroup() {
    ElementName::Group group;
    group.begin = at_;
    if (!Takes('[')) return Fail("'['");
    do {
      const auto number = ParseNumber(/*may_be_negative=*/true);
      if (!number) return std::nullopt;
      group.numbers.push_back(*number);
    } while (Takes(','));
    group.end = at_;
    if (!Takes(']')) return Fail("',' or ']'");
    return group;
  }

  std::optional<ElementName::Number> ParseNumber(bool may_be_negative) {
    SkipSpaces();
    const size_t begin = at_;
    const bool negative = may_be_negative && at_ < text_.size() && text_[at_] == '-';
    if (negative) ++at_;
    const std::string digits = TakeWhile([](char c) { return c >= '0' && c <= '9'; });
    if (digits.empty()) return Fail("an index");
    int64_t value = 0;
    for (const char c : digits) {
      constexpr int64_t kFull = std::numeric_limits<int64_t>::max();
      value = value > (kFull - 9) / 10 ? kFull : value * 10 + (c - '0');
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    return ElementName::Number{negative ? -value : value, std::string(text), begin};
  }

  // Parses decimals, or hexadecimals after "0x".
  std::optional<ElementName::Number> ParseByte() {
    const size_t begin = at_;
    const std::string word =
        TakeWhile([](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    const bool is_hex = word.starts_with("0x");
    const std::string_view digits = std::string_view(word).substr(is_hex ? 2 : 0);
    int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value, is_hex ? 16 : 10);
    if (read.ec == std::errc::result_out_of_range) value = std::numeric_limits<int64_t>::max();
    if (read.ec == std::errc::invalid_argument || read.ptr != end) {
      at_ = begin;
      return Fail("the number of a byte");
    }
    SkipSpaces();
    return ElementName::Number{value, word, begin};
  }

  std::nullopt_t Fail(std::string_view expected) {
    SkipSpaces();
    diagnostics_.Error("ELEM-1", "", fmt::format("expected {} here", expected), at_);
    return std::nullopt;
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
};

}  // namespace

std::optional<ElementName> ParseElementName(std::string_view text, Diagnostics& diagnostics) {
  return Parser(text, diagnostics).Parse();
}

std::string_view ModelTensorIn(std::string_view text) {
  const size_t last = text.find_last_not_of(' ');
  const bool has_index = last != std::string_view::npos && text[last] == ']';
  return text.substr(0, has_index ? text.rfind('[') : text.find_last_of("[@"));
}

std::optional<ElementName> ParseModelElementName(std::string_view text, Diagnostics& diagnostics) {
  return Parser(text, diagnostics).ParseAnyName();
}

// --- elements of operators -----------------------------------------------------------------------

namespace {

// "OutputTensor[2, 3]"
std::string LastElement(const std::string& tensor, const TensorDesc& desc) {
  std::vector<uint32_t> index = *desc.sizes;
  for (uint32_t& i : index) --i;
  return fmt::format("{}[{}]", tensor, fmt::join(index, ","));
}

// Finds indices from dimension d on that together advance by `rest`.
bool FindAt(const Layout& layout, size_t d, int64_t rest, Dims& index) {
  if (d == layout.rank()) return rest == 0;
  int64_t reach = 0;    // of the later dimensions
  int64_t divisor = 0;  // of all places that these lead to
  for (size_t k = d + 1; k < layout.rank(); ++k) {
    reach += (layout.sizes[k] - 1) * layout.strides[k];
    if (layout.sizes[k] > 1) divisor = std::gcd(divisor, layout.strides[k]);
  }
  const int64_t stride = layout.strides[d];
  const int64_t least = stride == 0 || rest <= reach ? 0 : (rest - reach + stride - 1) / stride;
  const int64_t most = stride == 0 ? 0 : std::min(rest / stride, layout.sizes[d] - 1);
  for (index[d] = least; index[d] <= most; ++index[d]) {
    const int64_t left = rest - index[d] * stride;
    const bool may_lead_there = divisor == 0 ? left == 0 : left % divisor == 0;
    if (may_lead_there && FindAt(layout, d + 1, left, index)) return true;
  }
  return false;
}

// Finds the index that a name stands for in one tensor.
class PlaceFinder {
 public:
  PlaceFinder(const ElementName& name, const std::string& tensor, const TensorDesc& desc,
              Diagnostics& diagnostics)
      : name_(name), tensor_(tensor), desc_(desc), diagnostics_(diagnostics) {}

  std::optional<Dims> AtIndex() const {
    if (name_.groups.empty()) {
      return Fail("ELEM-1",
                  fmt::format("{} has the Sizes {}; its last element is written {}", tensor_,
                              ToString(*desc_.sizes), LastElement(tensor_, desc_)),
                  name_.end);
    }
    const ElementName::Group& group = name_.groups.back();
    const std::vector<uint32_t>& sizes = *desc_.sizes;
    const size_t count = group.numbers.size();
    if (count != sizes.size()) {
      return Fail(
          "ELEM-3",
          fmt::format("{} {}; {} has {}, with Sizes {}", count, count == 1 ? "index" : "indices",
                      tensor_, Counted(sizes.size(), "dimension"), ToString(sizes)),
          count < sizes.size() ? group.end : group.numbers[sizes.size()].offset);
    }
    Dims index;
    for (size_t d = 0; d < count; ++d) {
      const auto& [value, text, offset] = group.numbers[d];
      const int64_t size = sizes[d];
      if (value < -size || value >= size) {
        Fail("ELEM-4",
             fmt::format("{} is out of range for dimension {} of {}, whose size is {}", text, d,
                         tensor_, size),
             offset);
      } else {
        index.push_back(value < 0 ? value + size : value);
      }
    }
    if (index.size() < count) return std::nullopt;
    return index;
  }

  std::optional<Dims> AtByte() const {
    const ElementName::Number& number = *name_.byte;
    const uint64_t bits = BitWidth(*desc_.data_type);
    const uint64_t byte = static_cast<uint64_t>(number.value);
    const uint64_t size = SizeInBytes(desc_);
    if (byte >= size) {
      return Fail("ELEM-5",
                  fmt::format("byte {} is behind {}, which has {}", number.text, tensor_,
                              Counted(size, "byte")),
                  number.offset);
    }
    const Layout layout = LayoutOf(desc_);
    // A byte may hold two elements of 4 bits.
    Dims index = IndexAtPlace(layout, static_cast<int64_t>(byte * 8 / bits));
    if (index.empty() && bits < 8) {
      index = IndexAtPlace(layout, static_cast<int64_t>(byte * 8 / bits) + 1);
    }
    if (!index.empty()) return index;
    return Fail("ELEM-5", fmt::format("byte {} belongs to no element of {}", number.text, tensor_),
                number.offset);
  }

 private:
  std::nullopt_t Fail(std::string_view code, const std::string& message, size_t offset) const {
    diagnostics_.Error(code, "", message, offset);
    return std::nullopt;
  }

  const ElementName& name_;
  const std::string& tensor_;
  const TensorDesc& desc_;
  Diagnostics& diagnostics_;
};

// The tensors of one field, which is an array or a single tensor.
struct NamedTensors {
  std::string name;
  bool is_array;
  size_t first;  // index of the first among the tensors of its role
  std::vector<TensorSlot> tensors;
};

std::vector<NamedTensors> FieldsOf(const OperatorDesc& desc) {
  std::vector<NamedTensors> fields;
  size_t inputs = 0;
  size_t outputs = 0;
  for (const TensorSlot& slot : TensorSlots(desc)) {
    size_t& number = slot.role() == TensorRole::kInput ? inputs : outputs;
    if (fields.empty() || fields.back().name != slot.field->name) {
      const bool is_array = slot.field->kind == FieldKind::kTensors;
      fields.push_back({std::string(slot.field->name), is_array, number, {}});
    }
    fields.back().tensors.push_back(slot);
    ++number;
  }
  return fields;
}

class Finder {
 public:
  Finder(const ElementName& name, const OperatorDesc& desc, Diagnostics& diagnostics)
      : name_(name), desc_(desc), fields_(FieldsOf(desc)), diagnostics_(diagnostics) {}

  std::optional<NamedElement> Find() {
    const auto field = std::find_if(fields_.begin(), fields_.end(),
                                    [&](const NamedTensors& f) { return f.name == name_.field; });
    if (field == fields_.end()) return FailUnknown();
    const auto number = field->is_array ? NumberInArray(*field) : NumberOfOne(*field);
    if (!number) return std::nullopt;
    const TensorSlot& slot = field->tensors[*number];
    const auto index = FindIndex(name_, DisplayName(slot.path), *slot.desc, diagnostics_);
    if (!index) return std::nullopt;
    return NamedElement{slot, field->first + *number, *index};
  }

 private:
  std::nullopt_t Fail(std::string_view code, const std::string& message, size_t offset) {
    diagnostics_.Error(code, "", message, offset);
    return std::nullopt;
  }

  std::nullopt_t FailUnknown() {
    return Fail(
        "ELEM-2",
        fmt::format("{} has no tensor '{}'{}", desc_.name(), name_.field, InsteadOfUnknown()), 0);
  }

  // Says how to ask for an optional tensor that is left out, or which tensors there are.
  std::string InsteadOfUnknown() const {
    for (const Field* field : TensorFieldsOf(desc_.info())) {
      if (field->name != name_.field) continue;
      return fmt::format(" here; it is optional, and \"{}\": {{}} in the descriptor asks for it",
                         field->name);
    }
    std::vector<std::string_view> names;
    for (const NamedTensors& field : fields_) names.push_back(field.name);
    return fmt::format("{}; it has {}", DidYouMean(name_.field, names), Listed(names));
  }

  std::optional<size_t> NumberOfOne(const NamedTensors& field) {
    const std::string message = fmt::format("{} is one tensor, not an array", field.name);
    if (name_.number) return Fail("ELEM-2", message, name_.number->offset);
    if (name_.groups.size() > 1) return Fail("ELEM-2", message, name_.groups[1].begin);
    if (name_.byte && !name_.groups.empty()) {
      return Fail("ELEM-1", "an index and a byte are one too many", name_.groups[0].begin);
    }
    return 0;
  }

  std::optional<size_t> NumberInArray(const NamedTensors& field) {
    if (!name_.number && name_.groups.size() <= (name_.byte ? 0 : 1)) {
      const std::string first = field.name + "[0]";
      return Fail("ELEM-2",
                  fmt::format("{} is an array; name an element of one tensor, as {}", field.name,
                              name_.byte ? first + "@" + name_.byte->text
                                         : LastElement(first, *field.tensors[0].desc)),
                  name_.byte             ? name_.byte->offset - 1
                  : name_.groups.empty() ? name_.end
                                         : name_.groups[0].end + 1);
    }
    if (name_.number && name_.byte && !name_.groups.empty()) {
      return Fail("ELEM-1", "an index and a byte are one too many", name_.groups[0].begin);
    }
    if (!name_.number && name_.groups[0].numbers.size() > 1) {
      return Fail("ELEM-2", fmt::format("{} takes one number, then the index", field.name),
                  name_.groups[0].numbers[1].offset);
    }
    const ElementName::Number number = name_.number ? *name_.number : name_.groups[0].numbers[0];
    const size_t count = field.tensors.size();
    if (number.value < 0 || static_cast<uint64_t>(number.value) >= count) {
      return Fail("ELEM-2",
                  fmt::format("{} is out of range for {}, which has {}", number.text, field.name,
                              Counted(count, "tensor")),
                  number.offset);
    }
    return static_cast<size_t>(number.value);
  }

  const ElementName& name_;
  const OperatorDesc& desc_;
  std::vector<NamedTensors> fields_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Dims> FindIndex(const ElementName& name, const std::string& tensor,
                              const TensorDesc& desc, Diagnostics& diagnostics) {
  const PlaceFinder finder(name, tensor, desc, diagnostics);
  return name.byte ? finder.AtByte() : finder.AtIndex();
}

Dims IndexAtPlace(const Layout& layout, int64_t place) {
  Dims index = layout.sizes;
  return FindAt(layout, 0, place, index) ? index : Dims{};
}

std::optional<NamedElement> FindElement(const ElementName& name, const OperatorDesc& desc,
                                        Diagnostics& diagnostics) {
  return Finder(name, desc, diagnostics).Find();
}

}  // namespace dmlop
