#include "core/ops/pieces.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr int64_t kAlignment = 64;  // of a part in the buffer

int64_t RoundedUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Dims SpaceOf(const SplitDesc&, std::span<const ConstTensorView> inputs, std::span<const Dims>) {
  return inputs[0].layout.sizes;
}

Dims SpaceOf(const UnfoldDesc& desc, std::span<const ConstTensorView> inputs,
             std::span<const Dims>) {
  const ConstTensorView& input = inputs[0];
  Dims space{input.layout.sizes[0], input.layout.sizes[1]};
  const std::vector<UnfoldDim> dims = UnfoldDims(desc, input);
  for (const UnfoldDim& dim : dims) space.push_back(dim.window);
  for (const UnfoldDim& dim : dims) space.push_back(dim.blocks);
  return space;
}

template <typename Desc>
Dims SpaceOf(const Desc&, std::span<const ConstTensorView>, std::span<const Dims> output_sizes) {
  return output_sizes[0];
}

}  // namespace

// Lays the parts of a piece out in its buffer.
class Pieces::Parts {
 public:
  Parts(DataType type, std::span<std::byte> buffer) : type_(type), buffer_(buffer) {}

  // The part of an output that has `sizes`, which begins at `begin` and is `part_sizes` large.
  TensorView Add(size_t output, const Dims& sizes, const Dims& begin, const Dims& part_sizes) {
    const int64_t width = static_cast<int64_t>(ByteWidth(type_));
    const int64_t bytes = Product(part_sizes) * width;
    std::byte* data = buffer_.data() + used_;
    used_ += RoundedUp(bytes);
    parts_.push_back(
        {output, OffsetOf(PackedLayout(sizes), begin) * width, {data, static_cast<size_t>(bytes)}});
    return {data, type_, PackedLayout(part_sizes)};
  }

  std::vector<Part> Take() { return std::move(parts_); }

 private:
  DataType type_;
  std::span<std::byte> buffer_;
  int64_t used_ = 0;
  std::vector<Part> parts_;
};

Pieces::Pieces(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
               std::span<const Dims> output_sizes, DataType output_type, int64_t max_bytes)
    : desc_(desc),
      inputs_(inputs),
      output_sizes_(output_sizes),
      type_(output_type),
      width_(static_cast<int64_t>(ByteWidth(output_type))),
      space_(std::visit([&](const auto& d) { return SpaceOf(d, inputs, output_sizes); }, desc)) {
  int64_t unit = width_;  // bytes of one index of the dimension that is cut
  cut_dim_ = space_.size() - 1;
  while (cut_dim_ > 0 && unit * space_[cut_dim_] <= max_bytes) unit *= space_[cut_dim_--];
  const int64_t longest = std::max<int64_t>(1, max_bytes / unit);
  cuts_ = (space_[cut_dim_] + longest - 1) / longest;
  cut_size_ = (space_[cut_dim_] + cuts_ - 1) / cuts_;
  cuts_ = (space_[cut_dim_] + cut_size_ - 1) / cut_size_;
  for (size_t d = 0; d < cut_dim_; ++d) leading_count_ *= space_[d];
}

size_t Pieces::buffer_size() const {
  int64_t bytes = cut_size_ * width_;
  for (size_t d = cut_dim_ + 1; d < space_.size(); ++d) bytes *= space_[d];
  const int64_t parts = static_cast<int64_t>(output_sizes_.size());
  return static_cast<size_t>(bytes + parts * kAlignment);
}

Pieces::Box Pieces::BoxOf(int64_t number) const {
  Box box{Dims::Filled(space_.size(), 0), space_};
  int64_t leading = number / cuts_;
  for (size_t d = cut_dim_; d-- > 0; leading /= space_[d]) {
    box.begin[d] = leading % space_[d];
    box.sizes[d] = 1;
  }
  box.begin[cut_dim_] = number % cuts_ * cut_size_;
  box.sizes[cut_dim_] = std::min(cut_size_, space_[cut_dim_] - box.begin[cut_dim_]);
  return box;
}

std::vector<Pieces::Part> Pieces::Run(int64_t number, std::span<std::byte> buffer) const {
  Parts parts(type_, buffer);
  std::visit([&](const auto& desc) { RunBox(desc, BoxOf(number), parts); }, desc_);
  return parts.Take();
}

namespace {

ConstTensorView Narrowed(ConstTensorView view, const Dims& begin, const Dims& sizes) {
  for (size_t d = 0; d < sizes.size(); ++d) view = view.Slice(d, begin[d], sizes[d]);
  return view;
}

}  // namespace

void Pieces::RunBox(const IdentityDesc& desc, const Box& box, Parts& parts) const {
  const ConstTensorView input = Narrowed(inputs_[0], box.begin, box.sizes);
  const TensorView output = parts.Add(0, space_, box.begin, box.sizes);
  dmlop::Run(desc, {&input, 1}, {&output, 1});
}

void Pieces::RunBox(const ReduceDesc& desc, const Box& box, Parts& parts) const {
  ConstTensorView input = inputs_[0];
  for (size_t d = 0; d < space_.size(); ++d) {
    const bool is_reduced = input.layout.sizes[d] != space_[d];
    if (!is_reduced) input = input.Slice(d, box.begin[d], box.sizes[d]);
  }
  const TensorView output = parts.Add(0, space_, box.begin, box.sizes);
  dmlop::Run(desc, {&input, 1}, {&output, 1});
}

void Pieces::RunBox(const JoinDesc& desc, const Box& box, Parts& parts) const {
  const size_t axis = *desc.axis;
  const int64_t box_end = box.begin[axis] + box.sizes[axis];
  std::vector<ConstTensorView> inputs;
  int64_t start = 0;  // of the input in the whole
  for (const ConstTensorView& input : inputs_) {
    Dims begin = box.begin;
    Dims sizes = box.sizes;
    begin[axis] = std::max(box.begin[axis], start) - start;
    sizes[axis] = std::min(box_end - start, input.layout.sizes[axis]) - begin[axis];
    if (sizes[axis] > 0) inputs.push_back(Narrowed(input, begin, sizes));
    start += input.layout.sizes[axis];
  }
  const TensorView output = parts.Add(0, space_, box.begin, box.sizes);
  dmlop::Run(desc, inputs, {&output, 1});
}

void Pieces::RunBox(const SplitDesc& desc, const Box& box, Parts& parts) const {
  const size_t axis = *desc.axis;
  const int64_t box_end = box.begin[axis] + box.sizes[axis];
  std::vector<TensorView> outputs;
  int64_t start = 0;  // of the output in the whole
  for (size_t i = 0; i < output_sizes_.size(); ++i) {
    Dims begin = box.begin;
    Dims sizes = box.sizes;
    begin[axis] = std::max(box.begin[axis], start) - start;
    sizes[axis] = std::min(box_end - start, output_sizes_[i][axis]) - begin[axis];
    if (sizes[axis] > 0) outputs.push_back(parts.Add(i, output_sizes_[i], begin, sizes));
    start += output_sizes_[i][axis];
  }
  const ConstTensorView input = Narrowed(inputs_[0], box.begin, box.sizes);
  dmlop::Run(desc, {&input, 1}, outputs);
}

void Pieces::RunBox(const UnfoldDesc& desc, const Box& box, Parts& parts) const {
  std::vector<UnfoldDim> dims = UnfoldDims(desc, inputs_[0]);
  const size_t taps = 2;
  const size_t blocks = taps + dims.size();
  Dims sizes{box.sizes[0], box.sizes[1], 1};
  for (size_t d = 0; d < dims.size(); ++d) {
    UnfoldDim& dim = dims[d];
    dim.window = box.sizes[taps + d];
    dim.blocks = box.sizes[blocks + d];
    dim.padding -= box.begin[taps + d] * dim.dilation + box.begin[blocks + d] * dim.stride;
    sizes[1] *= dim.window;
    sizes[2] *= dim.blocks;
  }
  const ConstTensorView input =
      inputs_[0].Slice(0, box.begin[0], box.sizes[0]).Slice(1, box.begin[1], box.sizes[1]);
  TensorView output = parts.Add(0, space_, box.begin, box.sizes);
  output.layout = PackedLayout(sizes);
  UnfoldWindows(std::move(dims), input, output);
}

}  // namespace dmlop
