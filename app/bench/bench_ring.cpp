// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/run/runnable_model.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/progress.h"
#include "core/document/operator_case.h"
#include "core/model/model_run.h"
#include "core/tensor/sample_values.h"

namespace dmlop {
namespace {

constexpr int kCalls = 5;            // the median of which counts
constexpr size_t kMemoryParts = 16;  // more parts than are walked through in sequence

size_t RoundedUpToLines(size_t bytes) {
  return RoundUp(bytes, kLineBytes);
}

size_t SpanOf(const Layout& layout, DataType type) {
  return static_cast<size_t>(Extent(layout)) * ByteWidth(type);
}

void CopyInSteps(std::byte* to, const std::byte* from, size_t size) {
  ForEachStep(size,
              [&](size_t begin, size_t step) { std::memcpy(to + begin, from + begin, step); });
}

// Copies the first `pitch` bytes to every other `pitch` bytes.
void Repeat(std::span<std::byte> copies, size_t pitch) {
  for (size_t begin = pitch; begin < copies.size(); begin += pitch) {
    CopyInSteps(copies.data() + begin, copies.data(), pitch);
  }
}

size_t PitchOf(const ConstTensorView& view) {
  return RoundedUpToLines(SpanOf(view.layout, view.type));
}

int64_t InputBytesOf(const BenchCase& of) {
  size_t bytes = 0;
  for (const LoadedTensor& input : of.inputs) bytes += PitchOf(input.view);
  return static_cast<int64_t>(bytes);
}

std::vector<TensorView> OutputsOf(const OperatorDesc& desc) {
  std::vector<TensorView> outputs;
  for (const TensorSlot& tensor : TensorSlots(desc, TensorRole::kOutput)) {
    outputs.push_back({nullptr, *tensor.desc->data_type, LayoutOf(*tensor.desc)});
  }
  return outputs;
}

int64_t OutputBytesOf(const BenchCase& of) {
  size_t bytes = 0;
  for (const TensorView& output : OutputsOf(of.desc)) bytes += PitchOf(AsConst(output));
  return static_cast<int64_t>(bytes);
}

// Returns whether all inputs have made up values of one type.
bool AreSamplesOfOneType(const std::vector<LoadedTensor>& inputs) {
  return std::ranges::all_of(inputs, [&](const LoadedTensor& input) {
    return input.view.data == nullptr && input.view.type == inputs.front().view.type;
  });
}

void FillCopies(const ConstTensorView& view, std::span<std::byte> copies) {
  const size_t size = SpanOf(view.layout, view.type);
  if (view.data != nullptr) {
    CopyInSteps(copies.data(), view.data, size);
  } else {
    FillWithSampleValues(view.type, copies.first(size));
  }
  Repeat(copies, PitchOf(view));
}

}  // namespace

Rotation::Rotation(int64_t count) : count_(count), leap_(count * 5 / 8 + 1) {
  while (std::gcd(leap_, count_) != 1) ++leap_;
}

void KeptMemory::Grow(size_t size) {
  constexpr size_t kMostSpare = size_t{1} << 27;  // as sizes differ a little from row to row
  if (size <= buffer_.size()) return;
  buffer_ = Buffer();
  buffer_ = Buffer(size + std::min(size / 8, kMostSpare));
  sampled_ = 0;
}

std::byte* KeptMemory::Take(size_t size) {
  Grow(size);
  sampled_ = 0;
  return buffer_.data();
}

std::byte* KeptMemory::TakeSamples(DataType type, size_t size) {
  Grow(size);
  if (std::exchange(type_, type) != type) sampled_ = 0;
  if (sampled_ < size) {
    const Work work("filling memory", static_cast<int64_t>(size - sampled_));
    FillWithSampleValues(type, {buffer_.data() + sampled_, size - sampled_});
    sampled_ = size;
  }
  return buffer_.data();
}

OperatorRing::OperatorRing(const BenchCase& of, int64_t copies, RingMemory& memory)
    : desc_(of.desc), rotation_(copies) {
  const auto count = static_cast<size_t>(copies);
  const size_t all = static_cast<size_t>(InputBytesOf(of)) * count;
  const bool are_samples = AreSamplesOfOneType(of.inputs);
  std::byte* at = of.inputs.empty() ? nullptr
                  : are_samples     ? memory.read.TakeSamples(of.inputs.front().view.type, all)
                                    : memory.read.Take(all);
  std::optional<Work> work;
  if (!are_samples) work.emplace(of.name + ": filling memory", static_cast<int64_t>(all));
  for (const LoadedTensor& input : of.inputs) {
    const size_t pitch = PitchOf(input.view);
    if (!are_samples) FillCopies(input.view, {at, pitch * count});
    inputs_.push_back({at, input.view.type, input.view.layout});
    input_slots_.push_back({at, pitch});
    at += pitch * count;
  }
  outputs_ = OutputsOf(of.desc);
  at = memory.written.Take(static_cast<size_t>(OutputBytesOf(of)) * count);
  for (TensorView& output : outputs_) {
    const size_t pitch = PitchOf(AsConst(output));
    output.data = at;
    output_slots_.push_back({at, pitch});
    at += pitch * count;
  }
}

int64_t OperatorRing::BytesOf(const BenchCase& of) {
  return InputBytesOf(of) + OutputBytesOf(of);
}

void OperatorRing::Advance() {
  const size_t copy = static_cast<size_t>(rotation_.Next());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].data = input_slots_[i].copies + copy * input_slots_[i].pitch;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].data = output_slots_[i].copies + copy * output_slots_[i].pitch;
  }
}

LimitRing::LimitRing(Limit limit, int64_t work, int64_t copies, RingMemory& memory)
    : limit_(limit),
      work_(work),
      calls_(WalkOf(static_cast<size_t>(limit == Limit::kCopy ? work / 2 : work), copies)) {
  if (limit == Limit::kArithmetic) return;
  const size_t all = calls_.pitch * static_cast<size_t>(copies);
  if (limit != Limit::kWrite) from_ = {memory.read.TakeSamples(DataType::kUint8, all), all};
  if (limit != Limit::kRead) to_ = {memory.written.Take(all), all};
}

void LimitRing::FillCaches(size_t size) const {
  const std::span<std::byte> all = from_.empty() ? to_ : from_;
  ReadBytes(all.first(std::min(size, all.size())), ReadPath::kOneStream);
}

int64_t LimitRing::BytesOf(Limit limit, int64_t bytes) {
  const int64_t parts = limit == Limit::kCopy ? 2 : 1;
  return parts * static_cast<int64_t>(RoundedUpToLines(static_cast<size_t>(bytes / parts)));
}

void LimitRing::ChoosePath(bool cold) {
  const double other = SecondsOfCall(calls_, true, cold);
  const double first = SecondsOfCall(calls_, false, cold);
  other_path_ = other < first;
}

double LimitRing::MemoryRate() {
  if (limit_ == Limit::kArithmetic) return 0;
  const size_t all = std::max(from_.size(), to_.size());
  const size_t size = RoundedUpToLines(all / kMemoryParts);
  Walk parts = WalkOf(size, static_cast<int64_t>(all / size));
  const double seconds =
      std::min(SecondsOfCall(parts, true, true), SecondsOfCall(parts, false, true));
  return static_cast<double>(limit_ == Limit::kCopy ? 2 * size : size) / seconds;
}

LimitRing::Walk LimitRing::WalkOf(size_t size, int64_t places) {
  return {size, RoundedUpToLines(size), Rotation(places)};
}

void LimitRing::Run(const Walk& walk, bool other_path) {
  const ReadPath read = other_path ? ReadPath::kFewStreams : ReadPath::kOneStream;
  const WritePath write = other_path ? WritePath::kStreamed : WritePath::kCached;
  const auto from = [&] { return std::span(from_.data() + walk.at, walk.size); };
  const auto to = [&] { return std::span(to_.data() + walk.at, walk.size); };
  switch (limit_) {
    case Limit::kCopy:
      return CopyBytes(to(), from(), write);
    case Limit::kRead:
      return ReadBytes(from(), read);
    case Limit::kWrite:
      return WriteBytes(to(), write);
    case Limit::kArithmetic:
      return MultiplyAdd(work_);
  }
}

double LimitRing::SecondsOfCall(Walk& walk, bool other_path, bool cold) {
  Run(walk, other_path);
  std::array<double, kCalls> seconds;
  for (double& taken : seconds) {
    if (cold) walk.Advance();
    const auto start = std::chrono::steady_clock::now();
    Run(walk, other_path);
    taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kCalls / 2];
}

// --- operators and their inputs ------------------------------------------------------------------

namespace {

// The operator's inputs, whose values are still to be made up.
std::vector<LoadedTensor> EmptyInputs(const OperatorDesc& desc) {
  std::vector<LoadedTensor> inputs;
  for (const TensorSlot& slot : TensorSlots(desc, TensorRole::kInput)) {
    inputs.push_back({{nullptr, *slot.desc->data_type, LayoutOf(*slot.desc)}, nullptr, {}});
  }
  return inputs;
}

// A copy that does not depend on the view's memory.
LoadedTensor CopyOf(const ConstTensorView& view) {
  const size_t bytes = static_cast<size_t>(Extent(view.layout)) * ByteWidth(view.type);
  const auto buffer = std::make_shared<Buffer>(bytes);
  std::memcpy(buffer->data(), view.data, bytes);
  return {{buffer->data(), view.type, view.layout}, buffer, {}};
}

class CaseReader {
 public:
  CaseReader(const BenchOptions& options, const CommonOptions& common,
             std::vector<BenchCase>& cases, FileRoles& roles)
      : options_(options), common_(common), cases_(cases), roles_(roles) {}

  // Prints the document's faults.
  ExitStatus Read(const std::string& argument) {
    if (IsGraphModel(argument)) return ReadGraphModel(argument);
    const Descriptor descriptor = ReadDescriptor(argument, options_.line);
    roles_.Reads(descriptor.path, "the descriptor");
    Diagnostics diagnostics;
    Document document =
        ReadDocument(descriptor, options_.level, {options_.confine}, diagnostics, options_.sizes);
    if (document.model) {
      ReadModel(descriptor, *document.model, diagnostics);
    } else if (!document.op || !ReadOperator(argument, *document.op, diagnostics)) {
      TellDiagnostics(diagnostics, descriptor, common_);
    }
    return StatusOf(diagnostics);
  }

 private:
  // Adds the nodes of a model that is one file. Sizes come from the files of its inputs; the values
  // between nodes are made up.
  ExitStatus ReadGraphModel(const std::string& path) {
    Diagnostics diagnostics;
    GraphModel model({path, options_.inputs, options_.sizes, options_.level, options_.confine},
                     diagnostics);
    const NamedGraph* graph = model.Read(diagnostics);
    model.AddTo(roles_);
    if (diagnostics.has_errors() || !common_.quiet) {
      PrintDiagnostics(diagnostics, path, "", UseColor(common_.color));
    }
    if (graph == nullptr) return StatusOf(diagnostics);
    for (const GraphNode& node : graph->graph.nodes) {
      Add(fmt::format("{}:{}", path, node.name), node.op, EmptyInputs(node.op));
    }
    return ExitStatus::kSuccess;
  }

  bool ReadOperator(const std::string& argument, OperatorDocument& document,
                    Diagnostics& diagnostics) {
    OperatorCase files(document, {.shapes = options_.shapes, .reads_outputs = true});
    files.Bind(TensorRole::kInput, options_.inputs);
    files.Bind(TensorRole::kOutput, {});
    RequireOneReader(argument, files.InputPaths());
    if (!files.Check(options_.level, diagnostics)) return false;
    for (const TensorSlot& slot : files.Slots(TensorRole::kInput)) {
      roles_.ReadsTensor(files.PathOf(slot), DisplayName(slot.path));
    }
    files.LoadInputs(diagnostics);
    if (diagnostics.has_errors()) return false;

    std::vector<LoadedTensor> inputs = EmptyInputs(document.op());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (files.inputs()[i].view.data != nullptr) inputs[i] = files.inputs()[i];
    }
    const bool is_path = argument != kStandardStream && !IsJsonText(argument);
    Add(is_path ? argument : std::string(document.op().name()), document.op(), std::move(inputs));
    return true;
  }

  // Adds the dispatchables in the document's order, with the input values of their first dispatch.
  void ReadModel(const Descriptor& descriptor, const ModelDocument& model,
                 Diagnostics& diagnostics) {
    if (!options_.inputs.empty()) RefuseForModel("-i is");
    std::optional<ModelInputs> files = BindModelInputs(model, "", descriptor, common_, diagnostics);
    if (!files) return;
    AddSources(model, files->resources, roles_);
    files->resources.Fill();
    ModelRun run(model, files->resources, std::move(files->bound));
    std::vector<std::vector<LoadedTensor>> inputs(model.dispatchables().size());
    for (size_t i = 0; i < model.commands().size(); ++i) {
      const auto* dispatch = std::get_if<DispatchCommand>(&model.commands()[i].what);
      if (dispatch == nullptr) continue;
      if (inputs[dispatch->dispatchable].empty()) {
        for (const ConstTensorView& view : run.TensorsOf(i).inputs) {
          inputs[dispatch->dispatchable].push_back(CopyOf(view));
        }
      }
      run.Dispatch(i);
    }
    for (size_t d = 0; d < inputs.size(); ++d) {
      const ModelDispatchable& dispatchable = model.dispatchables()[d];
      const std::string name = fmt::format("{}:{}", descriptor.name, dispatchable.name);
      if (const Graph* graph = dispatchable.graph()) {
        for (const GraphNode& node : graph->nodes) {
          Add(fmt::format("{}:{}", name, node.name), node.op, EmptyInputs(node.op));
        }
      } else {
        const OperatorDesc& desc = *dispatchable.op();
        Add(name, desc, inputs[d].empty() ? EmptyInputs(desc) : std::move(inputs[d]));
      }
    }
  }

  void Add(const std::string& name, const OperatorDesc& desc, std::vector<LoadedTensor> inputs) {
    std::string unique = Printable(name);
    for (int i = 2; !names_.insert(unique).second; ++i) {
      unique = fmt::format("{}#{}", Printable(name), i);
    }
    cases_.push_back({unique, desc, std::move(inputs)});
  }

  const BenchOptions& options_;
  const CommonOptions& common_;
  std::vector<BenchCase>& cases_;
  FileRoles& roles_;
  std::set<std::string> names_;
};

// Each document would take the standard input for itself.
void RequireOneUseOfStandardInput(const BenchOptions& options) {
  const auto& documents = options.descriptors;
  if (std::count(documents.begin(), documents.end(), kStandardStream) > 1) {
    throw Error(ErrorKind::kUsage, "standard input cannot be two documents");
  }
  if (documents.size() == 1) return;
  for (const std::string& input : options.inputs) {
    const std::string path = FileArgument::Parse(input).path;
    if (path != kStandardStream && path != "/dev/stdin") continue;
    throw Error(ErrorKind::kUsage, "standard input cannot be a tensor of several documents");
  }
}

}  // namespace

ExitStatus ReadBenchCases(const BenchOptions& options, const CommonOptions& common,
                          std::vector<BenchCase>& cases, FileRoles& roles) {
  RequireOneUseOfStandardInput(options);
  CaseReader reader(options, common, cases, roles);
  ExitStatus status = ExitStatus::kSuccess;
  for (const std::string& argument : options.descriptors) {
    status = std::max(status, reader.Read(argument));
  }
  return status;
}

}  // namespace dmlop
