// Weights and constants: raw storages in members of their own, and strided tensors over them.

#include <algorithm>

#include "formats/fault.h"
#include "formats/int128.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

// A broadcast tensor (stride 0) may be larger than its storage, but not so large that a copy of it fills the
// memory.
constexpr int128 kLargestBroadcast = int128{1} << 30;  // bytes

std::int64_t concrete(const SymbolicInt& value, std::string_view what) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  throw Fault(std::string(what) + " of a stored tensor is symbolic; export the model again");
}

std::vector<std::int64_t> concrete(const std::vector<SymbolicInt>& values, std::string_view what) {
  std::vector<std::int64_t> result;
  for (const auto& value : values) result.push_back(concrete(value, what));
  return result;
}

/// Elements of the tensor, or 2^62 when there are more: no product overflows.
int128 element_count(const StoredTensor& tensor) {
  if (std::ranges::find(tensor.sizes, 0) != tensor.sizes.end()) return 0;
  int128 count = 1;
  for (const auto size : tensor.sizes) count = std::min(count * size, int128{1} << 62);
  return count;
}

}  // namespace

void check_bounds(const StoredTensor& tensor) {
  const int128 bytes = static_cast<int128>(tensor.storage->size());
  const int128 item = static_cast<int128>(item_size(tensor.dtype));
  const int128 count = element_count(tensor);
  const std::string where = quote(tensor.storage_name);
  if (bytes % item != 0)
    throw Fault(where + " holds " + std::to_string(tensor.storage->size()) +
                " bytes, not a multiple of the " + std::to_string(item_size(tensor.dtype)) + " of " +
                std::string(name(tensor.dtype)));
  if (count > 0 && bytes == 0)
    throw Fault(where + " is empty, as if exported from fake tensors; export the model with real weights");
  int128 last = tensor.storage_offset;  // index of the last element
  // A term stays below 2^126, but their sum need not: stop as soon as the storage is left.
  for (std::size_t i = 0; i < tensor.sizes.size() && count > 0 && last <= bytes; ++i)
    last += static_cast<int128>(tensor.sizes[i] - 1) * tensor.strides[i];
  if (last > bytes || (last + (count > 0 ? 1 : 0)) * item > bytes)
    throw Fault("sizes, strides and offset reach beyond the " + std::to_string(tensor.storage->size()) +
                " bytes of " + where + "; export the model on the CPU again");
  if (count * item > std::max(bytes, kLargestBroadcast))
    throw Fault("is a broadcast of more than 1 GiB; make it contiguous before the export");
}

// Any other byte is undefined behaviour as soon as somebody reads the value as a bool.
void check_bools(const StoredTensor& tensor) {
  if (tensor.dtype != Dtype::kBool) return;
  if (std::ranges::any_of(*tensor.storage, [](std::byte b) { return b > std::byte{1}; }))
    throw Fault(quote(tensor.storage_name) + " holds a bool that is neither 0 nor 1; export the model again");
}

namespace {

struct Storage {
  std::shared_ptr<const std::vector<std::byte>> bytes;
  Dtype dtype;
};

class Payloads {
 public:
  Payloads(const Archive& archive, std::string folder, const ProgramParsing& parsing)
      : archive_(archive), folder_(std::move(folder)), parsing_(parsing) {}

  StoredTensor tensor(const Json& entry) {
    const std::string& file = as_text(member(entry, "path_name"), "path_name");
    if (as_boolean(member(entry, "use_pickle"), "use_pickle"))
      throw Fault("is stored as a pickle (" + quote(file) +
                  "), which could run code; export the model from plain tensors, without subclasses or "
                  "custom objects");
    if (file.empty() || file.find('/') != file.npos || file == "." || file == "..")
      throw Fault("path_name " + quote(file) + " is not a plain file name");
    const TensorMeta meta = parse_tensor_meta(member(entry, "tensor_meta"), parsing_);
    StoredTensor result;
    result.dtype = meta.dtype;
    result.sizes = concrete(meta.sizes, "a size");
    result.strides = concrete(meta.strides, "a stride");
    result.storage_offset = concrete(meta.storage_offset, "the offset");
    result.storage_name = folder_ + file;
    result.storage = storage(result);
    check_bounds(result);
    return result;
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> storage(const StoredTensor& tensor) {
    const auto found = storages_.find(tensor.storage_name);
    if (found != storages_.end()) {
      if (found->second.dtype != tensor.dtype)
        throw Fault("reads " + quote(tensor.storage_name) + " as " + std::string(name(tensor.dtype)) +
                    ", another tensor as " + std::string(name(found->second.dtype)) +
                    "; export the model again");
      return found->second.bytes;
    }
    auto bytes = std::make_shared<const std::vector<std::byte>>(archive_.read(tensor.storage_name));
    storages_.emplace(tensor.storage_name, Storage{bytes, tensor.dtype});
    StoredTensor whole = tensor;
    whole.storage = bytes;
    check_bools(whole);
    return bytes;
  }

  const Archive& archive_;
  std::string folder_;
  const ProgramParsing& parsing_;
  std::map<std::string, Storage> storages_;
};

}  // namespace

std::map<std::string, StoredTensor> read_stored_tensors(const Archive& archive, const std::string& folder,
                                                        const std::string& config,
                                                        const ProgramParsing& parsing) {
  const auto bytes = archive.read(folder + config);
  return within([&] { return folder + config; },
                [&] {
                  const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
                  Payloads payloads(archive, folder, parsing);
                  std::map<std::string, StoredTensor> tensors;
                  for (const auto& entry : as_object(member(json, "config"), "config"))
                    tensors.emplace(entry.key, within([&] { return "tensor " + quote(entry.key); },
                                                      [&] { return payloads.tensor(entry.value); }));
                  return tensors;
                });
}

}  // namespace wide::formats
