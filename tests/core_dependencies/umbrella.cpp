#include <tryst/tryst.hpp>
