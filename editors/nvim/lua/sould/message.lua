--- The one place where the user is told something. Never waits for a key and never opens a window by itself.
local M = {}

---One line that fits, where Neovim itself shows it: behind a longer one it would wait for Enter, and take the keys that
---the user types. Plugins that show messages get all of it.
---@param text string
---@return string
local function fitting(text)
  local source = debug.getinfo(vim.notify, "S").source
  local builtin = source:find("vim/_", 1, true) or source:match("^=?%?$") -- compiled without its source, as Debian does
  if not builtin then
    return text
  end
  local line = text:gsub("%s*\n%s*", " ")
  local room = vim.v.echospace
  if vim.fn.strdisplaywidth(line) > room then
    line = vim.fn.strcharpart(line, 0, math.max(room - 1, 10)) .. "…"
  end
  return line
end

---@param text string
---@param level? integer
function M.say(text, level)
  vim.schedule(function()
    vim.notify(fitting("sould: " .. text), level or vim.log.levels.INFO)
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
