#include "cuda/cupti_api.h"

namespace wide::cuda {

const CuptiApi& linked_cupti() {
  static const CuptiApi kApi = {cuptiGetVersion,
                                cuptiGetResultString,
                                cuptiGetTimestamp,
                                cuptiActivityRegisterTimestampCallback,
                                cuptiSetThreadIdType,
                                cuptiActivityRegisterCallbacks,
                                cuptiActivityEnable,
                                cuptiActivityDisable,
                                cuptiActivityFlushAll,
                                cuptiActivityGetNextRecord,
                                cuptiActivityGetNumDroppedRecords,
                                cuptiActivityEnableRuntimeApi,
                                cuptiGetCallbackName,
                                cuptiActivityPushExternalCorrelationId,
                                cuptiActivityPopExternalCorrelationId,
                                cuptiSubscribe,
                                cuptiUnsubscribe,
                                cuptiEnableCallback,
                                cuptiGetGraphNodeId};
  return kApi;
}

}  // namespace wide::cuda
