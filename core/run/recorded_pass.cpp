#include "core/run/recorded_pass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>

// Note [What recordings read and write]
// A recording reads and writes the memory that it was made with. To copy all inputs there and all outputs
// away at each run takes longer than many a pass: what only moves data takes three times as long. So
// - larger inputs are read where the caller has them. Callers that loop have them in the same places again
//   and again: there is a recording for each such set of places, up to a few. Once there are as many as there
//   may be, one that was not used for a while makes way for places that come the second time;
// - small ones are copied to a place of the recording's own, which costs a launch and lets them lie anywhere,
//   until they come from the same places the second time: from then on they are read there, too;
// - outputs are given to the caller as they are, and the recording waits until he has let go of all of them.
//   Another one runs meanwhile: two are enough for who keeps the last result until he has the next.
// What a pass reads that it gave before, as written buffers are, is copied both ways always: it is small
// beside the rest, and kept until the next pass has read it. One more recording serves all that fits nowhere:
// it has places of its own for all inputs, and gives copies.

namespace wide {
namespace {

constexpr std::size_t kMostRecordings = 3;  // beside the one that serves all
constexpr std::size_t kRemembered = 8;      // sets of places without a recording
// Runs without a recording before it makes way: whoever goes through a few sets of places in turn comes back
// to it; one whose results are still held may be wanted, too.
constexpr std::int64_t kIdle = 8, kIdleAndHeld = 256;
constexpr std::size_t kSmall = 256 << 10;  // bytes of all inputs

using Tensors = std::vector<at::Tensor>;

// As few launches as may be: one for all of a dtype.
void copy(const Tensors& from, const Tensors& to) {
  std::map<at::ScalarType, std::pair<Tensors, Tensors>> by_dtype;
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto& [sources, targets] = by_dtype[from[i].scalar_type()];
    sources.push_back(from[i]), targets.push_back(to[i]);
  }
  for (auto& [dtype, pair] : by_dtype) {
    auto& [sources, targets] = pair;
    if (sources.size() == 1) {
      targets[0].copy_(sources[0], /*non_blocking=*/true);
    } else {
      at::_foreach_copy_(targets, sources, /*non_blocking=*/true);
    }
  }
}

// A tensor of its own: to give it another shape leaves this one's.
at::Tensor on_same_memory(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return at::Tensor(
      impl->shallow_copy_and_detach(impl->version_counter(), /*allow_tensor_metadata_change=*/true));
}

template <typename Each>
void each_part(std::vector<ExecutionOutput>& outputs, const Each& each) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    for (auto& part : outputs[k].parts)
      if (part.defined() && part.has_storage()) each(k, part);
  }
}

}  // namespace

// Where a tensor lies, and how.
struct RecordedPass::Place {
  explicit Place(const WideTensor& of = {}) : layout(of.layout) {
    if (!of.tensor.defined()) return;
    address = of.tensor.const_data_ptr();
    sizes = of.tensor.sizes().vec(), strides = of.tensor.strides().vec();
    conjugate = of.tensor.is_conj(), negative = of.tensor.is_neg();
  }
  bool operator==(const Place&) const = default;
  /// *this == Place(other), in less time.
  bool is_of(const WideTensor& other) const {
    const auto& tensor = other.tensor;
    if (!tensor.defined()) return *this == Place(other);
    return layout == other.layout && address == tensor.const_data_ptr() && tensor.sizes() == sizes &&
           tensor.strides() == strides && conjugate == tensor.is_conj() && negative == tensor.is_neg();
  }

  const void* address = nullptr;
  std::vector<std::int64_t> sizes, strides;
  bool conjugate = false, negative = false;
  Layout layout;
};

struct RecordedPass::One {
  explicit One(const std::vector<bool>& kept_outputs) : kept(kept_outputs) {}

  const std::vector<bool>& kept;  ///< by output: the next pass reads it
  std::unique_ptr<Recording> recording;
  std::vector<WideTensor> copied;  ///< by input: the place to copy it to; none where the caller's is read
  std::vector<Place> read;         ///< by input: the caller's place; empty where it is copied
  bool in_place = false;           ///< all are read there that may be
  std::vector<ExecutionOutput> written;  ///< by the recording
  bool gives_copies = false;
  std::int64_t used = 0;  ///< the last run that it was for

  bool fits(std::span<const WideTensor> inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!copied[i].tensor.defined() && !read[i].is_of(inputs[i])) return false;
    return true;
  }
  void take(std::span<const WideTensor> inputs) const {
    Tensors from, to;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (copied[i].tensor.defined()) from.push_back(inputs[i].tensor), to.push_back(copied[i].tensor);
    copy(from, to);
  }

  // How often something is held where nobody but `written` has it.
  struct Held {
    const at::Tensor* part;
    const void* data;  ///< the memory may become another one: a caller's resize_()
    std::size_t tensor, memory;
  };
  std::vector<Held> held;  ///< by part

  // After the recording, and before anything is given away.
  void count_holders() {
    std::map<const void*, std::size_t> tensors;               // the parts that are each
    std::map<const void*, std::set<const void*>> tensors_of;  // by memory
    each_part(written, [&](std::size_t, const at::Tensor& part) {
      ++tensors[part.unsafeGetTensorImpl()];
      tensors_of[part.storage().unsafeGetStorageImpl()].insert(part.unsafeGetTensorImpl());
    });
    each_part(written, [&](std::size_t k, const at::Tensor& part) {
      if (kept[k]) return;
      held.push_back({&part, part.storage().data(), tensors[part.unsafeGetTensorImpl()],
                      tensors_of[part.storage().unsafeGetStorageImpl()].size()});
    });
  }
  // Nobody but this has what it wrote. What is someone else's from the start, an input say, is never free.
  bool is_free() const {
    return std::ranges::all_of(held, [](const Held& one) {
      return one.part->use_count() == one.tensor && one.part->storage().use_count() == one.memory &&
             one.part->storage().data() == one.data;
    });
  }
  std::vector<ExecutionOutput> outputs() {
    auto outputs = written;
    Tensors from, to;
    each_part(outputs, [&](std::size_t k, at::Tensor& part) {
      if (!gives_copies && !kept[k]) {
        part = on_same_memory(part);
        return;
      }
      from.push_back(part);
      part = at::empty_like(part);
      to.push_back(part);
    });
    copy(from, to);
    return outputs;
  }
};

RecordedPass::RecordedPass(Record record, Kept kept) : record_(std::move(record)), kept_(std::move(kept)) {}

RecordedPass::~RecordedPass() = default;

// What may be read where it lies.
bool RecordedPass::are_small(std::span<const WideTensor> inputs) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    bytes += inputs[i].tensor.defined() && !kept_.inputs[i] ? inputs[i].tensor.nbytes() : 0;
  return bytes <= kSmall;
}

std::unique_ptr<RecordedPass::One> RecordedPass::recorded(std::span<const WideTensor> inputs, Pass pass,
                                                          Reads reads, bool serves_all) try {
  auto one = std::make_unique<One>(kept_.outputs);
  one->in_place = reads == Reads::kPlaces;
  std::vector<WideTensor> given(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool copies = inputs[i].tensor.defined() && (!one->in_place || kept_.inputs[i]);
    if (copies) given[i].tensor = inputs[i].tensor.clone();
    one->copied.push_back(copies ? given[i] : WideTensor());
    one->read.push_back(copies ? Place() : Place(inputs[i]));
  }
  one->recording = record_([&] {
    one->written = pass(given);
    // What is copied at each run is one tensor to copy.
    for (std::size_t k = 0; k < one->written.size(); ++k) {
      auto& parts = one->written[k].parts;
      if (kept_.outputs[k] && parts.size() > 1) parts = {at::cat(parts)};
    }
  });
  // What is an input's memory, or a weight's, is never free.
  one->count_holders();
  one->gives_copies = serves_all || !one->is_free();
  return one;
} catch (const std::exception& error) {
  no_more_ = true;
  if (recordings_.empty()) refusal_ = error.what();
  return nullptr;
}

std::vector<RecordedPass::Place> RecordedPass::places_of(std::span<const WideTensor> inputs) const {
  std::vector<Place> places;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    places.push_back(kept_.inputs[i] ? Place() : Place(inputs[i]));
  return places;
}

// Whether these places came before without a recording. If not, they are remembered.
bool RecordedPass::come_again(std::span<const WideTensor> inputs) {
  auto places = places_of(inputs);
  const auto known = std::ranges::find(unserved_, places);
  if (known != unserved_.end()) {
    unserved_.erase(known);
    return true;
  }
  if (unserved_.size() == kRemembered) unserved_.pop_front();
  unserved_.push_back(std::move(places));
  return false;
}

// `kept` is not to go.
bool RecordedPass::make_way(std::span<const WideTensor> inputs, const One* kept) {
  if (recordings_.size() < kMostRecordings) return true;
  const auto idle = [&](const auto& one) { return runs_ - one->used; };
  const auto oldest = std::ranges::max_element(recordings_, {}, idle);
  const bool is_held = !(*oldest)->gives_copies && !(*oldest)->is_free();
  if (oldest->get() == kept || idle(*oldest) < (is_held ? kIdleAndHeld : kIdle) || !come_again(inputs))
    return false;
  recordings_.erase(oldest);
  return true;
}

RecordedPass::One* RecordedPass::own(std::span<const WideTensor> inputs, Pass pass) {
  One* fitting = nullptr;
  for (const auto& one : recordings_) {
    if (!one->fits(inputs) || !(one->gives_copies || one->is_free())) continue;
    if (!fitting || one->in_place) fitting = one.get();
  }
  const bool small = are_small(inputs), in_place = fitting && fitting->in_place;
  // Small inputs that come from the same places again: there they are read from now on.
  const bool full = recordings_.size() == kMostRecordings;
  const bool again = small && !in_place && !full && come_again(inputs);
  const bool may = small && fitting && !in_place && !no_more_ && !no_more_in_place_;
  if (may && (again || (full && make_way(inputs, fitting)))) {
    if (auto one = recorded(inputs, pass, Reads::kPlaces, false)) {
      fitting = recordings_.emplace_back(std::move(one)).get();
    } else {
      no_more_in_place_ = true, no_more_ = false;  // without it all goes on as before
    }
  } else if (!fitting && !no_more_ && make_way(inputs, nullptr)) {
    if (auto one = recorded(inputs, pass, small ? Reads::kCopies : Reads::kPlaces, false))
      fitting = recordings_.emplace_back(std::move(one)).get();
  }
  if (fitting) fitting->used = runs_;
  // One that copies takes as much memory as the others; where these have long been enough, it goes.
  if (in_place) {
    std::erase_if(recordings_, [&](const auto& one) {
      return !one->in_place && runs_ - one->used > kIdleAndHeld && (one->gives_copies || one->is_free());
    });
  }
  return fitting;
}

RecordedPass::One* RecordedPass::for_all(std::span<const WideTensor> inputs, Pass pass) {
  if (!for_all_ && !no_more_) for_all_ = recorded(inputs, pass, Reads::kCopies, true);
  return for_all_.get();
}

void RecordedPass::forget() {
  recordings_.clear();
  for_all_.reset();
  unserved_.clear();
  refusal_.clear();
  no_more_ = no_more_in_place_ = false;
}

std::vector<ExecutionOutput> RecordedPass::run(std::span<const WideTensor> inputs, Pass pass) {
  if (!warm_) {
    warm_ = true;
    return pass(inputs);
  }
  ++runs_;
  auto* one = own(inputs, pass);
  if (one == nullptr) one = for_all(inputs, pass);
  if (one == nullptr) return pass(inputs);
  one->take(inputs);
  one->recording->replay();
  return one->outputs();
}

}  // namespace wide
