// SPDX-License-Identifier: Apache-2.0
#include "app/run/judged_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/files/output.h"
#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace dmlop {

JudgedTensors::JudgedTensors(const RunOptions& options, const CommonOptions& common,
                             const FilledTensors& filled, const std::vector<std::string>& outputs,
                             const std::vector<std::string>& others)
    : options_(options), common_(common), filled_(filled), comparisons_(options, common) {
  Assign(options.expected, Side::kExpected, outputs, others);
  Assign(options.judged, Side::kActual, outputs, others);
  comparisons_.RequireDrawn(requests_.size());
}

void JudgedTensors::Assign(const std::vector<std::string>& arguments, Side side,
                           const std::vector<std::string>& outputs,
                           const std::vector<std::string>& others) {
  if (arguments.empty()) return;
  std::vector<std::string> named = others;
  for (const FilledTensors::One& one : filled_.all()) {
    named.insert(named.end(), {one.name, one.full_name});
    if (one.form) named.push_back(one.form->name);
  }
  for (const NamedFile& file : AssignFiles(arguments, outputs, "tensor", named)) {
    Request& request = requests_.emplace_back(Request{file, side});
    const auto is_in = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, file.name) != names.end();
    };
    if (is_in(outputs) || is_in(others)) continue;
    const std::vector<size_t> found = filled_.Find(file.name);
    if (found.size() != 1) throw Error(ErrorKind::kUsage, filled_.SayWhich(file.name, found));
    request.number = found.front();
  }
}

void JudgedTensors::AddTo(FileRoles& roles) const {
  for (const Request& request : requests_) {
    roles.Reads(request.file.path, RoleOfCompared(request.side, request.file.name));
  }
}

bool JudgedTensors::Has(const std::string& output) const {
  return std::ranges::any_of(requests_,
                             [&](const Request& request) { return request.file.name == output; });
}

bool JudgedTensors::needs_steps() const {
  return std::ranges::any_of(requests_, [](const Request& request) {
    return request.number || request.bytes.data() != nullptr;
  });
}

void JudgedTensors::JudgeAsFilled(const std::string& output, size_t number) {
  for (Request& request : requests_) {
    if (request.file.name == output) request.number = number;
  }
}

void JudgedTensors::JudgeAsResource(const std::string& output, std::span<const std::byte> bytes,
                                    const TensorDesc& desc) {
  for (Request& request : requests_) {
    if (request.file.name != output) continue;
    request.bytes = bytes;
    request.desc = request.list = desc;
  }
}

bool JudgedTensors::IsConcerned(const Step& step) const {
  return std::ranges::any_of(requests_, [&](const Request& request) {
    const bool is_filled =
        request.number && next_ <= *request.number && *request.number < next_ + step.outputs.size();
    return is_filled || request.bytes.data() != nullptr;
  });
}

void JudgedTensors::Take(const Step& step) {
  memory_.Add(step);
  const bool is_concerned = IsConcerned(step);
  const bool begins = is_concerned && !memory_.IsReadBy(step);
  for (size_t k = 0; is_concerned && k < step.outputs.size(); ++k) {
    for (Request& request : requests_) TakeOutput(step, k, begins, request);
  }
  next_ += step.outputs.size();
}

void JudgedTensors::TakeOutput(const Step& step, size_t output, bool begins, Request& request) {
  const ConstTensorView view = AsConst(step.outputs[output]);
  if (request.number == next_ + output) {
    const FilledTensors::One& one = filled_.all()[*request.number];
    SetUnits(step, output, begins, request);
    request.desc = *one.desc;
    return CompareRequest(request, view.data, one.form && one.form->is_bool);
  }
  if (request.bytes.data() == nullptr || !Overlaps(view, request.bytes)) return;
  const bool is_held = request.bytes.data() == view.data;
  SetUnits(step, output, is_held && begins, request);
  request.desc = is_held ? *TensorSlots(step.op, TensorRole::kOutput)[output].desc : request.list;
}

// Errors have units where a device was surely given what is computed here.
void JudgedTensors::SetUnits(const Step& step, size_t output, bool begins, Request& request) {
  request.op = begins ? &step.op : nullptr;
  request.units = begins ? UnitsOf(step, output) : std::nullopt;
}

void JudgedTensors::CompareRequest(const Request& request, const std::byte* data, bool is_bool) {
  const DataType type = *request.desc.data_type;
  const PortView view = ViewOf({.name = "", .type = type}, request.desc, data);
  const ComparisonRules& rules = options_.rules;
  const auto tolerance =
      request.op != nullptr ? ToleranceFor(rules, *request.op, type) : rules.tolerances.For(type);
  // A resource has no shape.
  const FileShapes shapes = request.bytes.data() == nullptr ? rules.shapes : FileShapes::kByCount;
  if (request.op == nullptr && IsFloat(type)) without_units_.push_back(request.file.name);
  comparisons_.Compare(
      {request.file.name,
       view.view,
       tolerance,
       {[&] { return request.units; }, rules.units},
       is_bool},
      request.file.path, [&] { return LoadCompared(request.file.path, request.desc, shapes); },
      request.side, ExplainCommand());
}

RunComparisons::Command JudgedTensors::ExplainCommand() const {
  RunComparisons::Command command{PathWord(options_.descriptor), ""};
  for (const std::string& input : options_.inputs) command.behind += " -i " + PathWord(input);
  if (!options_.input_folder.empty()) {
    command.behind += " --input-path " + PathWord(options_.input_folder);
  }
  command.behind += ConfineWords(options_.confine);
  return command;
}

void JudgedTensors::Compare(const std::string& output, const std::byte* data,
                            const TensorDesc& desc, bool is_bool) {
  for (Request& request : requests_) {
    if (request.file.name != output || request.number) continue;
    request.desc = desc;
    CompareRequest(request, data, is_bool);
  }
}

void JudgedTensors::Finish() {
  for (const Request& request : requests_) {
    if (request.bytes.data() != nullptr) CompareRequest(request, request.bytes.data(), false);
  }
  const bool are_asked = options_.rules.units.allows_any() || options_.rules.webnn_tolerance;
  if (!are_asked || without_units_.empty() || common_.quiet) return;
  PrintMessage(
      "dmlop: warning: what operators before made of the inputs is in {}, so units and WebNN's "
      "tolerance do not hold there; dmlop diagnose --from judges a node on what it was given\n",
      Listed(without_units_));
}

}  // namespace dmlop
