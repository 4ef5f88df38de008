#include "cuda/cupti_api.h"
#include "made_up_gpu/gpu.h"

namespace wide::cuda {

const CuptiApi& linked_cupti() {
  return test::made_up_cupti();
}

}  // namespace wide::cuda
