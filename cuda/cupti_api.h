#pragma once
// The CUPTI calls that a capture makes, as a table: the library's own, or a fake's that replays a stream.

#include <cupti.h>

namespace wide::cuda {

/// Every entry is set.
struct CuptiApi {
  decltype(&cuptiGetVersion) get_version;
  decltype(&cuptiGetResultString) result_string;
  decltype(&cuptiGetTimestamp) timestamp;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp;
  decltype(&cuptiSetThreadIdType) set_thread_ids;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call;
  decltype(&cuptiGetCallbackName) callback_name;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external;
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiGetGraphNodeId) graph_node_id;
};

/// That of the libcupti which this library is linked to: the one that libtorch loads.
const CuptiApi& linked_cupti();

}  // namespace wide::cuda
