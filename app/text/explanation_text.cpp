#include "app/text/explanation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "app/text/tensor_text.h"
#include "core/document/document_json.h"

namespace dmlop {
namespace {

std::string DimsText(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

std::string NameOf(const ExplainedElement& element) {
  return element.tensor + DimsText(element.index);
}

// What is told of a field's value beside the operator's name.
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

std::string OperationText(const OperatorDesc& op) {
  std::string text(op.name());
  for (size_t i = 0; i < op.fields().size(); ++i) {
    text += AttributeText(*op.fields()[i], op.values()[i]);
  }
  return text;
}

// --- text ----------------------------------------------------------------------------------------

// The digits after the first ones stand for little.
std::string Abridged(const std::string& decimal, bool full) {
  constexpr size_t kMaxDigits = 60;
  const size_t exponent = std::min(decimal.find('e'), decimal.size());
  if (full || exponent <= kMaxDigits) return decimal;
  return fmt::format(
      "{}...{} ({} digits)", decimal.substr(0, kMaxDigits), decimal.substr(exponent),
      std::count_if(decimal.begin(), decimal.begin() + static_cast<ptrdiff_t>(exponent),
                    [](char c) { return c >= '0' && c <= '9'; }));
}

std::string WindowText(const WindowPlace& place) {
  return fmt::format("window {}, tap {}, channel {}", DimsText(place.block), DimsText(place.tap),
                     place.channel);
}

// One element a line, in columns.
std::string ListText(const Explanation& explanation) {
  size_t name_width = 0;
  size_t offset_width = 0;
  for (const ExplainedElement& element : explanation.related) {
    name_width = std::max(name_width, NameOf(element).size());
    offset_width = std::max(offset_width, fmt::formatted_size("{}", element.byte_offset));
  }
  std::string text;
  const int64_t shown = static_cast<int64_t>(explanation.related.size());
  for (int64_t i = 0; i < shown; ++i) {
    const ExplainedElement& element = explanation.related[static_cast<size_t>(i)];
    if (shown < explanation.count && i == kListEdge) {
      text += fmt::format("  ... {} more\n", explanation.count - shown);
    }
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

std::string NeighbourText(std::string_view label, const Neighbour& neighbour, DataType type,
                          bool full) {
  std::string text = fmt::format("  {}: {}", label, ElementText(type, neighbour.value.data()));
  if (!neighbour.exact.empty() && !text.ends_with(" " + neighbour.exact)) {
    text += " = " + Abridged(neighbour.exact, full);
  }
  if (!neighbour.distance.empty()) text += ", distance " + Abridged(neighbour.distance, full);
  return text + "\n";
}

// One product a line.
std::string TermsText(const std::vector<Term>& terms, bool full) {
  constexpr size_t kLongestList = 20;
  const size_t edge = static_cast<size_t>(kListEdge);
  const bool is_abridged = !full && terms.size() > kLongestList;
  std::string text = terms.empty() ? "" : "products:\n";
  for (size_t i = 0; i < terms.size(); ++i) {
    if (is_abridged && i == edge) {
      text += fmt::format("  ... {} more\n", terms.size() - 2 * edge);
      i = terms.size() - edge;
    }
    text += fmt::format("  {}: {}\n", terms[i].elements, terms[i].value);
  }
  return text;
}

std::string CalculationText(const Calculation& calculation, DataType type, bool full) {
  std::string text = TermsText(calculation.terms, full);
  if (!calculation.exact.empty()) {
    text += fmt::format("{}: {}\n", calculation.quantity, Abridged(calculation.exact, full));
  }
  if (calculation.approximate) {
    text += fmt::format("{}: about {}\n", calculation.quantity, *calculation.approximate);
  }
  if (calculation.value) {
    text += fmt::format("{}: about {}\n", calculation.then, *calculation.value);
  }
  if (calculation.below) text += NeighbourText("below", *calculation.below, type, full);
  if (calculation.above) text += NeighbourText("above", *calculation.above, type, full);
  return text;
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
  const std::string_view plural = explanation.count == 1 ? "" : "s";
  return explanation.is_output
             ? fmt::format("{}, fed by {} element{}:\n", operation, explanation.count, plural)
             : fmt::format("{}, reaches {} element{}:\n", operation, explanation.count, plural);
}

// --- JSON ----------------------------------------------------------------------------------------

Json DimsJson(const Dims& dims) {
  return std::vector<int64_t>(dims.begin(), dims.end());
}

Json ValueJson(DataType type, const ElementBytes& value) {
  return ElementJson(type, value.data());
}

Json DescriptionJson(const ExplainedElement& element) {
  Json json = {{"tensor", element.tensor},
               {"index", DimsJson(element.index)},
               {"dataType", Name(element.type)},
               {"byteOffset", element.byte_offset}};
  if (element.value) json["value"] = ValueJson(element.type, *element.value);
  if (element.window) {
    json["window"] = {{"block", DimsJson(element.window->block)},
                      {"tap", DimsJson(element.window->tap)},
                      {"channel", element.window->channel},
                      {"position", DimsJson(element.window->position)},
                      {"padding", element.window->in_padding}};
  }
  return json;
}

Json NeighbourJson(const Neighbour& neighbour, DataType type) {
  Json json = {{"value", ValueJson(type, neighbour.value)}};
  if (!neighbour.exact.empty()) json["exact"] = neighbour.exact;
  if (!neighbour.distance.empty()) json["distance"] = neighbour.distance;
  return json;
}

Json CalculationJson(const Calculation& calculation, const Explanation& explanation) {
  const DataType type = explanation.element.type;
  Json json = {{"rule", Name(calculation.rule)}, {"reason", calculation.reason}};
  for (const Term& term : calculation.terms) {
    json["products"].push_back({{"elements", term.elements}, {"value", term.value}});
  }
  if (!calculation.quantity.empty()) json["quantity"] = calculation.quantity;
  if (!calculation.exact.empty()) json["exact"] = calculation.exact;
  if (calculation.approximate) json["approximate"] = *calculation.approximate;
  if (!calculation.then.empty()) json["then"] = calculation.then;
  if (calculation.value) json["result"] = *calculation.value;
  if (calculation.below) json["below"] = NeighbourJson(*calculation.below, type);
  if (calculation.above) json["above"] = NeighbourJson(*calculation.above, type);
  if (!calculation.wraps.empty()) json["wraps"] = calculation.wraps;
  if (calculation.deciding.empty()) return json;
  const Region& group = explanation.sources.front();
  json["decidedBy"] = Json::array();
  for (const int64_t k : calculation.deciding) {
    json["decidedBy"].push_back(DimsJson(group.IndexAt(k)));
  }
  return json;
}

}  // namespace

std::string ExplanationText(const Explanation& explanation, bool full) {
  const ExplainedElement& element = explanation.element;
  std::string text = fmt::format("{}: {}, byte offset {}\n", NameOf(element), Name(element.type),
                                 element.byte_offset);
  text += RelationText(explanation) + ListText(explanation);
  if (explanation.calculation) {
    text += CalculationText(*explanation.calculation, element.type, full);
  }
  if (!element.value) return text;
  text += fmt::format("{}: {}", explanation.is_output ? "result" : "value",
                      ElementText(element.type, element.value->data()));
  if (explanation.calculation) {
    text += fmt::format(" ({}: {})", Name(explanation.calculation->rule),
                        explanation.calculation->reason);
  }
  return text + "\n";
}

std::string ExplanationJson(const Explanation& explanation) {
  const OperatorDesc& op = explanation.desc;
  Json json = {{"operator", op.name()}};
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.kind != FieldKind::kEnum) continue;
    std::string key(field.name);
    key[0] = static_cast<char>(std::tolower(key[0]));
    json[key] = field.names.names[std::get<uint32_t>(op.values()[i])];
  }
  json["element"] = DescriptionJson(explanation.element);
  json["relation"] = explanation.is_output ? "fedBy" : "reaches";
  json["count"] = explanation.count;
  json["elements"] = Json::array();
  for (const ExplainedElement& element : explanation.related) {
    json["elements"].push_back(DescriptionJson(element));
  }
  if (explanation.calculation) {
    json["calculation"] = CalculationJson(*explanation.calculation, explanation);
  }
  return Utf8Text(json) + "\n";
}

}  // namespace dmlop
