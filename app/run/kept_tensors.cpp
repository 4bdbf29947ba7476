#include "app/run/kept_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/engine/copy/tiled_loop.h"
#include "core/io/spool.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// By the order in which they are filled, so that folders of them can be compared in it.
std::string FileNameOf(size_t number, std::string name, DataType type) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '\\' || c == '\0'; }, '_');
  return fmt::format("{:04}-{}.{}", number, name, HasNibbles(type) ? "bin" : "npy");
}

struct Request {
  std::string name;
  std::string path;
};

// NAME=FILE; names may have an equals sign, files after the last one not.
Request ParseRequest(const std::string& argument) {
  const size_t sign = argument.rfind('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == argument.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--keep {}: expected NAME=FILE, with the name of a tensor", argument));
  }
  return {argument.substr(0, sign), argument.substr(sign + 1)};
}

TensorDesc PackedDesc(const ConstTensorView& view) {
  TensorDesc desc;
  desc.data_type = view.type;
  desc.sizes.emplace(view.layout.sizes.begin(), view.layout.sizes.end());
  return desc;
}

}  // namespace

KeptTensors::KeptTensors(const RunOptions& options, const ModelDocument& model, NewFolders& folders)
    : folders_(folders) {
  for (const ModelCommand& command : model.commands()) {
    const auto* dispatch = std::get_if<DispatchCommand>(&command.what);
    if (dispatch == nullptr) continue;
    for (const FilledTensor& filled :
         TensorsFilledBy(model.dispatchables()[dispatch->dispatchable])) {
      Kept& kept = all_.emplace_back(Kept{filled.name, {}});
      if (options.keep_folder.empty()) continue;
      const std::string file = FileNameOf(all_.size(), filled.name, *filled.desc->data_type);
      kept.paths.push_back((std::filesystem::path(options.keep_folder) / file).string());
    }
  }
  for (const std::string& argument : options.keep) {
    const Request request = ParseRequest(argument);
    // What a tensor has last is kept.
    const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                    [&](const Kept& kept) { return kept.name == request.name; });
    if (found == all_.rend()) {
      std::vector<std::string_view> names;
      for (const Kept& kept : all_) names.push_back(kept.name);
      throw Error(ErrorKind::kUsage,
                  fmt::format("--keep {}: no operator of the model fills '{}'{}", argument,
                              request.name, DidYouMeanOneOf(request.name, names)));
    }
    found->paths.push_back(request.path);
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
      roles.WritesTensor(path, name);
      output.AddTensor(path, name);
    }
  }
}

void KeptTensors::Keep(const Step& step) {
  for (const TensorView& view : step.outputs) {
    for (const std::string& path : all_[next_].paths) Write(AsConst(view), path);
    ++next_;
  }
}

void KeptTensors::Write(const ConstTensorView& view, const std::string& path) {
  folders_.MakeFor(path);
  const TensorDesc desc = PackedDesc(view);
  in_memory_ += SizeInBytes(desc);
  const Staging staging = in_memory_ < kLargeFile ? Staging::kInMemory : Staging::kOnDisk;
  OutputTensor file = OutputTensor::ToFile(path, desc, staging);
  std::optional<UnpackedNibbles> unpacked;
  if (HasNibbles(view.type)) unpacked.emplace(view);
  CopyView(unpacked ? AsConst(unpacked->view()) : view, file.view());
  files_.push_back(std::move(file));
}

void KeptTensors::Flush(OutputSet& files) {
  for (OutputTensor& file : files_) file.Flush(files);
}

}  // namespace dmlop
