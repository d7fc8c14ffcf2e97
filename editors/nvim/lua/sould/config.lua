--- What the user asked for, over the defaults. Holds options only: nothing starts and no key is mapped here.
local M = {}

---@class sould.Keys
---@field next? string
---@field prev? string
---@field object? string the text object, in operator-pending and visual mode
---@field keep? string in visual mode: what is selected; in normal mode: the hunk at the cursor
---@field reject? string
---@field keep_over? string an operator
---@field reject_over? string an operator
---@field undo? string
---@field hunks? string
---@field chat? string
---@field inbox? string
---@field send? string|false in a chat only; there unasked, unless it is false
---@field answer? string|false in a chat and the inbox only; the same

---@class sould.Options
---@field command string[] how `sould` is started
---@field autostart boolean start with the first file that is opened; else `:Sould start` does it
---@field root? fun(path: string): string? the project of a file
---@field keys sould.Keys|boolean `false`: none
---@field signs boolean
---@field words boolean mark the words that differ
---@field labels boolean the number of each hunk behind its first line
---@field chat { position: "right"|"left"|"below"|"tab", size: number }

---@type sould.Keys
M.keys = {
  next = "]h",
  prev = "[h",
  object = "ih",
  keep = "<leader>ak",
  reject = "<leader>ar",
  keep_over = "<leader>aK",
  reject_over = "<leader>aR",
  undo = "<leader>au",
  hunks = "<leader>aq",
  chat = "<leader>ac",
  inbox = "<leader>ai",
  send = "<C-s>",
  answer = "<CR>",
}

---@return sould.Options
local function defaults()
  return {
    command = { "sould" },
    autostart = true,
    keys = false,
    signs = true,
    words = true,
    labels = true,
    chat = { position = "right", size = 0.4 },
  }
end

---@type sould.Options
M.options = defaults()

---Takes the options of `setup`. What is no option, or has the wrong type, is an error that names it.
---@param given? table
function M.set(given)
  given = given or {}
  local known = defaults()
  for name, value in pairs(given) do
    local wanted = name == "root" and "function" or type(known[name])
    local fits = type(value) == wanted
      or (name == "command" and type(value) == "string")
      or (name == "keys" and type(value) == "table")
    if wanted == "nil" then
      error(("sould: there is no option %q (see :help sould-options)"):format(name), 0)
    elseif not fits then
      error(("sould: the option %q is a %s, not a %s"):format(name, wanted, type(value)), 0)
    end
  end
  if type(given.keys) == "table" then
    for name in pairs(given.keys) do
      if M.keys[name] == nil then
        error(("sould: there is no key %q (see :help sould-keys)"):format(name), 0)
      end
    end
  end
  M.options = vim.tbl_deep_extend("force", known, given)
  if type(M.options.command) == "string" then
    M.options.command = {
      M.options.command --[[@as string]],
    }
  end
end

---The keys to map: those that were asked for.
---@return sould.Keys
function M.mapped()
  local asked = M.options.keys
  if asked == true then
    return M.keys
  end
  return type(asked) == "table" and asked or {}
end

---@param ... string
---@return string[] command line
function M.line(...)
  local words = vim.list_extend({}, M.options.command)
  return vim.list_extend(words, { ... })
end

return M
