--- What calls of the agent are about to write, where it will be: lines to come as virtual lines, lines to go coloured.
---
--- Only shown: nothing can be decided about it, and nothing of it is in the buffer. Drawn once; extmarks carry it along.
local lines = require("sould.review.lines")
local state = require("sould.review.state")

local M = {}

local namespace = vim.api.nvim_create_namespace("sould_coming")
local MOST_LINES = 60
local GROUPS = { line = "SouldComing", word = "SouldComing" }
local LABEL = "being written"

local drawn = {} ---@type table<integer, table<integer, integer[]>> by buffer and id: extmarks

---@param buf integer
---@param hunk sould.Hunk
---@return boolean
local function fits(buf, hunk)
  local stop = hunk.start + #hunk.base
  if stop > vim.api.nvim_buf_line_count(buf) then
    return false
  end
  for index, line in ipairs(vim.api.nvim_buf_get_lines(buf, hunk.start, stop, false)) do
    if lines.chomp(hunk.base[index]) ~= line then
      return false
    end
  end
  return true
end

---@param buf integer
---@param hunk sould.Hunk
---@return [string, string][][]
local function virtual(buf, hunk)
  local found = {}
  for index = 1, math.min(#hunk.lines, MOST_LINES) do
    local said = index == 1 and LABEL or nil
    table.insert(found, lines.virtual(buf, lines.chomp(hunk.lines[index].text), {}, GROUPS, said))
  end
  if #hunk.lines > MOST_LINES then
    local more = ("… %d more lines"):format(#hunk.lines - MOST_LINES)
    table.insert(found, lines.virtual(buf, more, {}, GROUPS))
  end
  return found
end

---@param buf integer
---@param hunk sould.Hunk
---@return integer[] marks
local function draw(buf, hunk)
  local marks = {}
  local function mark(row, options)
    table.insert(marks, vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options))
  end
  for index = 1, #hunk.base do
    local row = hunk.start + index - 1
    mark(row, { hl_group = "SouldGoing", hl_eol = true, end_row = row + 1, end_col = 0, priority = 95, strict = false })
  end
  if #hunk.lines > 0 then
    local behind = hunk.start + #hunk.base
    local row = math.max(behind - 1, 0)
    mark(row, { virt_lines = virtual(buf, hunk), virt_lines_above = behind == 0, priority = 95 })
  else
    mark(hunk.start, { virt_text = { { "  " .. LABEL, "SouldLabel" } }, virt_text_pos = "eol", priority = 95 })
  end
  return marks
end

---@param buf integer
---@param marks integer[]
local function erase(buf, marks)
  for _, each in ipairs(marks) do
    vim.api.nvim_buf_del_extmark(buf, namespace, each)
  end
end

---Brings what is drawn in a buffer in line with what was said last.
---@param buf integer
function M.render(buf)
  local file = state.file(state.path(buf))
  local before, now = drawn[buf] or {}, {}
  for _, hunk in ipairs(file and file.streaming or {}) do
    now[hunk.id] = before[hunk.id] or (fits(buf, hunk) and draw(buf, hunk)) or nil
  end
  for id, marks in pairs(before) do
    if not now[id] then
      erase(buf, marks)
    end
  end
  drawn[buf] = next(now) and now or nil
end

---Forgets what is drawn in a buffer, which was read again.
---@param buf integer
function M.forget(buf)
  drawn[buf] = nil
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

---How many lines stand above the first one.
---@param buf integer
---@return integer
function M.above(buf)
  local count = 0
  for _, each in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, { 0, 0 }, { 0, 0 }, { details = true })) do
    count = count + (each[4].virt_lines_above and #each[4].virt_lines or 0)
  end
  return count
end

---Whether something is about to be written at a row of a buffer.
---@param buf integer
---@param row integer from 0
---@return boolean
function M.is_at(buf, row)
  return #vim.api.nvim_buf_get_extmarks(buf, namespace, { row, 0 }, { row, -1 }, {}) > 0
end

return M
