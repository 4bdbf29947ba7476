// SPDX-License-Identifier: Apache-2.0
#include "app/batch/batch_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/batch/batch_case.h"
#include "app/files/file_roles.h"
#include "app/fuzz/case_folder.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/document/operator_case.h"
#include "core/document/operator_document.h"
#include "core/io/file.h"
#include "core/io/json.h"
#include "core/io/temporary_file.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

const Field* TensorFieldCalled(const OperatorInfo& info, std::string_view name) {
  const std::vector<const Field*> fields = TensorFieldsOf(info);
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const Field* field) { return field->name == name; });
  return found == fields.end() ? nullptr : *found;
}

// `binding` lacks what the line binds.
void AddBinding(JsonCursor path, FileBinding binding, const Manifest& manifest,
                std::vector<FileBinding>& bindings) {
  binding.is_values = path.is_object() || path.is_array();
  const bool is_file = path.is_string() && path.string() != kStandardStream;  // no case can use it
  if (is_file) binding.path = (std::filesystem::path(manifest.folder()) / path.string()).string();
  if (is_file || binding.is_values) bindings.push_back(std::move(binding));
}

// The files of a line with a model, but for ONNX's test data, which are only read. Those that a
// DxDispatch model reads are not looked for.
std::vector<FileBinding> BindingsOfModel(JsonCursor root, const Manifest& manifest,
                                         int64_t number) {
  std::vector<FileBinding> found;
  const auto add = [&](const std::string& path, const std::string& tensor, bool is_output) {
    const std::string whole = (std::filesystem::path(manifest.folder()) / path).string();
    const bool is_known = is_output && std::ranges::any_of(found, [&](const FileBinding& other) {
                            return other.is_output && other.path == whole;
                          });
    if (!is_known) found.push_back({whole, tensor, number, is_output});  // the case reports both
  };
  Diagnostics ignored;
  if (!IsModelLine(root)) {
    for (const std::string& path : FilesWrittenBy(root)) add(path, "a file", true);
    return found;
  }
  const ModelLine line = ReadModelLine(root, ignored);
  if (line.data || !line.model) return found;
  for (const std::string& input : line.inputs) {
    const size_t path = input.rfind('=') + 1;  // 0 without a name
    add(input.substr(path), path == 0 ? "an input" : input.substr(0, path - 1), false);
  }
  for (const auto& [name, path] : line.outputs) add(path, name.empty() ? "an output" : name, true);
  if (!line.outputs.empty() || IsGraphModel(*line.model)) return found;
  try {
    const std::string path = (std::filesystem::path(manifest.folder()) / *line.model).string();
    const auto json = JsonDocument::Parse(ReadText(path, JsonDocument::kMaxBytes), ignored);
    if (!json) return found;
    for (const std::string& written : FilesWrittenBy(json->root())) add(written, "a file", true);
  } catch (const Error&) {  // the case reports it
  }
  return found;
}

std::vector<FileBinding> BindingsOf(const Manifest& manifest, const ManifestLine& line) {
  std::vector<FileBinding> found;
  Diagnostics diagnostics;
  const std::optional<JsonDocument> json = JsonDocument::Parse(line.text, diagnostics);
  if (json && (IsModelLine(json->root()) || ModelDocument::IsModel(*json))) {
    return BindingsOfModel(json->root(), manifest, line.number);
  }
  const auto bindings = json ? json->root().Find("bindings") : std::nullopt;
  if (!bindings || !bindings->is_object()) return found;
  const ValueReader values(diagnostics, Dialect::kDescriptor);
  const OperatorInfo* info = ReadOperatorType(json->root(), values);
  if (info == nullptr) return found;
  const auto expected = json->root().Find("expect");
  for (auto tensor = bindings->first_child(); tensor; tensor = tensor->next()) {
    const std::string name(tensor->key());
    const Field* field = TensorFieldCalled(*info, name);
    if (field == nullptr) continue;
    FileBinding binding{"", name, line.number, field->role == TensorRole::kOutput};
    binding.is_expected = expected && expected->is_object() && expected->Find(name);
    if (field->kind == FieldKind::kTensor) {
      AddBinding(*tensor, binding, manifest, found);
      continue;
    }
    size_t i = 0;
    for (auto one = tensor->first_child(); one && tensor->is_array(); one = one->next()) {
      binding.tensor = fmt::format("{}[{}]", name, i++);
      AddBinding(*one, binding, manifest, found);
    }
  }
  return found;
}

// Calls visit(make(line)) for each line in order, many at once for `make`, while one thread
// searches for the next ones, and rewinds the manifest.
template <typename Make, typename Visit>
void ForEachLine(Manifest& manifest, Make&& make, Visit&& visit) {
  manifest.Rewind();
  std::vector<ManifestLine> next;
  for (auto lines = manifest.Next(); !lines.empty(); lines = std::exchange(next, {})) {
    std::vector<std::invoke_result_t<Make, const ManifestLine&>> made(lines.size());
    ParallelFor(static_cast<int64_t>(lines.size()), 1, /*bytes=*/0,
                [&](int64_t begin, int64_t end) {
                  if (begin == 0) next = manifest.Next();
                  for (int64_t i = begin; i < end; ++i) {
                    const size_t k = static_cast<size_t>(i);
                    made[k] = make(lines[k]);
                  }
                });
    for (const auto& of_line : made) visit(of_line);
  }
  manifest.Rewind();
}

class BatchFiles {
 public:
  BatchFiles(Manifest& manifest, const std::string& report, const BatchSettings& settings)
      : manifest_(manifest), report_(report), settings_(settings) {}

  void RequireSeparate() {
    std::vector<FileUse> uses;
    ForEachUse([&](const NamedUse& named) { uses.push_back(named.use); });
    const auto conflict = FindConflict(std::move(uses));
    if (!conflict) return;
    // Names are not kept, but found again. Both may be the same use under different names.
    std::optional<NamedUse> first, second;
    ForEachUse([&](const NamedUse& named) {
      if (!first && named.use == conflict->first) first = named;
      if (named.use == conflict->second) second = named;
    });
    const int64_t line = second->use.owner;
    if (line == 0) throw Error(ErrorKind::kUsage, ConflictText(*first, *second));
    if (first->use.owner != 0 && first->use.owner != line) {
      first->role += fmt::format(" of line {}", first->use.owner);
    }
    throw Error(ErrorKind::kUsage, "{}:{}: {}", manifest_.name(), line,
                ConflictText(*first, *second));
  }

 private:
  // Calls `visit` with the batch's own uses, then with those of each line in turn.
  template <typename Visit>
  void ForEachUse(Visit&& visit) {
    const auto visit_all = [&](const std::vector<NamedUse>& uses) {
      for (const NamedUse& named : uses) visit(named);
    };
    std::vector<NamedUse> own;
    const bool is_stream = manifest_.name() == kStandardInputName;
    Add(is_stream ? std::string(kStandardStream) : manifest_.name(), "the manifest", {.file = {}},
        own);
    Add(report_, "the report", {.file = {}, .writes = true}, own);
    visit_all(own);
    ForEachLine(
        manifest_, [&](const ManifestLine& line) { return UsesOf(line); }, visit_all);
  }

  std::vector<NamedUse> UsesOf(const ManifestLine& line) {
    std::vector<NamedUse> uses;
    const std::vector<FileBinding> bindings = BindingsOf(manifest_, line);
    for (const FileBinding& binding : bindings) {
      if (auto use = UseOfBinding(binding)) uses.push_back(*std::move(use));
      AddValues(binding, bindings, uses);
    }
    return uses;
  }

  void Add(const std::string& path, const std::string& role, const FileUse& use,
           std::vector<NamedUse>& uses) {
    if (auto named = UseOf(path, role, use, identities_)) uses.push_back(*std::move(named));
  }

  std::optional<NamedUse> UseOfBinding(const FileBinding& binding) {
    const auto& compared = settings_.compared;
    FileUse use{.file = {}, .owner = binding.line, .writes = false, .is_tensor = true};
    std::string role = binding.tensor;
    if (binding.is_values) return std::nullopt;
    if (!binding.is_output) return UseOf(binding.path, role, use, identities_);
    if (compared) {
      role = (*compared == Side::kActual ? "the judged file of " : "the expected file of ") + role;
    }
    use.writes = !compared;
    const std::string path = settings_.output_folder.Moved(binding.path);
    return UseOf(compared ? FileOrStandIn(path) : path, role, use, identities_);
  }

  // Adds the files of input values. They are next to the operator's first output, which may be
  // any output of the line, and are written or compared.
  void AddValues(const FileBinding& binding, const std::vector<FileBinding>& of_line,
                 std::vector<NamedUse>& uses) {
    const bool compared = settings_.compared.has_value();
    const bool has_file = settings_.options.has_inputs || compared;
    if (!has_file || !binding.is_values || binding.is_output) return;
    FileUse use{.file = {}, .owner = binding.line, .writes = !compared, .is_tensor = true};
    for (const FileBinding& output : of_line) {
      if (!output.is_output || output.is_values) continue;
      const std::string path =
          InputPathBeside(settings_.output_folder.Moved(output.path), binding.tensor);
      use.own_name = static_cast<uint32_t>(std::hash<std::string>()(FollowLinks(path))) | 1;
      Add(compared ? FileOrStandIn(path) : path, binding.tensor, use, uses);
    }
  }

  Manifest& manifest_;
  const std::string& report_;
  const BatchSettings& settings_;
  FileIdentities identities_;
};

}  // namespace

void ForEachBinding(Manifest& manifest, const std::function<void(const FileBinding&)>& visit) {
  ForEachLine(
      manifest, [&](const ManifestLine& line) { return BindingsOf(manifest, line); },
      [&](const std::vector<FileBinding>& of_line) {
        for (const FileBinding& binding : of_line) visit(binding);
      });
}

void RequireSeparateFiles(Manifest& manifest, const std::string& report,
                          const BatchSettings& settings) {
  if (settings.compared && report.empty()) return;
  BatchFiles(manifest, report, settings).RequireSeparate();
}

namespace {

namespace fs = std::filesystem;

fs::path CommonOf(const fs::path& a, const fs::path& b) {
  fs::path common;
  const auto [end, ignored] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  for (auto part = a.begin(); part != end; ++part) common /= *part;
  return common;
}

fs::path Normal(const std::string& path) {
  return fs::absolute(path).lexically_normal();
}

// The folder above all outputs but those with expected values, where these are not to be read.
fs::path FolderAbove(Manifest& manifest, bool reads_expected) {
  std::optional<fs::path> common;
  ForEachBinding(manifest, [&](const FileBinding& binding) {
    if (!binding.is_output || binding.is_values || IsStream(binding.path)) return;
    if (binding.is_expected && !reads_expected) return;
    const fs::path parent = Normal(binding.path).parent_path();
    common = common ? CommonOf(*common, parent) : parent;
  });
  return common.value_or("");
}

}  // namespace

OutputFolder::OutputFolder(Manifest& manifest, const std::string& folder)
    : folder_(folder), common_(FolderAbove(manifest, /*reads_expected=*/true).string()) {}

void OutputFolder::FindOutputs(Manifest& manifest, bool is_check) {
  const fs::path folder =
      folder_.empty() ? FolderAbove(manifest, /*reads_expected=*/!is_check) : fs::path(folder_);
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) {
    if (!folder_.empty() && !HasOutputs(manifest)) TakePathsFromManifest(manifest);
    return;
  }
  const fs::path shown = folder_.empty() ? folder.lexically_proximate(Normal(".")) : folder;
  throw Error(ErrorKind::kFileSystem, shown.string() + ": no such folder");
}

bool OutputFolder::HasOutputs(Manifest& manifest) const {
  bool has_some = false;
  ForEachBinding(manifest, [&](const FileBinding& binding) {
    if (!binding.is_output || binding.is_values) return;
    std::error_code ignored;
    const fs::path path = Moved(binding.path);
    has_some |=
        fs::exists(path, ignored) || fs::exists(path.parent_path() / kUnsupportedFile, ignored);
  });
  return has_some;
}

void OutputFolder::TakePathsFromManifest(Manifest& manifest) {
  OutputFolder other = *this;
  other.common_ = Normal(manifest.folder().empty() ? "." : manifest.folder()).string();
  if (other.HasOutputs(manifest)) *this = other;
}

std::string OutputFolder::Moved(const std::string& path) const {
  if (folder_.empty() || path.empty() || IsStream(path)) return path;
  return (fs::path(folder_) / Normal(path).lexically_relative(common_)).string();
}

// --- files beside outputs ------------------------------------------------------------------------

namespace fs = std::filesystem;

std::string InputPathBeside(const std::string& output, const std::string& tensor) {
  if (output.empty() || IsStream(output)) return "";
  std::string name = tensor;
  std::erase(name, ']');
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '['; }, '-');
  const fs::path path = output;
  return fmt::format("{}.{}{}", (path.parent_path() / path.stem()).string(), name,
                     IsRaw(output) ? path.extension().string() : ".npy");
}

std::string FileOrStandIn(const std::string& path) {
  if (FileExists(path) || !HasTensorExtension(path)) return path;
  for (const TensorExtension& known : kTensorExtensions) {
    const std::string other = fs::path(path).replace_extension(known.extension).string();
    if (FileExists(other)) return other;
  }
  return path;
}

// A hard link takes the place of the file by renaming, as outputs do.
void WrittenInputs::Share(const std::string& path, const std::string& hash) {
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    first = paths_.try_emplace(hash, path).first->second;
  }
  std::error_code ignored;
  if (first == path || IsStream(path) || fs::is_symlink(path, ignored)) return;
  const std::string link = MakeHiddenFile(
      fs::path(path).parent_path().string(),
      [&](const std::string& hidden) { return ::link(first.c_str(), hidden.c_str()) == 0; });
  if (link.empty()) return;
  const TemporaryPath removed(link);
  fs::rename(link, path, ignored);
}

std::string OutputBeside(const std::string& input) {
  const fs::path path = input;
  const fs::path stem = path.parent_path() / path.stem();
  const std::string extension = stem.extension().string();
  const std::string_view tensor = std::string_view(extension).substr(0, extension.find('-'));
  const bool is_input =
      (tensor.ends_with("Tensor") || tensor.ends_with("Tensors")) && !tensor.starts_with(".Output");
  if (!HasTensorExtension(input) || !is_input) return "";
  return (stem.parent_path() / stem.stem()).string();
}

}  // namespace dmlop
