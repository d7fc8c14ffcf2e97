--- Keep and reject as operators: over a motion, over what is selected, over a range of lines.
local coming = require("sould.review.coming")
local decide = require("sould.review.decide")
local lsp = require("sould.lsp")
local message = require("sould.message")
local move = require("sould.review.move")

local M = {}

---@param row integer from 0
local function say_none(row)
  if coming.is_at(vim.api.nvim_get_current_buf(), row) then
    message.say("the agent is writing this; it can be decided about when it is written")
  else
    message.say("there is no hunk here; :Sould next goes to one")
  end
end

---Decides about the hunks that lines touch; about a part of one when it is not all of them. Lines count from 1.
---@param verdict "keep"|"reject"
---@param first integer
---@param last integer
---@param whole boolean hunks as a whole, however little of them is touched
function M.range(verdict, first, last, whole)
  local root, decision = lsp.root(0), decide.new()
  local complete = {} ---@type sould.Hunk[]
  local found = move.touching(0, first, last)
  for _, place in ipairs(found) do
    local inside = first <= place.start + 1 and place.stop <= last
    if whole or inside or place.start == place.stop then
      table.insert(complete, place.hunk)
    else
      local from = math.max(first - 1 - place.start, 0)
      local to = math.min(last, place.stop) - place.start
      decide.lines(root, verdict, place.hunk, from, to, decision)
    end
  end
  if #complete > 0 then
    decide.hunks(root, verdict, complete, nil, decision)
  elseif #found == 0 then
    say_none(first - 1)
  end
end

---The hunk at the cursor.
---@param verdict "keep"|"reject"
---@param reason? string
function M.cursor(verdict, reason)
  local place = move.at_cursor()
  if not place then
    say_none(vim.api.nvim_win_get_cursor(0)[1] - 1)
    return
  end
  decide.hunks(lsp.root(0), verdict, { place.hunk }, reason)
end

local function over(verdict)
  return function()
    local first, last = vim.api.nvim_buf_get_mark(0, "[")[1], vim.api.nvim_buf_get_mark(0, "]")[1]
    M.range(verdict, first, last, false)
  end
end

M.keep_over, M.reject_over = over("keep"), over("reject")

---For an expression mapping: waits for the motion.
---@param verdict "keep"|"reject"
---@return string
function M.operator(verdict)
  vim.o.operatorfunc = ("v:lua.require'sould.review.operate'.%s_over"):format(verdict)
  return "g@"
end

local function here(verdict)
  return function()
    M.cursor(verdict)
  end
end

M.keep_here, M.reject_here = here("keep"), here("reject")

---For an expression mapping: the hunk at the cursor, and with `.` that at the cursor then.
---@param verdict "keep"|"reject"
---@return string
function M.repeatable(verdict)
  vim.o.operatorfunc = ("v:lua.require'sould.review.operate'.%s_here"):format(verdict)
  return "g@l"
end

---What is selected in visual mode, which ends.
---@param verdict "keep"|"reject"
function M.selection(verdict)
  local first, last = vim.fn.line("v"), vim.fn.line(".")
  vim.cmd.normal({ vim.keycode("<Esc>"), bang = true })
  M.range(verdict, math.min(first, last), math.max(first, last), false)
end

return M
