--- The one place where the user is told something. Never waits for a key and never opens a window by itself.
local M = {}

---@param text string
---@param level? integer
function M.say(text, level)
  vim.schedule(function()
    vim.notify("sould: " .. text, level or vim.log.levels.INFO)
  end)
end

---@param text string
function M.warn(text)
  M.say(text, vim.log.levels.WARN)
end

local told = {} ---@type table<string, boolean>

---Like `warn`, once until `forget`: a fault that lasts is one message.
---@param key string
---@param text string
function M.once(key, text)
  if not told[key] then
    told[key] = true
    M.warn(text)
  end
end

---@param key string
function M.forget(key)
  told[key] = nil
end

return M
