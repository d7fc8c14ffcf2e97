--- The two buffers of a chat: what was said, which nobody types into, and below it what is being typed.
---
--- Adds to the first one wherever it is shown, without moving a cursor that is not at its end. Knows no protocol.
local cards = require("sould.chat.cards")
local config = require("sould.config")
local highlights = require("sould.highlights")
local keys = require("sould.keys")
local sight = require("sould.sight")

local M = {}

local namespace = vim.api.nvim_create_namespace("sould_chat")
local PROMPT_LINES = 6

---@class sould.View
---@field buf integer what was said
---@field prompt integer what is typed
---@field blocks table<string, integer> extmarks of what may be replaced, by key
---@field speaker string?
---@field block string? the message that grows
---@field held { key: string, speaker: string, text: string[] }? what came of it since it was shown last
local View = {}
View.__index = View

local count = 0
local by_buffer = {} ---@type table<integer, sould.View>

---@param name string
---@param filetype "sould_chat"|"sould_prompt"
---@return integer
local function buffer(name, filetype)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].bufhidden = "nofile", false, "hide"
  highlights.markdown(buf, filetype)
  keys.own(buf)
  return buf
end

---@return sould.View
function M.new()
  count = count + 1
  local view = setmetatable({ blocks = {} }, View)
  view.buf = buffer("sould://chat/" .. count, "sould_chat")
  view.prompt = buffer("sould://prompt/" .. count, "sould_prompt")
  vim.bo[view.buf].modifiable, vim.bo[view.buf].undolevels = false, -1
  vim.b[view.buf].sould_chat, vim.b[view.prompt].sould_chat = count, count
  vim.bo[view.prompt].omnifunc = "v:lua.require'sould.chat'.complete"
  by_buffer[view.buf], by_buffer[view.prompt] = view, view
  return view
end

---@param buf integer
---@return sould.View?
function M.of(buf)
  return by_buffer[buf]
end

---Changes what was said; windows that show its end go on showing it.
---@param does fun(buf: integer)
function View:_change(does)
  local before = vim.api.nvim_buf_line_count(self.buf)
  local following = vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= before
  end, vim.fn.win_findbuf(self.buf))
  vim.bo[self.buf].modifiable = true
  does(self.buf)
  vim.bo[self.buf].modifiable = false
  local last = vim.api.nvim_buf_line_count(self.buf)
  for _, window in ipairs(following) do
    vim.api.nvim_win_set_cursor(window, { last, self:_width(last) })
  end
end

---@param line integer from 1
---@return integer bytes
function View:_width(line)
  return #vim.api.nvim_buf_get_lines(self.buf, line - 1, line, false)[1]
end

---@param from integer row
---@param to integer row, not included
---@param lines string[]
function View:_set(from, to, lines)
  self:_change(function(buf)
    vim.api.nvim_buf_set_lines(buf, from, to, false, lines)
  end)
end

---@return boolean
function View:empty()
  return vim.api.nvim_buf_line_count(self.buf) == 1 and vim.api.nvim_buf_get_lines(self.buf, 0, 1, false)[1] == ""
end

---Adds lines at the end, with an empty one before them.
---@param lines string[]
---@return integer row of the first
function View:add(lines)
  self:flush()
  self.block = nil
  if self:empty() then
    self:_set(0, 1, lines)
    return 0
  end
  local last = vim.api.nvim_buf_line_count(self.buf)
  if vim.api.nvim_buf_get_lines(self.buf, last - 1, last, false)[1] == "" then
    self:_set(last, last, lines)
    return last
  end
  local spaced = vim.list_extend({ "" }, lines)
  self:_set(last, last, spaced)
  return last + 1
end

---A heading, when somebody else speaks now.
---@param speaker string
function View:speak(speaker)
  self:flush()
  if self.speaker ~= speaker then
    self.speaker = speaker
    self:add({ "## " .. speaker })
  end
end

---The one who spoke has ended; who speaks next gets a heading.
function View:hush()
  self:flush()
  self.speaker = nil
end

---Lets the message grow, or begins it. It is shown with what comes next, or with `flush`: often many pieces come at once.
---@param key string
---@param speaker string
---@param text string
function View:grow(key, speaker, text)
  local held = self.held
  if held and held.key == key and held.speaker == speaker then
    table.insert(held.text, text)
    return
  end
  self:flush()
  self.held = { key = key, speaker = speaker, text = { text } }
end

---Shows what came of the message that grows.
function View:flush()
  local held = self.held
  if not held then
    return
  end
  self.held = nil
  self:speak(held.speaker)
  local lines = vim.split((table.concat(held.text):gsub("\r\n", "\n")), "\n", { plain = true })
  if self.block ~= held.key then
    self:add(lines)
    self.block = held.key
    return
  end
  self:_change(function(buf)
    local last = vim.api.nvim_buf_line_count(buf)
    local width = self:_width(last)
    vim.api.nvim_buf_set_text(buf, last - 1, width, last - 1, width, lines)
  end)
end

---Replaces lines one by one, so that the fold they are in stays as the user has it.
---@param first integer row
---@param last integer row, included
---@param lines string[]
function View:_renew(first, last, lines)
  local old = last - first + 1
  vim.bo[self.buf].modifiable = true
  if #lines < old then
    vim.fn.deletebufline(self.buf, first + #lines, last)
  elseif #lines > old then
    vim.fn.appendbufline(self.buf, last, vim.list_slice(lines, old, #lines - 1))
  end
  vim.fn.setbufline(self.buf, first + 1, lines)
  vim.bo[self.buf].modifiable = false
end

---@param key string
---@return integer? first
---@return integer? last
function View:_place(key)
  local mark = self.blocks[key]
  local at = mark and vim.api.nvim_buf_get_extmark_by_id(self.buf, namespace, mark, { details = true }) or {}
  if at[1] then
    return at[1], at[3].end_row
  end
end

---Shows lines under a key: anew where they are, or at the end. A card is a fold from its second line on.
---@param key string
---@param lines string[]
function View:put(key, lines)
  self:flush()
  local first, last = self:_place(key)
  if not first then
    first = self:add(vim.list_extend(vim.list_extend({}, lines), { "" }))
    last = first
  elseif last > first and #lines > 1 then
    self:_renew(first, last --[[@as integer]], lines)
  else
    self:_set(first, last + 1, lines)
    last = first
  end
  local options = { id = self.blocks[key], end_row = first + #lines - 1, end_col = 0 }
  self.blocks[key] = vim.api.nvim_buf_set_extmark(self.buf, namespace, first, 0, options)
  if last == first and #lines > 1 and cards.is_header(lines[1]) then
    for _, window in ipairs(vim.fn.win_findbuf(self.buf)) do
      self:_fold(window, first, first + #lines - 1)
    end
  end
end

---@param window integer
---@param first integer row
---@param last integer row, included
function View:_fold(window, first, last)
  vim.api.nvim_win_call(window, function()
    vim.cmd(("silent! %d,%dfold"):format(first + 1, last + 1))
  end)
end

---@param window integer
function View:_fold_all(window)
  for key in pairs(self.blocks) do
    local first, last = self:_place(key)
    if first and last > first and cards.is_header(vim.api.nvim_buf_get_lines(self.buf, first, first + 1, false)[1]) then
      self:_fold(window, first, last --[[@as integer]])
    end
  end
end

---The key of the block at a row, if it has one.
---@param row integer
---@return string? key
---@return integer? first
function View:at(row)
  for key in pairs(self.blocks) do
    local first, last = self:_place(key)
    if first and first <= row and row <= last then
      return key, first
    end
  end
end

---Whether a line of a block ends in sight.
---@param key string
---@param line integer of it, from 0
---@return boolean
function View:shows(key, line)
  local first = self:_place(key)
  return first ~= nil and sight.shows(self.buf, first + line)
end

---Has a line of a block end in sight, wherever this is shown.
---@param key string
---@param line integer of it, from 0
function View:show(key, line)
  local first = self:_place(key)
  if first then
    sight.show(self.buf, first + line)
  end
end

---Takes everything away, before a conversation is shown from its beginning.
function View:clear()
  self.held = nil
  self:_set(0, -1, {})
  self.blocks, self.speaker, self.block = {}, nil, nil
end

---What is typed, and, with `take`, taken away.
---@param take boolean
---@return string
function View:draft(take)
  local text = table.concat(vim.api.nvim_buf_get_lines(self.prompt, 0, -1, false), "\n")
  if take then
    vim.api.nvim_buf_set_lines(self.prompt, 0, -1, false, {})
  end
  return vim.trim(text)
end

---@param window integer
local function dress(window, folds)
  local set = vim.wo[window][0]
  set.wrap, set.linebreak, set.number, set.relativenumber, set.signcolumn = true, true, false, false, "no"
  if folds then
    set.foldmethod, set.foldenable, set.foldminlines = "manual", true, 1
    set.foldtext = "v:lua.require'sould.chat.view'.fold_text()"
    set.conceallevel, set.smoothscroll = 0, true -- nothing of what is asked about is out of sight
  else
    set.winfixheight = true
  end
end

local OPEN = { right = "botright vsplit", left = "topleft vsplit", below = "botright split", tab = "tab split" }

---Shows both in windows, with the cursor where one types: only ever on a command of the user's.
---@param title string
function View:open(title)
  local shown = vim.fn.bufwinid(self.prompt)
  if shown ~= -1 then
    vim.api.nvim_set_current_win(shown)
    return
  end
  local where, size = config.options.chat.position, config.options.chat.size
  vim.cmd(OPEN[where] or OPEN.right)
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, self.buf)
  if where == "right" or where == "left" then
    vim.api.nvim_win_set_width(window, math.floor(vim.o.columns * size))
  elseif where == "below" then
    vim.api.nvim_win_set_height(window, math.floor(vim.o.lines * size))
  end
  dress(window, true)
  self:_fold_all(window)
  local last = vim.api.nvim_buf_line_count(self.buf)
  vim.api.nvim_win_set_cursor(window, { last, self:_width(last) })
  self:name(title)
  vim.cmd("belowright split")
  local prompt = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(prompt, self.prompt)
  vim.api.nvim_win_set_height(prompt, PROMPT_LINES)
  dress(prompt, false)
  vim.wo[prompt][0].winbar = " prompt%=:Sould send "
end

---@param title string
function View:name(title)
  for _, window in ipairs(vim.fn.win_findbuf(self.buf)) do
    vim.wo[window][0].winbar = " " .. title:gsub("%%", "%%%%")
  end
end

---Whether its end is in sight.
---@return boolean
function View:visible()
  return #vim.fn.win_findbuf(self.buf) > 0
end

---Gives the prompts their height back, after another window took it or gave its own.
function M.fit()
  for buf, view in pairs(by_buffer) do
    for _, window in ipairs(buf == view.prompt and vim.fn.win_findbuf(buf) or {}) do
      if vim.api.nvim_win_get_height(window) ~= PROMPT_LINES then
        vim.api.nvim_win_set_height(window, PROMPT_LINES)
      end
    end
  end
end

---For 'foldtext'.
---@return [string, string][]|string
function M.fold_text()
  local line = vim.fn.getline(vim.v.foldstart):gsub("^> ", "")
  local more = vim.v.foldend - vim.v.foldstart
  return { { line, "SouldCard" }, { ("  +%d line%s"):format(more, more == 1 and "" or "s"), "SouldCard" } }
end

return M
