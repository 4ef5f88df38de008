#include "core/run/tensor_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>

namespace wide {
namespace {

thread_local MemorySource* current_source = nullptr;
thread_local MemoryWatcher* current_watcher = nullptr;

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    const auto size = bytes + sizeof(BlockHeader);
    auto* header =
        current_source ? current_source->take(size) : new (c10::alloc_cpu(size)) BlockHeader{nullptr, size};
    c10::profiledCPUMemoryReporter().New(header->data(), bytes);
    // The context is the data, as raw_allocate() wants it.
    return {header->data(), header->data(), &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void release(void* data) {
    if (!data) return;
    c10::profiledCPUMemoryReporter().Delete(data);
    auto* header = BlockHeader::of(data);
    if (current_watcher && header->watch == current_watcher->id()) current_watcher->freed(*header);
    header->source ? header->source->give_back(header) : c10::free_cpu(header);
  }
};

std::atomic<bool> in_use{false};

}  // namespace

void use_tensor_memory() {
  static TensorAllocator allocator;
  if (!in_use.exchange(true)) c10::SetCPUAllocator(&allocator, /*priority=*/1);
}

bool uses_tensor_memory() {
  return in_use;
}

MemoryWatcher::MemoryWatcher() {
  static std::atomic<std::uint64_t> last{0};
  id_ = ++last;
}

MemoryScope::MemoryScope(MemorySource* source, MemoryWatcher* watcher)
    : source_before_(current_source), watcher_before_(current_watcher) {
  current_source = source;
  current_watcher = watcher;
}

MemoryScope::~MemoryScope() {
  current_source = source_before_;
  current_watcher = watcher_before_;
}

}  // namespace wide
