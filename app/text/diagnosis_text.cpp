// SPDX-License-Identifier: Apache-2.0
#include "app/text/comparison_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/compare/judgement.h"
#include "app/files/output.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

// "2.1e4", "0.75" or "12".
std::string Short(double number) {
  std::string text = fmt::format("{:.2g}", number);
  const size_t exponent = text.find("e+");
  if (exponent == std::string::npos) return text;
  return text.substr(0, exponent + 1) + text.substr(text.find_first_not_of("+0", exponent + 1));
}

std::string ErrorText(const Diagnosis& diagnosis) {
  if (diagnosis.units) return fmt::format("{} units at most", Short(diagnosis.units->max));
  if (diagnosis.ulp) return fmt::format("{} ULP at most", Short(diagnosis.ulp->max));
  return "";
}

std::string HeadText(const DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  const std::string path = Printable(file.path);
  if (!file.mismatches.empty()) {
    return fmt::format("{} {} {}: {}\n", path, file.is_missing ? "for" : "cannot be", file.tensor,
                       fmt::join(file.mismatches, "; "));
  }
  if (diagnosis.verdict == DiagnosisVerdict::kEqual) {
    return fmt::format("{} and {} agree: {}\n", path, file.tensor,
                       Counted(diagnosis.elements, "element"));
  }
  const std::string errors = ErrorText(diagnosis);
  return fmt::format("{} differs from {} in {} of {}{}{}, in {}\n", path, file.tensor,
                     diagnosis.different, Counted(diagnosis.elements, "element"),
                     errors.empty() ? "" : ": ", errors, diagnosis.where.box);
}

std::string ShareText(const Cause& cause) {
  const bool is_exact = cause.exact == cause.explains;
  return fmt::format(
      "{} of {} {}elements{}{}", cause.explains, cause.of, cause.sampled ? "sampled " : "",
      !cause.has_values ? " by the size of their errors"
      : is_exact        ? " to the bit"
                        : " up to rounding",
      cause.at_edge > 0 ? fmt::format("; {} came in at the edge", cause.at_edge) : "");
}

// One line for each cause, in columns.
std::string CausesText(const std::vector<Cause>& causes) {
  size_t text_width = 0;
  size_t share_width = 0;
  for (const Cause& cause : causes) {
    text_width = std::max(text_width, cause.text.size());
    share_width = std::max(share_width, ShareText(cause).size());
  }
  std::string text;
  for (size_t i = 0; i < causes.size(); ++i) {
    text += fmt::format("  {}  {:<{}}  {:<{}}  {}\n", i + 1, causes[i].text, text_width,
                        ShareText(causes[i]), share_width, IdsText(causes[i]));
    if (!causes[i].same.empty()) {
      text += fmt::format("     the same values: {}\n", fmt::join(causes[i].same, ", "));
    }
  }
  return text;
}

std::string DetailsText(const Diagnosis& diagnosis) {
  std::string text;
  if (diagnosis.verdict == DiagnosisVerdict::kNoise) {
    text += "noise: rounding explains every difference";
    if (!diagnosis.order_id.empty()) {
      text += fmt::format(", as of {} ({})", diagnosis.order_text, diagnosis.order_id);
    }
    return text + "\n";
  }
  if (diagnosis.verdict == DiagnosisVerdict::kEqual) return text;
  const Where& where = diagnosis.where;
  if (diagnosis.verdict == DiagnosisVerdict::kCause) {
    return where.text.empty() ? text : where.text + "\n";
  }
  text += fmt::format("no cause found; all wrong elements are in {}{}{}\n", where.box,
                      where.text.empty() ? "" : ": ", where.text);
  for (const ValueClass& one : diagnosis.classes) text += one.text + "\n";
  return text;
}

// The cause that explains all of several outputs; null if there is none.
const Cause* CommonCause(const std::vector<DiagnosedFile>& files) {
  if (files.size() < 2) return nullptr;
  const auto first = std::ranges::find_if(
      files, [](const DiagnosedFile& file) { return !file.diagnosis.causes.empty(); });
  if (first == files.end()) return nullptr;
  const Cause& cause = first->diagnosis.causes.front();
  const bool explains_all = std::ranges::all_of(files, [&](const DiagnosedFile& file) {
    return file.passes() ||
           (!file.diagnosis.causes.empty() && file.diagnosis.causes.front().ids == cause.ids);
  });
  return explains_all ? &cause : nullptr;
}

Json FiguresJson(const std::optional<ErrorFigures>& figures) {
  if (!figures) return nullptr;
  return {{"median", NumberJson(figures->median)},
          {"p99", NumberJson(figures->p99)},
          {"max", NumberJson(figures->max)}};
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json CauseJson(const Cause& cause, const std::string& check) {
  Json json = {{"ids", cause.ids},   {"text", cause.text},   {"explains", cause.explains},
               {"of", cause.of},     {"exact", cause.exact}, {"sampled", cause.sampled},
               {"same", cause.same}, {"check", check}};
  if (cause.at_edge > 0) json["atEdge"] = cause.at_edge;
  return json;
}

}  // namespace

std::string IdsText(const Cause& cause) {
  return fmt::format("{}", fmt::join(cause.ids, " + "));
}

std::string DiagnosisLine(const DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  if (!file.mismatches.empty()) return "another type or shape";
  if (diagnosis.verdict == DiagnosisVerdict::kCause) return diagnosis.causes.front().text;
  return diagnosis.verdict == DiagnosisVerdict::kUnknown
             ? fmt::format("no cause found, in {}", diagnosis.where.box)
             : std::string(Name(diagnosis.verdict));
}

std::string DiagnosisText(const std::vector<DiagnosedFile>& files) {
  std::string text;
  for (const DiagnosedFile& file : files) {
    text += HeadText(file);
    if (!file.mismatches.empty()) continue;
    text += DetailsText(file.diagnosis) + CausesText(file.diagnosis.causes);
    if (!file.checks.empty()) text += fmt::format("check: {}\n", Printable(file.checks.front()));
  }
  if (const Cause* cause = CommonCause(files)) {
    text += fmt::format("one cause explains all: {}\n", cause->text);
  }
  return text;
}

Json DiagnosisJson(const DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  Json classes = Json::array();
  for (const ValueClass& one : diagnosis.classes) {
    classes.push_back({{"id", one.id}, {"count", one.count}});
  }
  if (!file.mismatches.empty()) {
    classes.push_back({{"id", MismatchClass(file.is_missing)}, {"count", diagnosis.elements}});
  }
  Json causes = Json::array();
  for (size_t i = 0; i < diagnosis.causes.size(); ++i) {
    causes.push_back(CauseJson(diagnosis.causes[i], i < file.checks.size() ? file.checks[i] : ""));
  }
  Json json = {{"name", file.tensor},
               {"elements", diagnosis.elements},
               {"different", diagnosis.different},
               {"beyondNoise", diagnosis.beyond_noise},
               {"errors",
                {{"ulp", FiguresJson(diagnosis.ulp)},
                 {"units", FiguresJson(diagnosis.units)},
                 {"terms", OrNull(diagnosis.terms)},
                 {"towardZero", OrNull(diagnosis.toward_zero)}}},
               {"where", {{"box", diagnosis.where.box}, {"text", diagnosis.where.text}}},
               {"classes", classes},
               {"verdict", Name(diagnosis.verdict)},
               {"causes", causes}};
  if (!diagnosis.order_id.empty()) json["sameAs"] = {diagnosis.order_id};
  if (!file.mismatches.empty()) {
    json["mismatch"] = fmt::format("{}", fmt::join(file.mismatches, "; "));
  }
  return json;
}

}  // namespace dmlop
