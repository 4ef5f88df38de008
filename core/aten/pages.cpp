#include "core/aten/pages.h"

#include <ATen/ATen.h>
#include <malloc.h>
#include <sys/mman.h>

#include <new>
#include <utility>

namespace wide {
namespace {

constexpr std::size_t kLarge = 1 << 18;  // bytes

struct Pages {
  void* data;
  std::size_t bytes;
};

void unmap(void* context) {
  const auto* pages = static_cast<Pages*>(context);
  ::munmap(pages->data, pages->bytes);
  delete pages;
}

}  // namespace

at::DataPtr in_pages(std::size_t bytes, at::Device device) {
  if (!device.is_cpu() || bytes < kLarge) {
    const auto made =
        at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(device).dtype(at::kByte));
    return made.storage().unsafeGetStorageImpl()->set_data_ptr({nullptr, made.device()});
  }
  auto* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return {data, new Pages{data, bytes}, &unmap, device};
}

at::Tensor empty_in_pages(at::IntArrayRef sizes, const at::TensorOptions& options) {
  const auto tensor = at::empty({0}, options);
  const auto bytes = static_cast<std::size_t>(c10::multiply_integers(sizes)) * tensor.element_size();
  if (!tensor.is_cpu() || bytes < kLarge) return at::empty(sizes, options);
  return tensor.set_(c10::Storage(c10::Storage::use_byte_size_t(), bytes, in_pages(bytes, tensor.device())),
                     0, sizes, c10::contiguous_strides(sizes));
}

// Not MKL's buffers: once they were freed, each thread that ends leaves its own behind.
void return_free_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace wide
