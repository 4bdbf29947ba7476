// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/engine/normalization/slice_function.h"

namespace dmlop {
namespace {

constexpr size_t kOutput = kMaxSliceInputs;
constexpr size_t kResults = kOutput + 1;

constexpr int64_t kWholeSlice = 1 << 15;  // longest slice that is not divided into chunks
constexpr int64_t kTile = 1 << 16;        // elements copied to lie side by side
constexpr int64_t kNeighbours = 16;       // slices that are worth copying together
constexpr int64_t kSmallRange = 1 << 13;  // elements too few for waking a thread
constexpr int64_t kTilesPerThread = 4;    // so that threads end at about the same time
constexpr int64_t kBlock = 16;            // kernels work on multiples of so many elements

// The work of one thread: some slices, each as a whole or a range of its chunks.
class Tile {
 public:
  // At most `slices` slices, and `elements` elements of each.
  Tile(const SliceLayout& layout, const SliceTensors& tensors, int64_t slices, int64_t elements)
      : layout_(layout),
        tensors_(tensors),
        pitch_(RoundUp(elements, kBlock) + kBlock),  // padded so that rows use different cache sets
        width_(static_cast<int64_t>(ByteWidth(tensors.output.type))),
        buffers_(kSliceOperands),
        room_(static_cast<size_t>(slices * pitch_ * width_)) {}

  // Calls visit(slice, walk, chunk) for each slice; the chunk's output is set if `writes`.
  template <typename Visit>
  void ForSlices(const SliceLayout::Rows& rows, size_t inputs, bool writes, Visit&& visit) {
    Gather(rows, inputs);
    Walk<kSliceOperands> walk(layout_.slices(), rows.slices.begin);
    for (int64_t s = rows.slices.begin; s < rows.slices.end; ++s, walk.Next()) {
      SliceChunk chunk{};
      const int64_t row = s - rows.slices.begin;
      for (size_t k = 0; k < inputs; ++k) chunk.inputs[k] = InputOf(rows, k, walk.offset(k), row);
      if (writes) chunk.output = OutputOf(rows, walk.offset(kOutput), row);
      chunk.begin = rows.elements.begin;
      chunk.count = rows.elements.count();
      chunk.slice_length = layout_.length();
      visit(s, walk, chunk);
    }
    if (writes) Scatter(rows);
  }

  SliceLayout::Rows RowsOf(Range slices, Range elements) const {
    return {slices, elements, pitch_};
  }

 private:
  std::byte* BufferOf(size_t operand) {
    Buffer& buffer = buffers_[operand];
    if (buffer.size() == 0) buffer = Buffer(room_);
    return buffer.data();
  }

  void Gather(const SliceLayout::Rows& rows, size_t inputs) {
    std::vector<Move> moves;
    for (size_t k = 0; k < inputs; ++k) {
      if (layout_.Lies(k) != InSlice::kApart) continue;
      layout_.AddGathering(rows, k, tensors_.inputs[k], BufferOf(k), moves);
    }
    if (!moves.empty()) CopyAll(moves);
  }

  void Scatter(const SliceLayout::Rows& rows) {
    if (layout_.Lies(kOutput) == InSlice::kSideBySide) return;
    std::vector<Move> moves;
    layout_.AddScattering(rows, kOutput, BufferOf(kOutput), tensors_.output, moves);
    CopyAll(moves);
  }

  SliceChunk::Input InputOf(const SliceLayout::Rows& rows, size_t k, int64_t offset, int64_t row) {
    const std::byte* const data = tensors_.inputs[k].data;
    switch (layout_.Lies(k)) {
      case InSlice::kOneForAll:
        return {data + offset * width_, false};
      case InSlice::kSideBySide:
        return {data + (offset + rows.elements.begin) * width_, true};
      case InSlice::kApart:
        break;
    }
    return {BufferOf(k) + row * pitch_ * width_, true};
  }

  std::byte* OutputOf(const SliceLayout::Rows& rows, int64_t offset, int64_t row) {
    if (layout_.Lies(kOutput) == InSlice::kSideBySide) {
      return tensors_.output.data + (offset + rows.elements.begin) * width_;
    }
    return BufferOf(kOutput) + row * pitch_ * width_;
  }

  const SliceLayout& layout_;
  const SliceTensors& tensors_;
  int64_t pitch_;
  int64_t width_;
  std::vector<Buffer> buffers_;  // for operands that lie apart, allocated on demand
  size_t room_;
};

class SliceLoop {
 public:
  SliceLoop(const SliceFunction& function, const std::vector<uint32_t>& axes,
            const SliceTensors& tensors)
      : function_(function), tensors_(tensors), layout_(axes, tensors, function.seen_inputs()) {}

  void Run() const { layout_.length() <= kWholeSlice ? RunWhole() : RunInChunks(); }

 private:
  int64_t chunk_count() const { return CeilDiv(layout_.length(), kSliceChunk); }
  int64_t bytes() const { return tensors_.output.element_bytes(); }

  // Padded like rows of tiles.
  int64_t KeptPitch() const { return RoundUp(layout_.length(), kBlock) + kBlock; }

  bool LiesApart() const {
    for (size_t k = 0; k <= tensors_.inputs.size(); ++k) {
      if (layout_.Lies(k < tensors_.inputs.size() ? k : kOutput) == InSlice::kApart) return true;
    }
    return layout_.Lies(kOutput) != InSlice::kSideBySide;
  }

  // Number of slices in a tile. Each thread gets some tiles if there are enough slices, but only
  // one if these are copied together.
  int64_t SlicesOfTile(int64_t elements) const {
    const bool is_apart = LiesApart();
    const int64_t wanted = std::max(kTile / elements, is_apart ? kNeighbours : int64_t{1});
    const int64_t tiles = ThreadsAtHand() * (is_apart ? 1 : kTilesPerThread);
    return std::min(wanted, CeilDiv(layout_.slice_count(), tiles));
  }

  // --- whole slices ------------------------------------------------------------------------------

  void RunWhole() const {
    const int64_t length = layout_.length();
    const int64_t slices = layout_.slice_count();
    const int64_t step = SlicesOfTile(length);
    const int64_t grain = std::max<int64_t>(1, kSmallRange / (step * length));
    ParallelFor(CeilDiv(slices, step), grain, bytes(), [&](int64_t begin, int64_t end) {
      Tile tile(layout_, tensors_, step, length);
      Buffer kept(static_cast<size_t>(function_.kept_rows() * KeptPitch()) * sizeof(double));
      for (int64_t t = begin; t < end; ++t) {
        const Range range{t * step, std::min(slices, (t + 1) * step)};
        RunTile(tile, range, reinterpret_cast<double*>(kept.data()));
      }
    });
  }

  void RunTile(Tile& tile, Range slices, double* kept) const {
    std::vector<ChunkFindings> findings(static_cast<size_t>(chunk_count()));
    const size_t inputs = tensors_.inputs.size();
    std::optional<SliceChunk> last;
    tile.ForSlices(tile.RowsOf(slices, {0, layout_.length()}), inputs, /*writes=*/true,
                   [&](int64_t, const Walk<kSliceOperands>& walk, SliceChunk& whole) {
                     whole.kept = function_.kept_rows() > 0 ? kept : nullptr;
                     whole.kept_pitch = KeptPitch();
                     whole.follows = last && Follows(*last, whole);
                     last = whole;
                     RunSlice(whole, walk, findings);
                   });
  }

  bool Follows(const SliceChunk& last, const SliceChunk& next) const {
    for (size_t k = 1; k < tensors_.inputs.size(); ++k) {
      if (next.inputs[k].data != last.inputs[k].data) return false;
    }
    return true;
  }

  void RunSlice(const SliceChunk& whole, const Walk<kSliceOperands>& walk,
                std::vector<ChunkFindings>& findings) const {
    SliceFacts facts{};
    for (int pass = 0; pass < function_.passes(); ++pass) {
      ForChunks(whole, [&](size_t c, const SliceChunk& chunk) {
        findings[c] = function_.Find(pass, facts, chunk);
      });
      function_.Conclude(pass, findings, whole.slice_length, facts);
    }
    ForChunks(whole, [&](size_t, const SliceChunk& chunk) { function_.Write(facts, chunk); });
    Give(facts, walk);
  }

  template <typename Visit>
  void ForChunks(const SliceChunk& rows, Visit&& visit) const {
    if (rows.count <= kSliceChunk) return visit(size_t{0}, rows);
    const int64_t width = static_cast<int64_t>(ByteWidth(tensors_.output.type));
    for (int64_t begin = 0; begin < rows.count; begin += kSliceChunk) {
      SliceChunk chunk = rows;
      for (SliceChunk::Input& input : chunk.inputs) {
        if (input.varies) input.data += begin * width;
      }
      if (chunk.output != nullptr) chunk.output += begin * width;
      if (chunk.kept != nullptr) chunk.kept += begin;
      chunk.begin += begin;
      chunk.count = std::min(kSliceChunk, rows.count - begin);
      visit(static_cast<size_t>(begin / kSliceChunk), chunk);
    }
  }

  void Give(const SliceFacts& facts, const Walk<kSliceOperands>& walk) const {
    std::array<std::byte*, kMaxSliceResults> places{};
    const size_t count = tensors_.results.size();
    for (size_t i = 0; i < count; ++i) {
      const TensorView& result = tensors_.results[i];
      places[i] =
          result.data + walk.offset(kResults + i) * static_cast<int64_t>(ByteWidth(result.type));
    }
    function_.Give(facts, std::span(places).first(count));
  }

  // --- some chunks of slices at a time -----------------------------------------------------------

  // Each pass runs over all slices before the next one begins.
  void RunInChunks() const {
    const size_t slices = static_cast<size_t>(layout_.slice_count());
    const size_t chunks = static_cast<size_t>(chunk_count());
    std::vector<SliceFacts> facts(slices);
    std::vector<ChunkFindings> findings(slices * chunks);
    for (int pass = 0; pass < function_.passes(); ++pass) {
      ForPieces(function_.seen_inputs(), /*writes=*/false, [&](size_t s, const SliceChunk& rows) {
        const size_t first = s * chunks + static_cast<size_t>(rows.begin / kSliceChunk);
        ForChunks(rows, [&](size_t c, const SliceChunk& chunk) {
          findings[first + c] = function_.Find(pass, facts[s], chunk);
        });
      });
      for (size_t s = 0; s < slices; ++s) {
        function_.Conclude(pass, std::span(findings).subspan(s * chunks, chunks), layout_.length(),
                           facts[s]);
      }
    }
    ForPieces(tensors_.inputs.size(), /*writes=*/true, [&](size_t s, const SliceChunk& rows) {
      ForChunks(rows, [&](size_t, const SliceChunk& chunk) { function_.Write(facts[s], chunk); });
    });
    Walk<kSliceOperands> walk(layout_.slices(), 0);
    for (size_t s = 0; s < slices; ++s, walk.Next()) Give(facts[s], walk);
  }

  template <typename Visit>
  void ForPieces(size_t inputs, bool writes, Visit&& visit) const {
    const int64_t slices = layout_.slice_count();
    const int64_t chunks = LiesApart() && slices >= kNeighbours ? 1 : kWholeSlice / kSliceChunk;
    const int64_t elements = chunks * kSliceChunk;
    const int64_t step = SlicesOfTile(elements);
    const int64_t tiles = CeilDiv(slices, step);
    const int64_t groups = CeilDiv(chunk_count(), chunks);
    ParallelFor(
        tiles * groups, 1, bytes() / (function_.passes() + 1), [&](int64_t begin, int64_t end) {
          Tile tile(layout_, tensors_, step, elements);
          for (int64_t piece = begin; piece < end; ++piece) {
            const int64_t t = piece / groups;
            const int64_t first = piece % groups * elements;
            const auto rows = tile.RowsOf({t * step, std::min(slices, (t + 1) * step)},
                                          {first, std::min(layout_.length(), first + elements)});
            tile.ForSlices(rows, inputs, writes,
                           [&](int64_t s, const Walk<kSliceOperands>&, const SliceChunk& chunk) {
                             visit(static_cast<size_t>(s), chunk);
                           });
          }
        });
  }

  const SliceFunction& function_;
  const SliceTensors& tensors_;
  SliceLayout layout_;
};

}  // namespace

void RunSlices(const SliceFunction& function, const std::vector<uint32_t>& axes,
               const SliceTensors& tensors) {
  SliceLoop(function, axes, tensors).Run();
}

// --- layouts -------------------------------------------------------------------------------------

namespace {

// Calls visit(first, box) for boxes that together cover the iterations of a range, in order. A box
// begins at iteration `first`; its sizes say how far it goes.
template <typename Visit>
void ForBoxes(const Dims& sizes, size_t d, Range range, Visit&& visit) {
  if (range.begin == range.end) return;
  int64_t inner = 1;
  for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const int64_t first = CeilDiv(range.begin, inner);
  const int64_t last = range.end / inner;
  if (first >= last && d + 1 < sizes.size()) {
    const int64_t middle = std::clamp(first * inner, range.begin, range.end);
    ForBoxes(sizes, d + 1, {range.begin, middle}, visit);
    ForBoxes(sizes, d + 1, {middle, range.end}, visit);
    return;
  }
  if (range.begin < first * inner) ForBoxes(sizes, d + 1, {range.begin, first * inner}, visit);
  Dims box = sizes;
  for (size_t i = 0; i < d; ++i) box[i] = 1;
  box[d] = last - first;
  visit(first * inner, box);
  if (last * inner < range.end) ForBoxes(sizes, d + 1, {last * inner, range.end}, visit);
}

// Adds a dimension for each loop of a box that is longer than 1.
void PushBox(const Dims& box, const Dims& strides, const Dims& packed, Layout& tensor,
             Layout& rows) {
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d] == 1) continue;
    tensor.sizes.push_back(box[d]);
    tensor.strides.push_back(strides[d]);
    rows.sizes.push_back(box[d]);
    rows.strides.push_back(packed[d]);
  }
}

// Calls visit(offset in the tensor, its layout, offset in the rows, their layout).
template <typename Visit>
void ForPieces(const LoopNest<kSliceOperands>& slices, const LoopNest<kSliceOperands>& elements,
               const SliceLayout::Rows& rows, size_t k, Visit&& visit) {
  Dims rows_of_slices = PackedStrides(slices.sizes);
  for (int64_t& stride : rows_of_slices) stride *= rows.pitch;
  const Dims places = PackedStrides(elements.sizes);
  ForBoxes(slices.sizes, 0, rows.slices, [&](int64_t slice, const Dims& slice_box) {
    ForBoxes(elements.sizes, 0, rows.elements, [&](int64_t element, const Dims& element_box) {
      Layout tensor;
      Layout packed;
      PushBox(slice_box, slices.strides[k], rows_of_slices, tensor, packed);
      PushBox(element_box, elements.strides[k], places, tensor, packed);
      if (tensor.sizes.empty()) {
        tensor = packed = PackedLayout({1});
      }
      visit(OffsetOfElement({slices.sizes, slices.strides[k]}, slice) +
                OffsetOfElement({elements.sizes, elements.strides[k]}, element),
            tensor, (slice - rows.slices.begin) * rows.pitch + (element - rows.elements.begin),
            packed);
    });
  });
}

// Strides that are 0 where the operand is broadcast.
Dims StridesIn(const Layout& layout, const Dims& sizes) {
  Dims strides = layout.strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (layout.sizes[d] == 1) strides[d] = 0;
  }
  return strides;
}

InSlice LiesIn(const LoopNest<kSliceOperands>& elements, size_t k, bool may_be_one) {
  const Dims& strides = elements.strides[k];
  const bool is_one =
      std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
  if (is_one && may_be_one) return InSlice::kOneForAll;
  if (Product(elements.sizes) == 1) return InSlice::kSideBySide;
  return strides == PackedStrides(elements.sizes) ? InSlice::kSideBySide : InSlice::kApart;
}

}  // namespace

SliceLayout::SliceLayout(const std::vector<uint32_t>& axes, const SliceTensors& tensors,
                         size_t seen_inputs) {
  const Dims& sizes = tensors.output.layout.sizes;
  std::array<Dims, kSliceOperands> strides;
  for (Dims& one : strides) one = Dims::Filled(sizes.size(), 0);
  for (size_t i = 0; i < tensors.inputs.size(); ++i) {
    strides[i] = StridesIn(tensors.inputs[i].layout, sizes);
  }
  strides[kMaxSliceInputs] = StridesIn(tensors.output.layout, sizes);
  for (size_t i = 0; i < tensors.results.size(); ++i) {
    strides[kMaxSliceInputs + 1 + i] = StridesIn(tensors.results[i].layout, sizes);
  }
  const LoopNest<kSliceOperands> all{sizes, strides};
  for (size_t d = 0; d < all.rank(); ++d) {
    const bool in_slice = std::find(axes.begin(), axes.end(), d) != axes.end();
    (in_slice ? elements_ : slices_).Push(sizes[d], all.Step(d));
  }
  elements_ = WithARow(Merged(elements_));
  slices_ = WithARow(Merged(SortedByStride(Merged(slices_), 0)));
  for (size_t k = 0; k < kSliceOperands; ++k) {
    const bool may_be_one = k >= seen_inputs && k < tensors.inputs.size();
    lies_[k] = LiesIn(elements_, k, may_be_one);
  }
}

void SliceLayout::AddGathering(const Rows& rows, size_t operand, const ConstTensorView& from,
                               std::byte* to, std::vector<Move>& moves) const {
  const int64_t width = static_cast<int64_t>(ByteWidth(from.type));
  ForPieces(slices_, elements_, rows, operand,
            [&](int64_t offset, const Layout& tensor, int64_t place, const Layout& packed) {
              moves.push_back({{from.data + offset * width, from.type, tensor},
                               {to + place * width, from.type, packed}});
            });
}

void SliceLayout::AddScattering(const Rows& rows, size_t operand, const std::byte* from,
                                const TensorView& to, std::vector<Move>& moves) const {
  const int64_t width = static_cast<int64_t>(ByteWidth(to.type));
  ForPieces(slices_, elements_, rows, operand,
            [&](int64_t offset, const Layout& tensor, int64_t place, const Layout& packed) {
              moves.push_back({{from + place * width, to.type, packed},
                               {to.data + offset * width, to.type, tensor}});
            });
}

}  // namespace dmlop
