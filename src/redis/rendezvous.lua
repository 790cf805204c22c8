-- SPDX-License-Identifier: MIT
-- The meeting place of one room. Redis runs each call of this script as one atomic step.
--
-- Words: a *member* is a remote exchanger of one process. An *operation* is one offer of a member, with a
-- number. An *epoch* is the number of the member's connection. A *generation* is a period in which the
-- room's data has certainly not been lost: it ends when another server, or the same one after a restart,
-- serves the room, and when the room's key is lost.
--
-- Rules (docs/adr/0011-meet-across-processes-on-redis.md argues that they suffice; tests/spin/remote.pml checks it):
-- R1. Only a member that has joined the generation in its present epoch changes anything. So after a
--     member has joined in a new epoch, delayed requests of earlier epochs have no effect.
-- R2. A waiting operation is matched only in the generation in which it was enqueued. Another generation
--     cannot tell whether a lost write had matched it.
-- R3. A waiting operation is matched only during the lease of its member.
-- R4. A match writes the results of both operations in one command, after which nothing can fail. They stay
--     until their member acknowledges them, or as long as its record. So a member that finds no result of an
--     operation, but the generation and the record that it knows, knows that the operation was not matched.

-- The results are in the same key as the generation, so that neither can get lost without the other.
local room, items = KEYS[1], KEYS[2]
local queues = {KEYS[3], KEYS[4]}
local verb, member, epoch, generation, retention = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local acknowledged = ARGV[6]

local function now()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Messages for all members of a process go to one channel.
local function wake(prefix, its_member, message)
    -- A refusal must not look like a refusal of the call. A lost message is found when the lease is renewed.
    return redis.pcall('PUBLISH', prefix .. string.match(its_member, '^[^.]*'), message)
end

local function operation(n)
    return member .. ':' .. n
end

local function result_of(operation_id)
    return 'r:' .. operation_id
end

-- The record of a member: "<epoch> <end of the lease, ms> <length of the lease, ms> <birth>". The birth is
-- random, so that a new record is not taken for one that was removed.
local function parse(record)
    local its_epoch, lease_end, lease, birth = string.match(record, '^(%d+) (%d+) (%d+) (.*)$')
    return its_epoch, tonumber(lease_end), tonumber(lease), birth
end

-- A lease that ends later than it could is from before a step of the clock.
local function has_lease(record, time)
    if not record then
        return false
    end
    local _, lease_end, lease = parse(record)
    return time < lease_end and lease_end <= time + lease
end

local function grant(lease, time, birth)
    local record = {epoch, string.format('%.0f', time + lease), lease, birth}
    redis.call('HSET', room, 'm:' .. member, table.concat(record, ' '))
end

local function keep(key)
    redis.call('PEXPIRE', key, retention)
end

local function each_match(key, scan, pattern, visit)
    local cursor, found = '0', {}
    repeat
        local part = redis.call(scan, key, cursor, 'MATCH', pattern, 'COUNT', 1000)
        cursor = part[1]
        for i = 1, #part[2] do
            found[#found + 1] = part[2][i]
        end
    until cursor == '0'
    for i = 1, #found, 2 do
        visit(found[i], found[i + 1])
    end
end

-- Removes what a member has left that lost its lease long ago.
local function remove_member(gone)
    redis.call('HDEL', room, 'm:' .. gone)
    local pattern = gone .. ':*'
    local function remove_from(key, scan, remove, matching)
        each_match(key, scan, matching, function(member)
            redis.call(remove, key, member)
        end)
    end
    remove_from(queues[1], 'ZSCAN', 'ZREM', pattern)
    remove_from(queues[2], 'ZSCAN', 'ZREM', pattern)
    remove_from(items, 'HSCAN', 'HDEL', pattern)
    remove_from(room, 'HSCAN', 'HDEL', result_of(pattern))
end

local function each_member(visit)
    each_match(room, 'HSCAN', 'm:*', function(field, record)
        visit(string.sub(field, 3), record)
    end)
end

if verb == 'join' then
    -- ARGV: lease, a random name for what begins with this call, prefix of channels
    local lease, fresh = tonumber(ARGV[7]), ARGV[8]
    local published = wake(ARGV[9], member, '')
    if type(published) == 'table' then
        return published -- the error, before anything is written
    end
    -- A server that was demoted and promoted again keeps its run id, but not its replication id.
    local server = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') .. '.' ..
        string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
    local known = redis.call('HMGET', room, 'generation', 'm:' .. member, 'closed')
    local present = known[1]
    if known[2] and tonumber((parse(known[2]))) > tonumber(epoch) then
        return {'stale'} -- R1
    end
    if not present or string.sub(present, 1, #server + 1) ~= server .. ':' then
        redis.call('DEL', items, queues[1], queues[2]) -- R2
        present = server .. ':' .. fresh
        redis.call('HSET', room, 'generation', present)
    end
    local time = now()
    each_member(function(other, record)
        local _, lease_end, its_lease = parse(record)
        local gone = lease_end + tonumber(retention) < time or lease_end > time + its_lease + tonumber(retention)
        if gone and other ~= member then
            remove_member(other)
        end
    end)
    local birth = fresh
    if known[2] then
        birth = select(4, parse(known[2]))
    end
    grant(lease, time, birth)
    for _, key in ipairs(KEYS) do
        keep(key)
    end
    return {'joined', present, birth, known[3] or ''}
end

local known = redis.call('HMGET', room, 'generation', 'm:' .. member, 'closed')
if known[1] ~= generation or not known[2] or (parse(known[2])) ~= epoch then
    return {'rejoin'} -- R1
end
local closed = known[3]
local _, lease_end, lease, birth = parse(known[2])

-- Several numbers in one argument, separated by spaces.
for n in string.gmatch(acknowledged, '%d+') do
    redis.call('HDEL', room, result_of(operation(n)))
end

if verb == 'arrive' then
    -- ARGV: n, side, the opposite side, whether it waits, item, prefix of channels, largest item in a message
    local waits, item, prefix, largest = ARGV[10], ARGV[11], ARGV[12], tonumber(ARGV[13])
    local own, opposite = queues[tonumber(ARGV[8])], queues[tonumber(ARGV[9])]
    local me = operation(ARGV[7])
    if closed then
        return {'closed'}
    end
    local time = now()
    if lease_end < time + lease / 2 or lease_end > time + lease then
        grant(lease, time, birth)
    end
    keep(room)
    while true do
        local oldest = redis.call('ZPOPMIN', opposite)[1]
        if not oldest then
            break
        end
        local owner, number = string.match(oldest, '^(.*):(%d+)$')
        local partners = redis.call('HGET', items, oldest)
        redis.call('HDEL', items, oldest)
        if partners and has_lease(redis.call('HGET', room, 'm:' .. owner), time) then -- R3
            redis.call('HSET', room, result_of(oldest), item, result_of(me), partners) -- R4
            redis.pcall('HINCRBY', room, 'matched', 1)
            local message = number
            if #item <= largest then
                message = number .. ':' .. item
            end
            wake(prefix, owner, message)
            return {'matched', partners}
        end
    end
    if waits == '0' then
        return {'no_partner'}
    end
    redis.call('ZADD', own, redis.call('HINCRBY', room, 'arrivals', 1), me)
    redis.call('HSET', items, me, item)
    keep(own)
    keep(items)
    return {'waiting'}
end

if verb == 'withdraw' then
    -- ARGV: n, side
    local me = operation(ARGV[7])
    local result = redis.call('HGET', room, result_of(me))
    if result then
        return {'matched', result}
    end
    redis.call('ZREM', queues[tonumber(ARGV[8])], me)
    redis.call('HDEL', items, me)
    return {'withdrawn'}
end

if verb == 'collect' then
    -- ARGV: n...
    local found = {'collected'}
    for i = 7, #ARGV do
        found[#found + 1] = redis.call('HGET', room, result_of(operation(ARGV[i])))
    end
    return found
end

if verb == 'renew' then
    -- ARGV: (n, side)...
    -- One letter for each operation: matched, waiting, or unknown, which means that it lost its lease or was closed.
    grant(lease, now(), birth)
    for _, key in ipairs(KEYS) do
        keep(key)
    end
    local states = {}
    for i = 7, #ARGV, 2 do
        local me = operation(ARGV[i])
        if redis.call('HEXISTS', room, result_of(me)) == 1 then
            states[#states + 1] = 'm'
        elseif redis.call('ZSCORE', queues[tonumber(ARGV[i + 1])], me) then
            states[#states + 1] = 'w'
        else
            states[#states + 1] = '?'
        end
    end
    return {'renewed', closed or '', table.concat(states)}
end

if verb == 'close' then
    -- ARGV: prefix of channels
    redis.call('HSET', room, 'closed', '1')
    redis.call('DEL', items, queues[1], queues[2])
    keep(room)
    each_member(function(other)
        wake(ARGV[7], other, 'closed:' .. room)
    end)
    return {'closed'}
end

if verb == 'leave' then
    remove_member(member)
    return {'left'}
end

if verb == 'count' then
    local time, present = now(), 0
    each_member(function(_, record)
        if has_lease(record, time) then
            present = present + 1
        end
    end)
    local matched = redis.call('HGET', room, 'matched') or '0'
    local counts = {redis.call('ZCARD', queues[1]), redis.call('ZCARD', queues[2]), present, matched}
    return {'counted', table.concat(counts, ' ')}
end

return redis.error_reply('ERR tryst: unknown verb ' .. verb)
