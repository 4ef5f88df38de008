// What the exporter called the model with: an archive of torch.save inside the archive, read as data.

#include <algorithm>
#include <array>

#include "formats/fault.h"
#include "formats/int128.h"
#include "formats/pickled_data.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr int kDeepestSample = 32;
constexpr std::size_t kMostLeaves = 4096, kMostVisits = 65536, kMostExtents = 64;
// What copies of all samples may take beyond the file's own size.
constexpr int128 kMostRepeated = int128{1} << 26;  // bytes

constexpr std::string_view kRebuildTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kOrderedDict = "collections OrderedDict";

constexpr std::array kStorages = {
    std::pair{std::string_view("torch FloatStorage"), Dtype::kFloat32},
    std::pair{std::string_view("torch DoubleStorage"), Dtype::kFloat64},
    std::pair{std::string_view("torch HalfStorage"), Dtype::kFloat16},
    std::pair{std::string_view("torch BFloat16Storage"), Dtype::kBFloat16},
    std::pair{std::string_view("torch LongStorage"), Dtype::kInt64},
    std::pair{std::string_view("torch IntStorage"), Dtype::kInt32},
    std::pair{std::string_view("torch ShortStorage"), Dtype::kInt16},
    std::pair{std::string_view("torch CharStorage"), Dtype::kInt8},
    std::pair{std::string_view("torch ByteStorage"), Dtype::kUInt8},
    std::pair{std::string_view("torch BoolStorage"), Dtype::kBool},
    std::pair{std::string_view("torch ComplexFloatStorage"), Dtype::kComplex64},
    std::pair{std::string_view("torch ComplexDoubleStorage"), Dtype::kComplex128},
};

std::vector<std::string_view> allowed_globals() {
  std::vector<std::string_view> names = {kRebuildTensor, kOrderedDict};
  for (const auto& [name, dtype] : kStorages) names.push_back(name);
  return names;
}

std::string pickle_folder(const Archive& archive) {
  constexpr std::string_view kPickle = "data.pkl";
  for (const auto& [name, member] : archive.members()) {
    if (name.ends_with(kPickle) && name.find('/') == name.size() - kPickle.size() - 1)
      return name.substr(0, name.size() - kPickle.size());
  }
  throw Fault("has no data.pkl");
}

class Samples {
 public:
  explicit Samples(const Archive& archive) : archive_(archive), root_(pickle_folder(archive)) {
    const std::string order = root_ + "byteorder";
    if (archive.has(order)) {
      const auto bytes = archive.read(order);
      if (std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) != "little")
        throw Fault("is not little-endian");
    }
    data_ = read_pickle(archive.read(root_ + "data.pkl"), allowed_globals());
  }

  // (args, kwargs)
  std::vector<std::optional<StoredTensor>> read() {
    const auto& both = of_kind(data_.root, Kind::kTuple, 2);
    const auto& args = value(both.items[0]);
    if (args.kind != Kind::kTuple && args.kind != Kind::kList) throw Fault("is no tuple of arguments");
    of_kind(both.items[1], Kind::kDict);
    for (const auto side : both.items) flatten(side, 0);
    return std::move(leaves_);
  }

 private:
  using Kind = PickledValue::Kind;

  const PickledValue& value(std::size_t index) const { return data_.values[index]; }

  const PickledValue& of_kind(std::size_t index, Kind kind,
                              std::optional<std::size_t> items = std::nullopt) const {
    const auto& found = value(index);
    if (found.kind != kind || (items && found.items.size() != *items))
      throw Fault("a tensor or collection in it is not as torch.save writes it");
    return found;
  }

  // As torch's pytree does: containers in order, a dict by its values.
  void flatten(std::size_t index, int depth) {
    if (depth > kDeepestSample || ++visits_ > kMostVisits) throw Fault("is nested too deeply");
    const auto& node = value(index);
    switch (node.kind) {
      case Kind::kTuple:
      case Kind::kList:
        for (const auto item : node.items) flatten(item, depth + 1);
        return;
      case Kind::kDict:
        for (std::size_t i = 1; i < node.items.size(); i += 2) flatten(node.items[i], depth + 1);
        return;
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInteger:
      case Kind::kReal:
      case Kind::kText:
        leaves_.emplace_back();
        break;
      case Kind::kCall:
        leaves_.emplace_back(tensor(node));
        break;
      case Kind::kGlobal:
      case Kind::kReference:
        throw Fault("holds something else than tensors and numbers");
    }
    if (leaves_.size() > kMostLeaves) throw Fault("has more than 4096 leaves");
  }

  std::vector<std::int64_t> extents(std::size_t index) const {
    const auto& tuple = of_kind(index, Kind::kTuple);
    if (tuple.items.size() > kMostExtents) throw Fault("a tensor has more than 64 dimensions");
    std::vector<std::int64_t> result;
    for (const auto item : tuple.items) {
      result.push_back(of_kind(item, Kind::kInteger).integer);
      if (result.back() < 0) throw Fault("a tensor has a negative extent");
    }
    return result;
  }

  // storage, offset, sizes, strides, requires_grad, backward hooks
  StoredTensor tensor(const PickledValue& call) {
    if (of_kind(call.items[0], Kind::kGlobal).text != kRebuildTensor)
      throw Fault("holds something else than tensors and numbers");
    const auto& arguments = of_kind(call.items[1], Kind::kTuple, 6).items;
    StoredTensor result;
    result.storage_offset = of_kind(arguments[1], Kind::kInteger).integer;
    result.sizes = extents(arguments[2]);
    result.strides = extents(arguments[3]);
    of_kind(arguments[4], Kind::kBool);
    const auto& hooks = of_kind(arguments[5], Kind::kCall).items;
    if (of_kind(hooks[0], Kind::kGlobal).text != kOrderedDict) throw Fault("a tensor has hooks");
    of_kind(hooks[1], Kind::kTuple, 0);
    if (result.storage_offset < 0 || result.sizes.size() != result.strides.size())
      throw Fault("a tensor has a negative offset, or not a stride for each size");
    add_storage(arguments[0], result);
    check_bounds(result);
    count_bytes(result);
    return result;
  }

  // "storage", its type, its key, its device, its elements
  void add_storage(std::size_t index, StoredTensor& tensor) {
    const auto& id = of_kind(of_kind(index, Kind::kReference).items[0], Kind::kTuple, 5).items;
    if (of_kind(id[0], Kind::kText).text != "storage") throw Fault("refers to something else than a storage");
    const auto& type = of_kind(id[1], Kind::kGlobal).text;
    const auto known = std::ranges::find(kStorages, type, [](const auto& pair) { return pair.first; });
    if (known == kStorages.end()) throw Fault("refers to a storage of no known type");
    tensor.dtype = known->second;
    tensor.storage_name = root_ + "data/" + of_kind(id[2], Kind::kText).text;
    of_kind(id[3], Kind::kText);
    auto& [storage, dtype] = storages_[tensor.storage_name];
    if (storage && dtype != tensor.dtype) throw Fault("reads a storage as two types");
    const bool first = !storage;
    if (first) storage = std::make_shared<const std::vector<std::byte>>(archive_.read(tensor.storage_name));
    tensor.storage = storage;
    if (first) {
      dtype = tensor.dtype;
      check_bools(tensor);
      repeated_ -= static_cast<int128>(storage->size());
    }
    const auto elements = int128{of_kind(id[4], Kind::kInteger).integer};
    if (elements * static_cast<int128>(item_size(tensor.dtype)) != static_cast<int128>(storage->size()))
      throw Fault(quote(tensor.storage_name) + " holds another number of elements than the pickle says");
  }

  // Many tensors over one storage, or strides of 0: what copies of them all would take.
  void count_bytes(const StoredTensor& tensor) {
    int128 bytes = static_cast<int128>(item_size(tensor.dtype));
    for (const auto size : tensor.sizes) bytes = std::min(bytes * size, int128{1} << 62);
    repeated_ += bytes;
    if (repeated_ > kMostRepeated) throw Fault("repeats the same elements too often");
  }

  const Archive& archive_;
  std::string root_;
  PickledData data_;
  std::map<std::string, std::pair<std::shared_ptr<const std::vector<std::byte>>, Dtype>> storages_;
  std::vector<std::optional<StoredTensor>> leaves_;
  std::size_t visits_ = 0;
  int128 repeated_ = 0;  // bytes of all tensors less those of the storages
};

}  // namespace

void read_samples(const Archive& archive, const std::string& place, ExportedProgram& program) {
  if (!archive.has(place)) return;
  try {
    const Archive inner(archive.read(place));
    program.samples = Samples(inner).read();
  } catch (const Fault& fault) {  // a convenience: without them inputs are made up from shapes alone
    program.warnings.push_back("its example inputs are not used: " + quote(place) + ": " + fault.what());
  }
}

}  // namespace wide::formats
