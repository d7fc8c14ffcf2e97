--- Puts the agent's text into an open buffer, as the user's own typing would be there: with undo, cursors and folds.
---
--- Never switches a window, never saves unless asked, and writes nothing over a version that nobody saw.
local state = require("sould.review.state")

local M = {}

---@param buf integer
---@return string ending
local function line_end(buf)
  return ({ dos = "\r\n", mac = "\r" })[vim.bo[buf].fileformat] or "\n"
end

---The text of a buffer, as LSP reports it.
---@param buf integer
---@return string
function M.text(buf)
  local ending = line_end(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), ending)
  return vim.bo[buf].endofline and text .. ending or text
end

---@param buf integer
---@param text string
---@return string[] lines
---@return boolean ended whether the last one has its end
local function split(buf, text)
  local ending = line_end(buf)
  local stray = text:gsub(vim.pesc(ending), "")
  if stray:find("[\r\n]") and vim.bo[buf].fileformat ~= "unix" then
    vim.bo[buf].fileformat, ending = "unix", "\n"
  end
  local ended = vim.endswith(text, ending)
  local lines = vim.split(ended and text:sub(1, -#ending - 1) or text, ending, { plain = true })
  return lines, ended
end

---@param a string
---@param b string
---@return integer bytes at the beginning that both have, never half a character
local function common_start(a, b)
  local at = 0
  while at < #a and at < #b and a:byte(at + 1) == b:byte(at + 1) do
    at = at + 1
  end
  while at > 0 and (a:byte(at + 1) or 0) >= 0x80 and (a:byte(at + 1) or 0) < 0xC0 do
    at = at - 1
  end
  return at
end

---@param buf integer
---@param row integer
---@param old string
---@param new string
local function replace_line(buf, row, old, new)
  local from = common_start(old, new)
  local tail = 0
  while tail < #old - from and tail < #new - from and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  while tail > 0 and old:byte(#old - tail + 1) >= 0x80 and old:byte(#old - tail + 1) < 0xC0 do
    tail = tail - 1
  end
  vim.api.nvim_buf_set_text(buf, row, from, row, #old - tail, { new:sub(from + 1, #new - tail) })
end

---@param buf integer
---@param lines string[]
function M.set_lines(buf, lines)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local diff = vim.text and vim.text.diff or vim.diff
  local a, b = table.concat(old, "\n") .. "\n", table.concat(lines, "\n") .. "\n"
  local runs = diff(a, b, { result_type = "indices", algorithm = "histogram" }) --[[@as integer[][] ]]
  for index = #runs, 1, -1 do
    local from, gone, at, come = unpack(runs[index])
    local first = gone == 0 and from or from - 1
    if gone == come then
      for offset = 0, gone - 1 do
        replace_line(buf, first + offset, old[first + offset + 1], lines[at + offset])
      end
    else
      local new = vim.list_slice(lines, at, at + come - 1)
      vim.api.nvim_buf_set_lines(buf, first, first + gone, true, come == 0 and {} or new)
    end
  end
end

---What is written is a step of its own for undo, apart from what the user was typing.
---@param buf integer
local function break_undo(buf)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
end

---Writes a buffer to its file, with the user's autocommands and without a question.
---@param buf integer
---@return boolean saved
function M.save(buf)
  if vim.fn.filewritable(vim.api.nvim_buf_get_name(buf)) ~= 1 and vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf)) then
    return false
  end
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = fix and vim.bo[buf].endofline
  -- With a bang, because without one Neovim may ask, and a question would take the keys that the user types. The server
  -- has looked at the file before.
  local done = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent keepalt lockmarks write!")
  end)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.bo[buf].fixendofline = fix
  end
  return done and not vim.bo[buf].modified
end

---Does something to a buffer that its user protects from their own hand ('readonly', 'modifiable'), as with `:view`.
---@generic T
---@param buf integer
---@param does fun(): T
---@return T
local function unlocked(buf, does)
  local modifiable, readonly = vim.bo[buf].modifiable, vim.bo[buf].readonly
  vim.bo[buf].modifiable, vim.bo[buf].readonly = true, false
  local fine, result = pcall(does)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.bo[buf].modifiable, vim.bo[buf].readonly = modifiable, readonly
  end
  if not fine then
    error(result, 0)
  end
  return result
end

---@param buf integer
---@param asked { text: string, save: boolean }
---@return boolean saved
local function put(buf, asked)
  break_undo(buf)
  local lines, ended = split(buf, asked.text)
  M.set_lines(buf, lines)
  if vim.bo[buf].endofline ~= ended then
    vim.bo[buf].endofline = ended
  end
  break_undo(buf)
  return asked.save and M.save(buf)
end

---Answers `_sould/review/write`.
---@param asked { path: string, version: integer, text: string, save: boolean }
---@return { outcome: string, saved: boolean?, version: integer?, text: string? }
function M.answer(asked)
  local buf = state.buffer(asked.path)
  if not buf or vim.lsp.util.buf_versions[buf] ~= asked.version then
    return { outcome = "outdated" }
  end
  local saved = unlocked(buf, function()
    return put(buf, asked)
  end)
  local text = M.text(buf)
  return {
    outcome = "written",
    saved = saved,
    version = vim.lsp.util.buf_versions[buf],
    text = text ~= asked.text and text or nil,
  }
end

local later = {} ---@type table<integer, boolean>

---@param buf integer
local function check(buf)
  later[buf] = nil
  if vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified then
    pcall(vim.cmd, "silent! checktime " .. buf)
  end
end

---Has a buffer without unsaved text read its file again if that changed on disk; not in the middle of typing.
---@param buf integer
function M.look_again(buf)
  local follows = vim.bo[buf].autoread
  if follows == nil then
    follows = vim.go.autoread
  end
  if vim.bo[buf].modified or not follows then
    return
  end
  if buf ~= vim.api.nvim_get_current_buf() or vim.fn.mode(1):match("^n") then
    check(buf)
  elseif not later[buf] then
    later[buf] = true
    vim.api.nvim_create_autocmd("ModeChanged", {
      pattern = "*:n",
      once = true,
      callback = vim.schedule_wrap(function()
        check(buf)
      end),
    })
  end
end

return M
