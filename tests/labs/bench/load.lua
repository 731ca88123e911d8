-- What wrk sends and what it tells. The first argument is the JSON body of a POST, in which "{number}" becomes a fresh
-- number for every request and "{turn}" how many came before it, or nothing for a GET. The others are headers, of which each request presents the next one;
-- "Body" is the body itself, and "own sessions" stands for a session for every request, whose token is its number in 32 digits. The last line of the
-- output is one JSON object.

local began = os.time()
local body, presented, turn = "", {}, 0

local function present()
  if #presented > 0 then
    local name, value = presented[turn % #presented + 1]:match("^(.-): (.*)$")
    if name == "Body" then wrk.body = value else wrk.headers[name] = value end
  end
  turn = turn + 1
end

function init(arguments)
  body = arguments[1]
  presented = {unpack(arguments, 2)}
  if body ~= "" then
    wrk.method = "POST"
    wrk.body = body
    wrk.headers["Content-Type"] = "application/json"
  end
  if presented[1] == "own sessions" then
    request = function()
      wrk.headers["Authorization"] = string.format("Bearer %032d", turn)
      turn = turn + 1
      return wrk.format()
    end
  elseif body:find("{number}", 1, true) or body:find("{turn}", 1, true) then
    request = function()
      local filled = body:gsub("{turn}", turn):gsub("{number}", began .. "n" .. turn)
      present()
      return wrk.format(nil, nil, nil, filled)
    end
  else
    prepare()
  end
end

function prepare()
  local prepared = {}
  for number = 1, math.max(1, #presented) do
    present()
    prepared[number] = wrk.format()
  end
  request = function()
    turn = turn % #prepared + 1
    return prepared[turn]
  end
end

function done(summary, latency, requests)
  local broken = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format(
    '{"requests": %d, "duration": %d, "p50": %d, "p99": %d, "refused": %d, "broken": %d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    summary.errors.status, broken
  ))
end
