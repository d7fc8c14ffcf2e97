--- Where the cursor is among hunks, and where the user sends it. Moves it in the current window, on their key only.
local draw = require("sould.review.draw")
local lsp = require("sould.lsp")
local message = require("sould.message")
local state = require("sould.review.state")

local M = {}

---The hunks that touch lines of a buffer, from 1, both included. Removed lines count to the lines beside them.
---@param buf integer
---@param first integer
---@param last integer
---@return sould.Place[]
function M.touching(buf, first, last)
  local exact, beside = {}, {}
  for _, place in ipairs(draw.places(buf)) do
    if place.start < place.stop then
      if place.start < last and first <= place.stop then
        table.insert(exact, place)
      end
    elseif place.start + 1 >= first and place.start + 1 <= last then
      table.insert(exact, place)
    elseif place.start >= first and place.start <= last then
      table.insert(beside, place)
    end
  end
  if first == last then
    return #exact > 0 and { exact[1] } or { beside[1] }
  end
  return #exact > 0 and exact or beside
end

---The hunk at the cursor of the current window.
---@return sould.Place?
function M.at_cursor()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  return M.touching(0, line, line)[1]
end

---@param line integer from 1
local function jump(line)
  vim.cmd("normal! m'")
  line = math.min(line, vim.api.nvim_buf_line_count(0))
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd("normal! ^zv")
end

---@param path string
---@param from "top"|"bottom"
local function open(path, from)
  local buf = state.buffer(path)
  if buf ~= vim.api.nvim_get_current_buf() then
    vim.cmd("normal! m'")
    vim.cmd.edit(vim.fn.fnameescape(vim.fn.fnamemodify(path, ":.")))
  end
  lsp.attach(vim.api.nvim_get_current_buf()) -- what is kept of buffers has their numbers
  local places = draw.places(0)
  local place = places[from == "top" and 1 or #places]
  if place then
    jump(place.start + 1)
  end
end

---The file with hunks that comes after, or before, a path; nil when there is no other one.
---@param root string
---@param path string
---@param step 1|-1
---@return sould.File?
local function other_file(root, path, step)
  local files = vim.tbl_filter(function(file)
    return file.exists ~= false and #file.hunks > 0
  end, state.files(root))
  if step < 0 then
    local reversed = {}
    for index = #files, 1, -1 do
      table.insert(reversed, files[index])
    end
    files = reversed
  end
  for _, file in ipairs(files) do
    if (step > 0 and file.path > path) or (step < 0 and file.path < path) then
      return file
    end
  end
  return files[1] and files[1].path ~= path and files[1] or nil
end

---Goes to the next hunk, or the previous one; behind the last of a file to those of the next file.
---@param step 1|-1
---@param count integer
function M.go(step, count)
  local places = draw.places(0)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local at = {}
  for _, place in ipairs(places) do
    local there = math.min(place.start + 1, vim.api.nvim_buf_line_count(0))
    if (step > 0 and there > line) or (step < 0 and there < line) then
      table.insert(at, step > 0 and #at + 1 or 1, there)
    end
  end
  if #at > 0 then
    jump(at[math.min(count, #at)])
    return
  end
  local root = lsp.root(0)
  local file = other_file(root, state.path(0), step)
  if file then
    open(file.path, step > 0 and "top" or "bottom")
  elseif #places > 0 then
    local place = places[step > 0 and 1 or #places]
    jump(place.start + 1)
  else
    message.say("nothing to review")
  end
end

---Selects the lines of the hunk at the cursor, as a text object does.
function M.select()
  local place = M.at_cursor()
  if not place or place.start == place.stop then
    return
  end
  if vim.fn.mode():match("[vV\22]") then
    vim.cmd.normal({ vim.keycode("<Esc>"), bang = true })
  end
  vim.cmd(("normal! %dGV%dG"):format(place.start + 1, place.stop))
end

---Whether a window shows this file. The server asks before it relies on that.
---@param path string
---@return boolean
function M.visible(path)
  local buf = state.buffer(path)
  return buf ~= nil and vim.fn.bufwinid(buf) ~= -1
end

return M
