-- What wrk sends and what it tells. The first argument, if there is one, is the JSON body of a POST, in which
-- "{number}" becomes a fresh number for every request. With a second one every request presents a session of its own,
-- whose token is its number in 32 digits. The last line of the output is one JSON object.

local began = os.time()

function init(arguments)
  local body, own = arguments[1], arguments[2]
  if not body then
    return
  end
  wrk.method = "POST"
  wrk.body = body
  wrk.headers["Content-Type"] = "application/json"
  if own then
    local ended = -1
    request = function()
      ended = ended + 1
      wrk.headers["Authorization"] = string.format("Bearer %032d", ended)
      return wrk.format()
    end
  elseif body:find("{number}", 1, true) then
    local sent = 0
    request = function()
      sent = sent + 1
      local fresh = body:gsub("{number}", began .. "n" .. sent)
      return wrk.format(nil, nil, nil, fresh)
    end
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
