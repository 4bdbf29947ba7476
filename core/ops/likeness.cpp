// SPDX-License-Identifier: Apache-2.0
// Finds the operators that correspond to names of other libraries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

// Names of operations that no operators here compute.
constexpr std::string_view kNowhere =
    "NonMaxSuppression nms GridSample grid_sample DeformConv Det FFT DFT STFT Unique Compress "
    "AffineGrid CenterCropPad MelWeightMatrix BitCast ImageDecoder Loop Scan If Shape Size cummax "
    "cummin bincount searchsorted";

// "reduce_sum", "ReduceSum" and "reduceSum" are one name, and so are "conv1d" and "Conv2d".
std::string Bare(std::string_view name) {
  std::string bare;
  for (const char c : name) {
    if (c != '_') bare += LowerCase(c);
  }
  if (bare.size() <= 2 || !bare.ends_with('d')) return bare;
  const size_t digit = bare.size() - 2;
  if (bare[digit] >= '1' && bare[digit] <= '3') bare.resize(digit);
  return bare;
}

bool Names(const std::vector<std::string_view>& words, std::string_view bare) {
  return std::ranges::any_of(words, [&](std::string_view word) { return Bare(word) == bare; });
}

// A name as written in a program, and the libraries that its qualifiers point to.
struct ProgramName {
  std::string_view name;
  Libraries libraries;
};

ProgramName Parsed(std::string_view text) {
  if (const size_t open = text.find('('); open != text.npos) text = text.substr(0, open);
  const size_t end = text.find_last_of(".:/ ");
  if (end == text.npos || end + 1 == text.size()) return {text, {}};
  const std::string before = LowerCase(text.substr(0, end));
  const std::string first = before.substr(0, before.find_first_of(".:/"));
  ProgramName parsed{text.substr(end + 1), {}};
  if (before.find("onnx") != before.npos || before.starts_with("com.microsoft")) {
    parsed.libraries = {.webnn = false, .pytorch = false};
  } else if (HasWord("torch nn f aten at tensor torchvision", first)) {
    parsed.libraries = {.onnx = false, .webnn = false};
  } else if (HasWord("webnn ml builder mlgraphbuilder", first)) {
    parsed.libraries = {.onnx = false, .pytorch = false};
  }
  return parsed;
}

Likeness LikeIn(const Libraries& libraries, std::string_view name) {
  const std::string bare = Bare(name);
  Likeness like{{}, {}, {.onnx = false, .webnn = false, .pytorch = false}};
  std::vector<const OperatorInfo*> others;
  for (const OperatorInfo* info : Operators()) {
    const OtherNames names = OtherNamesOf(*info);
    const bool onnx = libraries.onnx && Names(names.onnx, bare);
    const bool webnn = libraries.webnn && Names(names.webnn, bare);
    const bool pytorch = libraries.pytorch && Names(names.pytorch, bare);
    if (!onnx && !webnn && !pytorch) continue;
    like.libraries.onnx |= onnx;
    like.libraries.webnn |= webnn;
    like.libraries.pytorch |= pytorch;
    // ONNX's Sum and Mean take several tensors; elsewhere these names mean the reduction.
    const bool is_reduction = info->name == "REDUCE" && name != "Sum" && name != "Mean";
    (is_reduction ? like.operators : others).push_back(info);
  }
  like.operators.insert(like.operators.end(), others.begin(), others.end());
  return like;
}

// The compositions of a name, of which those in the table of ONNX's operators come last.
std::vector<Composition> CompositionsOf(std::string_view name) {
  std::vector<Composition> found;
  for (const Composition& composition : Compositions()) {
    if (Names(WordsOf(composition.names), Bare(name))) found.push_back(composition);
  }
  for (const OnnxOperator& one : OnnxOperators()) {
    if (found.empty() && one.is_sequence && Bare(one.name) == Bare(name)) {
      found.push_back({one.name, one.operators, "One operator after another."});
    }
  }
  return found;
}

void AddCompositions(std::string_view name, Likeness& like) {
  for (const Composition& composition : CompositionsOf(name)) {
    like.note = composition.note;
    if (like.note.empty()) like.libraries = {};
    for (const std::string_view word : WordsOf(composition.operators)) {
      const OperatorInfo* info = FindOperator(word);
      if (std::ranges::find(like.operators, info) == like.operators.end()) {
        like.operators.push_back(info);
      }
    }
  }
}

// If a function is an activation, too, or a name is ambiguous, these operators come first.
bool IsFirstOf(const OperatorInfo& info) {
  return info.name == "REDUCE" || info.name.starts_with("ELEMENT_WISE_");
}

// Returns the name, and the name without a group such as ELEMENT_WISE_ in front.
std::vector<std::string_view> WithoutGroup(std::string_view name) {
  std::vector<std::string_view> names = {name};
  for (const std::string_view group : {"ELEMENT_WISE_", "ACTIVATION_"}) {
    if (EqualIgnoringCase(name.substr(0, group.size()), group)) {
      names.push_back(name.substr(group.size()));
    }
  }
  return names;
}

// Returns "'REDUCE' with "Function": "SUM"" for SUM, REDUCE_SUM and reduceSum, that is, the
// operators with a function of that name.
std::vector<std::string> FunctionsCalled(std::string_view name,
                                         std::span<const OperatorInfo* const> among) {
  std::vector<std::string> found;
  for (const OperatorInfo* info : among) {
    const Field& first = *info->fields.front();
    if (first.kind != FieldKind::kEnum) continue;
    std::string_view function = name;
    if (EqualIgnoringCase(name.substr(0, info->name.size()), info->name)) {
      function.remove_prefix(info->name.size());
    }
    function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
    const std::string_view meant = MeantBy(function, first.names.names);
    if (!meant.empty()) {
      found.push_back(fmt::format("'{}' with \"{}\": \"{}\"", info->name, first.name, meant));
    }
  }
  return found;
}

}  // namespace

Likeness FindLike(std::string_view name) {
  const ProgramName parsed = Parsed(name);
  Likeness like = LikeIn(parsed.libraries, parsed.name);
  if (like.operators.empty()) like = LikeIn({}, parsed.name);
  AddCompositions(parsed.name, like);
  const OperatorInfo* own = FindOperator(name);
  if (like.operators.empty() && own != nullptr) like = {{own}, {}, {}};
  return like;
}

std::vector<std::string_view> NamesElsewhere() {
  std::vector<std::string_view> all;
  const auto add = [&](const std::vector<std::string_view>& words) {
    all.insert(all.end(), words.begin(), words.end());
  };
  for (const OperatorInfo* info : Operators()) {
    const OtherNames names = OtherNamesOf(*info);
    for (const auto& words : {names.onnx, names.webnn, names.pytorch}) add(words);
  }
  for (const Composition& composition : Compositions()) add(WordsOf(composition.names));
  for (const OnnxOperator& one : OnnxOperators()) {
    if (!one.operators.empty()) all.push_back(one.name);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string DidYouMeanElsewhere(std::string_view name) {
  const std::string_view bare = Parsed(name).name;
  if (HasWord(kNowhere, bare)) return "; no operator computes it, nor do several together";
  std::vector<std::string_view> near = NamesElsewhere();
  std::erase_if(near, [&](std::string_view one) { return !IsNear(bare, one); });
  return near.empty() ? DidYouMean(bare, OperatorNames()) : DidYouMean(bare, near);
}

const OperatorInfo* NearestOperator(std::string_view name,
                                    std::span<const OperatorInfo* const> among) {
  const OperatorInfo* nearest = nullptr;
  for (const std::string_view part : WithoutGroup(name)) {
    std::vector<const OperatorInfo*> like = LikeIn({}, Parsed(part).name).operators;
    std::ranges::copy_if(Operators(), std::back_inserter(like), [&](const OperatorInfo* info) {
      return Bare(WithoutGroup(info->name).back()) == Bare(part);
    });
    for (const OperatorInfo* info : like) {
      if (std::ranges::find(among, info) == among.end()) continue;
      if (nearest == nullptr || (IsFirstOf(*info) && !IsFirstOf(*nearest))) nearest = info;
    }
  }
  return nearest;
}

std::string DidYouMeanOperator(std::string_view name, std::span<const OperatorInfo* const> among) {
  if (name.starts_with(kOperatorPrefix)) name.remove_prefix(kOperatorPrefix.size());
  std::vector<std::string> meant = FunctionsCalled(name, among);
  if (const OperatorInfo* like = NearestOperator(name, among)) {
    const std::string quoted = fmt::format("'{}'", like->name);
    if (meant.empty() || !meant.front().starts_with(quoted)) meant.push_back(quoted);
  }
  if (!meant.empty()) return fmt::format(" (did you mean {}?)", fmt::join(meant, ", or "));
  std::vector<std::string_view> names;
  for (const OperatorInfo* info : among) {
    names.push_back(info->name);
    if (!info->alias.empty()) names.push_back(info->alias);
  }
  return DidYouMean(name, names);
}

}  // namespace dmlop
