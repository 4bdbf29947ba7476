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
#include "core/ops/other_names.h"

namespace dmlop {
namespace {

// Names for operations that take several operators or none, or that only other programs use.
struct Composition {
  std::string_view names;      // separated by blanks
  std::string_view operators;  // likewise
  std::string_view note = {};  // without a note, each of the operators suffices
};

constexpr Composition kCompositions[] = {
    {"Reshape view Flatten Squeeze Unsqueeze expand_dims ravel newaxis", "ELEMENT_WISE_IDENTITY",
     "No operator is needed: these are the same elements with other Sizes. Write the new Sizes "
     "where the next operator reads the tensor; a raw file (.bin) takes any Sizes of as many "
     "elements."},
    {"broadcast_to broadcast expand_as repeat_interleave", "ELEMENT_WISE_IDENTITY",
     "No operator is needed: a stride of 0 repeats elements. {\"Sizes\": [3, 4], \"Strides\": [0, "
     "1]} reads a row of 4 elements 3 times."},
    {"permute swapaxes swapdims moveaxis movedim adjoint t", "ELEMENT_WISE_IDENTITY"},
    {"Einsum tensordot", "GEMM ELEMENT_WISE_MULTIPLY REDUCE",
     "A sum over one index is a GEMM of tensors whose Sizes and Strides are permuted; anything "
     "else "
     "is ELEMENT_WISE_MULTIPLY with strides of 0 where a tensor lacks an index, then REDUCE SUM."},
    {"GroupNormalization GroupNorm group_norm", "MEAN_VARIANCE_NORMALIZATION1",
     "Read the input as {N, groups, C / groups, rest} and normalize with Axes [2, 3]; scale and "
     "bias of {C} have the same Sizes with Strides [0, C / groups, 1, 0]."},
    {"masked_fill", "ELEMENT_WISE_IF",
     "ConditionTensor is the mask, ATensor the value with strides of 0, BTensor the input."},
    {"masked_scatter", "ELEMENT_WISE_IF", "With the source brought to the sizes of the input."},
    {"relu6 hardtanh", "ELEMENT_WISE_CLIP", "With Min 0 and Max 6, or -1 and 1 for hardtanh."},
    {"QuickGelu", "ACTIVATION_SWISH", "With SigmoidInputScale 1.702."},
    {"Mish", "ACTIVATION_SOFTPLUS ELEMENT_WISE_TANH ELEMENT_WISE_MULTIPLY",
     "x * tanh(softplus(x)), one operator after another."},
    {"logsigmoid", "ACTIVATION_SOFTPLUS ELEMENT_WISE_NEGATE",
     "-softplus(-x), one operator after another."},
    {"glu", "SPLIT ACTIVATION_SIGMOID ELEMENT_WISE_MULTIPLY",
     "One half times the sigmoid of the other."},
    {"softmin", "ELEMENT_WISE_NEGATE ACTIVATION_SOFTMAX1", "The softmax of -x."},
    {"log1p", "ELEMENT_WISE_LOG", "With ScaleBias {1, 1}; x + 1 is rounded to FLOAT32 first."},
    {"log2 log10", "ELEMENT_WISE_LOG ELEMENT_WISE_MULTIPLY", "The logarithm times a constant."},
    {"expm1", "ELEMENT_WISE_EXP ELEMENT_WISE_SUBTRACT", "e^x less 1."},
    {"exp2", "ELEMENT_WISE_POW", "With 2 as the base, by strides of 0."},
    {"rsqrt", "ELEMENT_WISE_CONSTANT_POW", "With Exponent -0.5."},
    {"square", "ELEMENT_WISE_CONSTANT_POW ELEMENT_WISE_MULTIPLY",
     "With Exponent 2, or of a tensor with itself."},
    {"NotEqual ne", "ELEMENT_WISE_LOGICAL_EQUALS ELEMENT_WISE_LOGICAL_NOT",
     "One operator after the other."},
    {"isclose allclose", "ELEMENT_WISE_SUBTRACT ELEMENT_WISE_ABS ELEMENT_WISE_LOGICAL_LESS_THAN",
     "One operator after another; of files, dmlop compare --atol --rtol."},
    {"var std var_mean", "BATCH_NORMALIZATION_TRAINING",
     "OutputVarianceTensor, which divides by N; unbiased ones divide by N - 1."},
    {"mse_loss", "ELEMENT_WISE_DIFFERENCE_SQUARE REDUCE", "The AVERAGE of the squares."},
    {"cross_entropy nll_loss NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
     "ACTIVATION_LOG_SOFTMAX1 GATHER_ELEMENTS REDUCE",
     "The logarithms of the softmax, of these the ones that the targets name, their AVERAGE "
     "negated."},
    {"FastGelu", "ACTIVATION_GELU",
     "By the error function; the form with tanh gives slightly other values."},
    {"BiasGelu", "ELEMENT_WISE_ADD1", "With ACTIVATION_GELU as FusedActivation."},
    {"SimplifiedLayerNormalization", "MEAN_VARIANCE_NORMALIZATION2", "With UseMean false."},
    {"adaptive_max_pool2d", "MAX_POOLING2", "To one element: with a window as large as the plane."},
    {"argsort", "TOP_K1", "OutputIndexTensor, with all elements along the axis as K."},
    {"floor_divide", "ELEMENT_WISE_DIVIDE ELEMENT_WISE_FLOOR",
     "One operator after the other; quotients of integers are truncated."},
    {"tanhshrink", "ELEMENT_WISE_TANH ELEMENT_WISE_SUBTRACT", "x - tanh(x)."},
    {"cosine_similarity", "ELEMENT_WISE_MULTIPLY REDUCE ELEMENT_WISE_DIVIDE",
     "The SUM of the products, divided by both L2 norms."},
    {"roll", "SLICE1 JOIN", "The two parts, the other way round."},
    {"outer", "ELEMENT_WISE_MULTIPLY", "With strides of 0 in both operands."},
    {"addcmul addcdiv lerp", "ELEMENT_WISE_MULTIPLY ELEMENT_WISE_DIVIDE ELEMENT_WISE_ADD",
     "One operator after another."},
    {"scatter_add index_add ScatterReduce segment_sum", "ONE_HOT GEMM",
     "SCATTER only replaces elements; a product with the marked indices adds them up."},
    {"embedding embedding_lookup take", "GATHER"},
    {"take_along_axis take_along_dim", "GATHER_ELEMENTS"},
    {"concatenate hstack vstack dstack column_stack", "JOIN"},
    {"array_split tensor_split hsplit vsplit unbind unstack", "SPLIT"},
    {"Dropout", "ACTIVATION_IDENTITY", "Outside of training, it copies."},
    {"max min", "REDUCE"},
    {"quantize_per_channel", "ELEMENT_WISE_QUANTIZE_LINEAR"},
    {"zeros_like ones_like full_like", "FILL_VALUE_CONSTANT"},
    {"dot inner baddbmm addmv mv", "GEMM"},
    {"fmax fmin", "ELEMENT_WISE_MAX ELEMENT_WISE_MIN"},
    {"power float_power", "ELEMENT_WISE_POW"},
    {"subtract", "ELEMENT_WISE_SUBTRACT"},
    {"multiply", "ELEMENT_WISE_MULTIPLY"},
    {"divide true_divide", "ELEMENT_WISE_DIVIDE"},
    {"negative", "ELEMENT_WISE_NEGATE"},
    {"astype", "CAST"},
    {"argwhere CountNonzero count_nonzero", "NONZERO_COORDINATES"},
};

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
  for (const Composition& composition : kCompositions) {
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
  for (const Composition& composition : kCompositions) add(WordsOf(composition.names));
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
