# The component `redis` of the package.
include(${CMAKE_CURRENT_LIST_DIR}/tryst-asio.cmake)
set(tryst_redis_component redis)
set(tryst_redis_asio asio)
include(${CMAKE_CURRENT_LIST_DIR}/tryst-find-redis.cmake)
unset(tryst_redis_component)
unset(tryst_redis_asio)
