// SPDX-License-Identifier: Apache-2.0
#include "app/text/explanation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/files/output.h"
#include "app/text/tensor_text.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

std::string NameOf(const ExplainedElement& element) {
  return Printable(element.tensor) + DimsText(element.index);
}

// A field's value as it appears after the operator's name.
std::string AttributeText(const Field& field, const FieldValue& value) {
  if (const auto* number = std::get_if<uint32_t>(&value)) {
    if (field.kind == FieldKind::kEnum) return fmt::format(" {}", field.names.names[*number]);
    if (&field == &kAxis) return fmt::format(" along axis {}", *number);
  } else if (const auto* numbers = std::get_if<std::vector<uint32_t>>(&value)) {
    if (field.name == "Axes") return fmt::format(" over axes {}", ToString(*numbers));
  } else if (const auto* factors = std::get_if<ScaleBias>(&value)) {
    return fmt::format(" with Scale {} and Bias {}", factors->scale, factors->bias);
  } else if (const auto* scalar = std::get_if<Scalar>(&value)) {
    return fmt::format(" with {}", ElementText(scalar->type, scalar->bytes.data()));
  }
  return "";
}

}  // namespace

std::string DimsText(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string WindowText(const WindowPlace& place) {
  return fmt::format("window {}, tap {}, channel {}", DimsText(place.block), DimsText(place.tap),
                     place.channel);
}

std::string PlaceText(const ExplainedElement& element) {
  return fmt::format("{}: {}, byte offset {}\n", NameOf(element), Name(element.type),
                     element.byte_offset);
}

std::string OperationText(const OperatorDesc& op) {
  std::string text(op.name());
  for (size_t i = 0; i < op.fields().size(); ++i) {
    text += AttributeText(*op.fields()[i], op.values()[i]);
  }
  return text;
}

std::string ListText(const std::vector<ExplainedElement>& elements, int64_t count) {
  size_t name_width = 0;
  size_t offset_width = 0;
  for (const ExplainedElement& element : elements) {
    name_width = std::max(name_width, NameOf(element).size());
    offset_width = std::max(offset_width, std::to_string(element.byte_offset).size());
  }
  std::string text;
  const int64_t shown = static_cast<int64_t>(elements.size());
  for (int64_t i = 0; i < shown; ++i) {
    const ExplainedElement& element = elements[static_cast<size_t>(i)];
    if (shown < count && i == kListEdge) text += fmt::format("  ... {} more\n", count - shown);
    text += fmt::format("  {:<{}}  byte offset {:>{}}", NameOf(element), name_width,
                        element.byte_offset, offset_width);
    if (element.value) {
      text += fmt::format("  value {}", ElementText(element.type, element.value->data()));
    }
    if (element.window) text += "  " + WindowText(*element.window);
    text += '\n';
  }
  return text;
}

Json DimsJson(const Dims& dims) {
  return std::vector<int64_t>(dims.begin(), dims.end());
}

Json DescriptionJson(const ExplainedElement& element) {
  Json json = {{"tensor", element.tensor},
               {"index", DimsJson(element.index)},
               {"dataType", Name(element.type)},
               {"byteOffset", element.byte_offset}};
  if (element.value) json["value"] = ElementJson(element.type, element.value->data());
  if (element.window) {
    json["window"] = {{"block", DimsJson(element.window->block)},
                      {"tap", DimsJson(element.window->tap)},
                      {"channel", element.window->channel},
                      {"position", DimsJson(element.window->position)},
                      {"padding", element.window->in_padding}};
  }
  return json;
}

namespace {

std::string PartialSumsText(const std::vector<PartialSum>& sums, bool full) {
  std::string text = fmt::format("{}:\n", Counted(std::ssize(sums), "partial sum"));
  int64_t told = 0;
  ForEachListed(std::ssize(sums), full, [&](int64_t k) {
    if (k > told) text += fmt::format("  ... {} more\n", k - told);
    told = k + 1;
    const PartialSum& sum = sums[static_cast<size_t>(k)];
    text += fmt::format("  {}: {}\n", sum.of, sum.value);
  });
  return text;
}

Json PartialSumsJson(const std::vector<PartialSum>& sums, bool full) {
  Json json = {{"count", sums.size()}, {"sums", Json::array()}};
  ForEachListed(std::ssize(sums), full, [&](int64_t k) {
    const PartialSum& sum = sums[static_cast<size_t>(k)];
    json["sums"].push_back({{"of", sum.of}, {"value", NumberJson(sum.value)}});
  });
  return json;
}

}  // namespace

std::string VariedText(const VariedValue& varied, DataType type, bool full) {
  std::string text =
      fmt::format("as {}, which is not DirectML's result:\n", Printable(varied.text));
  for (const std::vector<PartialSum>& sums : varied.sums) text += PartialSumsText(sums, full);
  return text + fmt::format("  value: {}\n  DirectML's result: {}\n",
                            ElementText(type, varied.value.data()),
                            ElementText(type, varied.exact.data()));
}

std::string ActualText(const ActualValue& actual) {
  std::string text = fmt::format("actual: {}, ", actual.value);
  if (actual.error == 0) return text + "the same\n";
  text += fmt::format("off by {:.6g}", actual.error);
  if (actual.ulp) text += fmt::format(", {} ULP of {}", *actual.ulp, actual.type);
  if (actual.units) text += fmt::format(", {:.6g} units", *actual.units);
  if (actual.terms) text += fmt::format(" of a sum of {}", Counted(*actual.terms, "term"));
  return text + "\n";
}

Json VariedJson(const VariedValue& varied, DataType type, bool full) {
  Json json = {{"ids", varied.ids},
               {"text", varied.text},
               {"value", ElementJson(type, varied.value.data())},
               {"exact", ElementJson(type, varied.exact.data())}};
  for (const auto& sums : varied.sums) json["partialSums"].push_back(PartialSumsJson(sums, full));
  return json;
}

Json ActualJson(const ActualValue& actual) {
  Json json = {{"value", NumberJson(actual.value)}, {"error", NumberJson(actual.error)}};
  if (actual.ulp) json["ulp"] = *actual.ulp;
  if (actual.units) json["units"] = NumberJson(*actual.units);
  if (actual.terms) json["terms"] = *actual.terms;
  return json;
}

}  // namespace dmlop
