--- The connection that talks: one `sould acp` for all chats of this Neovim, started with the first of them.
---
--- JSON-RPC, one message a line. Knows the protocol's frame and no method of it but `initialize`.
local config = require("sould.config")

local M = {}

local VERSION = 1
local MOST_COMPLAINTS = 2000

---@alias sould.Done fun(problem: string?, result: any)

local process ---@type vim.SystemObj?
local ready = false
local waiting = {} ---@type table<integer, sould.Done>
local before_ready = {} ---@type { method: string, params: table, done: sould.Done }[]
local last_id = 0
local rest = ""
local complaints = "" -- the end of what the program wrote to its standard error
local lines = {} ---@type string[]
local handlers = {} ---@type table<string, fun(params: table, id: any)>
local after = {} ---@type fun()[] what to do when all that came at once is taken
local gone = {} ---@type fun()[]

---@param method string
---@param handler fun(params: table, id: any) `id` is nil for a notification
function M.on(method, handler)
  handlers[method] = handler
end

---@param does fun()
function M.after_each_read(does)
  table.insert(after, does)
end

---@param does fun()
function M.on_exit(does)
  table.insert(gone, does)
end

---@param message table
local function write(message)
  message.jsonrpc = "2.0"
  if process then
    process:write(vim.json.encode(message) .. "\n")
  end
end

---@param id any
---@param result table
function M.reply(id, result)
  write({ id = id, result = result })
end

---@param text string
local function take(text)
  local fine, message = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  if not fine or type(message) ~= "table" then
    return
  end
  if message.method then
    local handler = handlers[message.method]
    if handler then
      handler(message.params or {}, message.id)
    elseif message.id ~= nil then
      write({ id = message.id, error = { code = -32601, message = "Method not found" } })
    end
    return
  end
  local done = waiting[message.id]
  waiting[message.id] = nil
  if done then
    done(message.error and message.error.message or nil, message.result)
  end
end

local function drain()
  local now = lines
  lines = {}
  for _, line in ipairs(now) do
    take(line)
  end
  for _, does in ipairs(after) do
    does()
  end
end

---@param data string?
local function read(_, data)
  if not data then
    return
  end
  local parts = vim.split(rest .. data, "\n", { plain = true })
  rest = table.remove(parts)
  local idle = #lines == 0
  vim.list_extend(lines, parts)
  if idle and #lines > 0 then
    vim.schedule(drain)
  end
end

---@param data string?
local function complain(_, data)
  complaints = (complaints .. (data or "")):sub(-MOST_COMPLAINTS)
end

---Nothing that was asked, or that waits to be, is answered any more.
---@param problem string
local function fail(problem)
  local asked, waited = waiting, before_ready
  waiting, before_ready = {}, {}
  for _, done in pairs(asked) do
    done(problem)
  end
  for _, each in ipairs(waited) do
    each.done(problem)
  end
end

---@param which vim.SystemObj
---@param problem string
local function ended(which, problem)
  if process ~= which then
    return
  end
  process, ready, rest, complaints = nil, false, "", ""
  fail(problem)
  for _, does in ipairs(gone) do
    does()
  end
end

---@param method string
---@param params table
---@param done sould.Done
local function send(method, params, done)
  last_id = last_id + 1
  waiting[last_id] = done
  write({ id = last_id, method = method, params = params })
end

---@param started vim.SystemObj
local function introduce(started)
  send("initialize", {
    protocolVersion = VERSION,
    clientInfo = { name = "sould.nvim", title = "Neovim", version = tostring(vim.version()) },
    clientCapabilities = {
      session = { notices = vim.empty_dict() },
      _meta = { sould = { review = true } },
    },
  }, function(problem)
    if problem then
      if process == started then
        started:kill("sigterm")
        ended(started, problem)
      end
      return
    end
    ready = true
    local waited = before_ready
    before_ready = {}
    for _, each in ipairs(waited) do
      send(each.method, each.params, each.done)
    end
  end)
end

---@return string? problem
local function start()
  local line, started = config.line("acp"), nil
  local fine, result = pcall(vim.system, line, { stdin = true, stdout = read, stderr = complain }, function()
    vim.schedule(function()
      local said = vim.trim(complaints)
      ended(started, "the connection to sould has ended" .. (said ~= "" and ": " .. said or ""))
    end)
  end)
  if not fine then
    return ("%s cannot be started; see :checkhealth sould"):format(line[1])
  end
  started = result --[[@as vim.SystemObj]]
  process = started
  introduce(started)
end

---@param method string
---@param params table
---@param done? sould.Done
function M.request(method, params, done)
  done = done or function() end
  local problem = not process and start()
  if problem then
    done(problem)
  elseif ready then
    send(method, params, done)
  else
    table.insert(before_ready, { method = method, params = params, done = done })
  end
end

---@param method string
---@param params table
function M.notify(method, params)
  if ready then
    write({ method = method, params = params })
  end
end

return M
