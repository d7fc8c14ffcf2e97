--- Shows hunks in buffers: removed lines as virtual lines, added ones coloured, words marked, signs.
---
--- Draws with extmarks alone: never changes a text, a cursor or a window. A hunk whose lines are not in the buffer at
--- its place is left as it was drawn before; what is typed and what the server says of it cross on their way.
local clean = require("sould.clean")
local coming = require("sould.review.coming")
local config = require("sould.config")
local lines = require("sould.review.lines")
local state = require("sould.review.state")
local words = require("sould.review.words")

local M = {}

local namespace = vim.api.nvim_create_namespace("sould_hunks")
local passing = vim.api.nvim_create_namespace("sould_decisions")
local DECISION_MS = 4000
local REMOVED = { line = "SouldDelete", word = "SouldDeleteWord" }

---@class sould.Drawn
---@field hunk sould.Hunk
---@field range integer the extmark that spans it
---@field marks integer[]? of its lines; nil as long as they were not near what a window shows
---@field looks string

local drawn = {} ---@type table<integer, table<integer, sould.Drawn>> by buffer and hunk
local behind = {} ---@type table<integer, boolean> buffers in which a hunk is not where it was said to be
local watched = {} ---@type table<integer, boolean>

---@param buf integer
---@param text string
---@return string without its end, as the buffer has it
local function bare(buf, text)
  local line = text:gsub("\n$", "")
  return vim.bo[buf].fileformat == "dos" and (line:gsub("\r$", "")) or line
end

---@param buf integer
---@param hunk sould.Hunk
---@return boolean
local function is_there(buf, hunk)
  local count = vim.api.nvim_buf_line_count(buf)
  if hunk.start + #hunk.lines > count then
    return false
  end
  local there = vim.api.nvim_buf_get_lines(buf, hunk.start, hunk.start + #hunk.lines, false)
  for index, line in ipairs(hunk.lines) do
    if bare(buf, line.text) ~= there[index] then
      return false
    end
  end
  return #hunk.lines > 0 or hunk.start <= count
end

local NOTES = {
  rejecting = "rejected when the step ends",
  stale = "changed meanwhile",
}

---The agent of somebody else's that wrote it last, which has no session here.
---@param hunk sould.Hunk
---@return string?
local function another(hunk)
  local last = hunk.agents[#hunk.agents]
  return last and last.sessionId:match("^mcp:(.+)$")
end

---@param hunk sould.Hunk
---@return string
local function label(hunk)
  local notes = {}
  local function note(said)
    if said then
      table.insert(notes, said)
    end
  end
  local agent = another(hunk)
  note(agent and "by " .. clean.line(agent))
  note(NOTES[hunk.state])
  note(hunk.committed and "committed by the agent")
  note((hunk.shownIn or "") ~= "" and "in review in " .. hunk.shownIn)
  for _, line in ipairs(hunk.lines) do
    if line.author ~= "agent" then
      note("edited by you")
      break
    end
  end
  if hunk.kind ~= "text" then
    local from_to = (hunk.before or "") ~= "" and (": %s to %s"):format(hunk.before, hunk.after) or ""
    note(hunk.kind:gsub("_", " ") .. (hunk.kind == "content" and "" or from_to))
  end
  local more = #notes > 0 and " " .. table.concat(notes, ", ") or ""
  return "#" .. hunk.id .. more
end

---@param spans sould.Span[]
---@param row integer
---@return sould.Span[]
local function on_row(spans, row)
  return vim.tbl_filter(function(span)
    return span.row == row
  end, spans)
end

local GROUPS = { agent = "SouldAdd", mixed = "SouldMixed", user = "SouldUser" }

---@param buf integer
---@param hunk sould.Hunk
---@param marks integer[]
local function draw_added(buf, hunk, spans, marks)
  local sign = #hunk.base > 0 and "SouldSignChange" or "SouldSignAdd"
  for index, line in ipairs(hunk.lines) do
    local row = hunk.start + index - 1
    -- A group of the whole line (`line_hl_group`) would cover that of its words.
    local options = { hl_group = GROUPS[line.author], hl_eol = true, priority = 90, strict = false }
    options.end_row, options.end_col = row + 1, 0
    table.insert(marks, vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options))
    if config.options.signs then
      local at = { sign_text = "┃", sign_hl_group = sign, priority = 90 }
      table.insert(marks, vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, at))
    end
  end
  for _, span in ipairs(spans) do
    local line = hunk.lines[span.row + 1]
    if line.author == "agent" then
      local at = { end_col = span.to, hl_group = "SouldAddWord", priority = 210, strict = false }
      table.insert(marks, vim.api.nvim_buf_set_extmark(buf, namespace, hunk.start + span.row, span.from, at))
    end
  end
end

---@param buf integer
---@param hunk sould.Hunk
---@param marks integer[]
local function draw_removed(buf, hunk, old, spans, marks)
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local below = hunk.start > last
  local above = {}
  for index, line in ipairs(old) do
    local said = index == 1 and #hunk.lines == 0 and config.options.labels and label(hunk) or nil
    table.insert(above, lines.virtual(buf, line, on_row(spans, index - 1), REMOVED, said))
  end
  local options = { virt_lines = above, virt_lines_above = not below, priority = 90 }
  if config.options.signs and #hunk.lines == 0 then
    options.sign_text, options.sign_hl_group = below and "▁" or "▔", "SouldSignDelete"
  end
  table.insert(marks, vim.api.nvim_buf_set_extmark(buf, namespace, below and last or hunk.start, 0, options))
end

---@param buf integer
---@return [integer, integer][] rows that windows show, or show when they go a screen on
local function near(buf)
  return vim.tbl_map(function(window)
    local height, first = vim.api.nvim_win_get_height(window), vim.fn.line("w0", window)
    return { first - height, math.max(first + height, vim.fn.line("w$", window)) + height }
  end, vim.fn.win_findbuf(buf))
end

---@param hunk sould.Hunk
---@param shown [integer, integer][]
---@return boolean
local function is_near(hunk, shown)
  return vim.iter(shown):any(function(rows)
    return hunk.start <= rows[2] and hunk.start + #hunk.lines >= rows[1]
  end)
end

---@param buf integer
---@param hunk sould.Hunk
---@return integer[] marks
local function draw_lines(buf, hunk)
  local marks = {} ---@type integer[]
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local row = math.min(hunk.start, last)
  local old, new = vim.tbl_map(lines.chomp, hunk.base), {}
  for _, line in ipairs(hunk.lines) do
    table.insert(new, bare(buf, line.text))
  end
  local gone, come = {}, {}
  if config.options.words then
    gone, come = words.differing(old, new)
  end
  if hunk.kind == "text" then
    draw_added(buf, hunk, come, marks)
    if #old > 0 then
      draw_removed(buf, hunk, old, gone, marks)
    end
  end
  if config.options.labels and (#hunk.lines > 0 or hunk.kind ~= "text") then
    local options =
      { virt_text = { { "  " .. label(hunk), "SouldLabel" } }, virt_text_pos = "eol", hl_mode = "combine" }
    table.insert(marks, vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, options))
  end
  return marks
end

---@param buf integer
---@param hunk sould.Hunk
---@param shown [integer, integer][]
---@return sould.Drawn
local function draw_hunk(buf, hunk, shown)
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local row, stop = math.min(hunk.start, last), math.min(hunk.start + #hunk.lines, last + 1)
  local range = { end_row = stop, end_col = 0, strict = false, right_gravity = #hunk.lines == 0 }
  return {
    hunk = hunk,
    marks = is_near(hunk, shown) and draw_lines(buf, hunk) or nil,
    range = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, range),
    looks = "",
  }
end

---@param buf integer
---@param shown sould.Drawn
local function erase(buf, shown)
  vim.api.nvim_buf_del_extmark(buf, namespace, shown.range)
  for _, mark in ipairs(shown.marks or {}) do
    vim.api.nvim_buf_del_extmark(buf, namespace, mark)
  end
end

---@param buf integer
---@param shown sould.Drawn
---@return integer start
---@return integer stop not included
local function place(buf, shown)
  local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, shown.range, { details = true })
  if not at[1] then
    return -1, -1
  end
  local stop = #shown.hunk.lines > 0 and at[3].end_row or at[1]
  return at[1], stop
end

---@param buf integer
---@param shown sould.Drawn
---@param hunk sould.Hunk
---@return boolean
local function in_place(buf, shown, hunk)
  local start, stop = place(buf, shown)
  local last = vim.api.nvim_buf_line_count(buf)
  return start == math.min(hunk.start, last - 1)
    and (#hunk.lines == 0 or stop == math.min(hunk.start + #hunk.lines, last))
end

---Lines above the first one are out of sight until the window shows them.
---@param buf integer
local function uncover_top(buf)
  local above = coming.above(buf)
  for _, shown in pairs(drawn[buf] or {}) do
    if shown.hunk.start == 0 and #shown.hunk.base > 0 and shown.hunk.kind == "text" then
      above = above + #shown.hunk.base
    end
  end
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.fn.line("w0", window) == 1 and above > 0 then
      vim.api.nvim_win_call(window, function()
        if vim.fn.winsaveview().topfill < above then
          vim.fn.winrestview({ topfill = above })
        end
      end)
    end
  end
end

---Brings what is drawn in a buffer in line with what was said last.
---@param buf integer
function M.render(buf)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  local file = state.file(state.path(buf))
  local before, now, rows = drawn[buf] or {}, {}, near(buf)
  behind[buf] = nil
  for _, hunk in ipairs(file and file.hunks or {}) do
    local shown = before[hunk.id]
    local looks =
      table.concat({ hunk.digest, hunk.state, tostring(#hunk.lines), tostring(hunk.start), label(hunk) }, " ")
    if not is_there(buf, hunk) then
      behind[buf] = true
      now[hunk.id] = shown
    elseif shown and shown.looks == looks and in_place(buf, shown, hunk) then
      shown.hunk = hunk
      now[hunk.id] = shown
    else
      if shown then
        erase(buf, shown)
      end
      now[hunk.id] = draw_hunk(buf, hunk, rows)
      now[hunk.id].looks = looks
    end
  end
  for id, shown in pairs(before) do
    if not now[id] then
      erase(buf, shown)
    end
  end
  drawn[buf] = now
  coming.render(buf)
  uncover_top(buf)
end

---Draws the lines of hunks that windows came near to.
function M.in_sight()
  for buf in pairs(watched) do
    local rows = drawn[buf] and near(buf) or {}
    for _, shown in pairs(#rows > 0 and drawn[buf] or {}) do
      if not shown.marks and is_near(shown.hunk, rows) and in_place(buf, shown, shown.hunk) and is_there(buf, shown.hunk) then
        shown.marks = draw_lines(buf, shown.hunk)
      end
    end
  end
end

---@param buf integer
local function forget(buf)
  drawn[buf], behind[buf] = nil, nil
  state.forget_path(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
  coming.forget(buf)
end

---Draws everything in a buffer anew, as after it was read again.
---@param buf integer
function M.again(buf)
  forget(buf)
  M.render(buf)
end

---@param buf integer
local function soon(buf)
  vim.schedule(function()
    if behind[buf] then
      M.render(buf)
    end
  end)
end

---Follows a buffer, to draw what could not be drawn before.
---@param buf integer
function M.watch(buf)
  if watched[buf] then
    return
  end
  watched[buf] = true
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if behind[buf] then
        soon(buf)
      end
    end,
    on_reload = function()
      vim.schedule(function()
        if vim.api.nvim_buf_is_loaded(buf) then
          M.again(buf)
        end
      end)
    end,
    on_detach = function() -- also before `:edit` reads the file again, which keeps extmarks
      watched[buf] = nil
      forget(buf)
    end,
  })
end

---@class sould.Place
---@field hunk sould.Hunk
---@field start integer the first line in the buffer now, from 0
---@field stop integer not included; as `start` when nothing but removed lines is there

---The hunks of a buffer where they are now, from the top.
---@param buf integer
---@return sould.Place[]
function M.places(buf)
  buf = buf == 0 and vim.api.nvim_get_current_buf() or buf
  local found = {} ---@type sould.Place[]
  for _, shown in pairs(drawn[buf] or {}) do
    local start, stop = place(buf, shown)
    if start >= 0 then
      table.insert(found, { hunk = shown.hunk, start = start, stop = math.max(start, stop) })
    end
  end
  table.sort(found, function(a, b)
    return a.start < b.start or (a.start == b.start and a.hunk.id < b.hunk.id)
  end)
  return found
end

---Says for some seconds, beside the hunk, what somebody else decided about it.
---@param decision sould.Decision
function M.decided(decision)
  local buf = state.buffer(decision.path)
  local shown = buf and (drawn[buf] or {})[decision.id]
  if not buf or not shown then
    return
  end
  local row = place(buf, shown)
  if row < 0 then
    return
  end
  local verbs = { keep = "kept", reject = "rejected", undo = "taken back" }
  local text = ("  #%d %s by %s"):format(decision.id, verbs[decision.verdict] or decision.verdict, decision.by)
  local options = { virt_text = { { text, "SouldDecision" } }, virt_text_pos = "eol" }
  local mark = vim.api.nvim_buf_set_extmark(buf, passing, row, 0, options)
  vim.defer_fn(function()
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_del_extmark(buf, passing, mark)
    end
  end, DECISION_MS)
end

state.watch(function(root, paths, decisions)
  vim.iter(decisions):each(M.decided)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if watched[buf] and (not paths or paths[state.path(buf)]) then
      require("sould.review.write").look_again(buf)
      M.render(buf)
    end
  end
end)

return M
