#pragma once
// A CUPTI that replays a stream of activity records, with whatever faults a test plans.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cuda/cupti_api.h"

namespace wide::test {

/// The stream that the fake hands out at the next flush, and what it answers. One at a time.
struct FakeCupti {
  FakeCupti();
  ~FakeCupti();

  // The stream, in the order in which it is handed out.
  void launch(std::uint32_t correlation, std::uint64_t start, std::uint32_t thread = 1, bool fails = false,
              const char* call = "cudaLaunchKernel_v7000");
  void kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, const char* name = "gemm",
              std::uint32_t stream = 7);
  void graph_kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t node, std::uint64_t end = 0,
                    const char* name = "in_graph");
  /// `node`: of the graph that it is in; 0: of none.
  void copy(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, std::uint64_t node = 0);
  void external(std::uint32_t correlation, std::uint64_t id);
  void range(std::uint32_t id, std::uint64_t start, std::uint64_t end, const char* name);
  void unknown(int kind);
  void next_buffer() { buffers_.emplace_back(); }

  // What is told at once, on the calling thread, where somebody wants to know.
  void node_made(std::uint64_t node);
  void node_copied(std::uint64_t node, std::uint64_t original);

  // Answers.
  std::map<CUpti_ActivityKind, CUptiResult> enable_fails;
  CUptiResult register_fails = CUPTI_SUCCESS, flush_fails = CUPTI_SUCCESS, subscribe_fails = CUPTI_SUCCESS;
  CUptiResult callback_fails = CUPTI_SUCCESS, node_id_fails = CUPTI_SUCCESS;
  CUptiResult record_fails = CUPTI_SUCCESS;  ///< instead of the end of each buffer
  std::size_t dropped = 0;                   ///< told once
  std::size_t lost_before = 0;               ///< of the work before this capture, told first
  std::uint64_t time = 1000;                 ///< of its own clock
  bool takes_clock = false;                  ///< the one that it is given

  // What was asked of it.
  std::vector<CUpti_ActivityKind> enabled;
  std::vector<std::string> quietened;
  std::vector<std::uint64_t> externals;  ///< pushed now
  std::vector<CUpti_CallbackId> told;    ///< events of resources that a subscriber wants to know of
  int registrations = 0, buffers_taken = 0;
  CUpti_TimestampCallbackFunc clock = nullptr;
  CUpti_ActivityThreadIdType thread_ids = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

  static const cuda::CuptiApi& api();

 private:
  friend struct FakeCalls;
  template <typename Record>
  void add(const Record& record);
  void tell(CUpti_CallbackId what, std::uint64_t node, std::uint64_t original) const;
  CUpti_CallbackFunc subscriber_ = nullptr;
  void* subscriber_data_ = nullptr;
  std::vector<std::vector<std::uint8_t>> buffers_;
  bool begun_ = false, streams_ = false;  // what came before was asked for; what came since is handed out
};

}  // namespace wide::test
