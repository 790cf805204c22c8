#include <boost/decoy.hpp>
#include <tryst/tryst.hpp>
