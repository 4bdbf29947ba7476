// SPDX-License-Identifier: Apache-2.0
#include "app/graph/graph_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"
#include "core/io/picture_file.h"
#include "core/model/model_resources.h"
#include "core/onnx/onnx_import.h"
#include "core/tensor/element.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string Suggestion(const std::string& name, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return DidYouMeanOneOf(name, candidates);
}

// Takes NAME=FILE apart; the name is empty if there is none.
NamedFile NamedFileOf(const std::string& argument, const std::vector<std::string>& names,
                      std::string_view what) {
  for (size_t at = argument.rfind('='); at != std::string::npos && at > 0;
       at = argument.rfind('=', at - 1)) {
    if (Has(names, argument.substr(0, at)))
      return {argument.substr(0, at), argument.substr(at + 1)};
  }
  const size_t equals = argument.find('=');
  const bool has_folder = argument.find('/') < equals;
  if (equals == std::string::npos || has_folder || FileExists(argument)) return {"", argument};
  const std::string name = argument.substr(0, equals);
  throw Error(ErrorKind::kUsage, "the model has no {} '{}'{}", what, name, Suggestion(name, names));
}

// "NAME:NUMBER" of -f; the name may have colons.
std::pair<std::string, int64_t> FreeSizeOf(const std::string& argument) {
  const size_t colon = argument.rfind(':');
  const bool has_name = colon != std::string::npos && colon > 0;
  const auto size = ParseNumber<int64_t>(std::string_view(argument).substr(colon + 1));
  if (!has_name || !size || *size < 1 || *size > 0x7FFFFFFF) {
    throw Error(ErrorKind::kUsage, "-f {}: expected NAME:SIZE with a free size of the model",
                argument);
  }
  return {argument.substr(0, colon), *size};
}

// "NAME:2,3" of -b.
std::pair<std::string, std::vector<int64_t>> ShapeOf(const std::string& argument) {
  const size_t colon = argument.rfind(':');
  std::vector<int64_t> sizes;
  if (colon != std::string::npos && colon > 0) {
    const char* at = argument.data() + colon + 1;
    const char* end = argument.data() + argument.size();
    while (at < end) {
      const auto [rest, error] = std::from_chars(at, end, sizes.emplace_back());
      const bool is_right = error == std::errc() && sizes.back() >= 0 && sizes.back() <= 0x7FFFFFFF;
      if (!is_right || (rest != end && (*rest != ',' || rest + 1 == end))) break;
      at = rest == end ? end : rest + 1;
    }
    if (at == end) return {argument.substr(0, colon), sizes};
  }
  throw Error(ErrorKind::kUsage, "-b {}: expected INPUT:SIZES, such as X:1,3,224,224", argument);
}

std::map<std::string, int64_t> FreeSizesOf(const std::vector<std::string>& arguments) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& argument : arguments) sizes.insert(FreeSizeOf(argument));
  return sizes;
}

std::map<std::string, std::vector<int64_t>> ShapesOf(const std::vector<std::string>& arguments) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& argument : arguments) shapes.insert(ShapeOf(argument));
  return shapes;
}

std::string FolderOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// Fills in what a picture says of the sizes that nothing else does, which are 0: its height and
// width before or behind the channels, and 1 in front of them.
void TakeSizesOfPicture(const std::string& path, std::vector<int64_t>& sizes) {
  const auto is_channels = [](int64_t size) { return size == 1 || size == 3 || size == 4; };
  const size_t rank = sizes.size();
  if (rank < 3 || std::ranges::find(sizes, 0) == sizes.end()) return;
  const bool channels_last = !is_channels(sizes[rank - 3]) && is_channels(sizes[rank - 1]);
  if (!channels_last && !is_channels(sizes[rank - 3])) return;
  const Dims pixels = LoadPixels(path).view.layout.sizes;
  const size_t height = rank - (channels_last ? 3 : 2);
  for (size_t d = 0; d < rank; ++d) {
    if (sizes[d] != 0) continue;
    sizes[d] = d == height ? pixels[0] : d == height + 1 ? pixels[1] : 1;
  }
}

// Returns whether an input is no tensor, or has a type that DirectML does not have.
bool IsForeign(const OnnxValueInfo& input) {
  return !input.is_tensor || OnnxTypeOf(input.element_type).type == DataType::kUnknown;
}

}  // namespace

StatedSizes ParseSizes(const ModelSizes& sizes) {
  return {FreeSizesOf(sizes.free), FreeSizesOf(sizes.denotations), ShapesOf(sizes.shapes)};
}

bool IsGraphModel(const std::string& argument) {
  return HasExtension(argument, ".onnx") || HasExtension(argument, ".bin");
}

bool IsSerializedGraph(const std::string& path) {
  if (!HasExtension(path, ".bin")) return false;
  Diagnostics found;
  const GraphModel model({path, {}, {}, kHighestFeatureLevel, ""}, found);
  return !found.has_errors() || found.list().front().code != "SGR-4";
}

std::vector<NamedFile> AssignFiles(const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& names, std::string_view what,
                                   const std::vector<std::string>& others) {
  std::vector<std::string> all = names;
  all.insert(all.end(), others.begin(), others.end());
  std::vector<NamedFile> files;
  for (const std::string& argument : arguments) files.push_back(NamedFileOf(argument, all, what));
  std::vector<std::string> taken;
  for (const NamedFile& file : files) {
    if (file.name.empty()) continue;
    if (Has(taken, file.name)) {
      throw Error(ErrorKind::kUsage, "the {} '{}' has two files", what, file.name);
    }
    taken.push_back(file.name);
  }
  size_t next = 0;
  for (NamedFile& file : files) {
    if (file.path.empty()) throw Error(ErrorKind::kUsage, "'{}=' names no file", file.name);
    if (!file.name.empty()) continue;
    while (next < names.size() && Has(taken, names[next])) ++next;
    if (next == names.size()) {
      throw Error(ErrorKind::kUsage, "{}: the model has {} only", file.path,
                  Counted(names.size(), what));
    }
    file.name = names[next++];
  }
  return files;
}

GraphModel::GraphModel(GraphRequest request, Diagnostics& diagnostics)
    : request_(std::move(request)),
      sizes_(ParseSizes(request_.sizes)),
      file_(std::make_shared<const InputFile>(InputFile::Open(request_.path))),
      own_files_{{"the model", request_.path}} {
  try {
    if (HasExtension(request_.path, ".onnx")) {
      onnx_ = ReadOnnxModel(file_->bytes(), request_.path);
      Assign();
    } else {
      graph_ = ReadSerialized(diagnostics);
      if (graph_ != nullptr) Assign();
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kTensorFile) throw;
    diagnostics.Error("ONX-1", "", error.what());
  }
}

void GraphModel::Assign() {
  std::vector<std::string>& names = input_names_;
  if (onnx_) {
    names = OnnxInputNames(*onnx_);
  } else {
    for (const GraphPort& port : graph_->inputs) {
      if (port.edge) names.push_back(port.name);
    }
  }
  input_files_ = AssignFiles(request_.inputs, names, "input");
  for (const auto& [name, shape] : sizes_.shapes) {
    if (Has(names, name)) continue;
    throw Error(ErrorKind::kUsage, "-b {}: the model has no such input{}", name,
                Suggestion(name, names));
  }
}

void GraphModel::BindOthers(const std::function<std::string(const std::string& input)>& file_of) {
  for (const std::string& name : input_names_) {
    if (std::ranges::find(input_files_, name, &NamedFile::name) != input_files_.end()) continue;
    const std::string path = file_of(name);
    if (!path.empty()) input_files_.push_back({name, path});
  }
}

void GraphModel::AddTo(FileRoles& roles) const {
  for (const NamedFile& file : own_files_) roles.Reads(file.path, file.name);
  for (const NamedFile& file : input_files_) roles.ReadsTensor(file.path, file.name);
}

const NamedGraph* GraphModel::Read(Diagnostics& diagnostics) {
  if (diagnostics.has_errors()) return nullptr;
  // Inputs of other types are the model's fault, whatever their files are.
  const bool are_loaded = !onnx_ || std::ranges::none_of(onnx_->graph.inputs, IsForeign);
  for (const NamedFile& file : input_files_) {
    if (are_loaded) bound_.emplace(file.name, Load(file));
  }
  if (onnx_) ReadOnnx(diagnostics);
  return graph_.get();
}

const LoadedTensor* GraphModel::BoundTo(const std::string& input) const {
  const auto found = bound_.find(input);
  return found == bound_.end() ? nullptr : &found->second;
}

LoadedTensor GraphModel::Load(const NamedFile& file) const {
  if (const auto desc = DescOfInput(file.name)) return LoadInput(file.path, *desc);
  if (IsDescribedBy(FormatOf(file.path))) return LoadArray(file.path);
  throw Error(ErrorKind::kTensorFile,
              "{}: such a file does not say its shape, and neither does the input '{}' of the "
              "model; -b {}:SIZES does",
              file.path, file.name, file.name);
}

// The desc of an input, if the model has one and its file needs one.
std::optional<TensorDesc> GraphModel::DescOfInput(const std::string& name) const {
  if (!onnx_) {
    const auto port = std::ranges::find(graph_->inputs, name, &GraphPort::name);
    return *graph_->graph.edges[*port->edge].desc;
  }
  const auto file = std::ranges::find(input_files_, name, &NamedFile::name);
  if (IsDescribedBy(FormatOf(file->path))) return std::nullopt;
  const auto input = std::ranges::find(onnx_->graph.inputs, name, &OnnxValueInfo::name);
  GraphPort port{.name = name, .type = OnnxTypeOf(input->element_type).type};
  const auto stated = sizes_.shapes.find(name);
  if (stated != sizes_.shapes.end()) {
    port.sizes = stated->second;
  } else if (input->sizes) {
    for (const OnnxDimension& dimension : *input->sizes) {
      const auto free = StatedSizeOf(dimension, sizes_.free, sizes_.denotations);
      port.sizes.push_back(dimension.size ? *dimension.size : free.value_or(0));
    }
    if (FormatOf(file->path) == FileFormat::kPicture) TakeSizesOfPicture(file->path, port.sizes);
  }
  const bool is_known = stated != sizes_.shapes.end() || input->sizes;
  const bool is_positive =
      std::ranges::all_of(port.sizes, [](int64_t size) { return 0 < size && size <= 0x7FFFFFFF; });
  if (!is_known || !is_positive || port.type == DataType::kUnknown) return std::nullopt;
  TensorDesc desc = DescOf(port);
  Diagnostics found;
  ValidateTensorDesc(desc, TensorRole::kInput, name, std::nullopt, found);
  return found.has_errors() ? std::nullopt : std::optional(desc);
}

void GraphModel::RequireBoundInputs() const {
  std::vector<std::string> unbound;
  for (const GraphPort& port : graph_->inputs) {
    if (!port.has_default && BoundTo(port.name) == nullptr)
      unbound.push_back("'" + port.name + "'");
  }
  if (unbound.empty()) return;
  throw Error(ErrorKind::kUsage, "{} {} no file: {}; bind with -i NAME=FILE",
              Counted(unbound.size(), "input"), ForCount(unbound.size(), "has", "have"),
              Listed(unbound));
}

std::vector<ConstTensorView> GraphModel::InputViews() {
  std::vector<ConstTensorView> views;
  for (const size_t edge : graph_->graph.inputs) {
    const GraphEdge& of = graph_->graph.edges[edge];
    if (!of.desc) continue;
    const GraphPort& port = graph_->tensors[edge];
    const LoadedTensor* bound = BoundTo(port.name);
    ConstTensorView view{nullptr, *of.desc->data_type, LayoutOf(*of.desc)};
    if (bound != nullptr) view.data = InBuffer(*bound, *of.desc);
    views.push_back(view);
  }
  return views;
}

// The bytes of a tensor as a buffer has them: without gaps, unless the desc has some.
const std::byte* GraphModel::InBuffer(const LoadedTensor& tensor, const TensorDesc& desc) {
  const DataType type = *desc.data_type;
  const bool is_packed = IsPacked(tensor.view.layout) || tensor.view.layout.rank() == 0;
  const bool is_plain = !desc.strides && !HasNibbles(type) && is_packed;
  if (is_plain) return tensor.view.data;
  const LoadedTensor fitted = FitToDesc(tensor, desc, "input");
  Buffer& buffer = packed_.emplace_back(SizeInBytes(desc));
  CopyIntoBuffer(fitted.view, desc, buffer.data());
  return buffer.data();
}

// --- reading -------------------------------------------------------------------------------------

// The path of a file beside the model, which must lie in the folder of --confine.
std::string GraphModel::PathBeside(const std::string& name) const {
  const std::string path = PathIn(FolderOf(request_.path), name);
  if (!request_.confine.empty() && !LiesIn(path, request_.confine)) {
    throw Error(ErrorKind::kUsage, "'{}' leads out of {}, to which --confine keeps this model",
                path, request_.confine);
  }
  return path;
}

std::string GraphModel::PathOfConstants(const std::string& name) {
  own_files_.push_back({"constants of the model", PathBeside(name)});
  return own_files_.back().path;
}

void GraphModel::ReadOnnx(Diagnostics& diagnostics) {
  OnnxSource source{.model = *onnx_, .owner = file_, .level = request_.level};
  source.is_mapped = IsRegular(request_.path);
  source.external = [&](const std::string& location) {
    RequireInsideOfModel(location);
    return OpenMapped(PathOfConstants(location));
  };
  for (const auto& [name, tensor] : bound_) source.bound.emplace(name, &tensor);
  source.shapes = sizes_.shapes;
  source.free_sizes = sizes_.free;
  source.free_denotations = sizes_.denotations;
  OnnxImport import = ImportOnnx(source, diagnostics);
  const std::string warning = WarningOfUnused({&*onnx_}, sizes_.free, sizes_.denotations);
  if (!warning.empty()) diagnostics.Warning("ONX-4", "", warning);
  graph_ = std::move(import.graph);
  judged_ = std::move(import.judged);
}

std::shared_ptr<const NamedGraph> GraphModel::ReadSerialized(Diagnostics& diagnostics) {
  std::optional<InputFile> constant;
  const auto open = [&](const std::string& name) {
    constant = OpenBytes(PathOfConstants(FileOfConstant(name, request_.path)));
    return constant->bytes();
  };
  const auto graph = ReadGraph(
      {file_->bytes(), open, request_.level},
      [&](std::string_view code, const std::string& message, std::optional<ErrorKind> of_file) {
        if (of_file) {
          return diagnostics.Append(
              {Severity::kError, std::string(code), "", message, std::nullopt, *of_file});
        }
        diagnostics.Error(code, "", message);
      });
  return graph == nullptr ? nullptr : NamedAsItIs(*graph);
}

void CopyIntoBuffer(const ConstTensorView& elements, const TensorDesc& desc, std::byte* buffer) {
  const TensorView view{buffer, *desc.data_type, LayoutOf(desc)};
  if (!HasNibbles(view.type)) return CopyElements(elements, view);
  UnpackedNibbles unpacked(AsConst(view));
  CopyElements(elements, unpacked.view());
  unpacked.PackInto(buffer);
}

GraphOutputs::GraphOutputs(const Graph& graph) {
  for (const size_t edge : graph.outputs) {
    const TensorDesc& desc = *graph.edges[edge].desc;
    Buffer& buffer = buffers_.emplace_back(SizeInBytes(desc));
    views_.push_back({buffer.data(), *desc.data_type, LayoutOf(desc)});
  }
}

NamedGraph WithAlignedConstants(const NamedGraph& graph) {
  NamedGraph aligned = graph;
  for (GraphEdge& edge : aligned.graph.edges) {
    if (!edge.constant) continue;
    const std::span<const std::byte> bytes = edge.constant->bytes;
    if (reinterpret_cast<uintptr_t>(bytes.data()) % sizeof(uint64_t) == 0) continue;
    const auto copy = std::make_shared<Buffer>(bytes.size());
    std::ranges::copy(bytes, copy->data());
    edge.constant = GraphConstant{copy->bytes(), copy};
  }
  return aligned;
}

// --- tensors of ports ----------------------------------------------------------------------------

TensorDesc DescOf(const GraphPort& port) {
  TensorDesc desc;
  desc.data_type = port.type;
  desc.sizes.emplace(port.sizes.begin(), port.sizes.end());
  if (desc.sizes->empty()) desc.sizes->push_back(1);
  if (!port.strides.empty()) desc.strides = port.strides;
  return desc;
}

StoredForm FormOf(const GraphPort& port) {
  return {.name = port.name,
          .shape = Dims(port.sizes.begin(), port.sizes.end()),
          .is_bool = port.is_bool};
}

PortView ViewOf(const GraphPort& port, const TensorDesc& desc, const std::byte* bytes) {
  const ConstTensorView view{bytes, port.type, LayoutOf(desc)};
  if (!HasNibbles(port.type)) return {view, nullptr};
  const auto unpacked = std::make_shared<UnpackedNibbles>(view);
  return {AsConst(unpacked->view()), unpacked};
}

}  // namespace dmlop
