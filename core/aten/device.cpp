#include "core/aten/device.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <vector>

namespace wide {
namespace {

const at::AcceleratorHooksInterface& hooks(at::Device device) {
  return at::globalContext().getAcceleratorHooksInterface(device.type());
}

}  // namespace

void synchronize(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

std::int64_t peak_bytes(at::Device device) {
  if (device.is_cpu()) return 0;
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return c10::getDeviceAllocator(device.type())->getDeviceStats(device.index()).allocated_bytes[all].peak;
}

at::Generator default_generator(at::Device device) {
  if (device.is_cpu()) return at::detail::getDefaultCPUGenerator();
  return hooks(device).getDefaultGenerator(device.index());
}

at::Generator new_generator(at::Device device, std::uint64_t seed) {
  if (device.is_cpu()) return at::detail::createCPUGenerator(seed);
  auto generator = hooks(device).getNewGenerator(device.index());
  generator.set_current_seed(seed);
  return generator;
}

KeptGenerator::KeptGenerator(at::Device device)
    : generator_(default_generator(device)), state_(generator_.get_state()) {}

KeptGenerator::~KeptGenerator() {
  generator_.set_state(state_);
}

void run_on_streams(at::Device device, std::size_t count, std::size_t streams,
                    c10::function_ref<void(std::size_t)> work) {
  if (device.is_cpu()) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const c10::impl::VirtualGuardImpl guard(device.type());
  const auto current = guard.getStream(device);
  c10::Event begun(device.type());
  begun.record(current);
  std::vector<c10::Stream> side;
  for (std::size_t i = 0; i < std::min(count, streams); ++i) {
    side.push_back(guard.getStreamFromGlobalPool(device));
    begun.block(side.back());
  }
  // Also where an item throws: what the others were given reads memory that its owner may free next.
  const auto join = [&] {
    for (const auto& stream : side) {
      c10::Event done(device.type());
      done.record(stream);
      done.block(current);
    }
  };
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const c10::StreamGuard on(side[i % side.size()]);
      work(i);
    }
  } catch (...) {
    join();
    throw;
  }
  join();
}

}  // namespace wide
