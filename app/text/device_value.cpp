// SPDX-License-Identifier: Apache-2.0
#include "app/text/device_value.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/files/output.h"
#include "app/text/explained_element.h"
#include "app/text/tensor_text.h"
#include "core/base/counted.h"

namespace dmlop {
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

std::string ActualText(const ActualValue& actual, DataType type) {
  std::string text = fmt::format("actual: {}, ", actual.value);
  if (actual.error == 0) return text + "the same\n";
  text += fmt::format("off by {:.6g}", actual.error);
  if (actual.ulp) text += fmt::format(", {} ULP of {}", *actual.ulp, Name(type));
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
