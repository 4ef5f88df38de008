#include "core/run/recorded_pass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <exception>
#include <set>

// Note [What recordings read and write]
// A recording reads and writes the memory that it was made with. To copy all inputs there and all outputs
// away at each run takes longer than many a pass: what only moves data takes three times as long. So
// - small inputs are copied to a place of the recording's own, which costs a launch and lets them lie
// anywhere;
// - larger ones are read where the caller has them. Callers that loop have them in the same places again and
//   again: there is a recording for each such set of places, up to a few;
// - outputs are given to the caller as they are, and the recording waits until he has let go of all of them.
//   Another one runs meanwhile: two are enough for who keeps the last result until he has the next.
// Once there are as many as there may be, the last one serves all that fit nowhere: it has places of its own
// for all inputs, and gives copies. That is also the only one of a pass that reads what it gave before.

namespace wide {
namespace {

constexpr std::size_t kMostRecordings = 4;  // the last one serves all others
constexpr std::size_t kSmall = 256 << 10;   // bytes of all inputs

bool are_small(std::span<const WideTensor> inputs) {
  std::size_t bytes = 0;
  for (const auto& input : inputs) bytes += input.tensor.defined() ? input.tensor.nbytes() : 0;
  return bytes <= kSmall;
}

void copy(std::span<const WideTensor> inputs, std::span<const WideTensor> places) {
  std::vector<at::Tensor> from, to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].tensor.defined()) continue;
    from.push_back(inputs[i].tensor), to.push_back(places[i].tensor);
  }
  if (from.size() == 1) {
    to[0].copy_(from[0], /*non_blocking=*/true);
  } else if (!from.empty()) {
    at::_foreach_copy_(to, from, /*non_blocking=*/true);
  }
}

template <typename Each>
void each_part(std::vector<ExecutionOutput>& outputs, const Each& each) {
  for (auto& output : outputs) {
    for (auto& part : output.parts)
      if (part.defined() && part.has_storage()) each(part);
  }
}

}  // namespace

struct RecordedPass::One {
  // Where a tensor lies, and how.
  struct Place {
    explicit Place(const WideTensor& of) : layout(of.layout) {
      if (!of.tensor.defined()) return;
      address = of.tensor.const_data_ptr();
      sizes = of.tensor.sizes().vec(), strides = of.tensor.strides().vec();
      conjugate = of.tensor.is_conj(), negative = of.tensor.is_neg();
    }
    bool operator==(const Place&) const = default;

    const void* address = nullptr;
    std::vector<std::int64_t> sizes, strides;
    bool conjugate = false, negative = false;
    Layout layout;
  };

  std::unique_ptr<Recording> recording;
  std::vector<WideTensor> copied;        ///< the places to copy inputs to; empty where the caller's are read
  std::vector<Place> read;               ///< the caller's places
  std::vector<ExecutionOutput> written;  ///< by the recording
  bool gives_copies = false;

  bool fits(std::span<const WideTensor> inputs) const {
    return !copied.empty() ||
           std::ranges::equal(read, inputs, [](const Place& place, const WideTensor& input) {
             return place == Place(input);
           });
  }

  // Nobody but this has what it wrote. What is someone else's from the start, an input say, cannot be given
  // away.
  bool is_free() {
    std::vector<at::Tensor> parts;
    each_part(written, [&](const at::Tensor& part) { parts.push_back(part); });
    return std::ranges::all_of(parts, [&](const at::Tensor& part) {
      std::set<const void*> tensors;  // on the same memory
      std::size_t same = 0;
      for (const auto& other : parts) {
        if (other.is_alias_of(part)) tensors.insert(other.unsafeGetTensorImpl());
        same += other.is_same(part);
      }
      return part.storage().use_count() == tensors.size() &&
             part.use_count() == 2 * same;  // here, and in `written`
    });
  }
  std::vector<ExecutionOutput> outputs() {
    auto outputs = written;
    each_part(outputs, [&](at::Tensor& part) { part = gives_copies ? part.clone() : part.alias(); });
    return outputs;
  }
};

RecordedPass::One* RecordedPass::fitting(std::span<const WideTensor> inputs) {
  for (const auto& one : recordings_)
    if (one->fits(inputs) && (one->gives_copies || one->is_free())) return one.get();
  return nullptr;
}

RecordedPass::One* RecordedPass::another(std::span<const WideTensor> inputs, Pass pass) try {
  auto one = std::make_shared<One>();
  const bool serves_all = feeds_itself_ || recordings_.size() + 1 == kMostRecordings;
  if (serves_all || are_small(inputs)) {
    for (const auto& input : inputs)
      one->copied.push_back({input.tensor.defined() ? input.tensor.clone() : input.tensor, input.layout});
  } else {
    for (const auto& input : inputs) one->read.emplace_back(input);
  }
  one->recording = record_(
      [&] { one->written = pass(one->copied.empty() ? inputs : std::span<const WideTensor>(one->copied)); });
  // What is an input's memory, or a weight's, is never free.
  one->gives_copies = serves_all || !one->is_free();
  full_ = serves_all;
  recordings_.push_back(std::move(one));
  return recordings_.back().get();
} catch (const std::exception& error) {
  full_ = true;
  if (recordings_.empty()) refusal_ = error.what();
  return nullptr;
}

void RecordedPass::forget() {
  recordings_.clear();
  refusal_.clear();
  full_ = false;
}

std::vector<ExecutionOutput> RecordedPass::run(std::span<const WideTensor> inputs, Pass pass) {
  if (!warm_) {
    warm_ = true;
    return pass(inputs);
  }
  auto* one = fitting(inputs);
  if (one == nullptr && !full_) one = another(inputs, pass);
  if (one == nullptr) return pass(inputs);
  if (!one->copied.empty()) copy(inputs, one->copied);
  one->recording->replay();
  return one->outputs();
}

}  // namespace wide
