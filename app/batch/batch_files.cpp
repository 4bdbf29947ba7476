#include "app/batch/batch_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "app/descriptor.h"
#include "app/file_roles.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

void AddBinding(JsonCursor path, std::string name, const Manifest& manifest, int64_t line,
                std::vector<FileBinding>& bindings) {
  if (!path.is_string() || path.string() == kStandardStream) return;  // which no case can use
  const bool is_output = name.starts_with("Output");
  bindings.push_back({(std::filesystem::path(manifest.folder()) / path.string()).string(),
                      std::move(name), line, is_output});
}

// Of a line only the bindings are read: its operator is not needed to tell inputs from outputs.
std::vector<FileBinding> BindingsOf(const Manifest& manifest, const ManifestLine& line) {
  std::vector<FileBinding> found;
  Diagnostics diagnostics;
  const std::optional<JsonDocument> json = JsonDocument::Parse(line.text, diagnostics);
  const auto bindings = json ? json->root().Find("bindings") : std::nullopt;
  if (!bindings || !bindings->is_object()) return found;
  for (auto tensor = bindings->first_child(); tensor; tensor = tensor->next()) {
    const std::string name(tensor->key());
    AddBinding(*tensor, name, manifest, line.number, found);
    size_t i = 0;
    for (auto one = tensor->first_child(); one && tensor->is_array(); one = one->next()) {
      AddBinding(*one, fmt::format("{}[{}]", name, i++), manifest, line.number, found);
    }
  }
  return found;
}

class BatchFiles {
 public:
  BatchFiles(Manifest& manifest, const std::string& report, const OutputFolder& output_folder,
             std::optional<Side> compared)
      : manifest_(manifest), report_(report), output_folder_(output_folder), compared_(compared) {}

  void RequireSeparate() {
    std::vector<FileUse> uses;
    ForEachUse([&](const NamedUse& named) { uses.push_back(named.use); });
    const auto conflict = FindConflict(std::move(uses));
    if (!conflict) return;
    // Names are not kept, but found again. The two may be the same use by different names.
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
    throw Error(ErrorKind::kUsage,
                fmt::format("{}:{}: {}", manifest_.name(), line, ConflictText(*first, *second)));
  }

 private:
  // Calls `visit` with what the batch itself uses, then with the uses of each line in turn.
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
    ForEachBinding(manifest_, [&](const FileBinding& binding) {
      if (const auto use = UseOfBinding(binding)) visit(*use);
    });
  }

  static void Add(const std::string& path, const std::string& role, const FileUse& use,
                  std::vector<NamedUse>& uses) {
    if (auto named = UseOf(path, role, use)) uses.push_back(*std::move(named));
  }

  std::optional<NamedUse> UseOfBinding(const FileBinding& binding) const {
    const bool writes = binding.is_output && !compared_;
    std::string role = binding.tensor;
    if (binding.is_output && compared_) {
      role = (*compared_ == Side::kActual ? "the judged file of " : "the expected file of ") + role;
    }
    return UseOf(binding.is_output ? output_folder_.Moved(binding.path) : binding.path, role,
                 {.file = {}, .owner = binding.line, .writes = writes, .is_tensor = true});
  }

  Manifest& manifest_;
  const std::string& report_;
  const OutputFolder& output_folder_;
  const std::optional<Side> compared_;
};

}  // namespace

void ForEachBinding(Manifest& manifest, const std::function<void(const FileBinding&)>& visit) {
  manifest.Rewind();
  for (auto lines = manifest.Next(); !lines.empty(); lines = manifest.Next()) {
    std::vector<std::vector<FileBinding>> bindings(lines.size());
    ParallelFor(static_cast<int64_t>(lines.size()), 1, /*bytes=*/0,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const size_t k = static_cast<size_t>(i);
                    bindings[k] = BindingsOf(manifest, lines[k]);
                  }
                });
    for (const auto& of_line : bindings) {
      for (const FileBinding& binding : of_line) visit(binding);
    }
  }
  manifest.Rewind();
}

void RequireSeparateFiles(Manifest& manifest, const std::string& report,
                          const OutputFolder& output_folder, std::optional<Side> compared) {
  if (compared && report.empty()) return;
  BatchFiles(manifest, report, output_folder, compared).RequireSeparate();
}

}  // namespace dmlop
