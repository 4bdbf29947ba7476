// SPDX-License-Identifier: Apache-2.0
#include "app/text/explanation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/files/output.h"
#include "app/text/tensor_text.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

// --- text ----------------------------------------------------------------------------------------

// Cuts long decimals, whose later digits matter little.
std::string Abridged(const std::string& decimal, bool full) {
  constexpr size_t kMaxDigits = 60;
  const size_t exponent = std::min(decimal.find('e'), decimal.size());
  if (full || exponent <= kMaxDigits) return decimal;
  return fmt::format(
      "{}...{} ({} digits)", decimal.substr(0, kMaxDigits), decimal.substr(exponent),
      std::count_if(decimal.begin(), decimal.begin() + static_cast<ptrdiff_t>(exponent),
                    [](char c) { return c >= '0' && c <= '9'; }));
}

std::string NeighbourText(std::string_view label, const Neighbour& neighbour, DataType type,
                          bool full) {
  std::string text = fmt::format("  {}: {}", label, ElementText(type, neighbour.value.data()));
  if (!neighbour.exact.empty() && !text.ends_with(" " + neighbour.exact)) {
    text += " = " + Abridged(neighbour.exact, full);
  }
  if (!neighbour.distance.empty()) text += ", distance " + Abridged(neighbour.distance, full);
  return text + "\n";
}

std::string TermText(const FormulaTerm& term) {
  if (term.numbers.empty()) return fmt::format("  {}: {}\n", term.expression, term.value);
  return fmt::format("  {}: {} = {}\n", term.expression, term.numbers, term.value);
}

std::string TermsText(const FormulaStep& step) {
  std::string text;
  for (size_t i = 0; i < step.terms.size(); ++i) {
    if (i == static_cast<size_t>(kListEdge)) {
      const auto left_out = *step.count - static_cast<int64_t>(step.terms.size());
      if (left_out > 0) text += fmt::format("  ... {} more\n", left_out);
    }
    text += TermText(step.terms[i]);
  }
  return text;
}

// The elements have been listed before, so their number suffices.
bool HasElementsOnly(const FormulaStep& step) {
  return std::ranges::all_of(step.terms,
                             [](const FormulaTerm& term) { return term.numbers.empty(); });
}

std::string StepValueText(const FormulaStep& step, bool full) {
  if (!step.exact.empty()) return Abridged(step.exact, full);
  if (!step.is_approximate) return fmt::format("{}", step.value);
  if (std::isinf(step.value)) return step.value > 0 ? "beyond 1e180" : "beyond -1e180";
  return fmt::format("about {}", step.value);
}

std::string WinnerText(const FormulaStep& step) {
  return step.winner ? fmt::format(", that of {}", step.winner->expression) : "";
}

// The terms of a step, and its value unless that is the quantity, which is printed anyway.
std::string NamedStepText(const FormulaStep& step, bool full) {
  const std::string value = StepValueText(step, full);
  if (!step.expression.empty()) {
    return fmt::format("{} = {}: {}\n", step.name, step.expression, value);
  }
  if (!step.count) return fmt::format("{}: {}\n", step.name, value);
  if (HasElementsOnly(step)) {
    return fmt::format("{} of {}: {}{}\n", step.name, Counted(*step.count, "element"), value,
                       WinnerText(step));
  }
  return fmt::format("{}, {}:\n{}{}: {}{}\n", step.name, Counted(*step.count, "term"),
                     TermsText(step), step.name, value, WinnerText(step));
}

std::string CalculationText(const Calculation& calculation, DataType type, bool full) {
  const bool has_quantity = !calculation.exact.empty() || calculation.approximate;
  std::string text;
  bool is_told = false;
  for (const FormulaStep& step : calculation.steps) {
    const bool is_quantity = step.name == calculation.quantity;
    // Elements are listed before, so the quantity is enough.
    if (is_quantity && has_quantity && step.count && HasElementsOnly(step)) continue;
    text += NamedStepText(step, full);
    is_told |= is_quantity;
  }
  if (!calculation.exact.empty() && !is_told) {
    text += fmt::format("{}: {}\n", calculation.quantity, Abridged(calculation.exact, full));
  }
  if (calculation.approximate && !is_told) {
    text += fmt::format("{}: about {}\n", calculation.quantity, *calculation.approximate);
  }
  if (calculation.value) {
    text += fmt::format("{}: about {}\n", calculation.then, *calculation.value);
  }
  if (calculation.below) text += NeighbourText("below", *calculation.below, type, full);
  if (calculation.above) text += NeighbourText("above", *calculation.above, type, full);
  return text;
}

// The calculation of a value, if there is one, and the value.
std::string StepText(std::string_view label, DataType type, const ElementBytes& value,
                     const std::optional<Calculation>& calculation, bool full) {
  std::string text = calculation ? CalculationText(*calculation, type, full) : "";
  text += fmt::format("{}: {}", label, ElementText(type, value.data()));
  if (calculation) text += fmt::format(" ({}: {})", Name(calculation->rule), calculation->reason);
  return text + "\n";
}

std::string RelationText(const Explanation& explanation) {
  const std::string operation = OperationText(explanation.desc);
  const std::optional<WindowPlace>& window = explanation.element.window;
  if (window) {
    return fmt::format("{}, {}: position {}{}\n", operation, WindowText(*window),
                       DimsText(window->position), window->in_padding ? ", in the padding" : "");
  }
  if (explanation.count == 0) {
    return fmt::format("{}, {} no element\n", operation,
                       explanation.is_output ? "fed by" : "reaches");
  }
  return fmt::format("{}, {} {}{}:\n", operation, explanation.is_output ? "fed by" : "reaches",
                     explanation.desc.info().reads_by_index ? "at most " : "",
                     Counted(explanation.count, "element"));
}

// --- JSON ----------------------------------------------------------------------------------------

Json NeighbourJson(const Neighbour& neighbour, DataType type) {
  Json json = {{"value", ElementJson(type, neighbour.value.data())}};
  if (!neighbour.exact.empty()) json["exact"] = neighbour.exact;
  if (!neighbour.distance.empty()) json["distance"] = neighbour.distance;
  return json;
}

Json TermJson(const FormulaTerm& term) {
  Json json = {{"expression", term.expression}, {"elements", Json::array()}};
  for (const FormulaTerm::Element& element : term.elements) {
    json["elements"].push_back({{"tensor", element.tensor},
                                {"index", DimsJson(element.index)},
                                {"value", NumberJson(element.value)}});
  }
  for (const double factor : term.factors) json["factors"].push_back(NumberJson(factor));
  json[term.factors.empty() ? "value" : "product"] = NumberJson(term.value);
  return json;
}

Json StepJson(const FormulaStep& step) {
  Json json = {{"name", step.name}, {"operation", step.operation}};
  if (!step.expression.empty()) json["expression"] = step.expression;
  if (!step.terms.empty() || step.count) {
    json["count"] = step.count.value_or(static_cast<int64_t>(step.terms.size()));
    json["terms"] = Json::array();
  }
  for (const FormulaTerm& term : step.terms) json["terms"].push_back(TermJson(term));
  if (step.winner) json["winner"] = TermJson(*step.winner);
  json["value"] = NumberJson(step.value);
  return json;
}

Json CalculationJson(const Calculation& calculation, const Explanation& explanation) {
  const DataType type = explanation.element.type;
  Json json = {{"rule", Name(calculation.rule)}, {"reason", calculation.reason}};
  for (const FormulaStep& step : calculation.steps) json["steps"].push_back(StepJson(step));
  if (!calculation.quantity.empty()) json["quantity"] = calculation.quantity;
  if (!calculation.exact.empty()) json["exact"] = calculation.exact;
  if (calculation.approximate) json["approximate"] = *calculation.approximate;
  if (!calculation.then.empty()) json["then"] = calculation.then;
  if (calculation.value) json["result"] = *calculation.value;
  if (calculation.below) json["below"] = NeighbourJson(*calculation.below, type);
  if (calculation.above) json["above"] = NeighbourJson(*calculation.above, type);
  if (!calculation.wraps.empty()) json["wraps"] = calculation.wraps;
  if (calculation.deciding.empty()) return json;
  json["decidedBy"] = Json::array();
  for (const Dims& index : calculation.deciding) json["decidedBy"].push_back(DimsJson(index));
  return json;
}

}  // namespace

std::string ExplanationText(const Explanation& explanation, bool full) {
  const ExplainedElement& element = explanation.element;
  std::string text = PlaceText(element);
  text += RelationText(explanation) + ListText(explanation.related, explanation.count);
  if (!element.value) return text;
  const std::string_view label = explanation.is_output ? "result" : "value";
  const std::optional<Calculation>* last = &explanation.calculation;
  if (const auto& activation = explanation.activation) {
    text += StepText("own result", element.type, activation->own, *last, full);
    text += fmt::format("then {}\n", activation->name);
    last = &activation->calculation;
  }
  text += StepText(label, element.type, *element.value, *last, full);
  if (explanation.varied) text += VariedText(*explanation.varied, element.type, full);
  if (explanation.actual) text += ActualText(*explanation.actual);
  return text;
}

std::string ExplanationJson(const Explanation& explanation, bool full) {
  const OperatorDesc& op = explanation.desc;
  Json json = {{"operator", op.name()}};
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.kind != FieldKind::kEnum) continue;
    std::string key(field.name);
    key[0] = LowerCase(key[0]);
    json[key] = field.names.names[std::get<uint32_t>(op.values()[i])];
  }
  json["element"] = DescriptionJson(explanation.element);
  json["relation"] = explanation.is_output ? "fedBy" : "reaches";
  json["count"] = explanation.count;
  if (explanation.desc.info().reads_by_index) json["atMost"] = true;
  json["elements"] = Json::array();
  for (const ExplainedElement& element : explanation.related) {
    json["elements"].push_back(DescriptionJson(element));
  }
  if (explanation.calculation) {
    json["calculation"] = CalculationJson(*explanation.calculation, explanation);
  }
  if (const auto& activation = explanation.activation) {
    json["activation"] = {
        {"operator", activation->name},
        {"ownResult", ElementJson(explanation.element.type, activation->own.data())}};
    if (activation->calculation) {
      json["activation"]["calculation"] = CalculationJson(*activation->calculation, explanation);
    }
  }
  if (explanation.varied) {
    json["as"] = VariedJson(*explanation.varied, explanation.element.type, full);
  }
  if (explanation.actual) json["actual"] = ActualJson(*explanation.actual);
  return Utf8Text(json) + "\n";
}

namespace {

Json ListJson(const TracedList& list) {
  Json json = {{"name", list.name}, {"count", list.count}, {"elements", Json::array()}};
  for (const ExplainedElement& element : list.elements) {
    json["elements"].push_back(DescriptionJson(element));
  }
  return json;
}

}  // namespace

std::string ModelTraceText(const ModelTraceReport& report, bool full) {
  std::string text = PlaceText(report.element);
  for (const TracedOperator& traced : report.operators) {
    text += fmt::format("operator '{}': {}", Printable(traced.name), OperationText(*traced.op));
    if (!traced.inputs.empty()) {
      text += " of " + Printable(fmt::format("{}", fmt::join(traced.inputs, ", ")));
    }
    text += traced.at_most ? ", which uses at most what is listed\n" : "\n";
    for (const TracedList& list : traced.outputs) text += ListText(list.elements, list.count);
  }
  for (const TracedOrigin& origin : report.origins) {
    text += fmt::format("{} '{}':\n", origin.is_constant ? "constant" : "resource",
                        Printable(origin.list.name));
    text += ListText(origin.list.elements, origin.list.count);
  }
  if (report.varied) text += VariedText(*report.varied, report.element.type, full);
  if (report.actual) text += ActualText(*report.actual);
  return text;
}

std::string ModelTraceJson(const ModelTraceReport& report, bool full) {
  Json json = {{"element", DescriptionJson(report.element)},
               {"operators", Json::array()},
               {"origins", Json::array()}};
  for (const TracedOperator& traced : report.operators) {
    Json outputs = Json::array();
    for (const TracedList& list : traced.outputs) {
      if (list.count > 0) outputs.push_back(ListJson(list));
    }
    Json step = {{"name", traced.name},
                 {"operator", traced.op->name()},
                 {"inputs", traced.inputs},
                 {"outputs", outputs}};
    if (traced.at_most) step["atMost"] = true;
    json["operators"].push_back(std::move(step));
  }
  for (const TracedOrigin& origin : report.origins) {
    Json list = ListJson(origin.list);
    list["kind"] = origin.is_constant ? "constant" : "resource";
    json["origins"].push_back(list);
  }
  if (report.varied) json["as"] = VariedJson(*report.varied, report.element.type, full);
  if (report.actual) json["actual"] = ActualJson(*report.actual);
  return Utf8Text(json) + "\n";
}

// --- elements ------------------------------------------------------------------------------------

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
  if (!std::isfinite(actual.error)) return text + "where one side only is finite\n";
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
