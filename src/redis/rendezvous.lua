-- SPDX-License-Identifier: MIT
-- The meeting place of one room, a hash. Redis runs each call of this script as one atomic step.
--
-- Words: a *member* is a remote exchanger of one process. An *offer* of a member has a number and a token, which
-- only the member and the server know. An *epoch* is the number of the member's connection. A *generation* is a
-- period in which the room's data has certainly not been lost: it ends when another server, or the same one after a
-- restart, serves the room, and when the room's key is lost.
--
-- Rules (docs/adr/0011-meet-across-processes-on-redis.md argues that they suffice; tests/spin/remote.pml checks it):
-- R1. Only a member that has joined the generation in its present epoch changes anything. So after a
--     member has joined in a new epoch, delayed requests of earlier epochs have no effect.
-- R2. A waiting offer is matched only in the generation in which it was enqueued. Another generation
--     cannot tell whether a lost write had matched it.
-- R3. A waiting offer is matched only during the lease of its member.
-- R4. A match writes the results of both offers in one command, after which nothing can fail. They stay
--     until their member acknowledges them, or as long as its record. So a member that finds no result of an
--     offer, but the generation and the record that it knows, knows that the offer was not matched.
-- R5. A message is a hint. A waiting party believes only one that contains the token of its offer.
-- R6. A call takes a bounded number of steps, however many parties of whichever member wait.
--
-- Fields of the hash (numbers are packed, which halves the time that a call spends on them):
--   generation, closed
--   e:<member>        its epoch
--   m:<member>        its record: end and length of the lease in ms, low, high, birth. The birth is random, so that a
--                     new record is not taken for one that was removed. All offers of the member that may have a result
--                     have numbers from low to high.
--   1, 2, p           a queue of each side, and one of members: count, head, tail, first, last, matched. Its entries are
--                     the fields <queue>:<position> from head to tail; those that were removed are missing. Entries from
--                     first to last are void, but not removed yet.
--   1:<position>      bytes of the item, bytes that the partner's item may have, token, offer
--   w:<offer>, i:<offer>, r:<offer>     of a waiting offer: its entry and its item; the item that it has got
local LARGEST_STEP = 100
local steps = LARGEST_STEP -- that this call may still take to remove what is void, or was left
local call = redis.call
local pack, unpack_numbers = struct.pack, struct.unpack
local QUEUE, RECORD, ENTRY = '<I6I6I6I6I6I6', '<I6I6I6I6', '<ddBc0'

-- ARGV: verb, epoch, member, generation, ... The verb `renew` has several rooms.
local verb, epoch, member = ARGV[1], ARGV[2], ARGV[3]
local room = KEYS[1]

local function now()
    local time = call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A refusal must not look like a refusal of the call. A lost message is found when the lease is renewed.
local function publish(channel, message)
    return redis.pcall('PUBLISH', channel, message)
end

local function read_queue(name, text)
    local queue = {name = name, count = 0, head = 0, tail = 0, first = 0, last = 0, matched = 0}
    if text then
        queue.count, queue.head, queue.tail, queue.first, queue.last, queue.matched = unpack_numbers(QUEUE, text)
    end
    return queue
end

local function text_of(queue)
    return pack(QUEUE, queue.count, queue.head, queue.tail, queue.first, queue.last, queue.matched)
end

-- A lease that ends later than it could is from before a step of the clock.
local function has_lease(record, time)
    if not record then
        return false
    end
    local lease_end, lease = unpack_numbers(RECORD, record)
    return time < lease_end and lease_end <= time + lease
end

if verb == 'arrive' then
    -- ARGV: number, side, the opposite side, whether it waits, token, item, largest item that it accepts, largest item
    -- in a message, prefix of channels, acknowledged numbers...
    local side, opposite, item, accepts = ARGV[6], ARGV[7], ARGV[10], tonumber(ARGV[11])
    local prefix = member .. ':'
    local me = prefix .. ARGV[5]
    local known = call('HMGET', room, 'generation', 'e:' .. member, 'closed', opposite, side)
    if known[1] ~= ARGV[4] or known[2] ~= epoch then
        return {'rejoin'} -- R1
    end
    local removed = {}
    for i = 14, #ARGV do
        removed[i - 13] = 'r:' .. prefix .. ARGV[i]
    end
    local queue = read_queue(opposite, known[4])
    local reply = {'again'} -- R6
    local time = queue.count > 0 and now()
    for _ = 1, LARGEST_STEP do
        if queue.count == 0 then
            reply = {'no_partner'}
            queue.head = queue.tail
            break
        end
        local field = opposite .. ':' .. queue.head
        local entry = call('HGET', room, field)
        if entry then
            local size, limit, token, after = unpack_numbers(ENTRY, entry)
            local id = string.sub(entry, after)
            local matches = has_lease(call('HGET', room, 'm:' .. string.match(id, '^[^:]*')), time) -- R3
            if matches and (size > accepts or #item > limit) then
                reply = {'too_large', size, limit}
                break
            end
            queue.count = queue.count - 1
            removed[#removed + 1] = field
            removed[#removed + 1] = 'w:' .. id
            removed[#removed + 1] = 'i:' .. id
            if matches then
                local partners = call('HGET', room, 'i:' .. id)
                queue.head = queue.head + 1
                queue.matched = queue.matched + 1
                call('HSET', room, 'r:' .. id, item, 'r:' .. me, partners, opposite, text_of(queue)) -- R4
                redis.pcall('HDEL', room, unpack(removed)) -- even if that is refused
                local process, message = string.match(id, '^([^.]*)%.(.*)$')
                if #item <= tonumber(ARGV[12]) then
                    message = message .. ' ' .. token .. ' ' .. item
                end
                publish(ARGV[13] .. 'wake:' .. process, message)
                return {'matched', partners}
            end
        end
        queue.head = queue.head + 1
    end
    if known[3] then
        reply = {'closed'}
    end
    if #removed > 0 then
        call('HDEL', room, unpack(removed))
    end
    if time then
        call('HSET', room, opposite, text_of(queue))
    end
    if reply[1] ~= 'no_partner' or ARGV[8] == '0' then
        return reply
    end
    local own = side == opposite and queue or read_queue(side, known[5])
    if own.count == 0 then
        own.head = own.tail -- none is left between them
    end
    local field = side .. ':' .. own.tail
    own.tail = own.tail + 1
    own.count = own.count + 1
    local token = ARGV[9]
    call('HSET', room, side, text_of(own), field, pack(ENTRY, #item, accepts, #token, token) .. me, 'w:' .. me, field,
        'i:' .. me, item)
    return {'waiting'}
end

-- ---- Other calls

local generation, known, changes

-- Reads what the room knows of the member.
local function enter(key, its_member, its_generation)
    room, member, generation, changes = key, its_member, its_generation, {}
    known = call('HMGET', room, 'generation', 'e:' .. member, 'm:' .. member, 'closed', '1', '2', 'p')
end

-- Whether the member may change anything (R1).
local function is_current()
    return known[1] == generation and known[2] == epoch
end

local function change(field, value)
    changes[#changes + 1] = field
    changes[#changes + 1] = value
end

local function write_changes()
    if #changes > 0 then
        call('HSET', room, unpack(changes))
        changes = {}
    end
end

local function write_queue(queue)
    change(queue.name, text_of(queue))
end

local function queue_of(side)
    return read_queue(side, known[4 + tonumber(side)])
end

local function offer(number)
    return member .. ':' .. number
end

-- Several numbers in one argument, separated by spaces.
local function acknowledge(numbers)
    local fields = {}
    for number in string.gmatch(numbers, '%d+') do
        fields[#fields + 1] = 'r:' .. offer(number)
        if #fields == LARGEST_STEP then
            call('HDEL', room, unpack(fields))
            fields = {}
        end
    end
    if #fields > 0 then
        call('HDEL', room, unpack(fields))
    end
end

-- Removes void entries. Their offers may have been sent again since.
local function sweep(queue)
    while queue.first < queue.last and steps > 0 do
        steps = steps - 1
        local field = queue.name .. ':' .. queue.first
        local entry = call('HGET', room, field)
        local id = entry and string.sub(entry, select(4, unpack_numbers(ENTRY, entry)))
        if id and call('HGET', room, 'w:' .. id) == field then
            call('HDEL', room, field, 'w:' .. id, 'i:' .. id)
        else
            call('HDEL', room, field)
        end
        queue.first = queue.first + 1
    end
end

local function parse(record)
    local lease_end, lease, low, high, after = unpack_numbers(RECORD, record)
    return {lease_end = lease_end, lease = lease, birth = string.sub(record, after), low = low, high = high}
end

local function write_record(name, record)
    change('m:' .. name, pack(RECORD, record.lease_end, record.lease, record.low, record.high) .. record.birth)
end

-- Nothing of a room may expire while an offer can still ask for it.
local function retention(lease)
    return math.max(6 * lease, 60000)
end

-- Programs with another protocol have other keys. This key, which all of them know, tells them so.
local function version_key()
    return (string.gsub(room, ':2(:%l:{)', '%1', 1))
end

-- Begins a lease, and writes all changes.
local function grant(record, time)
    record.lease_end = time + record.lease
    write_record(member, record)
    write_changes()
    for _, key in ipairs({room, version_key()}) do
        if call('PTTL', key) < retention(record.lease) then -- others may have longer leases
            call('PEXPIRE', key, retention(record.lease))
        end
    end
end

-- Looks at one member, and removes what it has left if its lease ended long ago. First its epoch, so that it must join
-- again before it asks for results, and then gets another birth.
local function retire(members, time)
    if members.head == members.tail or steps <= 0 then
        return
    end
    steps = steps - 1
    local field = 'p:' .. members.head
    local other = call('HGET', room, field)
    local text = other and call('HGET', room, 'm:' .. other)
    if text then
        local record = parse(text)
        local keep = retention(record.lease)
        local gone = record.lease_end + keep < time or record.lease_end > time + record.lease + keep
        if not gone and members.tail == members.head + 1 then
            return -- there is no other
        elseif not gone then
            change('p:' .. members.tail, other)
            members.tail = members.tail + 1
        else
            local removed = {'e:' .. other}
            for number = record.low, math.min(record.high, record.low + steps - 1) do
                removed[#removed + 1] = 'r:' .. other .. ':' .. number
            end
            call('HDEL', room, unpack(removed))
            record.low = record.low + #removed - 1
            steps = steps - #removed + 1
            if record.low <= record.high then
                write_record(other, record)
                write_changes()
                return -- the rest another time
            end
            call('HDEL', room, 'm:' .. other)
            members.count = members.count - 1
        end
    end
    call('HDEL', room, field)
    members.head = members.head + 1
    write_queue(members)
    write_changes()
end

-- Makes all who wait void.
local function drop_queues()
    for _, side in ipairs({'1', '2'}) do
        local queue = queue_of(side)
        if queue.first == queue.last then
            queue.first = queue.head
        end
        queue.count, queue.head, queue.last = 0, queue.tail, queue.tail
        write_queue(queue)
    end
end

if verb == 'join' then
    -- ARGV: lease, a random name for what begins with this call, prefix of channels, low, high
    enter(room, member)
    local fresh, prefix = ARGV[5], ARGV[6]
    local published = publish(prefix .. 'wake:' .. string.match(member, '^[^.]*'), '')
    if type(published) == 'table' then
        return published -- the error, before anything is written
    end
    local version = redis.pcall('GET', version_key())
    if version and version ~= '2' then
        return redis.error_reply('ERR tryst: programs with another version of the protocol use this room; ' ..
            'it is free a minute and six leases after the last of them')
    end
    if known[2] and tonumber(known[2]) > tonumber(epoch) then
        return {'stale'} -- R1
    end
    -- A server that was demoted and promoted again keeps its run id, but not its replication id.
    local server = string.match(call('INFO', 'server'), 'run_id:(%w+)') .. '.' ..
        string.match(call('INFO', 'replication'), 'master_replid:(%w+)')
    local time, present = now(), known[1]
    call('SET', version_key(), '2', 'KEEPTTL')
    if not present or string.sub(present, 1, #server + 1) ~= server .. ':' then
        present = server .. ':' .. fresh
        change('generation', present)
        drop_queues() -- R2
    end
    local members = read_queue('p', known[7])
    local record = known[3] and parse(known[3]) or {low = tonumber(ARGV[7]), high = 0}
    record.birth = known[2] and record.birth or fresh
    if not known[3] then
        change('p:' .. members.tail, member)
        members.tail = members.tail + 1
        members.count = members.count + 1
        write_queue(members)
    end
    record.lease = tonumber(ARGV[4])
    record.low = math.min(record.low, tonumber(ARGV[7]))
    record.high = math.max(record.high, tonumber(ARGV[8]))
    change('e:' .. member, epoch)
    grant(record, time)
    for _ = 1, 4 do
        retire(members, time)
    end
    return {'joined', present, record.birth, known[4] or ''}
end

if verb == 'renew' then
    -- ARGV: (member, generation, acknowledged, low, high, numbers)... for each key
    local replies = {'renewed'}
    local time = now()
    for i = 1, #KEYS do
        local first = 6 * i - 3
        enter(KEYS[i], ARGV[first], ARGV[first + 1])
        if is_current() then
            acknowledge(ARGV[first + 2])
            local record = parse(known[3])
            record.low, record.high = tonumber(ARGV[first + 3]), math.max(record.high, tonumber(ARGV[first + 4]))
            local heads = {}
            for _, side in ipairs({'1', '2'}) do
                local queue = queue_of(side)
                if queue.first < queue.last then
                    sweep(queue)
                    write_queue(queue)
                end
                heads[side] = queue.head
            end
            grant(record, time)
            retire(read_queue('p', known[7]), time)
            -- One letter for each offer: matched, waiting, or unknown, which means that it lost its lease or was closed.
            local states = {}
            for number in string.gmatch(ARGV[first + 5], '%d+') do
                local id = offer(number)
                local state = '?'
                if call('HEXISTS', room, 'r:' .. id) == 1 then
                    state = 'm'
                else
                    local side, position = string.match(call('HGET', room, 'w:' .. id) or '', '^(%d):(%d+)$')
                    if side and tonumber(position) >= heads[side] then
                        state = 'w'
                    end
                end
                states[#states + 1] = state
            end
            replies[#replies + 1] = {known[4] or '', table.concat(states)}
        else
            replies[#replies + 1] = {'rejoin'}
        end
    end
    return replies
end

enter(room, member, ARGV[4])
if not is_current() then
    return {'rejoin'} -- R1
end

if verb == 'withdraw' then
    -- ARGV: number
    local me = offer(ARGV[5])
    local result = call('HGET', room, 'r:' .. me)
    if result then
        return {'matched', result}
    end
    local field = call('HGET', room, 'w:' .. me)
    if field then
        local side, place = string.match(field, '^(%d):(%d+)$')
        local position = tonumber(place)
        local queue = queue_of(side)
        call('HDEL', room, field, 'w:' .. me, 'i:' .. me)
        if position >= queue.head then
            queue.count = queue.count - 1
            if queue.count == 0 then
                queue.head = queue.tail -- none is left between them
            elseif position == queue.head then
                queue.head = queue.head + 1
            elseif position == queue.tail - 1 then
                queue.tail = queue.tail - 1
            end
            write_queue(queue)
            write_changes()
        end
    end
    return {'withdrawn'}
end

if verb == 'collect' then
    -- ARGV: number... The reply ends early if it gets long.
    local found, bytes = {'collected'}, 0
    for i = 5, #ARGV do
        local item = call('HGET', room, 'r:' .. offer(ARGV[i]))
        found[#found + 1] = item
        bytes = bytes + (item and #item or 0)
        if bytes > 65536 then
            break
        end
    end
    return found
end

if verb == 'close' then
    -- ARGV: prefix of channels
    change('closed', '1')
    drop_queues()
    write_changes()
    publish(ARGV[5] .. 'closed', room)
    return {'closed'}
end

if verb == 'leave' then
    -- ARGV: acknowledged
    acknowledge(ARGV[5])
    call('HDEL', room, 'm:' .. member, 'e:' .. member)
    local members = read_queue('p', known[7])
    members.count = members.count - 1
    write_queue(members)
    write_changes()
    return {'left'}
end

if verb == 'count' then
    local red, blue = queue_of('1'), queue_of('2')
    return {'counted', table.concat({red.count, blue.count, read_queue('p', known[7]).count,
        red.matched + blue.matched}, ' ')}
end

return redis.error_reply('ERR tryst: unknown verb ' .. verb)
