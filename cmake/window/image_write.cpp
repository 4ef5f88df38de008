// The one place where stb_image_write is compiled: PNG files of what the window shows.
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "imstb_image_write.h"
