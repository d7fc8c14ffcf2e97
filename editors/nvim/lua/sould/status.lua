--- What is going on, for status lines: connection, hunks, turns, questions. Holds no more than that.
local M = {}

---@class sould.Status
---@field connection "off"|"connected"|"reconnecting"
---@field hunks integer in the buffer
---@field pending integer in the project
---@field working boolean a turn runs
---@field waiting integer questions that wait for an answer

local connections = {} ---@type table<string, string>
local chat = { working = false, waiting = 0 }
local turns = {} ---@type table<string, table<string|integer, true>> by project and token
local asked, told = 0, 0

local function changed()
  vim.schedule(function()
    vim.api.nvim_exec_autocmds("User", { pattern = "SouldStatus", modeline = false })
    vim.cmd.redrawstatus({ bang = true })
  end)
end

---@param root string
---@param connection "off"|"connected"|"reconnecting"
function M.set(root, connection)
  if connections[root] ~= connection then
    connections[root] = connection
    changed()
  end
end

---@param root string
---@return string
function M.of(root)
  return connections[root] or "off"
end

---@param working boolean
---@param waiting integer
function M.chat(working, waiting)
  chat = { working = working, waiting = waiting }
  changed()
end

---A turn that was begun over LSP runs, or has ended.
---@param root string
---@param token string|integer its own
---@param runs boolean
function M.turn(root, token, runs)
  turns[root] = turns[root] or {}
  turns[root][token] = runs or nil
  changed()
end

---The connection that told of turns is gone.
---@param root string
function M.forget_turns(root)
  turns[root] = nil
  changed()
end

---@param count integer what waits in sessions, anywhere
function M.told(count)
  told = count
  changed()
end

---@param count integer questions of the server
function M.asked(count)
  asked = count
  changed()
end

---Something to review came or went.
M.review = changed

---@return boolean
local function turns_run()
  for _, running in pairs(turns) do
    if next(running) then
      return true
    end
  end
  return false
end

---@return sould.Status
function M.get()
  local state = require("sould.review.state")
  local buf = vim.api.nvim_get_current_buf()
  local root = require("sould.lsp").root(buf)
  local file = state.file(state.path(buf))
  return {
    connection = M.of(root),
    hunks = file and #file.hunks or 0,
    pending = state.count(root),
    working = chat.working or turns_run(),
    waiting = math.max(chat.waiting, told) + asked, -- what a chat was asked is told as well
  }
end

---@return string
function M.line()
  local now = M.get()
  local parts = {}
  if now.connection == "reconnecting" then
    table.insert(parts, "reconnecting")
  elseif now.pending > 0 then
    table.insert(parts, ("%d/%d to review"):format(now.hunks, now.pending))
  end
  if now.working then
    table.insert(parts, "working")
  end
  if now.waiting > 0 then
    table.insert(parts, ("%d waiting"):format(now.waiting))
  end
  return #parts > 0 and "sould: " .. table.concat(parts, ", ") or ""
end

return M
