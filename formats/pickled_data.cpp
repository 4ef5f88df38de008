#include "formats/pickled_data.h"

#include <algorithm>
#include <map>

#include "formats/fault.h"

namespace wide::formats {
namespace {

constexpr std::size_t kMostPickleBytes = std::size_t{1} << 20;

class Machine {
 public:
  Machine(std::span<const std::byte> bytes, std::span<const std::string_view> globals)
      : bytes_(bytes), globals_(globals) {}

  PickledData run() {
    if (bytes_.size() > kMostPickleBytes) throw Fault("a pickle of more than 1 MiB");
    if (number(1) != kProtocol || number(1) != 2) throw Fault("not a pickle of protocol 2");
    for (auto opcode = number(1); opcode != kStop; opcode = number(1)) {
      if (!constant(opcode) && !memo(opcode) && !collection(opcode) && !torch(opcode))
        throw Fault("the pickle asks for opcode " + std::to_string(opcode) +
                    ", which plain data does not need");
    }
    if (stack_.size() != 1 || !marks_.empty() || at_ != bytes_.size())
      throw Fault("the pickle does not end with one value");
    data_.root = stack_[0];
    return std::move(data_);
  }

 private:
  using Kind = PickledValue::Kind;

  // The opcodes of Python's pickletools that are understood, by their names there.
  enum Opcode : std::uint8_t {
    kMark = '(',
    kStop = '.',
    kBinInt = 'J',
    kBinInt1 = 'K',
    kBinInt2 = 'M',
    kNone = 'N',
    kBinPersistentId = 'Q',
    kReduce = 'R',
    kBinUnicode = 'X',
    kAppend = 'a',
    kGlobal = 'c',
    kAppends = 'e',
    kBinFloat = 'G',
    kBinGet = 'h',
    kLongBinGet = 'j',
    kBinPut = 'q',
    kLongBinPut = 'r',
    kSetItem = 's',
    kTuple = 't',
    kSetItems = 'u',
    kEmptyTuple = ')',
    kEmptyList = ']',
    kEmptyDict = '}',
    kProtocol = 0x80,
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kNewTrue = 0x88,
    kNewFalse = 0x89,
    kLong1 = 0x8a,
  };

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size() - at_) throw Fault("the pickle is cut off");
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  // Little-endian, up to eight bytes.
  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const auto taken = take(width);
    for (std::size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(taken[i]);
    return value;
  }

  std::string text(std::uint64_t length) {
    const auto taken = take(length);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  std::string line() {
    const auto rest = bytes_.subspan(at_);
    const auto length = std::ranges::find(rest, std::byte{'\n'}) - rest.begin();
    auto result = text(static_cast<std::uint64_t>(length));
    take(1);
    return result;
  }

  void push(PickledValue value) {
    data_.values.push_back(std::move(value));
    stack_.push_back(data_.values.size() - 1);
  }
  void push(Kind kind, std::int64_t integer = 0) { push({kind, integer, {}, {}}); }

  // What lies above the last mark may be taken, not what lies under it.
  std::size_t free_items() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  std::vector<std::size_t> pop(std::size_t count) {
    if (count > free_items()) throw Fault("the pickle takes more values than there are");
    std::vector<std::size_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }

  std::vector<std::size_t> pop_to_mark() {
    if (marks_.empty()) throw Fault("the pickle lacks a mark");
    auto items = pop(free_items());
    marks_.pop_back();
    return items;
  }

  std::size_t top() const {
    if (free_items() == 0) throw Fault("the pickle takes more values than there are");
    return stack_.back();
  }

  void add(Kind kind, const std::vector<std::size_t>& items) {
    auto& target = data_.values[top()];
    if (target.kind != kind || (kind == Kind::kDict && items.size() % 2 != 0))
      throw Fault("the pickle adds to something else than a list or dict");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  std::int64_t long_integer() {
    const auto width = number(1);
    if (width > 8) throw Fault("the pickle has an integer of more than 64 bits");
    const auto value = number(width);
    const auto unused = 64 - 8 * width;
    return width == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused;
  }

  bool constant(std::uint64_t opcode) {
    switch (opcode) {
      case kNone:
        return push(Kind::kNone), true;
      case kNewTrue:
      case kNewFalse:
        return push(Kind::kBool, opcode == kNewTrue), true;
      case kBinInt:
        return push(Kind::kInteger, static_cast<std::int32_t>(number(4))), true;
      case kBinInt1:
        return push(Kind::kInteger, static_cast<std::int64_t>(number(1))), true;
      case kBinInt2:
        return push(Kind::kInteger, static_cast<std::int64_t>(number(2))), true;
      case kLong1:
        return push(Kind::kInteger, long_integer()), true;
      case kBinFloat:
        return take(8), push(Kind::kReal), true;
      case kBinUnicode:
        return push({Kind::kText, 0, text(number(4)), {}}), true;
      default:
        return false;
    }
  }

  bool memo(std::uint64_t opcode) {
    if (opcode == kBinPut || opcode == kLongBinPut) {
      memo_[number(opcode == kBinPut ? 1 : 4)] = top();
      return true;
    }
    if (opcode != kBinGet && opcode != kLongBinGet) return false;
    const auto known = memo_.find(number(opcode == kBinGet ? 1 : 4));
    if (known == memo_.end()) throw Fault("the pickle repeats a value that it does not have");
    stack_.push_back(known->second);
    return true;
  }

  bool collection(std::uint64_t opcode) {
    switch (opcode) {
      case kMark:
        return marks_.push_back(stack_.size()), true;
      case kEmptyTuple:
        return push(Kind::kTuple), true;
      case kEmptyList:
        return push(Kind::kList), true;
      case kEmptyDict:
        return push(Kind::kDict), true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return push({Kind::kTuple, 0, {}, pop(opcode - kTuple1 + 1)}), true;
      case kTuple:
        return push({Kind::kTuple, 0, {}, pop_to_mark()}), true;
      case kAppend:
        return add(Kind::kList, pop(1)), true;
      case kAppends:
        return add(Kind::kList, pop_to_mark()), true;
      case kSetItem:
        return add(Kind::kDict, pop(2)), true;
      case kSetItems:
        return add(Kind::kDict, pop_to_mark()), true;
      default:
        return false;
    }
  }

  bool torch(std::uint64_t opcode) {
    if (opcode == kGlobal) {
      auto module = line();
      auto name = module + " " + line();
      if (std::ranges::find(globals_, name) == globals_.end())
        throw Fault("the pickle names " + quote(name) + ", which plain tensors do not need");
      return push({Kind::kGlobal, 0, std::move(name), {}}), true;
    }
    if (opcode == kBinPersistentId) return push({Kind::kReference, 0, {}, pop(1)}), true;
    if (opcode == kReduce) return push({Kind::kCall, 0, {}, pop(2)}), true;
    return false;
  }

  std::span<const std::byte> bytes_;
  std::span<const std::string_view> globals_;
  std::size_t at_ = 0;
  PickledData data_;
  std::vector<std::size_t> stack_, marks_;
  std::map<std::uint64_t, std::size_t> memo_;
};

}  // namespace

PickledData read_pickle(std::span<const std::byte> bytes, std::span<const std::string_view> globals) {
  return Machine(bytes, globals).run();
}

}  // namespace wide::formats
