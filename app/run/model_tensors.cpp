// SPDX-License-Identifier: Apache-2.0
#include "app/run/model_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/engine/copy/copy_views.h"
#include "core/io/tensor_file.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

constexpr size_t kLeastDigits = 4;
constexpr size_t kLongestName = 200;  // in bytes; file systems allow 255 for the whole file name

struct KeepArgument {
  std::string name;
  std::string path;
};

// Parses NAME=FILE. The name may contain an equals sign, but not the file.
KeepArgument ParseRequest(const std::string& argument) {
  const size_t sign = argument.rfind('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == argument.size()) {
    throw Error(ErrorKind::kUsage, "--keep {}: expected NAME=FILE, with the name of a tensor",
                argument);
  }
  return {argument.substr(0, sign), argument.substr(sign + 1)};
}

// The number of a tensor's last filling, which is kept.
size_t NumberOf(const std::string& name, const std::string& argument, const FilledTensors& filled) {
  const std::vector<size_t> found = filled.Find(name);
  if (found.size() == 1) return found.front();
  const std::string fault = found.empty()
                                ? fmt::format("no operator of the model fills '{}'{}", name,
                                              DidYouMeanOneOf(name, filled.ShortestNames()))
                                : filled.SayWhich(name, found);
  throw Error(ErrorKind::kUsage, "--keep {}: {}", argument, fault);
}

}  // namespace

std::string InFileName(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '\\' || c == '\0'; }, '_');
  if (name.size() <= kLongestName) return name;
  size_t end = kLongestName;
  while (end > 0 && ContinuesCharacter(name[end])) --end;
  return name.substr(0, end);
}

std::string NumberedName(size_t number, size_t count, const std::string& name) {
  const size_t digits = std::max(kLeastDigits, std::to_string(count).size());
  return fmt::format("{:0{}}-{}", number, digits, InFileName(name));
}

NumberedStem TakeApart(const std::string& file_name) {
  const bool has_extension = FormatByExtension(file_name).has_value();
  const std::string stem = has_extension ? file_name.substr(0, file_name.rfind('.')) : file_name;
  const size_t dash = stem.find_first_not_of("0123456789");
  const bool is_numbered = dash != std::string::npos && dash >= kLeastDigits && stem[dash] == '-';
  if (!is_numbered) return {"", stem};
  return {stem.substr(0, dash), stem.substr(dash + 1)};
}

KeptTensors::KeptTensors(const RunOptions& options, const ModelDocument& model, NewFolders& folders)
    : folders_(folders) {
  if (options.keep.empty() && options.keep_folder.empty()) return;
  const FilledTensors filled(model);
  for (size_t i = 0; i < filled.all().size(); ++i) {
    const FilledTensors::One& one = filled.all()[i];
    const std::string& name = filled.ShortestName(i);
    all_.push_back(
        {name, *one.desc, {.name = name}, model.dispatchables()[one.dispatchable].place, {}});
  }
  Request(options, filled);
}

KeptTensors::KeptTensors(const RunOptions& options, const NamedGraph& graph, NewFolders& folders)
    : folders_(folders) {
  if (options.keep.empty() && options.keep_folder.empty()) return;
  const FilledTensors filled(graph);
  for (const FilledTensors::One& one : filled.all()) {
    all_.push_back({one.name, DescOf(graph.tensors[one.edge]), *one.form, std::nullopt, {}});
  }
  Request(options, filled);
}

// Notes the files that the command line asks for.
void KeptTensors::Request(const RunOptions& options, const FilledTensors& filled) {
  if (!options.keep_folder.empty()) {
    const std::filesystem::path folder = options.keep_folder;
    for (size_t i = 0; i < all_.size(); ++i) {
      all_[i].paths.push_back(
          (folder / (NumberedName(i + 1, all_.size(), all_[i].name) + ".npy")).string());
    }
  }
  for (const std::string& argument : options.keep) {
    const KeepArgument request = ParseRequest(argument);
    all_[NumberOf(request.name, argument, filled)].paths.push_back(request.path);
  }
}

bool KeptTensors::keeps() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const Kept& kept) { return !kept.paths.empty(); });
}

void KeptTensors::AddTo(FileRoles& roles, StandardOutput& output) const {
  for (const Kept& kept : all_) {
    const std::string name = fmt::format("tensor '{}'", kept.name);
    for (const std::string& path : kept.paths) {
      OutputFormatOf(path);
      roles.Writes(path, name);  // never in place, unlike what a model writes
      output.AddTensor(path, name);
    }
  }
}

void KeptTensors::CheckConfinement(const Confinement& confinement, Diagnostics& diagnostics) const {
  if (confinement.folder.empty() || confinement.output_folder.empty()) return;
  for (const Kept& kept : all_) {
    if (kept.place) MayDerive(kept.paths.front(), confinement, *kept.place, diagnostics);
  }
}

void KeptTensors::Keep(const Step& step) {
  for (const TensorView& view : step.outputs) {
    const Kept& kept = all_[next_++];
    const ConstTensorView as_kept{view.data, view.type, LayoutOf(kept.desc)};
    for (const std::string& path : kept.paths) Write(as_kept, kept, path);
  }
}

void KeptTensors::Write(const ConstTensorView& view, const Kept& kept, const std::string& path) {
  folders_.MakeFor(path);
  in_memory_ += SizeInBytes(kept.desc);
  const Staging staging = in_memory_ < kLargeFile ? Staging::kInMemory : Staging::kOnDisk;
  OutputTensor file = OutputTensor::ToFile(path, kept.desc, staging, kept.form);
  std::optional<UnpackedNibbles> unpacked;
  if (HasNibbles(view.type)) unpacked.emplace(view);
  CopyView(unpacked ? AsConst(unpacked->view()) : view, file.view());
  files_.push_back({kept.name, path, std::move(file)});
}

std::vector<ReportedFile> KeptTensors::Reported() const {
  std::vector<ReportedFile> reported;
  for (const File& file : files_) {
    reported.push_back({file.name, file.path, Sha256(file.content.bytes())});
  }
  return reported;
}

void KeptTensors::Flush(OutputSet& files) {
  for (File& file : files_) file.content.Flush(files);
}

// --- dumped tensors ------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

// Replaces the characters of a name that some writers leave out of file names.
std::string Plain(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < 0x80 && std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace

DumpedTensors::DumpedTensors(const std::string& folder) : folder_(folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) throw Error(ErrorKind::kFileSystem, folder + ": " + error.message());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (!FormatByExtension(name)) continue;
    const NumberedStem stem = TakeApart(name);
    by_name_[Plain(stem.name)].push_back({stem.number, (fs::path(folder) / name).string()});
  }
}

const DumpedTensors::File* DumpedTensors::Find(std::string_view name,
                                               std::string_view number) const {
  const auto found = by_name_.find(Plain(InFileName(std::string(name))));
  if (found == by_name_.end()) return nullptr;
  const std::vector<File>& files = found->second;
  const auto same = std::ranges::find(files, number, &File::number);
  return same != files.end() ? &*same : &files.back();
}

std::string DumpedTensors::FileOf(const RunnableModel& model, size_t number) const {
  const std::vector<FilledTensors::One>& all = model.filled.all();
  const FilledTensors::One& one = all[number];
  const std::string numbered = NumberedName(number + 1, all.size(), "");
  const std::string_view digits = std::string_view(numbered).substr(0, numbered.size() - 1);
  std::vector<std::string> names = {one.name, one.full_name};
  if (one.form) names.push_back(one.form->name);
  for (std::string& name : model.OtherNamesOf(number)) names.push_back(std::move(name));
  for (const std::string& name : names) {
    if (const File* file = Find(name, digits)) return file->path;
  }
  return "";
}

std::string DumpedTensors::FileOf(const std::string& name) const {
  const File* file = Find(name, "");
  return file == nullptr ? "" : file->path;
}

// --- judged tensors ------------------------------------------------------------------------------

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
