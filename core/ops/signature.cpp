// SPDX-License-Identifier: Apache-2.0
#include "core/ops/signature.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/integers.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

constexpr std::string_view kRepeated = "..", kOr = " | ";
constexpr std::string_view kGroups = "G", kGrouped = "G*";
constexpr std::string_view kPlaces = "P", kTaps = "K", kSpanned = "P@K";

template <typename Part>
bool Has(std::string_view text, Part part) {
  return text.find(part) != text.npos;
}

template <typename Visit>
void ForEachPart(std::string_view text, std::string_view separator, Visit&& visit) {
  for (size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    visit(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  visit(text);
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  ForEachPart(text, separator, [&](std::string_view part) { parts.push_back(part); });
  return parts;
}

// A dimension; `number` counts those of a word before "..".
struct Dim {
  std::string_view text;
  size_t number = 0;

  bool operator==(const Dim& other) const {
    return number == other.number && text == other.text;  // most differ in their numbers
  }
  bool is_number() const { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }
  bool is_word() const { return !is_number() && !Has(text, '*'); }
  bool is_marked() const { return text.ends_with('\''); }
  bool is_repeated() const { return Has(text, ':'); }
  bool is_grouped() const { return text.starts_with(kGrouped); }
  bool is_of_windows() const { return text == kPlaces || text == kTaps || text == kSpanned; }
  Dim OfGroup() const { return {text.substr(kGrouped.size()), number}; }
  Dim LastFactor() const { return {text.substr(text.rfind('*') + 1), number}; }
  Dim OtherFactors() const { return {text.substr(0, text.rfind('*')), number}; }
  Dim Word() const { return {text.substr(0, text.find_first_of(":'")), number}; }
  // The dimension along which it may be repeated, or itself.
  Dim Base() const { return Dim{text.substr(text.find(':') + 1), number}.Word(); }
};
using Form = std::vector<Dim>;

size_t CountOfDims(std::string_view dims) {
  return static_cast<size_t>(std::ranges::count(dims, ',')) + 1;
}

std::optional<Form> ParseForm(std::string_view dims, size_t rank) {
  const std::vector<std::string_view> parts = Split(dims.substr(1, dims.size() - 2), ", ");
  const bool is_fixed = !Has(dims, kRepeated);
  if (is_fixed ? rank != parts.size() : rank + 1 < parts.size()) return std::nullopt;
  Form form;
  for (std::string_view part : parts) {
    const bool repeats = part.ends_with(kRepeated);
    if (repeats) part.remove_suffix(kRepeated.size());
    const size_t count = repeats ? rank + 1 - parts.size() : 1;
    for (size_t i = 0; i < count; ++i) form.push_back({part, part == "1" ? 0 : i});
  }
  return form;
}

// Returns the dimensions of "{.., M, K}" for a rank; none if it has another one. Texts are those of
// rows, so each thread needs to parse them only once.
const std::optional<Form>& FormOfRank(std::string_view dims, size_t rank) {
  thread_local std::map<std::pair<const char*, size_t>, std::optional<Form>> forms;
  const auto [form, is_new] = forms.try_emplace({dims.data(), rank});
  if (is_new) form->second = ParseForm(dims, rank);
  return form->second;
}

bool HasWindows(const Signature& signature) {
  return signature.windows.fields != nullptr;
}

// Returns what a dimension stands for, by the sizes of its words; 0 if one of them is unknown.
template <typename SizeOf>
uint64_t SizeOfDim(const Dim& dim, SizeOf&& size_of) {
  CheckedU64 sum = 0;
  bool is_known = true;
  ForEachPart(dim.text, "+", [&](std::string_view term) {
    CheckedU64 size = 1;
    ForEachPart(term, "*", [&](std::string_view text) {
      const Dim factor{text, dim.number};
      uint64_t number = 0;
      if (factor.is_number()) {
        std::from_chars(text.begin(), text.end(), number);
      } else {
        number = size_of(factor);
      }
      size = CheckedMul(size, number);
    });
    is_known &= size != 0u;
    sum = CheckedAdd(sum, size);
  });
  return is_known ? sum.value_or(UINT64_MAX) : 0;
}

// Saturates: no tensor has a size above UINT32_MAX.
template <typename SizeOf>
Sizes SizesOfForm(const Form& form, SizeOf&& size_of) {
  Sizes sizes;
  for (const Dim& dim : form) {
    sizes.push_back(static_cast<uint32_t>(std::min<uint64_t>(size_of(dim), UINT32_MAX)));
  }
  return sizes;
}

struct FormedSizes {
  Form form;  // bases; nothing for what is marked
  Sizes sizes;
  uint32_t feeds;
  bool is_of_windows;
};

// Returns the part of `dim`, which is G*c or o, that a part of G*o is computed from.
Range PartOfGroups(const Dim& dim, int64_t group_size, Range output, int64_t output_group_size) {
  const Range groups{output.begin / output_group_size, (output.end - 1) / output_group_size + 1};
  if (dim.is_grouped()) return {groups.begin * group_size, groups.end * group_size};
  if (groups.count() > 1) return {0, group_size};
  return {output.begin - groups.begin * group_size, output.end - groups.begin * group_size};
}

// Maps parts of the outputs of a valid operator to parts of its inputs.
struct PartMaps {
  std::vector<FormedSizes> inputs, outputs;
  int64_t groups = 0;  // 0 if there are none
  std::vector<WindowAxis> axes;
  Dims taps;
  bool are_turned = false;
  bool span_output = false;  // the output has the dimensions P@K

  // Returns the same range along the output's words, all of what is marked, repeated or reduced.
  std::optional<Region> PartOf(size_t input, const Region& output) const {
    const auto& [form, sizes, feeds, is_of_windows] = inputs[input];
    if ((feeds >> output.tensor & 1) == 0) return std::nullopt;
    const Form& output_form = outputs[output.tensor].form;
    const Sizes& output_sizes = outputs[output.tensor].sizes;
    Region part{input, Dims::Filled(sizes.size(), 0), Dims(sizes.begin(), sizes.end())};
    for (size_t d = 0; d < (is_of_windows ? kFirstSpatial : form.size()); ++d) {
      const size_t k = DimOf(form[d], output_form);
      if (k == output_form.size() || output_sizes[k] == 1 || sizes[d] == 1) continue;
      Range range{output.begin[k], output.begin[k] + output.sizes[k]};
      if (form[d] != output_form[k]) {
        range = PartOfGroups(form[d], sizes[d] / (form[d].is_grouped() ? groups : 1), range,
                             output_sizes[k] / groups);
      }
      Confine(part, d, range);
    }
    return part;
  }

  // Likewise for one tap of the windows; nothing if it only reads padding.
  std::optional<Region> PartAt(int64_t number, size_t input, const Region& output) const {
    const Dims tap = IndexOf(taps, number);
    Region part = *PartOf(input, output);
    const Form& form = inputs[input].form;
    for (size_t d = kFirstSpatial; d < form.size(); ++d) {
      const size_t i = form[d].number;
      const WindowAxis& axis = axes[i];
      const Range elements = ElementsOf(axis, tap[i], output, d);
      if (elements.count() == 0) return std::nullopt;
      const int64_t place = are_turned ? axis.window - 1 - tap[i] : tap[i];
      Confine(part, d, form[d] == Dim{kTaps, i} ? Range{place, place + 1} : elements);
    }
    return part;
  }

 private:
  static void Confine(Region& part, size_t d, Range range) {
    part.begin[d] = range.begin;
    part.sizes[d] = range.count();
  }

  // Returns the dimension of the output that has the same base, or else groups for those of `dim`.
  size_t DimOf(const Dim& dim, const Form& output) const {
    auto found = std::ranges::find(output, dim);
    if (found == output.end() && groups != 0) {
      found = std::ranges::find_if(output, [&](const Dim& other) {
        return other.is_grouped() && (dim.is_grouped() || dim == other.OfGroup());
      });
    }
    return static_cast<size_t>(found - output.begin());
  }

  // Returns what a tap reads for a part of dimension `d` of the output.
  Range ElementsOf(const WindowAxis& axis, int64_t tap, const Region& output, size_t d) const {
    const Range positions{output.begin[d], output.begin[d] + output.sizes[d]};
    if (span_output) return axis.OutputsUnder(tap, positions, axis.size);
    return axis.InputsUnder(tap, Intersection(positions, {0, axis.Outputs()}));
  }
};

// The tensors of an operator, and the sizes of words that they tell, 0 if unknown.
class Shapes {
 public:
  Shapes(const Signature& signature, const OperatorDesc& op) : signature_(signature), op_(op) {
    if (signature.known != nullptr) {
      for (const KnownSize& one : signature.known(op)) words_.emplace_back(Dim{one.word}, one.size);
    }
    for (const FieldWord& one : signature.fields) {
      const uint32_t* size = op.find_if_known(*one.field);
      if (size != nullptr) words_.emplace_back(Dim{one.word}, *size);
    }
    if (!HasWindows(signature) || signature.windows.taps == nullptr) return;
    const std::vector<uint32_t>& taps = op[*signature.windows.taps];
    for (size_t i = 0; i < taps.size(); ++i) words_.emplace_back(Dim{kTaps, i}, taps[i]);
  }

  // Takes the sizes of all words from valid tensors.
  void TakeAll() {
    for (const TensorShape& shape : signature_.tensors) {
      const TensorDesc* desc = op_.find_if_known(*shape.tensor);
      if (desc != nullptr && shape.own_rule.empty())
        Take(FormOf(shape, *desc->sizes), *desc->sizes);
    }
  }

  // Returns whether the first tensor has as many spatial dimensions as the fields of windows. If
  // there is a filter, too, the fields are wrong rather than both tensors.
  bool CheckRank(Inference& infer) const {
    if (!HasWindows(signature_)) return true;
    const TensorAt first = First(infer);
    const size_t rank = first.desc.rank();
    const auto& strides = signature_.windows.fields->strides;
    const size_t count = op_[strides].size();
    const bool is_right = !first.desc.sizes || rank == count + kFirstSpatial;
    if (signature_.windows.filter == nullptr) {
      return infer.Require(is_right, "CTR-4", SizesOf(first),
                           "{}; expected {}, two more than {} has", Counted(rank, "dimension"),
                           count + kFirstSpatial, strides.name);
    }
    return infer.Require(is_right, "CTR-4", At(strides),
                         "{}; expected {}, two less than {} has dimensions",
                         Counted(count, "entry"), static_cast<int64_t>(rank) - 2, first.name());
  }

  // Returns whether others can be checked.
  bool Check(const TensorShape& shape, Inference& infer) {
    const TensorAt tensor = infer.tensor(*shape.tensor);
    if (shape.form == nullptr && Has(shape.dims, kOr)) return RequireAny(shape, tensor, infer);
    const std::optional<Form> form = TheForm(shape);
    if (!form) return false;  // no level allows that
    const bool has_rank = form->size() == tensor.sizes().size();
    if (!has_rank && std::ranges::any_of(*form, [&](const Dim& dim) { return IsUnknown(dim); })) {
      return true;
    }
    if (RepeatsWords(shape) && !infer.RequireSameRank(signature_.rank_rule, tensor, First(infer))) {
      Take(*form, Sizes(form->size()));  // unknown
      return true;
    }
    const size_t known = words_.size();
    TakeWindows(*form, tensor, infer);
    if (!has_rank && HasNew(*form)) return false;  // no level allows that
    if (has_rank) {
      RequireBases(*form, tensor, infer);
      TakeWords(*form, tensor.sizes());
      RequireMultiples(*form, tensor, infer);
      Take(*form, tensor.sizes());
    }
    const Sizes expected = Expected(*form);
    if (AllAgree(tensor.sizes(), expected)) return true;
    infer.RequireSizes(RuleOf(shape, *form), tensor, expected);
    for (size_t i = known; i < words_.size(); ++i) words_[i].second = 0;
    return true;
  }

  void InferOutput(const TensorShape& shape, Inference& infer) {
    const std::optional<Form> form = TheForm(shape);
    if (!form) return;
    TakeWindows(*form, infer.tensor(*shape.tensor), infer);
    if (!HasNew(*form)) infer.Output(RuleOf(shape, *form), *shape.tensor, ExactSizes(*form));
  }

  int64_t Groups() const {
    const uint64_t* groups = Find({kGroups});
    return groups == nullptr ? 0 : static_cast<int64_t>(*groups);
  }

  // Returns the windows of `size` elements along dimension `i` of those of windows.
  WindowAxis AxisAt(size_t i, std::string_view size) const {
    return AxisOf(*signature_.windows.fields, op_, i, static_cast<int64_t>(SizeOf({size, i})),
                  static_cast<int64_t>(SizeOf({kTaps, i})));
  }

  const TensorShape& ShapeOf(const TensorSlot& slot) const {
    return *std::ranges::find(signature_.tensors, slot.field, &TensorShape::tensor);
  }

  // Returns the form of a valid tensor; only slices have marks.
  Form FormOf(const TensorSlot& slot) const {
    Form form = FormOf(ShapeOf(slot), *slot.desc->sizes);
    if (signature_.slices == nullptr) return form;
    const std::vector<uint32_t> slices = signature_.slices(op_);
    for (size_t d = 0; d < form.size(); ++d) {
      const bool is_sliced = std::ranges::find(slices, d) != slices.end();
      if (form[d].is_marked() && !is_sliced) form[d] = form[d].Word();
    }
    return form;
  }

  // Leaves out what windows lie along.
  int64_t Product() const {
    std::vector<uint64_t> sizes;
    for (const auto& [word, size] : words_) {
      if (word.text != kSpanned) sizes.push_back(size);
    }
    return SaturatedProduct(sizes);
  }

 private:
  // Returns the only form, with the first tensor's rank if that may be any; none if it may not.
  std::optional<Form> TheForm(const TensorShape& shape) const {
    const std::string_view dims = FormsOf(shape, op_)[0];
    const size_t count = CountOfDims(dims);
    if (!Has(dims, kRepeated)) return FormOfRank(dims, count);
    if (HasOwnRank(shape)) return FormOfRank(dims, std::max(RankOf(shape), count - 1));
    const TensorDesc& first = op_[*signature_.tensors[0].tensor];
    return first.sizes ? FormOfRank(dims, first.rank()) : std::nullopt;
  }

  // Returns the rank of a tensor that has its own; 0 if that is left out.
  size_t RankOf(const TensorShape& shape) const {
    const TensorDesc* desc = &op_[*shape.tensor];
    if (!desc->sizes && shape.rank_of != nullptr) desc = op_.find_if_known(*shape.rank_of);
    return desc == nullptr ? 0 : desc->rank();
  }

  Form FormOf(const TensorShape& shape, const Sizes& sizes) const {
    for (const std::string_view dims : FormsOf(shape, op_)) {
      const std::optional<Form>& form = FormOfRank(dims, sizes.size());
      if (form && AllAgree(sizes, Expected(*form))) return *form;
    }
    return {};
  }

  static bool RepeatsWords(const TensorShape& shape) {
    return Has(shape.dims, kRepeated) && !Has(shape.dims, "1..");
  }
  static bool HasOwnRank(const TensorShape& shape) {
    return !shape.own_rule.empty() && Has(shape.dims, "1..");
  }

  TensorAt First(Inference& infer) const { return infer.tensor(*signature_.tensors[0].tensor); }

  // Requires each size of M:S to be 1 or that of S.
  void RequireBases(const Form& form, const TensorAt& tensor, Inference& infer) const {
    for (size_t d = 0; d < form.size(); ++d) {
      if (!form[d].is_repeated() || !IsNew(form[d])) continue;
      const uint32_t size = tensor.sizes()[d];
      const uint64_t base = SizeOf(form[d].Base());
      infer.Require(Agree(size, 1) || Agree(size, base), signature_.repeat_rule, SizeAt(tensor, d),
                    "size {} is neither 1 nor {}, as {} has", size, base, First(infer).name());
    }
  }

  // Requires products with a new factor to be multiples of the field that is the other one. That of
  // the first tensor is right rather than the field.
  void RequireMultiples(const Form& form, const TensorAt& tensor, Inference& infer) const {
    for (size_t d = 0; d < form.size(); ++d) {
      const uint64_t divisor = DivisorOf(form[d]);
      const auto other = std::ranges::find_if(signature_.fields, [&](const FieldWord& one) {
        return one.word == form[d].OtherFactors().text && op_.find_if_known(*one.field) != nullptr;
      });
      if (divisor == 0 || other == signature_.fields.end()) continue;
      const uint32_t size = tensor.sizes()[d];
      const bool is_first = tensor.name() == First(infer).name();
      infer.Require(size % divisor == 0, signature_.size_rule,
                    is_first ? At(*other->field) : SizeAt(tensor, d),
                    "the size {} of {} is no multiple of {}, which is {}", size, tensor.name(),
                    other->field->name, divisor);
    }
  }

  // Returns true.
  bool RequireAny(const TensorShape& shape, const TensorAt& tensor, Inference& infer) const {
    std::vector<std::string> expected;
    Sizes last;
    for (const std::string_view dims : FormsOf(shape, op_)) {
      const std::optional<Form>& form = FormOfRank(dims, tensor.sizes().size());
      if (!form) continue;
      last = Expected(*form);
      if (AllAgree(tensor.sizes(), last)) return true;
      if (std::ranges::find(expected, Told(last)) == expected.end()) expected.push_back(Told(last));
    }
    if (expected.size() == 1) return infer.RequireSizes(shape.own_rule, tensor, last), true;
    infer.Fail(shape.own_rule, SizesOf(tensor), "Sizes are {}; expected {}", Told(tensor.sizes()),
               fmt::join(expected, " or "));
    return true;
  }

  // Returns the rule that says which sizes a tensor has in the dimensions that are wrong.
  std::string_view RuleOf(const TensorShape& shape, const Form& form) const {
    const std::vector<std::string_view> own = Split(shape.own_rule, kOr);
    if (own.size() > 1) return own[op_[*shape.form]];
    if (!own[0].empty()) return own[0];
    const std::optional<Sizes>& sizes = op_[*shape.tensor].sizes;
    if (!HasWindows(signature_) || !sizes || sizes->size() != form.size()) {
      return signature_.size_rule;
    }
    Form others = form;
    for (size_t d = 0; d < form.size(); ++d) {
      if (form[d].is_of_windows()) others[d] = {};
    }
    return AllAgree(*sizes, Expected(others)) ? signature_.windows.rule : signature_.size_rule;
  }

  // --- windows -----------------------------------------------------------------------------------

  // Takes the sizes of P or of P@K, if they follow from each other. What the tensor states decides
  // where several sizes have the same windows.
  void TakeWindows(const Form& form, const TensorAt& tensor, Inference& infer) {
    for (size_t d = 0; d < form.size(); ++d) {
      const bool spans = form[d].text == kSpanned;
      if ((!spans && form[d].text != kPlaces) || !IsNew(form[d])) continue;
      const Dim other{spans ? kPlaces : kSpanned, form[d].number};
      const Dim taps{kTaps, form[d].number};
      if (IsNew(other) || IsNew(taps)) continue;
      const bool is_known = SizeOf(other) != 0 && SizeOf(taps) != 0;
      const WindowAxis axis = AxisAt(taps.number, other.text);
      words_.emplace_back(
          form[d],
          is_known ? SizeOfWindows(signature_.windows, axis, spans, op_, tensor, d, infer) : 0);
    }
  }

  // --- sizes -------------------------------------------------------------------------------------

  static bool AllAgree(const Sizes& sizes, const Sizes& expected) {
    return std::ranges::equal(sizes, expected, Agree);
  }

  const uint64_t* Find(const Dim& word) const {
    const auto found = std::ranges::find(words_, word, &std::pair<Dim, uint64_t>::first);
    return found == words_.end() ? nullptr : &found->second;
  }
  // Products with G are words, unless the size of G is known.
  bool IsWord(const Dim& dim) const {
    return dim.is_word() || (dim.is_grouped() && Find({kGroups}) == nullptr);
  }
  bool IsNew(const Dim& dim) const {
    return IsWord(dim) ? Find(dim.Word()) == nullptr : DivisorOf(dim) != 0;
  }
  bool IsUnknown(const Dim& dim) const { return IsWord(dim) && !IsNew(dim) && SizeOf(dim) == 0; }
  bool HasNew(const Form& form) const {
    return std::ranges::any_of(form, [&](const Dim& dim) { return IsNew(dim); });
  }

  // Returns the product of the other factors if the last one is new, otherwise 0.
  uint64_t DivisorOf(const Dim& dim) const {
    const bool may_have_new = !IsWord(dim) && Has(dim.text, '*') && !Has(dim.text, '+');
    return may_have_new && Find(dim.LastFactor()) == nullptr ? SizeOf(dim.OtherFactors()) : 0;
  }

  // What is no multiple of the other factors has an unknown one.
  void Take(const Form& form, const Sizes& sizes) {
    TakeWords(form, sizes);
    for (size_t d = 0; d < form.size(); ++d) {
      const uint64_t divisor = DivisorOf(form[d]);
      if (divisor == 0) continue;
      words_.emplace_back(form[d].LastFactor(), sizes[d] % divisor == 0 ? sizes[d] / divisor : 0);
    }
  }
  void TakeWords(const Form& form, const Sizes& sizes) {
    for (size_t d = 0; d < form.size(); ++d) {
      if (IsWord(form[d]) && IsNew(form[d])) words_.emplace_back(form[d].Word(), sizes[d]);
    }
  }

  // Returns the size of a dimension, 0 if it is unknown.
  uint64_t SizeOf(const Dim& dim) const {
    if (const uint64_t* known = Find(dim.Word())) return *known;
    return SizeOfDim(dim, [&](const Dim& factor) {
      const uint64_t* size = Find(factor.Word());
      return size == nullptr ? 0 : *size;
    });
  }

  std::vector<uint64_t> ExactSizes(const Form& form) const {
    std::vector<uint64_t> sizes;
    for (const Dim& dim : form) sizes.push_back(SizeOf(dim));
    return sizes;
  }
  Sizes Expected(const Form& form) const {
    return SizesOfForm(form, [&](const Dim& dim) { return SizeOf(dim); });
  }

  const Signature& signature_;
  const OperatorDesc& op_;
  std::vector<std::pair<Dim, uint64_t>> words_;
};

PartMaps PartMapsOf(const Signature& signature, const OperatorDesc& op) {
  Shapes shapes(signature, op);
  shapes.TakeAll();
  PartMaps parts;
  parts.groups = shapes.Groups();
  for (const TensorSlot& slot : TensorSlots(op)) {
    Form form = shapes.FormOf(slot);
    for (Dim& dim : form) dim = dim.is_number() || dim.is_marked() ? Dim() : dim.Base();
    const bool is_of_windows = HasWindows(signature) && form.back().is_of_windows();
    (slot.role() == TensorRole::kInput ? parts.inputs : parts.outputs)
        .push_back({form, *slot.desc->sizes, shapes.ShapeOf(slot).feeds, is_of_windows});
  }
  if (!HasWindows(signature)) return parts;
  const auto are_turned = signature.windows.are_turned;
  parts.are_turned = are_turned != nullptr && are_turned(op);
  parts.span_output = parts.outputs[0].form.back().text == kSpanned;
  for (size_t i = 0; i < op[signature.windows.fields->strides].size(); ++i) {
    parts.axes.push_back(shapes.AxisAt(i, parts.span_output ? kPlaces : kSpanned));
    parts.taps.push_back(parts.axes.back().window);
  }
  return parts;
}

}  // namespace

std::vector<std::string_view> FormsOf(const TensorShape& shape, const OperatorDesc& op) {
  const std::vector<std::string_view> forms = Split(shape.dims, kOr);
  return shape.form == nullptr ? forms : std::vector{forms[op[*shape.form]]};
}

Sizes SizesOf(std::string_view form, size_t rank, const SizeOfWord& size_of) {
  const auto& dims = FormOfRank(form, Has(form, kRepeated) ? rank : CountOfDims(form));
  if (!dims) return {};
  return SizesOfForm(*dims, [&](const Dim& dim) {
    return SizeOfDim(dim, [&](const Dim& word) { return size_of(word.text, word.number); });
  });
}

void InferShapes(const Signature& signature, const OperatorDesc& op, Inference& infer) {
  Shapes shapes(signature, op);
  if (!shapes.CheckRank(infer)) return;
  for (const TensorShape& shape : signature.tensors) {
    if (op.find_if_known(*shape.tensor) == nullptr) continue;
    if (shape.tensor->role == TensorRole::kOutput && &shape != &signature.tensors[0]) {
      shapes.InferOutput(shape, infer);
    } else if (!shapes.Check(shape, infer)) {
      return;
    }
  }
}

std::vector<SourceMap> SourcesOf(const Signature& signature, const OperatorDesc& op) {
  const auto parts = std::make_shared<const PartMaps>(PartMapsOf(signature, op));
  std::vector<SourceMap> maps;
  const int64_t taps = !HasWindows(signature) ? 0 : Product(parts->taps);
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (size_t i = 0; i < parts->inputs.size(); ++i) {
      if (!parts->inputs[i].is_of_windows) continue;
      maps.push_back(
          [parts, tap, i](const Region& output) { return parts->PartAt(tap, i, output); });
    }
  }
  for (size_t i = 0; i < parts->inputs.size(); ++i) {
    if (parts->inputs[i].is_of_windows) continue;
    maps.push_back([parts, i](const Region& output) { return parts->PartOf(i, output); });
  }
  return maps;
}

int64_t OperationsOf(const Signature& signature, const OperatorDesc& op) {
  Shapes shapes(signature, op);
  shapes.TakeAll();
  return shapes.Product();
}

void InferEqualSizes(std::string_view code, const OperatorDesc& op, Inference& infer) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  const auto field = [](const TensorSlot& slot) -> const FieldOf<TensorDesc>& {
    return static_cast<const FieldOf<TensorDesc>&>(*slot.field);
  };
  const Sizes& sizes = op.sizes(field(slots[0]));
  for (const TensorSlot& slot : std::span(slots).subspan(1)) {
    if (slot.role() == TensorRole::kOutput) {
      infer.Output(code, field(slot), sizes);
    } else {
      infer.RequireSizes(code, infer.tensor(field(slot)), sizes);
    }
  }
}

}  // namespace dmlop
