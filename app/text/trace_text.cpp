// SPDX-License-Identifier: Apache-2.0
#include "app/text/trace_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/files/output.h"
#include "core/explain/data_flow.h"

namespace dmlop {
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
  if (report.actual) text += ActualText(*report.actual, report.element.type);
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

}  // namespace dmlop
