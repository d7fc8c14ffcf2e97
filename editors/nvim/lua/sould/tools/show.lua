--- The tools that show a place, save, and list what is reported. The cursor and the focus stay the user's, unless they asked for them.
local documents = require("sould.tools.documents")
local freshness = require("sould.tools.freshness")
local place = require("sould.tools.place")
local state = require("sould.review.state")
local write = require("sould.review.write")

local M = {}

local SEVERITIES = { "error", "warning", "information", "hint" }

---@param win integer
---@return boolean whether another file may be shown in it
local function free(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local fixed = vim.fn.exists("+winfixbuf") == 1 and vim.wo[win].winfixbuf
  local would_be_lost = vim.bo[buf].modified and not vim.o.hidden and #vim.fn.win_findbuf(buf) == 1
  return vim.bo[buf].buftype == ""
    and not vim.wo[win].diff
    and not vim.wo[win].previewwindow
    and not fixed
    and not would_be_lost
end

---The windows of this tab that are not the user's own at the moment, the one they were in before first.
---@return integer[]
local function others()
  local current, before = vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr("#"))
  local found = vim.tbl_filter(function(win)
    return win ~= current and vim.api.nvim_win_get_config(win).relative == ""
  end, vim.api.nvim_tabpage_list_wins(0))
  table.sort(found, function(a, b)
    return a == before and b ~= before
  end)
  return found
end

---@param buf integer
---@return integer? window that shows it, or can
local function window_beside(buf)
  local found = others()
  for _, win in ipairs(found) do
    if vim.api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
  return vim.tbl_filter(free, found)[1]
end

---@param win integer
---@param buf integer
---@param row integer
---@param bytes integer
local function put(win, buf, row, bytes)
  if vim.api.nvim_win_get_buf(win) ~= buf then
    vim.api.nvim_win_set_buf(win, buf)
  end
  row = math.min(row, vim.api.nvim_buf_line_count(buf))
  local top = math.max(1, row - math.floor(vim.api.nvim_win_get_height(win) / 2))
  vim.api.nvim_win_call(win, function()
    vim.fn.winrestview({ lnum = row, col = bytes, topline = top })
    pcall(vim.cmd, "silent! foldopen!")
  end)
end

---@param buf integer
---@param row integer
---@return boolean
local function in_sight(buf, row)
  return buf == vim.api.nvim_get_current_buf() and row >= vim.fn.line("w0") and row <= vim.fn.line("w$")
end

---Takes the user there: they asked for it.
---@param call sould.Call
---@param buf integer
---@param row integer
---@param bytes integer
local function take(call, buf, row, bytes)
  local win = vim.fn.bufwinid(buf)
  if win == -1 and (call.arguments.column == "beside" or not free(0)) then
    win = window_beside(buf) or -1
    if win == -1 then
      vim.cmd("vsplit")
    end
  end
  if win ~= -1 then
    vim.api.nvim_set_current_win(win)
  end
  vim.cmd("normal! m'")
  put(vim.api.nvim_get_current_win(), buf, row, bytes)
end

---@param file string
---@return integer
local function listed(file)
  local buf = state.buffer(file) or documents.add(file)
  vim.bo[buf].buflisted = true
  return buf
end

---@param call sould.Call
function M.open(call)
  local row, bytes = 1, 0
  documents.with(call.arguments.file, function(buf)
    if call.at then
      call:check(buf)
      local line = vim.api.nvim_buf_get_lines(buf, call.at.line - 1, call.at.line, false)[1] or ""
      row, bytes = call.at.line, place.bytes(line, "utf-16", call.at.column - 1)
    end
  end)
  if not vim.fn.mode(1):match("^[ni]") or vim.fn.mode(1):match("^no") then
    documents.fail("busy", "The user is in the middle of a command.")
  end
  if call.arguments.focus then
    take(call, listed(call.arguments.file), row, bytes)
  else
    local shown = state.buffer(call.arguments.file)
    local win = window_beside(shown or -1)
    if win then
      put(win, listed(call.arguments.file), row, bytes)
    elseif not (shown and in_sight(shown, row)) then
      documents.fail("not_supported", "Neovim has one window, and the user is in it.")
    end
  end
  return { data = { opened = true, by = "Neovim" } }
end

---@param call sould.Call
function M.save(call)
  local saved = {}
  for _, file in ipairs(call.arguments.files) do
    local buf = state.buffer(file)
    if not buf then
      documents.fail("not_found", file .. " is not open in Neovim.")
    elseif not vim.bo[buf].modified or write.save(buf) then
      table.insert(saved, file)
    end
  end
  return { data = { saved = saved } }
end

---@param buf integer
---@return table[] those of others than sould
local function reported(buf)
  return vim.tbl_filter(function(each)
    return each.source ~= "sould"
  end, vim.diagnostic.get(buf))
end

---@param buf integer
---@param file string
---@param worst integer
---@param into table[]
local function problems(buf, file, worst, into)
  for _, each in ipairs(reported(buf)) do
    if each.severity <= worst then
      local lines = vim.api.nvim_buf_get_lines(buf, each.lnum, (each.end_lnum or each.lnum) + 1, false)
      local last = each.end_lnum or each.lnum
      table.insert(into, {
        file = file,
        severity = SEVERITIES[each.severity],
        message = each.message,
        code = each.code and tostring(each.code) or nil,
        source = each.source,
        range = {
          start = place.of_bytes(lines[1] or "", each.lnum, each.col),
          ["end"] = place.of_bytes(lines[last - each.lnum + 1] or "", last, each.end_col or each.col),
        },
      })
    end
  end
end

---@param call sould.Call
---@return table<integer, string> files by buffer
local function open_files(call)
  local found = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buf) and state.path(buf) or ""
    if vim.startswith(path, call.root .. "/") then
      found[buf] = path
    end
  end
  return found
end

---Has `take` called with each buffer that is asked about, once what is reported is about its text; all of them get a moment for that.
---@param call sould.Call
---@param take fun(buf: integer, file: string)
---@return boolean known something here reports about one of them
---@return boolean fresh what was taken is about the texts as they are now
local function each_asked(call, take)
  local files, known, fresh = call.arguments.files or {}, false, true
  local stop = vim.uv.now() + (call.arguments.waitMs or 1500)
  local function one(buf, file)
    if #reported(buf) > 0 or #documents.servers(buf) > 0 then
      known = true
      fresh = freshness.wait(buf, stop) and fresh
    end
    if vim.api.nvim_buf_is_valid(buf) then
      take(buf, file)
    end
  end
  for _, file in ipairs(files) do
    documents.with(file, function(buf)
      one(buf, file)
    end)
  end
  for buf, file in pairs(#files == 0 and open_files(call) or {}) do
    one(buf, file)
  end
  return known, fresh
end

---@param call sould.Call
function M.diagnostics(call)
  local worst = vim.tbl_contains(SEVERITIES, call.arguments.minSeverity) and call.arguments.minSeverity or "warning"
  local rank = {}
  for index, severity in ipairs(SEVERITIES) do
    rank[severity] = index
  end
  local items, counts = {}, vim.empty_dict()
  local known, fresh = each_asked(call, function(buf, file)
    problems(buf, file, rank[worst], items)
  end)
  if not known then
    documents.fail("not_supported", "Nothing in this Neovim reports problems of these files.")
  end
  table.sort(items, function(a, b)
    local one, other = a.range.start, b.range.start
    if a.severity ~= b.severity then
      return rank[a.severity] < rank[b.severity]
    elseif a.file ~= b.file then
      return a.file < b.file
    end
    return one.line < other.line or (one.line == other.line and one.column < other.column)
  end)
  for _, each in ipairs(items) do
    counts[each.severity] = (counts[each.severity] or 0) + 1
  end
  local shown = vim.list_slice(items, 1, call.arguments.limit or 100)
  return { data = { items = shown, counts = counts, stillAnalyzing = not fresh or nil } }
end

return M
