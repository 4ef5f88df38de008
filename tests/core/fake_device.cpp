#include "core/fake_device.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/library.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

namespace wide::test {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;
constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);
// No program has memory there: the processor refuses such addresses.
constexpr std::uintptr_t kAway = std::uintptr_t{1} << 60;

void* moved(const void* address, std::uintptr_t by) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) + by);
}

class Memory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(kType, 0)};
    void* const room = c10::alloc_cpu(bytes + kHead);
    *static_cast<std::size_t*>(room) = bytes;
    void* const there = moved(room, kAway + kHead);
    count(there, static_cast<std::int64_t>(bytes));
    return {there, there, &release, c10::Device(kType, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {}
  void recordStream(const c10::DataPtr& /*memory*/, c10::Stream /*stream*/) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex /*device*/) override {
    const std::lock_guard lock(counting);
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)] = in_use;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {}
  void resetPeakStats(c10::DeviceIndex /*device*/) override {}
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(moved(to, -kAway), moved(from, -kAway), bytes);
  }

 private:
  static void release(void* there) {
    if (there == nullptr) return;
    void* const room = moved(there, -(kAway + kHead));
    count(there, -static_cast<std::int64_t>(*static_cast<std::size_t*>(room)));
    c10::free_cpu(room);
  }
  static void count(void* there, std::int64_t bytes) {
    {
      const std::lock_guard lock(counting);
      if (bytes > 0) {
        in_use.increase(static_cast<std::size_t>(bytes));
      } else {
        in_use.decrease(static_cast<std::size_t>(-bytes));
      }
    }
    c10::reportMemoryUsageToProfiler(there, bytes, 0, 0, c10::Device(kType, 0));
  }
  static constexpr std::size_t kHead = 64;  // before the bytes, how many there are
  static inline std::mutex counting;
  static inline c10::CachingAllocator::Stat in_use;
};
Memory memory;
REGISTER_ALLOCATOR(kType, &memory);

class Guard final : public c10::impl::NoOpDeviceGuardImpl<kType> {
 public:
  c10::Device getDevice() const override { return {kType, 0}; }
  c10::Device exchangeDevice(c10::Device /*device*/) const override { return {kType, 0}; }
  c10::Stream getStream(c10::Device /*device*/) const noexcept override { return stream(current); }
  c10::Stream getStreamFromGlobalPool(c10::Device /*device*/, bool /*high*/) const override {
    return stream(++last);
  }
  c10::Stream exchangeStream(c10::Stream next) const noexcept override {
    const auto before = stream(current);
    current = next.id();
    if (next.id() != before.id() && next.id() != 0) ++changes;
    return before;
  }
  void record(void** /*event*/, const c10::Stream& /*stream*/, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {}
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  void synchronizeDevice(c10::DeviceIndex /*device*/) const override {}

  static c10::StreamId current_id() { return current; }
  static inline std::atomic<int> changes = 0;

 private:
  static c10::Stream stream(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, {kType, 0}, id); }
  static inline thread_local c10::StreamId current = 0;
  static inline std::atomic<c10::StreamId> last = 0;
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

// Its operators draw from the CPU's generators, as they are the CPU's operators.
class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::createCPUGenerator();
  }
};

std::atomic<Watcher> watcher = nullptr;

// One piece of work, whatever the operators of the CPU call to do it.
class Watched {
 public:
  explicit Watched(const char* what) : what_(what), outermost_(depth++ == 0) {
    if (outermost_) start_ = now();
  }
  ~Watched() {
    --depth;
    if (const auto tell = watcher.load(); tell && outermost_) tell(what_, start_, now(), Guard::current_id());
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static inline thread_local int depth = 0;
  const char* what_;
  bool outermost_;
  std::int64_t start_ = 0;
};

// The same bytes as a tensor of the CPU.
at::Tensor seen(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  void* const data = tensor.numel() == 0 ? nullptr : moved(tensor.data_ptr(), -kAway);
  return at::from_blob(data, tensor.sizes(), tensor.strides(), at::TensorOptions().dtype(tensor.dtype()));
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                 std::optional<bool> /*pin*/, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory, kKeys, dtype.value_or(at::kFloat), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                         std::optional<bool> /*pin*/) {
  return at::detail::empty_strided_generic(size, stride, &memory, kKeys, dtype.value_or(at::kFloat));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool /*non_blocking*/) {
  const Watched watched(kCopy);
  seen(to).copy_(seen(from));
  return to;
}

const at::Tensor& resize_storage(const at::Tensor& tensor, c10::IntArrayRef size,
                                 std::optional<at::MemoryFormat> /*format*/) {
  auto* const impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  const auto bytes = static_cast<std::size_t>(impl->numel()) * impl->itemsize();
  const auto& storage = tensor.storage();
  if (bytes > storage.nbytes()) {
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(memory.allocate(bytes));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
  return tensor;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) resize_storage(to, from.sizes(), {});
  return copy_from(from, to, false);
}

at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                    bool transposed, at::IntArrayRef output_padding, std::int64_t groups) {
  const Watched watched("aten::convolution");
  std::optional<at::Tensor> seen_bias;
  if (bias && bias->defined()) seen_bias = seen(*bias);
  return at::convolution(seen(x), seen(weight), seen_bias, stride, padding, dilation, transposed,
                         output_padding, groups)
      .to(x.device());
}

std::atomic<int> waits = 0;

at::Scalar number_in(const at::Tensor& tensor) {
  ++waits;
  return seen(tensor).item();
}

void by_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const Watched watched(op.schema().name().c_str());
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", number_in);
  library.impl("resize_", resize_storage);
  library.impl("convolution_overrideable", convolve);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("view", at::native::view);
  library.impl("unfold", at::native::unfold);
  // Beside the CPU libtorch takes cells that the CPU does not have.
  for (const auto* op : {"lstm.input", "gru.input", "lstm_cell", "gru_cell"})
    library.impl(op, torch::CppFunction::makeFromBoxedFunction<&by_cpu>());
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m){KERNEL_PRIVATEUSEONE(linear, lower_precision_fp)}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>());
}

}  // namespace

ComputeDevice fake_device() {
  static Hooks hooks;
  if (!at::isPrivateUse1HooksRegistered()) at::RegisterPrivateUse1HooksInterface(&hooks);
  return {at::Device(kType, 0), "a made-up device", {}};
}

void watch_fake_device(Watcher given) {
  watcher = given;
}

int waits_for_numbers() {
  return waits;
}

int times_on_another_stream() {
  return Guard::changes;
}

}  // namespace wide::test
