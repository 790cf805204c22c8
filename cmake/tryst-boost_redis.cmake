# The component `boost_redis` of the package.
include(${CMAKE_CURRENT_LIST_DIR}/tryst-boost_asio.cmake)
set(tryst_redis_component boost_redis)
set(tryst_redis_asio boost_asio)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-find-redis.cmake)
unset(tryst_redis_component)
unset(tryst_redis_asio)
