#include <tryst/uring.hpp>
